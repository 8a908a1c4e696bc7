extension FormulaBuilder {
    /// The comparisons that may give a hit its peak, first the one by which a detector is known: what it measures, and how much it asks.
    ///
    /// Those that ask for more than 0 of one kind, the kind of the first of them. Where none does, one: sooner one that asks for
    /// much than one that asks for little, and of these the first of the last stage.
    private static func strongest(of all: [Measured]) -> [Measured] {
        let strong = all.filter { $0.sign > 0 && ($0.threshold ?? 0) > 0 }
        if let first = strong.first { return strong.filter { $0.kind == first.kind } }
        let rest = all.contains { $0.sign > 0 } ? all.filter { $0.sign > 0 } : all
        // The first of the least: what is before `then` is further from the hit.
        return rest.min { $0.stages.count < $1.stages.count }.map { [$0] } ?? []
    }

    /// The finished condition: its comparisons in postfix order, and of the nodes only those that they need. Besides, the
    /// comparison by which its detector is known.
    mutating func condition(_ root: Truth) throws(ConditionProblem) -> (Condition, Measured) {
        var strongest = Self.strongest(of: root.measured)
        for index in strongest.indices {
            for stage in strongest[index].stages {
                strongest[index].node = try self.node(
                    .recall, stage, strongest[index].node, q: strongest[index].sign)
            }
        }
        // Each truth is made of comparisons.
        let main = strongest[0]
        let quantities = strongest.map(\.node)

        var atoms: [Atom] = []
        var code: [Int32] = []
        self.append(root.index, &atoms, &code)

        // An undefined value anywhere makes the look false, even beside `or`: say so as a comparison of its own. A lone
        // comparison is false by itself.
        if atoms.count > 1 || atoms.first?.node != main.node {
            for node in Set(atoms.map(\.node)).sorted() where self.isPartial[Int(node)] {
                code.append(Int32(atoms.count))
                code.append(Condition.and)
                atoms.append(Atom(node: node, sign: 1, key: -.infinity))
            }
        }

        let renamed = self.needed(by: atoms.map(\.node) + quantities)
        let nodes = self.nodes.indices.filter { renamed[$0] >= 0 }.map { self.nodes[$0].over(renamed) }
        let partial = Set(atoms.map(\.node)).filter { self.isPartial[Int($0)] }.map { renamed[Int($0)] }.sorted()
        let formula = Formula(
            channels: self.channels, nodes: nodes, quantity: renamed[Int(main.node)], quantitySign: main.sign,
            rivals: quantities.dropFirst().map { renamed[Int($0)] }, partial: partial)
        let final = atoms.map { Atom(node: renamed[Int($0.node)], sign: $0.sign, key: $0.key) }
        let scales = strongest.count > 1 ? strongest.map { $0.threshold ?? 1 } : []
        return (Condition(formula: formula, atoms: final, code: code, scales: scales), main)
    }

    /// Recursion is bounded by `DetectionLimits.comparisons`.
    private func append(_ index: Int, _ atoms: inout [Atom], _ code: inout [Int32]) {
        switch self.truths[index] {
        case .atom(let atom):
            if let known = atoms.firstIndex(of: atom) {
                code.append(Int32(known))
            } else {
                code.append(Int32(atoms.count))
                atoms.append(atom)
            }
        case .and(let a, let b):
            self.append(a, &atoms, &code)
            self.append(b, &atoms, &code)
            code.append(Condition.and)
        case .or(let a, let b):
            self.append(a, &atoms, &code)
            self.append(b, &atoms, &code)
            code.append(Condition.or)
        }
    }

    /// New indices of the nodes that `roots` reach; -1 for the others.
    private func needed(by roots: [Int32]) -> [Int32] {
        var isNeeded = [Bool](repeating: false, count: self.nodes.count)
        for root in roots { isNeeded[Int(root)] = true }
        // Operands stand before users, so one pass backwards finds them all.
        for index in self.nodes.indices.reversed() where isNeeded[index] {
            let node = self.nodes[index]
            guard node.operation != .channel else { continue }
            for operand in [node.a, node.b, node.c, node.d] where operand >= 0 { isNeeded[Int(operand)] = true }
        }
        var next: Int32 = 0
        return isNeeded.map { needed in
            guard needed else { return -1 }
            next += 1
            return next - 1
        }
    }
}
