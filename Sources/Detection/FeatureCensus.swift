import Motion

/// What the conditions of some detectors cost with every look, equal features counted once: what limits are held against.
///
/// It counts as the engine shares. An operation on the same operands exists once for each sensor and pace, whoever asks
/// for it.
package struct FeatureCensus: Sendable {
    /// Distinct operations on the samples, steps that join comparisons, and what hits cost that may come with each look.
    package private(set) var operations = 0
    /// Those of them that remember something.
    package private(set) var stateful = 0
    /// How many detectors it is of.
    package private(set) var detectors = 0

    /// What looks at the same samples.
    private struct Pace: Hashable {
        let sensor: String
        let every: TimeSpan?
        let decimation: Decimation

        init(_ detector: CompiledDetector) {
            self.sensor = detector.sensor
            self.every = detector.every
            self.decimation = detector.decimation
        }
    }

    /// What exists once at a pace.
    fileprivate struct Features: Sendable {
        var detectors = 0
        /// Each with how many detectors have it.
        var formulas: [Formula: Int] = [:]
        var joints: [Condition: Int] = [:]
        /// By what they do to which others. An index is given out once.
        var nodes: [FormulaNode: (index: Int32, uses: Int)] = [:]
        var channels: [String: Int32] = [:]
        var indices: Int32 = 0
    }

    private var paces: [Pace: Features] = [:]

    package init() {}

    /// Different paces at which something is looked at.
    package var paceCount: Int { self.paces.count }

    package mutating func add(_ detector: CompiledDetector) {
        self.change(by: 1, detector)
    }

    /// Takes out what was added.
    package mutating func remove(_ detector: CompiledDetector) {
        self.change(by: -1, detector)
    }

    /// The most that a detector adds: what it costs if it shares nothing.
    package static func most(of detector: CompiledDetector) -> (operations: Int, stateful: Int) {
        let condition = detector.condition
        let executed = condition.formula.nodes.filter(\.operation.isExecuted)
        return (
            executed.count + (condition.isDirect ? 0 : condition.code.count) + detector.hitOperations,
            executed.reduce(0) { $0 + $1.memories }
        )
    }

    /// The same detector in less memory: with the parts that equal ones hold already.
    package func compact(_ detector: CompiledDetector) -> CompiledDetector {
        var compact = detector
        if detector.condition.code == Condition.single { compact.condition.code = Condition.single }
        guard let features = self.paces[Pace(detector)] else { return compact }
        if let place = features.joints.index(forKey: detector.condition) {
            compact.condition = features.joints[place].key
        } else if let place = features.formulas.index(forKey: detector.condition.formula) {
            compact.condition.formula = features.formulas[place].key
        }
        return compact
    }

    /// Gives back memory that was needed for detectors that are gone.
    package mutating func shrink() {
        for pace in Array(self.paces.keys) {
            self.paces[pace]?.formulas.shrink()
            self.paces[pace]?.joints.shrink()
            self.paces[pace]?.nodes.shrink()
        }
    }

    private mutating func change(by step: Int, _ detector: CompiledDetector) {
        let pace = Pace(detector)
        let change = self.paces[pace, default: Features()].change(by: step, detector.condition)
        self.operations += change.operations + step * detector.hitOperations
        self.stateful += change.stateful
        self.detectors += step
        if change.isLast { self.paces[pace] = nil }
    }
}

extension FeatureCensus.Features {
    /// Counts a detector in or out. Returns how many operations came or went, how many of them remember something, and
    /// whether the last detector went.
    mutating func change(by step: Int, _ condition: Condition) -> (operations: Int, stateful: Int, isLast: Bool) {
        self.detectors += step
        var (operations, stateful) = (0, 0)
        if Self.isTurn(&self.formulas, condition.formula, step) {
            (operations, stateful) = self.change(by: step, condition.formula)
        }
        if !condition.isDirect, Self.isTurn(&self.joints, condition, step) { operations += step * condition.code.count }
        return (operations, stateful, self.detectors <= 0)
    }

    /// Counts a user in or out. True for the first one and the last one.
    private static func isTurn<Key>(_ users: inout [Key: Int], _ key: Key, _ step: Int) -> Bool {
        func count(_ users: inout Int) -> Int {
            users += step
            return users
        }
        // Hashing costs most of it, so that it is done once.
        let now = count(&users[key, default: 0])
        if now <= 0 { users[key] = nil }
        return step > 0 ? now == 1 : now == 0
    }

    private mutating func change(by step: Int, _ formula: Formula) -> (operations: Int, stateful: Int) {
        var (operations, stateful) = (0, 0)
        var mapped: [Int32] = []
        mapped.reserveCapacity(formula.nodes.count)
        for node in formula.nodes {
            var key = node.over(mapped)
            if node.operation == .channel { key.a = self.channel(named: formula.channels[Int(node.a)]) }
            let before = self.nodes[key] ?? (self.indices, 0)
            if before.uses == 0 { self.indices &+= 1 }
            let uses = before.uses + step
            self.nodes[key] = uses > 0 ? (before.index, uses) : nil
            mapped.append(before.index)
            guard before.uses == 0 || uses == 0, node.operation.isExecuted else { continue }
            operations += step
            stateful += step * node.memories
        }
        return (operations, stateful)
    }

    private mutating func channel(named name: String) -> Int32 {
        if let known = self.channels[name] { return known }
        self.channels[name] = Int32(self.channels.count)
        return Int32(self.channels.count - 1)
    }
}
