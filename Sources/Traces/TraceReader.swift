package import Motion

/// Reads a trace from chunks of bytes of any size.
///
/// After each `feed` the rows that were complete stand in `blocks`, one block per sensor, in canonical units; the caller
/// takes them and calls `removeRows`, so that a trace of any length passes through the same memory. A trace with an
/// error is good up to the line before it; the reader then stays with that error.
///
/// Tracks of others are traces of the sensor `location`: GPX and NMEA 0183, known by how they begin.
package struct TraceReader: Sendable {
    enum State: Sendable {
        /// Before the first line.
        case start
        /// Between the first line and the columns.
        case header(TraceHeaderReader)
        case rows
        /// The bytes of a GPX file.
        case track(GPXReader)
        /// The lines of NMEA 0183.
        case sentences(NMEAReader)
        case failed(TraceProblem)
    }

    /// What stood before the rows; `nil` until the line with the columns was read.
    package private(set) var header: TraceHeader?
    /// The rows read since the last `removeRows`, one block per sensor of the header.
    package private(set) var blocks: [SampleBlock] = []
    /// How many rows were read since the start.
    package private(set) var rows = 0
    /// Fixes of a track that were left out: damaged, or not after the one before.
    package private(set) var leftOut = 0

    private var state = State.start
    /// The first bytes, as long as they do not say what kind of trace this is.
    private var beginning: [UInt8]? = []
    private var track = LocationTrack()
    /// The time of the first fix, from which a track's times count.
    private var trackStart: Int64?
    /// The number of the line being read, from 1.
    private var line = 1
    /// The part of a line that came with earlier chunks.
    private var carry: [UInt8] = []
    private let decimal = Decimal()

    /// What the columns mean: sensor by sensor, where its cells begin and what they are multiplied by.
    private var columns: [SensorColumns] = []
    private var cellCount = 0
    private var cells: [Double] = []
    private var lastTime: Int64 = -1

    package init() {}

    /// Forgets the rows that were handed out and keeps the memory.
    package mutating func removeRows() {
        for index in self.blocks.indices { self.blocks[index].removeAll() }
    }

    /// Reads the next bytes of the trace.
    package mutating func feed(_ bytes: Span<UInt8>) throws(TraceProblem) {
        if case .failed(let problem) = self.state { throw problem }
        if let beginning = self.beginning, bytes.count > 0 {
            try self.begin(beginning, bytes)
        } else if case .track = self.state {
            try self.readTrack(bytes)
        } else {
            try self.readLines(bytes)
        }
    }

    /// Looks at the first bytes for what kind of trace this is. Editors leave a byte order mark, which says nothing.
    private mutating func begin(_ known: [UInt8], _ bytes: Span<UInt8>) throws(TraceProblem) {
        var beginning = known
        for index in bytes.indices { beginning.append(bytes[index]) }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard beginning.count > mark.count || !mark.starts(with: beginning) else {
            self.beginning = beginning
            return
        }
        self.beginning = nil
        let first = beginning.starts(with: mark) ? mark.count : 0
        switch beginning[first] {
        case UInt8(ascii: "<"):
            self.state = .track(GPXReader())
            try self.readTrack(beginning.span.extracting(first..<beginning.count))
        case UInt8(ascii: "$"), UInt8(ascii: "!"):
            self.state = .sentences(NMEAReader())
            try self.readLines(beginning.span.extracting(first..<beginning.count))
        default:
            try self.readLines(beginning.span)
        }
    }

    private mutating func readLines(_ bytes: Span<UInt8>) throws(TraceProblem) {
        var start = 0
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != 0x0A { end += 1 }
            let isComplete = end < bytes.count
            guard self.carry.count + (end - start) <= TraceLimits.line else {
                throw self.fail(TraceLimits.line, "the line is longer than \(TraceLimits.line) bytes")
            }
            if isComplete, self.carry.isEmpty {
                try self.readLine(bytes.extracting(start..<end))
            } else {
                for index in start..<end { self.carry.append(bytes[index]) }
                if isComplete { try self.readCarry() }
            }
            start = end + 1
        }
    }

    /// Reads what is left when the trace has ended, its last line if that had no end.
    package mutating func finish() throws(TraceProblem) {
        if case .failed(let problem) = self.state { throw problem }
        if let beginning = self.beginning { try self.readLines(beginning.span) }
        self.beginning = nil
        if !self.carry.isEmpty { try self.readCarry() }
        switch self.state {
        case .track(let reader):
            do {
                try reader.finish()
            } catch {
                throw self.fail(error)
            }
            if self.header == nil { throw self.fail(0, "expected a point of a track, found the end of the trace") }
        case .sentences:
            if self.header == nil {
                throw self.fail(0, "expected an RMC sentence with a fix, found the end of the trace")
            }
        case .start: throw self.fail(0, "expected '\(TraceLimits.title)', found the end of the trace")
        case .header: throw self.fail(0, "expected the columns, such as 't,x,y,z', found the end of the trace")
        case .rows: break
        case .failed(let problem): throw problem
        }
    }

    private mutating func readCarry() throws(TraceProblem) {
        var line: [UInt8] = []
        swap(&line, &self.carry)
        try self.readLine(line.span)
        line.removeAll(keepingCapacity: true)
        swap(&line, &self.carry)
    }

    private mutating func readLine(_ whole: Span<UInt8>) throws(TraceProblem) {
        let length = whole.count > 0 && whole[whole.count - 1] == 0x0D ? whole.count - 1 : whole.count
        let line = whole.extracting(0..<length)
        switch self.state {
        case .rows:
            try self.readRow(line)
        case .start:
            // A byte order mark says nothing here; editors leave it.
            let hasMark = length >= 3 && line[0] == 0xEF && line[1] == 0xBB && line[2] == 0xBF
            let title = Self.text(line, (hasMark ? 3 : 0)..<length)
            guard Self.trimmed(title) == TraceLimits.title else {
                throw self.fail(0, "expected '\(TraceLimits.title)', found '\(printable(title))'")
            }
            self.state = .header(TraceHeaderReader())
        case .header(var reader):
            let outcome: TraceHeaderReader.Outcome
            do {
                outcome = try reader.read(Self.text(line, 0..<length))
            } catch {
                throw self.fail(error.offset, error.message)
            }
            switch outcome {
            case .more: self.state = .header(reader)
            case .complete(let header, let columns): self.begin(header, columns)
            }
        case .sentences(var reader):
            let outcome: NMEAReader.Outcome
            do {
                outcome = try reader.read(line)
            } catch {
                throw self.fail(error.offset, error.message)
            }
            self.state = .sentences(reader)
            switch outcome {
            case .nothing: break
            case .damaged: self.leftOut += 1
            case .fix(let fix): self.take(fix)
            }
        case .track: break
        case .failed(let problem):
            throw problem
        }
        self.line += 1
    }

    // MARK: Tracks

    private mutating func readTrack(_ bytes: Span<UInt8>) throws(TraceProblem) {
        guard case .track(var reader) = self.state else { return }
        // Or each byte would copy what the reader holds.
        self.state = .start
        do {
            for index in bytes.indices {
                if let fix = try reader.take(bytes[index]) { self.take(fix) }
            }
        } catch {
            throw self.fail(error)
        }
        self.state = .track(reader)
    }

    /// Makes a row of a fix. Its time on the clock becomes the time since the first fix.
    private mutating func take(_ fix: LocationFix) {
        guard let row = self.track.row(for: fix) else {
            self.leftOut += 1
            return
        }
        let start = self.trackStart ?? fix.time
        if self.trackStart == nil {
            self.trackStart = start
            let sensor = TraceSensor(
                name: SensorDescription.location, channels: SensorDescription.channels(of: SensorDescription.location),
                unit: SensorDescription.locationUnits)
            self.header = TraceHeader(
                sensors: [sensor], notes: [TraceHeader.Note(key: "start", value: CalendarTime.text(start))])
            self.blocks = [SampleBlock(channels: sensor.channels.count)]
        }
        self.blocks[0].append(Timestamp(microseconds: fix.time) - (Timestamp(microseconds: start) - .zero), row)
        self.rows &+= 1
    }

    private mutating func begin(_ header: TraceHeader, _ columns: [SensorColumns]) {
        self.header = header
        self.columns = columns
        self.cellCount = columns.reduce(0) { $0 + $1.count }
        self.cells = [Double](repeating: 0, count: self.cellCount)
        self.blocks = header.sensors.map { SampleBlock(channels: $0.channels.count) }
        self.state = .rows
    }

    // MARK: Rows

    private mutating func readRow(_ line: Span<UInt8>) throws(TraceProblem) {
        var index = Self.skipBlanks(line, 0)
        guard index < line.count, line[index] != UInt8(ascii: "#") else { return }
        let time = try self.readTime(line, &index)
        var filled: UInt16 = 0
        var cell = 0
        for sensor in 0..<self.columns.count {
            let columns = self.columns[sensor]
            let begin = index
            var present = 0
            for _ in 0..<columns.count {
                guard index < line.count else {
                    throw self.fail(index, "expected \(self.cellCount + 1) cells, found \(cell + 1)")
                }
                // `index` is at the comma before the cell.
                index = Self.skipBlanks(line, index + 1)
                if index < line.count, line[index] != UInt8(ascii: ",") {
                    self.cells[cell] = try self.readCell(line, &index, columns.factor)
                    present += 1
                }
                cell += 1
            }
            if present == columns.count {
                filled |= 1 << UInt16(sensor)
            } else if present > 0 || self.columns.count == 1 {
                throw self.fail(begin + 1, "expected all \(columns.count) values of the sensor, found \(present)")
            }
        }
        if index < line.count {
            throw self.fail(index, "expected \(self.cellCount + 1) cells, found more")
        }
        self.lastTime = time
        self.rows &+= 1
        cell = 0
        for sensor in 0..<self.columns.count {
            if filled & 1 << UInt16(sensor) != 0 {
                self.blocks[sensor].append(Timestamp(microseconds: time), self.cells, at: cell)
            }
            cell += self.columns[sensor].count
        }
    }

    /// Reads the time and moves to the comma behind it.
    private mutating func readTime(_ line: Span<UInt8>, _ index: inout Int) throws(TraceProblem) -> Int64 {
        let start = index
        var time: Int64 = 0
        // 18 digits cannot overflow.
        while index < line.count, line[index] &- 0x30 <= 9, index - start < 18 {
            time = time &* 10 &+ Int64(line[index] &- 0x30)
            index += 1
        }
        let end = index
        index = Self.skipBlanks(line, index)
        guard end > start, index == line.count || line[index] == UInt8(ascii: ",") else {
            throw self.fail(start, "expected whole microseconds, found '\(Self.cell(line, start))'")
        }
        guard time > self.lastTime else {
            throw self.fail(start, "expected a time after \(self.lastTime), found \(time)")
        }
        return time
    }

    /// Reads a number and moves to the comma behind it or the end of the line.
    private mutating func readCell(
        _ line: Span<UInt8>, _ index: inout Int, _ factor: Double
    ) throws(TraceProblem) -> Double {
        let start = index
        guard let number = self.decimal.read(line, at: &index) else {
            throw self.fail(start, "expected a number, found '\(Self.cell(line, start))'")
        }
        index = Self.skipBlanks(line, index)
        guard index == line.count || line[index] == UInt8(ascii: ",") else {
            throw self.fail(start, "expected a number, found '\(Self.cell(line, start))'")
        }
        let value = factor == 1 ? number : number * factor
        guard value.isFinite else {
            throw self.fail(start, "the number '\(Self.cell(line, start))' is too large")
        }
        return value
    }

    // MARK: Text

    /// Makes a problem at an offset in the current line the reader's last word.
    private mutating func fail(_ offset: Int, _ message: String) -> TraceProblem {
        self.fail(TraceProblem(line: self.line, column: offset + 1, message: message))
    }

    private mutating func fail(_ problem: TraceProblem) -> TraceProblem {
        self.state = .failed(problem)
        self.carry = []
        return problem
    }

    private static func skipBlanks(_ line: Span<UInt8>, _ start: Int) -> Int {
        var index = start
        while index < line.count, line[index] == 0x20 || line[index] == 0x09 { index += 1 }
        return index
    }

    /// The cell at `start`, for a message.
    private static func cell(_ line: Span<UInt8>, _ start: Int) -> String {
        var end = start
        while end < line.count, line[end] != UInt8(ascii: ","), end - start < 200 { end += 1 }
        return printable(self.trimmed(self.text(line, start..<end)))
    }

    private static func text(_ line: Span<UInt8>, _ range: Range<Int>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        for index in range { bytes.append(line[index]) }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
        let start = text.drop(while: isBlank)
        let end = start.lastIndex { !isBlank($0) }
        return end.map { String(start[...$0]) } ?? ""
    }
}

/// The columns of one sensor.
struct SensorColumns: Sendable {
    var count: Int
    /// What turns the file's unit into the canonical one.
    var factor: Double
}
