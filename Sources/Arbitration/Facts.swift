package import Motion

/// What is known of an app when it comes.
package struct AppEntrance: Equatable, Sendable {
    package var proof: IdentityProof
    /// False when the app was once proven better than it is now.
    package var isProvenEnough: Bool
    /// The modes that its app file asks for.
    package var declared: WordSet<BackgroundMode>
    /// Its app file says that it is at work in audio while its player plays.
    package var hasPlayer: Bool
    /// The state that it is said to be in, whatever else is the case.
    package var told: AppState?
    /// False for an app that exists without being on the bus.
    package var isConnected: Bool
    /// Whose it is, if it is somebody's: launches that fail keep only those of the same user from being tried again at once.
    package var user: UInt32?

    package init(
        proof: IdentityProof = .name, isProvenEnough: Bool = true, declared: WordSet<BackgroundMode> = .all,
        hasPlayer: Bool = false, told: AppState? = nil, isConnected: Bool = true, user: UInt32? = nil
    ) {
        self.proof = proof
        self.isProvenEnough = isProvenEnough
        self.declared = declared
        self.hasPlayer = hasPlayer
        self.told = told
        self.isConnected = isConnected
        self.user = user
    }
}

/// What rules see of an app.
package struct AppFacts: Equatable, Sendable {
    package var state: AppState
    package var proof: IdentityProof
    /// False when the app was once proven better than it is now.
    package var isProvenEnough: Bool
    package var grants: WordSet<BackgroundMode>
    /// Modes it is at work in. One that is not granted counts for nothing.
    package var activities: WordSet<BackgroundMode>
    package var hasAssertion: Bool
    /// The number of what was said, if that is why it is not in the foreground; 0: it is not, or in a verdict, which has what
    /// was said. No rule sees it.
    package var report: UInt32 = 0
    /// When the user last had to do with it, as far as the broker saw that itself.
    package var lastUsed: Timestamp

    package init(
        state: AppState = .foreground, proof: IdentityProof = .name, isProvenEnough: Bool = true,
        grants: WordSet<BackgroundMode> = .none, activities: WordSet<BackgroundMode> = .none,
        hasAssertion: Bool = false, lastUsed: Timestamp = Timestamp(microseconds: .min)
    ) {
        self.state = state
        self.proof = proof
        self.isProvenEnough = isProvenEnough
        self.grants = grants
        self.activities = activities
        self.hasAssertion = hasAssertion
        self.lastUsed = lastUsed
    }

    /// The same as verdicts keep it.
    var ofVerdict: AppFacts {
        var facts = self
        facts.report = 0
        return facts
    }

    /// The activities that count.
    package var countingActivities: WordSet<BackgroundMode> { self.activities.intersection(self.grants) }
}

/// What the device runs on.
package enum Power: Equatable, Sendable {
    case ac
    /// On battery, with this share of a full charge left, if that is known.
    case battery(Double?)
}

/// What rules see of the device.
package struct DeviceFacts: Equatable, Sendable {
    package var isLocked: Bool
    package var power: Power
    /// Wall-clock minutes since Monday 00:00, local time.
    package var minuteOfWeek: Int

    package static let minutesOfWeek = 7 * 24 * 60

    package init(isLocked: Bool = false, power: Power = .ac, minuteOfWeek: Int = 0) {
        self.isLocked = isLocked
        self.power = power
        self.minuteOfWeek = minuteOfWeek
    }
}

/// What rules and rankings see of a detector.
package struct DetectorFacts: Equatable, Sendable {
    /// The app's own name for it.
    package var name: String
    /// Empty for a detector with a condition of its own.
    package var preset: String
    /// What it listens to.
    package var sensor: String
    /// The constant its quantity must pass; `nil` when there is not one.
    package var threshold: Double?
    /// What its intensity measures.
    package var dimension: Dimension
    /// The shortest time between two hits.
    package var rest: TimeSpan
    /// True: registration counts as the last hit.
    package var startsResting: Bool
    /// False while its sensor is not there.
    package var isAvailable: Bool

    package init(
        name: String, preset: String = "", sensor: String = SensorDescription.accelerometer,
        threshold: Double? = nil, dimension: Dimension = .acceleration,
        rest: TimeSpan = .seconds(1), startsResting: Bool = false, isAvailable: Bool = true
    ) {
        self.name = name
        self.preset = preset
        self.sensor = sensor
        self.threshold = threshold
        self.dimension = dimension
        self.rest = rest
        self.startsResting = startsResting
        self.isAvailable = isAvailable
    }

    /// What kind of motion it finds, in one word: the first part of its preset's name, or the sensor that is not the usual one.
    package var kind: String {
        let name = self.preset.hasPrefix("system.") ? self.preset.dropFirst("system.".count) : self.preset[...]
        if let first = name.split(separator: ".").first { return String(first) }
        return self.sensor == SensorDescription.accelerometer ? "motion" : self.sensor
    }
}
