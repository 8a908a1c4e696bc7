package import Motion

/// What an app wants to react to: a name of its own and a preset, or a condition, with options.
///
///     Detector("skip", preset: "shake", options: ["sensitivity": "pocket"])
///     Detector("bump", when: "hypot(x, y) > 2.3g", options: ["every": "100ms"])
public struct Detector: Hashable, Sendable {
    /// The value of an option.
    public enum Option: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByFloatLiteral,
        ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
    {
        /// Text, also for numbers with a unit: `"2.3g"`, `"100ms"`.
        case text(String)
        /// A number in the option's own unit: g, Hz, degrees.
        case number(Double)
        /// A whole number; microseconds where the option is a time.
        case count(UInt64)
        /// Yes or no.
        case flag(Bool)

        /// Text.
        public init(stringLiteral value: String) { self = .text(value) }
        /// A number.
        public init(floatLiteral value: Double) { self = .number(value) }
        /// A number: what is whole counts as one of the option's own unit, not as microseconds.
        public init(integerLiteral value: Int) { self = .number(Double(value)) }
        /// Yes or no.
        public init(booleanLiteral value: Bool) { self = .flag(value) }
    }

    /// The app's own name for the detector. Adding one of the same name replaces it.
    public var name: String
    /// The options, `preset` or `when` among them.
    public var options: [String: Option]

    /// A detector from a preset.
    public init(_ name: String, preset: String, options: [String: Option] = [:]) {
        self.name = name
        self.options = options
        self.options["preset"] = .text(preset)
    }

    /// A detector with a condition of its own.
    public init(_ name: String, when condition: String, options: [String: Option] = [:]) {
        self.name = name
        self.options = options
        self.options["when"] = .text(condition)
    }

    package var request: DetectorRequest {
        DetectorRequest(
            name: self.name,
            options: self.options.mapValues { option in
                switch option {
                case .text(let text): .text(text)
                case .number(let number): .number(number)
                case .count(let count): .count(count)
                case .flag(let flag): .flag(flag)
                }
            })
    }
}

/// What is in force for a detector, as the broker answered.
public struct EffectiveDetector: Hashable, Sendable {
    /// The app's own name for the detector.
    public var name: String
    /// Everything that is in force, as text: `preset`, `threshold`, `every`, …, in order of the keys.
    public var settings: [Setting]
    /// What the broker thinks you should know, a sentence each.
    public var warnings: [String]

    /// One thing in force.
    public struct Setting: Hashable, Sendable {
        /// The option's key.
        public var key: String
        /// Its value.
        public var value: String
    }
}

/// An event: a detector of ours was hit, and the broker decided that we react.
public struct MotionEvent: Hashable, Sendable {
    /// What an event is known by, beyond one run of a program.
    public struct Name: Hashable, Sendable {
        /// The event's number.
        public var sequence: UInt64
        /// The event's epoch.
        public var epoch: UInt64

        /// The name of an event that an earlier run has had.
        public init(sequence: UInt64, epoch: UInt64) {
            self.sequence = sequence
            self.epoch = epoch
        }
    }

    /// Counts what was due to this app, from 1. Numbers left out stand in an `EventGap`.
    public var sequence: UInt64
    /// One number for one decision of the broker, never used twice.
    public var epoch: UInt64
    /// The time of the sample that decided: CLOCK_BOOTTIME microseconds.
    public var time: UInt64
    /// The app's own name for the detector.
    public var detector: String
    /// The largest value the detector's quantity had had by then.
    public var peak: Double
    /// The motion was made or replayed, not measured now.
    public var isSimulated: Bool
    /// A sample that led to it lay at the limit of the sensor's range: the motion may have been harder than the peak says.
    public var isClipped: Bool
    /// The broker sends the event again until we answer it.
    public var wantsAck: Bool
    /// We may pass the event on until then: CLOCK_BOOTTIME microseconds; `nil` when nobody is next.
    public var answerBy: UInt64?
    /// It was sent before, and we may have had it.
    public var isRedelivered: Bool
    /// The event is on the broker's disk and outlives it.
    public var isPersistent: Bool
    /// What happened, where the preset tells it: `enter` or `leave` of a geofence, `arrive` or `depart` of a visit.
    public var transition: String?
    /// Where the preset measures one, in metres: from the last report, or from a geofence's centre.
    public var distance: Double?
    /// The filter that `location.adaptive` has in force, in metres.
    public var filter: Double?
    /// How long a visit has lasted, in microseconds.
    public var stay: UInt64?
    /// When the event reached us: CLOCK_BOOTTIME microseconds.
    public var received: UInt64

    /// What it is known by.
    public var name: Name { Name(sequence: self.sequence, epoch: self.epoch) }
}

/// Events that were due to us and that we do not get.
public struct EventGap: Hashable, Sendable {
    /// The first number.
    public var first: UInt64
    /// The last number.
    public var last: UInt64
    /// How many gave way to newer ones because we did not read.
    public var dropped: UInt64
    /// How many grew too old.
    public var expired: UInt64
    /// How many had lost what they were for.
    public var removed: UInt64

    /// How many there are.
    public var count: UInt64 { self.last &- self.first &+ 1 }
}

/// Why something could not be done.
public struct JostleError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds a program may want to tell apart.
    public enum Kind: Hashable, Sendable {
        /// There is no bus, or no broker on it.
        case noService
        /// The broker refused, and says why.
        case refused
        /// The request made no sense to it.
        case invalid
        /// Anything else.
        case failed
    }

    /// What kind it is.
    public var kind: Kind
    /// The D-Bus error name.
    public var name: String
    /// What happened, for people.
    public var message: String

    /// What happened, for people.
    public var description: String { self.message.isEmpty ? self.name : self.message }
}
