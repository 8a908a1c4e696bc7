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
