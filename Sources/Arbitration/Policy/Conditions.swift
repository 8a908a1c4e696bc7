package import Motion

/// A rule's conditions. All must hold; one that is left out always does.
package struct Conditions: Equatable, Sendable {
    package var apps = NameList()
    package var presets = NameList()
    package var states = WordSet<AppState>.all
    package var locked: Bool?
    package var grants = ModeCondition()
    package var activities = ModeCondition()
    package var assertion: Bool?
    package var proofs = WordSet<IdentityProof>.all
    package var intensity: IntensityCondition?
    private var minutes: Ranges<Int>?
    package var power: PowerCondition?

    package init() {}

    /// Minutes of the week.
    package var times: RangeSet<Int>? {
        get { self.minutes?.set }
        set { self.minutes = newValue.map { Ranges($0) } }
    }

    /// What a rule can ask about, each named as the key that asks.
    package struct Keys: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let app = Keys(rawValue: 1 << 0)
        package static let preset = Keys(rawValue: 1 << 1)
        package static let state = Keys(rawValue: 1 << 2)
        package static let locked = Keys(rawValue: 1 << 3)
        package static let grant = Keys(rawValue: 1 << 4)
        package static let activity = Keys(rawValue: 1 << 5)
        package static let assertion = Keys(rawValue: 1 << 6)
        package static let identity = Keys(rawValue: 1 << 7)
        package static let intensity = Keys(rawValue: 1 << 8)
        package static let time = Keys(rawValue: 1 << 9)
        package static let power = Keys(rawValue: 1 << 10)

        package static let names: [(key: Keys, name: String)] = [
            (.app, "WhenApp"), (.preset, "WhenPreset"), (.state, "WhenState"), (.locked, "WhenLocked"),
            (.grant, "WhenGrant"), (.activity, "WhenActivity"), (.assertion, "WhenAssertion"),
            (.identity, "WhenIdentity"), (.intensity, "WhenIntensity"), (.time, "WhenTime"), (.power, "WhenPower"),
        ]

        package var names: [String] { Self.names.filter { self.contains($0.key) }.map(\.name) }
        /// Each of them for itself.
        package var elements: [Keys] { Self.names.map(\.key).filter { self.contains($0) } }
        package var count: Int { self.rawValue.nonzeroBitCount }
    }

    /// The conditions that do not hold, apart from app, preset and intensity.
    ///
    /// App and preset never change for a detector, so they are settled when it is registered.
    package func unmet(_ app: AppFacts, _ device: DeviceFacts) -> Keys {
        var unmet = Keys()
        if !self.states.contains(app.state) { unmet.insert(.state) }
        if let locked = self.locked, locked != device.isLocked { unmet.insert(.locked) }
        if !self.grants.holds(for: app.grants) { unmet.insert(.grant) }
        if !self.activities.holds(for: app.countingActivities) { unmet.insert(.activity) }
        if let assertion = self.assertion, assertion != app.hasAssertion { unmet.insert(.assertion) }
        if !self.proofs.contains(app.proof) { unmet.insert(.identity) }
        if let minutes = self.minutes, !minutes.contains(device.minuteOfWeek) { unmet.insert(.time) }
        if let power = self.power, !power.holds(for: device.power) { unmet.insert(.power) }
        return unmet
    }
}

/// A condition on a set of modes: at least one of `any`, if that is asked, and none of `except`.
package struct ModeCondition: Hashable, Sendable {
    package var any: WordSet<BackgroundMode>?
    package var except: WordSet<BackgroundMode>

    package init(any: WordSet<BackgroundMode>? = nil, except: WordSet<BackgroundMode> = .none) {
        self.any = any
        self.except = except
    }

    package var isOpen: Bool { self.any == nil && self.except.isEmpty }

    package func holds(for modes: WordSet<BackgroundMode>) -> Bool {
        if let any = self.any, any.isDisjoint(with: modes) { return false }
        return self.except.isDisjoint(with: modes)
    }
}

/// A condition on how strong a motion was. Detectors that measure something else never meet it.
package struct IntensityCondition: Equatable, Sendable {
    package let dimension: Dimension
    private let values: Ranges<Double>

    package init(dimension: Dimension, ranges: RangeSet<Double>) {
        self.dimension = dimension
        self.values = Ranges(ranges)
    }

    package var ranges: RangeSet<Double> { self.values.set }

    package func holds(for intensity: Double, _ dimension: Dimension) -> Bool {
        dimension == self.dimension && self.values.contains(intensity)
    }

    /// Whether there is an intensity for which it holds.
    package func canHold(_ dimension: Dimension) -> Bool { dimension == self.dimension && !self.values.isEmpty }
}

/// A condition on what the device runs on: on AC, or on battery with a charge in `charges`.
package struct PowerCondition: Equatable, Sendable {
    package let ac: Bool
    private let known: Ranges<Double>
    package let unknownCharge: Bool

    package init(ac: Bool, charges: RangeSet<Double>, unknownCharge: Bool) {
        self.ac = ac
        self.known = Ranges(charges)
        self.unknownCharge = unknownCharge
    }

    /// An unknown charge is in no range but the full one.
    package var charges: RangeSet<Double> { self.known.set }

    /// Every charge a battery can report.
    package static let anyCharge = RangeSet(0.0..<Double(1).nextUp)

    package func holds(for power: Power) -> Bool {
        switch power {
        case .ac: self.ac
        case .battery(.none): self.unknownCharge
        case .battery(.some(let charge)): self.known.contains(charge)
        }
    }
}
