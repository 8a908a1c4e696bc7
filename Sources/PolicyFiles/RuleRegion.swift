import Arbitration
import Motion

/// All situations in which a rule's conditions hold, app and preset apart: a product of sets, one for each thing that rules
/// can ask about.
///
/// Subtracting one from another gives regions again, so that what a list of rules leaves over is exact.
struct RuleRegion: Equatable, Sendable {
    /// State, lock, assertion and proof together: some of these exclude each other.
    var situations: UInt128
    /// Which modes are granted, and which of those are at work; `nil`: whatever they are.
    var modes: ModeSpace?
    var intensity: RangeSet<Intensity>?
    var times: RangeSet<Int>?
    var power: RangeSet<Double>?

    /// An intensity with what it measures, so that all of them fit on one line.
    struct Intensity: Comparable, Sendable {
        var dimension: Int
        var value: Double

        static func < (a: Self, b: Self) -> Bool { (a.dimension, a.value) < (b.dimension, b.value) }
    }

    init(_ conditions: Conditions) {
        self.situations = Self.situations(conditions)
        if !conditions.grants.isOpen || !conditions.activities.isOpen {
            self.modes = ModeSpace(grants: conditions.grants, activities: conditions.activities)
        }
        if let intensity = conditions.intensity {
            let dimension = Dimension.allCases.firstIndex(of: intensity.dimension) ?? 0
            self.intensity = RangeSet(
                intensity.ranges.ranges.map { range in
                    Intensity(
                        dimension: dimension, value: range.lowerBound)..<Intensity(
                            dimension: dimension, value: range.upperBound)
                })
        }
        self.times = conditions.times
        if let power = conditions.power {
            // Charges from 0 to 1, an unknown charge at 2, AC at 3.
            var line = power.charges
            if power.unknownCharge { line.insert(contentsOf: 2..<3) }
            if power.ac { line.insert(contentsOf: 3..<4) }
            self.power = line
        }
    }

    private static func situations(_ conditions: Conditions) -> UInt128 {
        var set: UInt128 = 0
        for state in AppState.allCases where conditions.states.contains(state) {
            for isLocked in [false, true] where conditions.locked ?? isLocked == isLocked {
                // Under the lock screen an app is inactive at most.
                if isLocked, state == .foreground { continue }
                for isHeld in [false, true] where conditions.assertion ?? isHeld == isHeld {
                    // Who holds an assertion is not suspended, and who is dead holds none.
                    if isHeld, !state.canReceive { continue }
                    for proof in IdentityProof.allCases where conditions.proofs.contains(proof) {
                        let index = ((Int(state.rawValue) * 2 + (isLocked ? 1 : 0)) * 2 + (isHeld ? 1 : 0)) * 4
                        set |= 1 << UInt128(index + Int(proof.rawValue))
                    }
                }
            }
        }
        return set
    }

    /// What it costs to compare it with another, in comparisons of names.
    var cost: Int {
        1 + (self.modes == nil ? 0 : 4) + (self.intensity?.ranges.count ?? 0) / 8 + (self.times?.ranges.count ?? 0) / 8
            + (self.power?.ranges.count ?? 0) / 8
    }

    var isEmpty: Bool {
        self.situations == 0 || self.modes?.isEmpty == true || self.intensity?.isEmpty == true
            || self.times?.isEmpty == true || self.power?.isEmpty == true
    }

    /// The keys whose conditions cannot hold at all, or not together; empty when the region is not.
    var contradiction: [String] {
        if self.situations == 0 { return ["WhenState", "WhenLocked", "WhenAssertion", "WhenIdentity"] }
        if self.modes?.isEmpty == true { return ["WhenGrant", "WhenActivity"] }
        if self.intensity?.isEmpty == true { return ["WhenIntensity"] }
        if self.times?.isEmpty == true { return ["WhenTime"] }
        return self.power?.isEmpty == true ? ["WhenPower"] : []
    }

    func intersects(_ other: RuleRegion) -> Bool {
        self.situations & other.situations != 0 && Self.meet(self.modes, other.modes) { !$0.isDisjoint($1) }
            && Self.meet(self.intensity, other.intensity) { !$0.isDisjoint($1) }
            && Self.meet(self.times, other.times) { !$0.isDisjoint($1) }
            && Self.meet(self.power, other.power) { !$0.isDisjoint($1) }
    }

    private static func meet<Set>(_ a: Set?, _ b: Set?, _ test: (Set, Set) -> Bool) -> Bool {
        guard let a, let b else { return true }
        return test(a, b)
    }

    /// What is left of this region without another, as regions that do not overlap.
    func subtracting(_ other: RuleRegion) -> [RuleRegion] {
        guard self.intersects(other) else { return [self] }
        var parts: [RuleRegion] = []
        var rest = self
        let outside = rest.situations & ~other.situations
        if outside != 0 {
            var part = rest
            part.situations = outside
            parts.append(part)
            rest.situations &= other.situations
        }
        if let modes = other.modes {
            let own = rest.modes ?? .all
            let outside = own.subtracting(modes)
            if !outside.isEmpty {
                var part = rest
                part.modes = outside
                parts.append(part)
                rest.modes = own.intersection(modes)
            }
        }
        Self.cut(\.intensity, of: other, everything: Self.everyIntensity, &rest, &parts)
        Self.cut(\.times, of: other, everything: RangeSet(0..<DeviceFacts.minutesOfWeek), &rest, &parts)
        Self.cut(\.power, of: other, everything: Self.everyPower, &rest, &parts)
        return parts
    }

    /// Cuts one thing down to what another region has of it, and adds what lies outside.
    private static func cut<Bound>(
        _ thing: WritableKeyPath<RuleRegion, RangeSet<Bound>?>, of other: RuleRegion, everything: RangeSet<Bound>,
        _ rest: inout RuleRegion, _ parts: inout [RuleRegion]
    ) {
        guard let ranges = other[keyPath: thing] else { return }
        let own = rest[keyPath: thing] ?? everything
        let outside = own.subtracting(ranges)
        guard !outside.isEmpty else { return }
        var part = rest
        part[keyPath: thing] = outside
        parts.append(part)
        rest[keyPath: thing] = own.intersection(ranges)
    }

    func isCovered(by other: RuleRegion) -> Bool { self.isEmpty || self.subtracting(other).isEmpty }

    private static let everyIntensity = RangeSet(
        Dimension.allCases.indices.map { dimension in
            Intensity(dimension: dimension, value: -.infinity)..<Intensity(dimension: dimension, value: .infinity)
        })

    private static let everyPower: RangeSet<Double> = {
        var line = PowerCondition.anyCharge
        line.insert(contentsOf: 2..<4)
        return line
    }()
}

/// A set of ways in which modes can be granted and at work: of each mode neither, the grant, or the grant and the activity.
struct ModeSpace: Equatable, Sendable {
    private var bits: [UInt64]

    private static let count = 2_187
    private static let words = (count + 63) / 64

    static let all = ModeSpace(grants: ModeCondition(), activities: ModeCondition())

    init(grants: ModeCondition, activities: ModeCondition) {
        self.bits = Self.every
        self.keep(grants, Self.granted)
        self.keep(activities, Self.active)
    }

    private init(bits: [UInt64]) { self.bits = bits }

    /// Keeps the ways in which a condition holds. `planes` are, by mode, the ways in which the mode is there.
    private mutating func keep(_ condition: ModeCondition, _ planes: [[UInt64]]) {
        if let any = condition.any {
            var there = [UInt64](repeating: 0, count: Self.words)
            for mode in any.elements {
                for word in there.indices { there[word] |= planes[Int(mode.rawValue)][word] }
            }
            for word in there.indices { self.bits[word] &= there[word] }
        }
        for mode in condition.except.elements {
            for word in self.bits.indices { self.bits[word] &= ~planes[Int(mode.rawValue)][word] }
        }
    }

    private static let every = plane { _ in true }
    private static let granted = BackgroundMode.allCases.map { mode in plane { digit(mode, of: $0) > 0 } }
    private static let active = BackgroundMode.allCases.map { mode in plane { digit(mode, of: $0) > 1 } }

    private static func plane(_ isIn: (Int) -> Bool) -> [UInt64] {
        var bits = [UInt64](repeating: 0, count: self.words)
        for way in 0..<self.count where isIn(way) { bits[way / 64] |= 1 << UInt64(way % 64) }
        return bits
    }

    /// 0: not granted, 1: granted, 2: granted and at work.
    private static func digit(_ mode: BackgroundMode, of way: Int) -> Int {
        var rest = way
        for _ in 0..<mode.rawValue { rest /= 3 }
        return rest % 3
    }

    var isEmpty: Bool { self.bits.allSatisfy { $0 == 0 } }
    func isDisjoint(_ other: Self) -> Bool { zip(self.bits, other.bits).allSatisfy { $0 & $1 == 0 } }
    func intersection(_ other: Self) -> Self { Self(bits: zip(self.bits, other.bits).map { $0 & $1 }) }
    func subtracting(_ other: Self) -> Self { Self(bits: zip(self.bits, other.bits).map { $0 & ~$1 }) }
}
