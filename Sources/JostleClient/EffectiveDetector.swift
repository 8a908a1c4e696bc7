import DBus
package import Motion
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
        /// What a value is, for who writes it down otherwise than as text.
        package enum Content: Hashable, Sendable {
            case text(String)
            case number(Double)
            case whole(UInt32)
            case time(TimeSpan)
            case flag(Bool)
        }

        /// The option's key.
        public var key: String
        /// Its value.
        public var value: String
        /// The same as what it is.
        package var content: Content
    }
}

extension EffectiveDetector {
    init(_ name: String, _ options: [String: Value]) {
        self.name = name
        self.warnings = []
        self.settings = []
        for (key, value) in options.sorted(by: { $0.key < $1.key }) {
            if key == DetectorKey.warnings {
                self.warnings = WarningRow.rows(of: value).map { Warning(id: $0.id, text: $0.text) }
            } else {
                self.settings.append(Setting(key, value))
            }
        }
    }
}

extension EffectiveDetector.Setting {
    fileprivate init(_ key: String, _ value: Value) {
        self.key = key
        self.value = value.plainText
        switch value {
        // Of what is in force only times are such numbers.
        case .uint64(let count):
            let time = TimeSpan(microseconds: Int64(clamping: count))
            self.content = .time(time)
            self.value = time.text
        case .uint32(let number): self.content = .whole(number)
        case .double(let number): self.content = .number(number)
        case .boolean(let flag): self.content = .flag(flag)
        default: self.content = .text(self.value)
        }
    }
}
