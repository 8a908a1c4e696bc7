import Motion

/// Looks at a compiled detector for what is allowed and probably not meant.
struct DetectorReview {
    private(set) var warnings: [DetectorWarning] = []

    /// What we take a sensor's noise to be, in g: phones show a few hundredths between peaks.
    private static let noise = 0.03

    init(_ detector: CompiledDetector, _ scope: ConditionScope, _ sensor: SensorDescription?) {
        let condition = detector.condition
        self.reviewRate(detector, sensor)
        self.reviewWindows(detector, condition.formula)
        if scope.hasGravity { self.reviewRest(condition, scope) }
        if let range = sensor?.range, range.isFinite, range > 0 {
            self.reviewReach(condition, detector, range, hasGravity: scope.hasGravity)
        }
    }

    private mutating func reviewRate(_ detector: CompiledDetector, _ sensor: SensorDescription?) {
        guard let fastest = sensor?.rates.max(), fastest < detector.neededRate * 0.9 else { return }
        self.warnings.append(
            DetectorWarning(
                .rateTooLow,
                "the detector needs \(Self.plain(detector.neededRate)) Hz, the sensor runs at most at "
                    + "\(Self.plain(fastest)) Hz"))
    }

    private mutating func reviewWindows(_ detector: CompiledDetector, _ formula: Formula) {
        let look = detector.every.map { Double($0.microseconds) } ?? 1_000_000 / max(detector.neededRate, 0.001)
        guard let shortest = formula.nodes.compactMap(\.span).min(), shortest < 2 * look else { return }
        self.warnings.append(
            DetectorWarning(
                .windowTooShort,
                "a time of \(Self.plain(shortest / 1_000)) ms in the condition holds fewer than two looks, which are "
                    + "\(Self.plain(look / 1_000)) ms apart"))
    }

    /// What the condition is while the device rests, on each of its sides and corners.
    private mutating func reviewRest(_ condition: Condition, _ scope: ConditionScope) {
        let bounds = SteadyState.bounds(of: condition.formula, range: 1, hasGravity: true)
        let settled = Self.directions.map { SteadyState.values(of: condition.formula, channels: scope.atRest($0)) }

        for atom in condition.atoms where atom.key.isFinite {
            let node = Int(atom.node)
            let values = settled.map { atom.sign * $0[node] }
            // What does not tell a direction from its opposite only grows with motion.
            guard !values.contains(where: \.isNaN), bounds[node].lowerBound >= 0 else { continue }
            let operation = condition.formula.nodes[node].operation
            // What asks for rest, as `held` and `activity == still` do, may be true at rest.
            guard !operation.isTruth, operation != .fraction, operation != .activity else { continue }
            if atom.sign > 0 {
                let share = values.count { $0 > atom.key + 1e-9 }
                if share == values.count {
                    self.add(.thresholdInGravity, "gravity alone (1 g) keeps the condition true while the device rests")
                } else if share > 0 {
                    self.add(
                        .thresholdInGravity, "gravity alone (1 g) makes the condition true on some sides of the device")
                }
            }
            if values.allSatisfy({ ($0 - atom.key).magnitude <= Self.noise }) {
                self.add(
                    .noise,
                    "the threshold lies within a sensor's noise (\(Self.noise) g) of the value at rest, which keeps crossing it"
                )
            }
        }
    }

    /// Where gravity points then.
    private static let directions: [[Double]] = {
        let corner = 1 / 3.0.squareRoot()
        var directions: [[Double]] = []
        for axis in 0..<3 {
            for sign in [1.0, -1] {
                var direction = [0.0, 0, 0]
                direction[axis] = sign
                directions.append(direction)
            }
        }
        for bits in 0..<8 { directions.append((0..<3).map { bits >> $0 & 1 == 1 ? corner : -corner }) }
        return directions
    }()

    private mutating func reviewReach(
        _ condition: Condition, _ detector: CompiledDetector, _ range: Double, hasGravity: Bool
    ) {
        let bounds = SteadyState.bounds(of: condition.formula, range: range, hasGravity: hasGravity)
        for atom in condition.atoms where atom.key.isFinite {
            let bound = bounds[Int(atom.node)]
            let most = atom.sign > 0 ? bound.upperBound : -bound.lowerBound
            guard most <= atom.key else { continue }
            self.add(
                .thresholdUnreachable,
                "a sensor of ±\(Self.plain(range)) cannot make the condition true: the compared value stays below "
                    + "\(Self.plain(atom.sign * most + 0))")
        }
        for node in condition.formula.nodes {
            let reach: Double
            switch node.operation {
            case .shake, .reversals: reach = range * 3.0.squareRoot()
            case .tilted: reach = range
            default: continue
            }
            guard reach <= node.p else { continue }
            self.add(
                .thresholdUnreachable,
                "a sensor of ±\(Self.plain(range)) cannot show more than \(Self.plain(reach)), and "
                    + "\(Self.plain(node.p)) is asked for")
        }
    }

    private mutating func add(_ id: DetectorWarning.ID, _ message: String) {
        guard !self.warnings.contains(where: { $0.id == id }) else { return }
        self.warnings.append(DetectorWarning(id, message))
    }

    /// A number with at most three decimals.
    private static func plain(_ value: Double) -> String {
        let rounded = (value * 1_000).rounded() / 1_000
        return rounded == rounded.rounded() && rounded.magnitude < 1e15 ? "\(Int(rounded))" : "\(rounded)"
    }
}
