import Motion

/// A number in a condition: a node, what it measures, and its value when that is known already.
struct Scalar {
    var node: Int32
    var kind: Kind
    var constant: Double?
    /// What a hit should carry instead of the number itself: the acceleration that a count counts.
    var measured: [Measured]?
}

/// What a comparison compares: a value whose extreme a hit may carry.
struct Measured: Equatable {
    var node: Int32
    /// 1 when the comparison asks for much, -1 when it asks for little.
    var sign: Double
    var kind: Kind
    /// The constant it is compared with, as written.
    var threshold: Double?
    /// The conditions before `then` in which it stands, from the inside out: what it was in them has to be remembered.
    var stages: [Int32] = []

    var opposite: Measured {
        var opposite = self
        opposite.sign = -self.sign
        return opposite
    }
}

/// Three numbers of one kind.
struct Vector {
    var x: Int32
    var y: Int32
    var z: Int32
    var kind: Kind
}

/// Something that is true or false at each look: an index into the builder's truths.
struct Truth {
    var index: Int
    /// Of each comparison in it, in the order of the text.
    var measured: [Measured]
}

/// Collects the nodes of one formula; equal nodes exist once. Every growth is bounded by `DetectionLimits`.
struct FormulaBuilder {
    /// How a truth is made of comparisons.
    enum Composition {
        case atom(Atom)
        case and(Int, Int)
        case or(Int, Int)
    }

    let channels: [String]
    private(set) var nodes: [FormulaNode] = []
    private var known: [FormulaNode: Int32] = [:]
    /// For each node: can it be undefined?
    private(set) var isPartial: [Bool] = []
    private(set) var truths: [Composition] = []
    /// How many comparisons stand in the condition.
    private var comparisons = 0
    /// Offset that problems without a place of their own point at.
    var place = 0

    init(channels: [String]) {
        self.channels = channels
    }

    // MARK: Nodes

    mutating func node(_ node: FormulaNode) throws(ConditionProblem) -> Int32 {
        if let index = self.known[node] { return index }
        guard self.nodes.count < DetectionLimits.nodes else {
            throw ConditionProblem(
                self.place, "the condition needs more than \(DetectionLimits.nodes) operations",
                limit: "condition-operations")
        }
        let index = Int32(self.nodes.count)
        let inherits = [node.a, node.b, node.c].contains {
            $0 >= 0 && node.operation != .channel && self.isPartial[Int($0)]
        }
        let introduces =
            switch node.operation {
            case .divide, .squareRoot: true
            default: false
            }
        self.nodes.append(node)
        self.isPartial.append(inherits || introduces)
        self.known[node] = index
        if node.operation.stateSize > 0,
            self.nodes.count(where: { $0.operation.stateSize > 0 }) > DetectionLimits.stateful
        {
            throw ConditionProblem(
                self.place, "the condition remembers more than \(DetectionLimits.stateful) things",
                limit: "condition-stateful")
        }
        return index
    }

    mutating func node(
        _ operation: Operation, _ a: Int32 = -1, _ b: Int32 = -1, _ c: Int32 = -1, p: Double = 0, q: Double = 0
    ) throws(ConditionProblem) -> Int32 {
        try self.node(FormulaNode(operation: operation, a: a, b: b, c: c, p: p, q: q))
    }

    mutating func constant(_ value: Double, _ kind: Kind) throws(ConditionProblem) -> Scalar {
        Scalar(node: try self.node(.constant, p: value), kind: kind, constant: value)
    }

    /// The channel at an index of `channels`.
    mutating func channel(_ index: Int, _ kind: Kind) throws(ConditionProblem) -> Scalar {
        Scalar(node: try self.node(.channel, Int32(index)), kind: kind)
    }

    /// The channel in its canonical unit: samples carry degrees, conditions compare radians.
    mutating func channel(_ index: Int, in unit: Unit) throws(ConditionProblem) -> Scalar {
        let kind = Kind(unit.dimension)
        let channel = try self.channel(index, kind)
        guard unit.factor != 1 else { return channel }
        return Scalar(
            node: try self.node(.multiply, channel.node, self.node(.constant, p: unit.factor)), kind: kind)
    }

    /// a · b or a / b.
    mutating func product(_ a: Scalar, _ b: Scalar, divides: Bool, at offset: Int) throws(ConditionProblem) -> Scalar {
        guard let kind = a.kind.combined(with: b.kind, by: divides ? -1 : 1) else {
            throw ConditionProblem(offset, "the powers of units grow beyond \(Kind.highest)")
        }
        if let left = a.constant, let right = b.constant {
            let value = divides ? left / right : left * right
            guard value.isFinite else { throw ConditionProblem(offset, "the constant is undefined or too large") }
            return try self.constant(value, kind)
        }
        return Scalar(node: try self.node(divides ? .divide : .multiply, a.node, b.node), kind: kind)
    }

    /// a + b or a - b.
    mutating func sum(_ a: Scalar, _ b: Scalar, subtracts: Bool, at offset: Int) throws(ConditionProblem) -> Scalar {
        if let left = a.constant, let right = b.constant {
            let value = subtracts ? left - right : left + right
            guard value.isFinite else { throw ConditionProblem(offset, "the constant is too large") }
            return try self.constant(value, a.kind)
        }
        return Scalar(node: try self.node(subtracts ? .subtract : .add, a.node, b.node), kind: a.kind)
    }

    mutating func negated(_ a: Scalar) throws(ConditionProblem) -> Scalar {
        if let value = a.constant { return try self.constant(-value, a.kind) }
        return Scalar(node: try self.node(.negate, a.node), kind: a.kind)
    }

    /// The larger of two; magnitudes, up to three, are fused: the articles' commonest feature.
    ///
    /// Only where nothing can be undefined: the fused form is quick because it does not look for that.
    mutating func maximum(_ a: Int32, _ b: Int32) throws(ConditionProblem) -> Int32 {
        let (left, right) = (self.nodes[Int(a)], self.nodes[Int(b)])
        guard right.operation == .absolute, !self.isPartial[Int(a)], !self.isPartial[Int(b)] else {
            return try self.node(.maximum, a, b)
        }
        if left.operation == .absolute { return try self.node(.largest, left.a, right.a, right.a) }
        if left.operation == .largest, left.b == left.c { return try self.node(.largest, left.a, left.b, right.a) }
        return try self.node(.maximum, a, b)
    }

    mutating func map(
        _ vector: Vector, _ transform: (inout FormulaBuilder, Int32) throws(ConditionProblem) -> Int32
    ) throws(ConditionProblem) -> Vector {
        let x = try transform(&self, vector.x)
        let y = try transform(&self, vector.y)
        let z = try transform(&self, vector.z)
        return Vector(x: x, y: y, z: z, kind: vector.kind)
    }

    /// The angle between two vectors; undefined when one is zero.
    mutating func angle(_ a: Vector, _ b: Vector) throws(ConditionProblem) -> Scalar {
        let x = try self.node(.multiply, a.x, b.x)
        let y = try self.node(.multiply, a.y, b.y)
        let z = try self.node(.multiply, a.z, b.z)
        let dot = try self.node(.add, self.node(.add, x, y), z)
        let lengths = try self.node(
            .multiply, self.node(.norm, a.x, a.y, a.z), self.node(.norm, b.x, b.y, b.z))
        let cosine = try self.node(.divide, dot, lengths)
        return Scalar(node: try self.node(.arccosine, cosine), kind: Kind(.angle))
    }

    // MARK: Truths

    private mutating func add(_ composition: Composition) -> Int {
        self.truths.append(composition)
        return self.truths.count - 1
    }

    /// Adds a comparison that stands in the condition. What joins and negates them is bounded by their number and nesting.
    private mutating func add(_ atom: Atom) throws(ConditionProblem) -> Int {
        guard self.comparisons < DetectionLimits.comparisons else {
            throw ConditionProblem(
                self.place, "the condition compares more than \(DetectionLimits.comparisons) times",
                limit: "condition-comparisons")
        }
        self.comparisons += 1
        return self.add(.atom(atom))
    }

    /// A comparison; `symbol` is one of `> >= < <=`.
    mutating func comparison(
        _ a: Scalar, _ symbol: String, _ b: Scalar, at offset: Int
    ) throws(ConditionProblem) -> Truth {
        let isGreater = symbol.hasPrefix(">")
        let isStrict = symbol.count == 1
        if a.constant != nil, b.constant != nil {
            throw ConditionProblem(offset, "both sides are constants: the condition must depend on the sensor")
        }
        // v >= c is v > (c).nextDown exactly, and v < c is -v > -c: one form serves all four.
        func atom(_ node: Int32, _ value: Double, greater: Bool) -> Atom {
            let signed = greater ? value : -value
            return Atom(node: node, sign: greater ? 1 : -1, key: isStrict ? signed : signed.nextDown)
        }
        // Asking for little of what counts something asks for little of that.
        func measured(_ value: Scalar, _ threshold: Double?, _ sign: Double) -> [Measured] {
            guard let counted = value.measured else {
                return [Measured(node: value.node, sign: sign, kind: value.kind, threshold: threshold)]
            }
            return sign > 0 ? counted : counted.map(\.opposite)
        }
        if let constant = b.constant {
            let atom = atom(a.node, constant, greater: isGreater)
            return Truth(index: try self.add(atom), measured: measured(a, constant, atom.sign))
        }
        if let constant = a.constant {
            let atom = atom(b.node, constant, greater: !isGreater)
            return Truth(index: try self.add(atom), measured: measured(b, constant, atom.sign))
        }
        let difference = try self.node(.subtract, a.node, b.node)
        let atom = atom(difference, 0, greater: isGreater)
        return Truth(index: try self.add(atom), measured: measured(a, nil, atom.sign))
    }

    /// The truth that a node holds as 1 or 0.
    mutating func truth(of node: Int32, measured: [Measured]) throws(ConditionProblem) -> Truth {
        Truth(index: try self.add(Atom(node: node, sign: 1, key: 0.5)), measured: measured)
    }

    /// True while a node that holds whole numbers holds this one.
    mutating func truth(of node: Int32, is number: Double) throws(ConditionProblem) -> Truth {
        let least = Truth(
            index: try self.add(Atom(node: node, sign: 1, key: number - 0.5)),
            measured: [Measured(node: node, sign: 1, kind: .number)])
        let most = Truth(index: try self.add(Atom(node: node, sign: -1, key: -number - 0.5)), measured: [])
        return self.joined(least, most, and: true)
    }

    mutating func joined(_ a: Truth, _ b: Truth, and: Bool) -> Truth {
        Truth(
            index: self.add(and ? .and(a.index, b.index) : .or(a.index, b.index)), measured: a.measured + b.measured)
    }

    /// `a` and then `b`, at most `span` µs later.
    mutating func sequence(_ a: Truth, _ b: Truth, within span: Double) throws(ConditionProblem) -> Truth {
        let before = try self.node(of: a)
        let node = try self.node(.sequence, before, self.node(of: b), p: span)
        let remembered = a.measured.map {
            var measured = $0
            measured.stages.append(before)
            return measured
        }
        return try self.truth(of: node, measured: remembered + b.measured)
    }

    /// The opposite, with the negation carried down to the comparisons.
    mutating func opposite(_ truth: Truth) -> Truth {
        Truth(index: self.opposite(truth.index), measured: truth.measured.map(\.opposite))
    }

    /// Recursion is bounded by `DetectionLimits.comparisons`.
    private mutating func opposite(_ index: Int) -> Int {
        switch self.truths[index] {
        case .atom(let atom):
            // not (v > k) is v <= k, that is -v >= -k, that is -v > (-k).nextDown.
            return self.add(.atom(Atom(node: atom.node, sign: -atom.sign, key: (-atom.key).nextDown)))
        case .and(let a, let b):
            let (left, right) = (self.opposite(a), self.opposite(b))
            return self.add(.or(left, right))
        case .or(let a, let b):
            let (left, right) = (self.opposite(a), self.opposite(b))
            return self.add(.and(left, right))
        }
    }

    /// A node that holds the truth as 1 or 0, for functions that remember it.
    mutating func node(of truth: Truth) throws(ConditionProblem) -> Int32 { try self.node(ofTruth: truth.index) }

    private mutating func node(ofTruth index: Int) throws(ConditionProblem) -> Int32 {
        switch self.truths[index] {
        case .atom(let atom):
            if atom.key == 0.5, atom.sign == 1, self.nodes[Int(atom.node)].operation.isTruth { return atom.node }
            return try self.node(.greater, atom.node, p: atom.key, q: atom.sign)
        case .and(let a, let b):
            let (left, right) = (try self.node(ofTruth: a), try self.node(ofTruth: b))
            return try self.node(.both, left, right)
        case .or(let a, let b):
            let (left, right) = (try self.node(ofTruth: a), try self.node(ofTruth: b))
            return try self.node(.either, left, right)
        }
    }
}
