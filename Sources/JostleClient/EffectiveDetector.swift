import DBus
import Motion
import Protocol

/// What is in force for a detector, as the broker answered.
public struct EffectiveDetector: Hashable, Sendable {
    /// The app's own name for the detector.
    public var name: String
    /// Everything that is in force, as text: `preset`, `threshold`, `every`, …, in order of the keys.
    public var settings: [Setting]
    /// What the broker thinks you should know.
    public var warnings: [Warning]

    /// What is allowed and probably not meant.
    public struct Warning: Hashable, Sendable, CustomStringConvertible {
        /// A word for programs, such as `threshold-unreachable`.
        public var id: String
        /// A sentence for people.
        public var text: String

        /// The sentence.
        public var description: String { self.text }
    }

    /// One thing in force.
    public struct Setting: Hashable, Sendable {
        /// The option's key.
        public var key: String
        /// Its value.
        public var value: String
    }
}

extension EffectiveDetector {
    /// Of what is in force only times are such numbers.
    private static func text(_ value: Value) -> String {
        if case .uint64(let count) = value {
            TimeSpan(microseconds: Int64(clamping: count)).text
        } else {
            value.plainText
        }
    }

    init(_ name: String, _ options: [String: Value]) {
        self.name = name
        self.warnings = []
        self.settings = []
        for (key, value) in options.sorted(by: { $0.key < $1.key }) {
            if key == "warnings" {
                self.warnings = WarningRow.rows(of: value).map { Warning(id: $0.id, text: $0.text) }
            } else {
                self.settings.append(Setting(key: key, value: Self.text(value)))
            }
        }
    }
}
