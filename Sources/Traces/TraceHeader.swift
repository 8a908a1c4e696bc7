import Motion

/// What stands before the rows of a trace: the sensors it holds, and remarks about it.
package struct TraceHeader: Hashable, Sendable {
    /// A line `# key: value` that is neither about a sensor nor about a unit.
    package struct Note: Hashable, Sendable {
        package var key: String
        package var value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }

        /// Whether a value reads back as it is.
        package static func canHold(_ value: String) -> Bool {
            TraceLimits.isText(value) && TraceReader.trimmed(value) == value
        }
    }

    /// The sensors, in the order of their columns. A block of the reader has the same index as its sensor.
    package var sensors: [TraceSensor]
    /// `label`, `source` and whatever else was said.
    package var notes: [Note]

    package init(sensors: [TraceSensor], notes: [Note] = []) {
        self.sensors = sensors
        self.notes = notes
    }

    /// The first note of a key.
    package subscript(key: String) -> String? { self.notes.first { $0.key == key }?.value }

    /// Where a sensor's block stands, `nil` when the trace has no such sensor.
    package func index(of sensor: String) -> Int? { self.sensors.firstIndex { $0.name == sensor } }
}

/// One sensor of a trace.
package struct TraceSensor: Hashable, Sendable {
    package var name: String
    /// The channels in the order of their columns.
    package var channels: [String]
    /// The unit of the values as they are handed out: the canonical one for the sensors we know.
    package var unit: String
    /// The largest magnitude that a channel could show, in `unit`; `nil` when the trace does not say.
    package var range: Double?

    package init(name: String, channels: [String], unit: String, range: Double? = nil) {
        self.name = name
        self.channels = channels
        self.unit = unit
        self.range = range
    }

    /// What a sensor measures, if all its channels measure the same thing and we know it.
    static func dimension(of name: String) -> Dimension? {
        switch name {
        case "accelerometer": .acceleration
        case "gyroscope": .angularVelocity
        case "light": .illuminance
        default: nil
        }
    }

    /// What the values of a sensor are always written in, where each channel measures something else.
    static func units(of name: String) -> String? {
        name == SensorDescription.location ? SensorDescription.locationUnits : nil
    }
}

/// What is wrong with a trace, and where.
package struct TraceProblem: Swift.Error, Hashable, Sendable, CustomStringConvertible {
    /// From 1.
    package var line: Int
    /// In bytes, from 1.
    package var column: Int
    package var message: String

    package init(line: Int, column: Int, message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    /// To be put behind the name of the file and a colon.
    package var description: String { "\(self.line):\(self.column): \(self.message)" }
}

/// The bounds of the format. They keep the memory for one trace small, whatever is in the file.
package enum TraceLimits {
    /// Bytes in a line, its end not counted.
    package static let line = 16_384
    /// Sensors in a trace.
    package static let sensors = 16
    /// Notes in a header.
    package static let notes = 64
    /// Bytes in the name of a sensor, a channel or a note.
    package static let name = 64

    /// What a satellite's distance may be off, in m: with the geometry (HDOP) it makes the accuracy of a track that does not
    /// tell it.
    static let rangeError = 5.0

    /// The first line of every trace.
    static let title = "# jostle trace 1"

    /// Whether `name` can be the name of a sensor or a channel.
    static func isName(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && name.utf8.count <= self.name
            && name.utf8.allSatisfy {
                ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 <= 9 || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }

    /// Whether `key` can be the key of a note: names, joined by dots.
    static func isKey(_ key: some StringProtocol) -> Bool {
        key.utf8.count <= self.name
            && key.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { self.isName($0) }
    }

    /// Whether `text` fits into one line and shows as it is.
    static func isText(_ text: some StringProtocol) -> Bool {
        text.utf8.count <= self.line / 2 && text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }
}
