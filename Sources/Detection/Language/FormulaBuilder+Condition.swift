extension FormulaBuilder {
    /// The finished condition: its comparisons in postfix order, and of the nodes only those that they need.
    func condition(_ root: Truth) -> Condition {
        var atoms: [Atom] = []
        var code: [Int32] = []
        self.append(root.index, &atoms, &code)

        // An undefined value anywhere makes the look false, even beside `or`: say so as a comparison of its own. A lone
        // comparison is false by itself.
        if atoms.count > 1 || atoms.first?.node != root.measured.node {
            for node in Set(atoms.map(\.node)).sorted() where self.isPartial[Int(node)] {
                code.append(Int32(atoms.count))
                code.append(Condition.and)
                atoms.append(Atom(node: node, sign: 1, key: -.infinity))
            }
        }

        let renamed = self.needed(by: atoms.map(\.node) + [root.measured.node])
        let nodes = self.nodes.indices.filter { renamed[$0] >= 0 }.map { self.nodes[$0].over(renamed) }
        let partial = Set(atoms.map(\.node)).filter { self.isPartial[Int($0)] }.map { renamed[Int($0)] }.sorted()
        let formula = Formula(
            channels: self.channels, nodes: nodes, quantity: renamed[Int(root.measured.node)],
            quantitySign: root.measured.sign, partial: partial)
        let final = atoms.map { Atom(node: renamed[Int($0.node)], sign: $0.sign, key: $0.key) }
        return Condition(formula: formula, atoms: final, code: code)
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
            for operand in [node.a, node.b, node.c] where operand >= 0 { isNeeded[Int(operand)] = true }
        }
        var next: Int32 = 0
        return isNeeded.map { needed in
            guard needed else { return -1 }
            next += 1
            return next - 1
        }
    }
}
