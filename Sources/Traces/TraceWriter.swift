package import Motion

/// Writes a trace into a buffer that the caller empties.
///
/// Numbers stand in their shortest form that reads back as the same Double. Readings of several sensors at one time share
/// a row, so the last row is complete only after `finish`.
package struct TraceWriter: Sendable {
    /// Why something cannot be written. The buffer is as before.
    package enum Problem: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The header would not read back as it is: what is wrong with it.
        case header(String)
        /// There is no such sensor, or it has another number of channels.
        case shape
        /// A value is NaN or infinite.
        case notFinite
        /// The time is not after the row before, or before zero.
        case notRising

        package var description: String {
            switch self {
            case .header(let problem): problem
            case .shape: "there is no such sensor, or it has another number of channels"
            case .notFinite: "a value is not finite"
            case .notRising: "the time is not after that of the row before"
            }
        }
    }

    /// What was written and not taken yet.
    package private(set) var bytes: [UInt8] = []

    private let header: TraceHeader
    /// The row in the making: the values of all sensors, and which of them have been read.
    private var cells: [Double]
    private var isFilled: [Bool]
    private var firstCell: [Int] = []
    private var time: Int64 = -1

    /// Starts a trace with its header.
    package init(_ header: TraceHeader) throws(Problem) {
        try Self.check(header)
        self.header = header
        var cells = 0
        for sensor in header.sensors {
            self.firstCell.append(cells)
            cells += sensor.channels.count
        }
        self.cells = [Double](repeating: 0, count: cells)
        self.isFilled = [Bool](repeating: false, count: header.sensors.count)
        self.writeHeader()
    }

    /// Forgets the bytes that were taken and keeps the memory.
    package mutating func removeBytes() {
        self.bytes.removeAll(keepingCapacity: true)
    }

    /// Writes one reading. `sensor` is its index in the header.
    package mutating func append(_ time: Timestamp, _ row: Span<Double>, sensor: Int = 0) throws(Problem) {
        guard self.header.sensors.indices.contains(sensor), row.count == self.header.sensors[sensor].channels.count
        else { throw .shape }
        for index in row.indices where !row[index].isFinite { throw .notFinite }
        let isSameRow = time.microseconds == self.time && !self.isFilled[sensor] && self.isFilled.contains(true)
        // The reader takes 18 digits.
        guard isSameRow || time.microseconds > self.time, time.microseconds < 1_000_000_000_000_000_000 else {
            throw .notRising
        }
        if !isSameRow { self.finish() }
        self.time = time.microseconds
        for index in row.indices { self.cells[self.firstCell[sensor] + index] = row[index] }
        self.isFilled[sensor] = true
        if self.isFilled.count == 1 { self.finish() }
    }

    /// Writes out the last row.
    package mutating func finish() {
        guard self.isFilled.contains(true) else { return }
        self.write("\(self.time)")
        for (index, sensor) in self.header.sensors.enumerated() {
            for cell in self.firstCell[index]..<self.firstCell[index] + sensor.channels.count {
                self.bytes.append(UInt8(ascii: ","))
                if self.isFilled[index] { self.write(self.cells[cell]) }
            }
            self.isFilled[index] = false
        }
        self.bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func writeHeader() {
        self.write("\(TraceLimits.title)\n")
        if self.header.sensors.count == 1 {
            self.write("# sensor: \(self.header.sensors[0].name)\n")
            if !self.header.sensors[0].unit.isEmpty { self.write("# unit: \(self.header.sensors[0].unit)\n") }
            if let range = self.header.sensors[0].range { self.write("# range: \(range)\n") }
        } else {
            for sensor in self.header.sensors where !sensor.unit.isEmpty {
                self.write("# \(sensor.name).unit: \(sensor.unit)\n")
            }
            for sensor in self.header.sensors {
                if let range = sensor.range { self.write("# \(sensor.name).range: \(range)\n") }
            }
        }
        for note in self.header.notes { self.write("# \(note.key): \(note.value)\n") }
        self.write("t")
        for sensor in self.header.sensors {
            for channel in sensor.channels {
                self.write(self.header.sensors.count == 1 ? ",\(channel)" : ",\(sensor.name).\(channel)")
            }
        }
        self.write("\n")
    }

    private mutating func write(_ text: String) {
        self.bytes.append(contentsOf: text.utf8)
    }

    private mutating func write(_ value: Double) {
        // The standard library writes the shortest digits that read back, but always a fraction.
        let text = value.description.utf8
        self.bytes.append(contentsOf: text)
        if self.bytes.last == UInt8(ascii: "0"), self.bytes.dropLast().last == UInt8(ascii: ".") {
            self.bytes.removeLast(2)
        }
    }

    /// Finds what would not read back.
    private static func check(_ header: TraceHeader) throws(Problem) {
        guard !header.sensors.isEmpty, header.sensors.count <= TraceLimits.sensors else {
            throw .header("a trace holds 1 to \(TraceLimits.sensors) sensors")
        }
        guard Set(header.sensors.map(\.name)).count == header.sensors.count else {
            throw .header("two sensors have the same name")
        }
        for sensor in header.sensors {
            guard TraceLimits.isName(sensor.name), sensor.channels.allSatisfy({ TraceLimits.isName($0) }) else {
                throw .header("a name of '\(printable(sensor.name))' is not made of letters, digits, '-' and '_'")
            }
            guard (1...SensorLimits.channels).contains(sensor.channels.count),
                Set(sensor.channels).count == sensor.channels.count
            else { throw .header("'\(sensor.name)' has no channel, too many, or one twice") }
            let canonical = TraceSensor.dimension(of: sensor.name)?.canonicalUnit ?? TraceSensor.units(of: sensor.name)
            guard canonical == nil || canonical == sensor.unit, TraceLimits.isText(sensor.unit),
                TraceReader.trimmed(sensor.unit) == sensor.unit
            else { throw .header("'\(printable(sensor.unit))' cannot be the unit of '\(sensor.name)'") }
            guard sensor.range.map({ $0.isFinite && $0 > 0 }) ?? true else {
                throw .header("the range of '\(sensor.name)' is not a number above 0")
            }
        }
        guard header.notes.count <= TraceLimits.notes else {
            throw .header("more than \(TraceLimits.notes) notes")
        }
        for note in header.notes {
            let last = note.key.split(separator: ".", omittingEmptySubsequences: false).last
            let isTaken = note.key == "sensor" || last == "unit" || last == "range"
            guard TraceLimits.isKey(note.key), !isTaken, TraceHeader.Note.canHold(note.value) else {
                throw .header("'\(printable(note.key))' cannot be a note of the trace")
            }
        }
    }
}
