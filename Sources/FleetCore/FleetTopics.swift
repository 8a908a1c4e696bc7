import Motion

/// The topics of one device: what is sent, what is heard, and who says it.
///
/// The version of the topics stands in them. What changes so that a consumer would have to know of it gets another.
package struct FleetTopics: Hashable, Sendable {
    package static let version = "1"
    package static let root = "jostle/\(version)"

    package let device: String

    package init(device: String) { self.device = device }

    private var base: String { "\(Self.root)/\(self.device)" }

    // MARK: Up

    /// Whether the bridge is connected; retained, and the will.
    package var presence: String { "\(self.base)/presence" }
    /// What the device is and publishes; retained.
    package var birth: String { "\(self.base)/birth" }
    /// An event of a detector of the bridge's, now.
    package func event(of detector: String) -> String { "\(self.base)/event/\(Self.level(detector))" }
    /// An event of another app, now.
    package func event(of detector: String, for app: String) -> String {
        "\(self.base)/apps/\(Self.level(app))/event/\(Self.level(detector))"
    }
    /// A verdict, now.
    package func verdict(for app: String) -> String { "\(self.base)/apps/\(Self.level(app))/verdict" }
    /// Events and verdicts of before, in order: never a topic on which something reacts.
    package var pastEvents: String { "\(self.base)/past/event" }
    package var pastVerdicts: String { "\(self.base)/past/verdict" }
    /// What the journal does not have any more, and was not sent.
    package var gap: String { "\(self.base)/gap" }
    /// How far the device came; retained. The bridge reads it, too: what the server remembers of it is what it remembers at all.
    package var position: String { "\(self.base)/position" }
    /// The state of an app, and of a sensor; retained.
    package func state(of app: String) -> String { "\(self.base)/apps/\(Self.level(app))/state" }
    package func sensor(_ name: String) -> String { "\(self.base)/sensors/\(Self.level(name))" }
    /// What is counted; retained.
    package var counters: String { "\(self.base)/counters" }
    /// What came of what is wanted; retained.
    package var reported: String { "\(self.base)/reported" }

    // MARK: Down

    /// A consumer says how far it has it.
    package func acknowledgement(of consumer: String) -> String { "\(self.base)/ack/\(Self.level(consumer))" }
    /// What is wanted of the device; retained.
    package var desired: String { "\(self.base)/desired" }
    /// What is wanted of each device of a group; retained.
    package static func desired(ofGroup group: String) -> String { "\(self.root)/@\(self.level(group))/desired" }
    /// A question, with a topic for the answer.
    package func request(_ verb: String) -> String { "\(self.base)/request/\(Self.level(verb))" }
    /// All questions.
    package var requests: String { "\(self.base)/request/+" }

    /// What one asked for, by its topic; `nil` for another topic.
    package func verb(of topic: String) -> String? {
        let prefix = "\(self.base)/request/"
        guard topic.hasPrefix(prefix) else { return nil }
        let verb = topic.dropFirst(prefix.count)
        return verb.isEmpty || verb.contains("/") ? nil : String(verb)
    }

    // MARK: Names

    /// The longest name of a device or group.
    package static let longestName = 64

    /// Whether a device, group or consumer may be called so: letters, digits, '-', '_' and '.'.
    package static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= self.longestName
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x2D || byte == 0x5F
                    || byte == 0x2E
            }
    }

    private static let hex = Array("0123456789ABCDEF".utf8)

    /// A name as one level of a topic: what means something there, or is refused there, is written as %XX for each byte.
    package static func level(_ name: String) -> String {
        guard !name.unicodeScalars.allSatisfy(self.isPlain) else { return name }
        var bytes: [UInt8] = []
        for scalar in name.unicodeScalars {
            guard !self.isPlain(scalar) else {
                bytes += scalar.utf8
                continue
            }
            for byte in scalar.utf8 {
                bytes += [UInt8(ascii: "%"), self.hex[Int(byte >> 4)], self.hex[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether it may stand in a topic. MQTT lets a server refuse control characters and what is no character, and some do.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0xFDD0...0xFDEF: false
        default: scalar.value & 0xFFFE != 0xFFFE && !["/", "+", "#", "%"].contains(scalar)
        }
    }
}
