import Motion

/// Reads the track points of a GPX file: where, when, and if it is said how fast, which way and how surely.
///
/// Waypoints and routes are places, not a journey, and are passed over.
struct GPXReader: Sendable {
    /// What is read of a point besides where it is.
    private enum Field: String, CaseIterable {
        case time, speed, course, hdop
    }

    private struct Point: Sendable {
        var position: Position
        /// How many elements are open in it, itself included.
        var depth: Int
        var time: Int64?
        var speed: Double?
        var course: Double?
        var dilution: Double?
    }

    private var scanner = MarkupScanner()
    private let decimal = Decimal()
    private var line = 1
    private var column = 0
    private var point: Point?
    private var field: Field?

    /// Takes a byte; returns the fix of a point that ends with it.
    mutating func take(_ byte: UInt8) throws(TraceProblem) -> LocationFix? {
        self.column += 1
        do throws(MarkupScanner.Problem) {
            var fix: LocationFix?
            if let event = try self.scanner.take(byte) {
                fix = try self.take(event)
                if let closing = self.scanner.pending() { fix = try self.take(closing) }
            }
            if byte == 0x0A {
                self.line += 1
                self.column = 0
            }
            return fix
        } catch {
            throw TraceProblem(line: self.line, column: max(1, self.column), message: error.message)
        }
    }

    /// The bytes have ended.
    func finish() throws(TraceProblem) {
        do throws(MarkupScanner.Problem) {
            try self.scanner.finish()
        } catch {
            throw TraceProblem(line: self.line, column: self.column + 1, message: error.message)
        }
    }

    /// `gpxtpx:speed` is a speed.
    private static func local(_ name: String) -> Substring {
        name.lastIndex(of: ":").map { name[name.index(after: $0)...] } ?? name[...]
    }

    private mutating func take(_ event: MarkupScanner.Event) throws(MarkupScanner.Problem) -> LocationFix? {
        switch event {
        case .opens(let name, let attributes):
            try self.opens(Self.local(name), attributes)
            return nil
        case .closes(let name):
            return try self.closes(Self.local(name))
        }
    }

    private mutating func opens(
        _ name: Substring, _ attributes: [(name: String, value: [UInt8])]
    ) throws(MarkupScanner.Problem) {
        let depth = self.scanner.open.count
        if depth == 1, name != "gpx" {
            throw MarkupScanner.Problem(message: "expected '<gpx>', found '<\(printable(name))>'")
        }
        guard self.field == nil else {
            throw MarkupScanner.Problem(message: "expected a value, found '<\(printable(name))>'")
        }
        if let point {
            guard name != "trkpt" else { throw MarkupScanner.Problem(message: "a point in a point") }
            guard let field = Field(rawValue: String(name)) else { return }
            // What makers add stands deeper.
            let isOwn = depth == point.depth + 1
            guard isOwn || field == .speed || field == .course else { return }
            self.field = field
            self.scanner.keepText(true)
        } else if name == "trkpt" {
            func degrees(_ key: String) throws(MarkupScanner.Problem) -> Double {
                guard let text = attributes.first(where: { $0.name == key })?.value, let value = self.number(text)
                else {
                    throw MarkupScanner.Problem(message: "expected the point's '\(key)' in degrees")
                }
                return value
            }
            let (latitude, longitude) = (try degrees("lat"), try degrees("lon"))
            guard let position = Position(latitude: latitude, longitude: longitude) else {
                throw MarkupScanner.Problem(message: "\(latitude), \(longitude) is no place on earth")
            }
            self.point = Point(position: position, depth: depth)
        }
    }

    private mutating func closes(_ name: Substring) throws(MarkupScanner.Problem) -> LocationFix? {
        if let field = self.field {
            let text = Self.trimmed(self.scanner.text ?? [])
            self.field = nil
            self.scanner.keepText(false)
            // Nothing is said then.
            if !text.isEmpty { try self.set(field, text) }
            return nil
        }
        guard let point = self.point, self.scanner.open.count == point.depth - 1 else { return nil }
        self.point = nil
        guard let time = point.time else { throw MarkupScanner.Problem(message: "the point has no time") }
        return LocationFix(
            time: time, position: point.position, speed: point.speed, course: point.course,
            accuracy: point.dilution.map { $0 * TraceLimits.rangeError })
    }

    private mutating func set(_ field: Field, _ text: [UInt8]) throws(MarkupScanner.Problem) {
        func problem(_ wanted: String) -> MarkupScanner.Problem {
            MarkupScanner.Problem(
                message: "expected \(wanted), found '\(printable(String(decoding: text, as: UTF8.self)))'")
        }
        if field == .time {
            guard let time = CalendarTime.read(text) else { throw problem("a time such as '2026-11-22T06:30:15Z'") }
            self.point?.time = time
            return
        }
        guard let number = self.number(text) else { throw problem("a number") }
        switch field {
        case .time: break
        case .speed: self.point?.speed = number
        case .course: self.point?.course = number
        case .hdop: self.point?.dilution = number
        }
    }

    private func number(_ text: [UInt8]) -> Double? {
        var index = 0
        guard let value = self.decimal.read(text.span, at: &index), index == text.count, value.isFinite else {
            return nil
        }
        return value
    }

    private static func trimmed(_ text: [UInt8]) -> [UInt8] {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        let start = text.drop(while: isBlank)
        return Array(start.dropLast(start.reversed().prefix(while: isBlank).count))
    }
}
