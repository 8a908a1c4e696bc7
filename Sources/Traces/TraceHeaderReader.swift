import Motion

/// Reads the lines between the first line of a trace and its rows, and puts together what they say.
struct TraceHeaderReader: Sendable {
    enum Outcome {
        case more
        case complete(TraceHeader, [SensorColumns])
    }

    /// What is wrong with the line at hand.
    struct Problem: Swift.Error {
        /// Offset in the line, in bytes.
        var offset: Int
        var message: String
    }

    private var sensor: String?
    private var unit: String?
    /// `accelerometer.unit: m/s2`, for traces of several sensors.
    private var units: [(sensor: String, unit: String)] = []
    /// `range: 16`, and `accelerometer.range: 16` for traces of several sensors; without a name, of the only one.
    private var ranges: [(sensor: String?, range: Double)] = []
    private var notes: [TraceHeader.Note] = []

    mutating func read(_ line: String) throws(Problem) -> Outcome {
        let text = TraceReader.trimmed(line)
        if text.isEmpty { return .more }
        guard text.hasPrefix("#") else { return try self.readColumns(line) }
        // What has no key is a remark for people.
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return .more }
        let key = TraceReader.trimmed(TraceReader.trimmed(line[..<colon]).dropFirst())
        guard TraceLimits.isKey(key) else { return .more }
        let rest = line[line.utf8.index(after: colon)...]
        let offset = line.utf8.count - rest.drop { $0 == " " || $0 == "\t" }.utf8.count
        try self.note(key, TraceReader.trimmed(rest), offset)
        return .more
    }

    private mutating func note(_ key: String, _ value: String, _ offset: Int) throws(Problem) {
        guard TraceLimits.isText(value) else {
            throw Problem(offset: offset, message: "the value of '\(key)' is too long or has control characters")
        }
        if key == "sensor" {
            guard self.sensor == nil else { throw Problem(offset: offset, message: "'sensor' stands here twice") }
            guard TraceLimits.isName(value) else {
                throw Problem(
                    offset: offset, message: "expected the name of a sensor, found '\(printable(value))'")
            }
            self.sensor = value
        } else if key == "unit" {
            guard self.unit == nil else { throw Problem(offset: offset, message: "'unit' stands here twice") }
            self.unit = value
        } else if key.hasSuffix(".unit") {
            let name = String(key.dropLast(5))
            guard !self.units.contains(where: { $0.sensor == name }) else {
                throw Problem(offset: offset, message: "'\(key)' stands here twice")
            }
            guard self.units.count < TraceLimits.sensors else {
                throw Problem(offset: 0, message: "more than \(TraceLimits.sensors) sensors")
            }
            self.units.append((name, value))
        } else if key == "range" || key.hasSuffix(".range") {
            try self.range(key, value, offset)
        } else {
            guard self.notes.count < TraceLimits.notes else {
                throw Problem(offset: 0, message: "more than \(TraceLimits.notes) notes")
            }
            self.notes.append(TraceHeader.Note(key: key, value: value))
        }
    }

    private mutating func range(_ key: String, _ value: String, _ offset: Int) throws(Problem) {
        let name = key == "range" ? nil : String(key.dropLast(6))
        guard !self.ranges.contains(where: { $0.sensor == name }) else {
            throw Problem(offset: offset, message: "'\(key)' stands here twice")
        }
        guard self.ranges.count < TraceLimits.sensors else {
            throw Problem(offset: 0, message: "more than \(TraceLimits.sensors) sensors")
        }
        let bytes = Array(value.utf8)
        guard decimalPrefix(of: bytes.span) == bytes.count, let range = Double(value), range.isFinite, range > 0 else {
            throw Problem(offset: offset, message: "expected a number above 0, found '\(printable(value))'")
        }
        self.ranges.append((name, range))
    }

    // MARK: Columns

    private func readColumns(_ line: String) throws(Problem) -> Outcome {
        var sensors: [TraceSensor] = []
        var offset = 0
        for (index, cell) in line.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let name = TraceReader.trimmed(cell)
            if index == 0 {
                guard name == "t" else {
                    throw Problem(
                        offset: 0, message: "expected the columns, such as 't,x,y,z', found '\(printable(line))'")
                }
            } else {
                try self.addColumn(name, offset, to: &sensors)
            }
            offset += cell.utf8.count + 1
        }
        guard !sensors.isEmpty else {
            throw Problem(offset: line.utf8.count, message: "expected a channel after 't'")
        }
        if let sensor = self.sensor, sensors.count > 1 || sensors[0].name != sensor {
            throw Problem(
                offset: 0, message: "the trace says 'sensor: \(sensor)', but its columns name other sensors")
        }
        var columns: [SensorColumns] = []
        for index in sensors.indices {
            let (unit, factor) = try self.unit(of: sensors[index].name, isOnly: sensors.count == 1)
            sensors[index].unit = unit
            let range = try self.range(of: sensors[index].name, isOnly: sensors.count == 1)
            sensors[index].range = range.map { $0 * factor }.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
            columns.append(SensorColumns(count: sensors[index].channels.count, factor: factor))
        }
        let named =
            self.units.map { ($0.sensor, "unit") }
            + self.ranges.compactMap { range in
                range.sensor.map { ($0, "range") }
            }
        if let (sensor, key) = named.first(where: { name, _ in !sensors.contains { $0.name == name } }) {
            throw Problem(offset: 0, message: "'\(sensor).\(key)' is given, but no column of '\(sensor)'")
        }
        return .complete(TraceHeader(sensors: sensors, notes: self.notes), columns)
    }

    /// Adds a column, `x` of the header's sensor or `accelerometer.x`; columns of one sensor stand side by side.
    private func addColumn(_ name: String, _ offset: Int, to sensors: inout [TraceSensor]) throws(Problem) {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let last = parts.last, parts.allSatisfy({ TraceLimits.isName($0) }) else {
            throw Problem(offset: offset, message: "expected the name of a channel, found '\(printable(name))'")
        }
        let channel = String(last)
        let sensor: String
        if parts.count == 2 {
            sensor = String(parts[0])
        } else if let only = self.sensor {
            sensor = only
        } else {
            throw Problem(
                offset: offset,
                message: "whose channel is '\(channel)'? expected '# sensor: NAME' above, or 'SENSOR.\(channel)'")
        }
        if let known = sensors.firstIndex(where: { $0.name == sensor }) {
            guard known == sensors.count - 1 else {
                throw Problem(offset: offset, message: "the columns of '\(sensor)' do not stand side by side")
            }
            guard !sensors[known].channels.contains(channel) else {
                throw Problem(offset: offset, message: "the column '\(name)' stands here twice")
            }
            guard sensors[known].channels.count < SensorLimits.channels else {
                throw Problem(offset: offset, message: "more than \(SensorLimits.channels) channels of '\(sensor)'")
            }
            sensors[known].channels.append(channel)
        } else {
            guard sensors.count < TraceLimits.sensors else {
                throw Problem(offset: offset, message: "more than \(TraceLimits.sensors) sensors")
            }
            sensors.append(TraceSensor(name: sensor, channels: [channel], unit: ""))
        }
    }

    // MARK: Units

    /// The range of a sensor, in the unit that its values are written in.
    private func range(of sensor: String, isOnly: Bool) throws(Problem) -> Double? {
        let own = self.ranges.first { $0.sensor == sensor }?.range
        guard let common = self.ranges.first(where: { $0.sensor == nil })?.range else { return own }
        guard isOnly, own == nil else {
            throw Problem(
                offset: 0,
                message: isOnly ? "'range' stands here twice" : "expected '\(sensor).range' instead of 'range'")
        }
        return common
    }

    /// The unit that a sensor's values are handed out in, and the factor to it from the one they are written in.
    private func unit(of sensor: String, isOnly: Bool) throws(Problem) -> (name: String, factor: Double) {
        let own = self.units.first { $0.sensor == sensor }?.unit
        if self.unit != nil, !isOnly || own != nil {
            throw Problem(
                offset: 0, message: isOnly ? "'unit' stands here twice" : "expected '\(sensor).unit' instead of 'unit'")
        }
        let written = own ?? self.unit
        if let units = TraceSensor.units(of: sensor) {
            guard written == nil || written == units else {
                throw Problem(
                    offset: 0,
                    message: "expected the unit of '\(sensor)' to be \(units), found '\(printable(written ?? ""))'")
            }
            return (units, 1)
        }
        guard let dimension = TraceSensor.dimension(of: sensor) else { return (written ?? "", 1) }
        guard let written else { return (dimension.canonicalUnit, 1) }
        guard let unit = Unit.named(written), unit.dimension == dimension else {
            let known = Unit.all.filter { $0.dimension == dimension }.map(\.name)
            throw Problem(
                offset: 0,
                message: "expected the unit of '\(sensor)' to be one of \(known.joined(separator: ", ")), "
                    + "found '\(printable(written))'")
        }
        return (dimension.canonicalUnit, unit.factor)
    }
}
