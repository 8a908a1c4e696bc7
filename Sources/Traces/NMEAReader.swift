import Motion

/// Reads what a receiver says in NMEA 0183: RMC tells where, when, how fast and which way, GGA how surely.
///
/// Sentences of other kinds are passed over. A sentence whose checksum is wrong was damaged on its way, and is counted.
struct NMEAReader: Sendable {
    enum Outcome {
        case nothing
        case damaged
        case fix(LocationFix)
    }

    /// What is wrong with the line at hand, at an offset in bytes.
    struct Problem: Swift.Error {
        var offset: Int
        var message: String
    }

    private static let knot = 1_852.0 / 3_600
    private let decimal = Decimal()
    /// What the last GGA said of the geometry of the satellites.
    private var dilution: Double?

    /// A field of a sentence and where it stands.
    private struct Field {
        var bytes: [UInt8]
        var offset: Int
    }

    mutating func read(_ line: Span<UInt8>) throws(Problem) -> Outcome {
        var bytes: [UInt8] = []
        for index in line.indices { bytes.append(line[index]) }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        guard let mark = bytes.first else { return .nothing }
        // What begins with an exclamation mark is of ships.
        guard mark == UInt8(ascii: "$") || mark == UInt8(ascii: "!") else {
            throw Problem(offset: 0, message: "expected a sentence such as '$GPRMC,…'")
        }
        guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return .damaged
        }
        guard bytes.count >= 9, bytes[bytes.count - 3] == UInt8(ascii: "*") else { return .damaged }
        let body = bytes[1..<bytes.count - 3]
        let sum = body.reduce(UInt8(0)) { $0 ^ $1 }
        guard let told = Self.hexadecimal(bytes[bytes.count - 2], bytes[bytes.count - 1]), told == sum else {
            return .damaged
        }
        return try self.read(Self.fields(body))
    }

    private static func hexadecimal(_ high: UInt8, _ low: UInt8) -> UInt8? {
        func digit(_ byte: UInt8) -> UInt8? {
            switch byte {
            case 0x30...0x39: byte - 0x30
            case 0x41...0x46: byte - 0x37
            case 0x61...0x66: byte - 0x57
            default: nil
            }
        }
        guard let high = digit(high), let low = digit(low) else { return nil }
        return high << 4 | low
    }

    private static func fields(_ body: ArraySlice<UInt8>) -> [Field] {
        var fields = [Field(bytes: [], offset: body.startIndex)]
        for index in body.indices {
            if body[index] == UInt8(ascii: ",") {
                fields.append(Field(bytes: [], offset: index + 1))
            } else {
                fields[fields.count - 1].bytes.append(body[index])
            }
        }
        return fields
    }

    private mutating func read(_ fields: [Field]) throws(Problem) -> Outcome {
        // Two letters say what kind of receiver it is; makers' own sentences begin with a P.
        let name = fields[0].bytes
        guard name.count == 5, name[0] != UInt8(ascii: "P") else { return .nothing }
        switch String(decoding: name[2...], as: UTF8.self) {
        case "GGA":
            guard fields.count >= 9 else { throw Self.tooShort(fields) }
            self.dilution = fields[8].bytes.isEmpty ? nil : try self.number(fields[8], "a number")
            return .nothing
        case "RMC":
            guard fields.count >= 10 else { throw Self.tooShort(fields) }
            // Anything but an A is a warning: the receiver does not know where it is.
            guard fields[2].bytes == [UInt8(ascii: "A")] else { return .nothing }
            return .fix(try self.fix(fields))
        default:
            return .nothing
        }
    }

    private static func tooShort(_ fields: [Field]) -> Problem {
        Problem(offset: fields[fields.count - 1].offset, message: "the sentence is too short")
    }

    private func fix(_ fields: [Field]) throws(Problem) -> LocationFix {
        var clock = DigitReader(fields[1].bytes)
        guard let ofDay = clock.timeOfDay(separator: nil), clock.isAtEnd else {
            throw Problem(offset: fields[1].offset, message: "expected a time such as '063015.00'")
        }
        var date = DigitReader(fields[9].bytes)
        guard let day = date.number(2), let month = date.number(2), let year = date.number(2), date.isAtEnd,
            // The first receivers are of the eighties.
            let time = CalendarTime.microseconds(
                year: year + (year < 80 ? 2_000 : 1_900), month: month, day: day, ofDay: ofDay)
        else { throw Problem(offset: fields[9].offset, message: "expected a date such as '221126'") }
        let latitude = try self.degrees(fields[3], fields[4], digits: 2, "N", "S")
        let longitude = try self.degrees(fields[5], fields[6], digits: 3, "E", "W")
        guard let position = Position(latitude: latitude, longitude: longitude) else {
            throw Problem(offset: fields[3].offset, message: "\(latitude), \(longitude) is no place on earth")
        }
        let speed = fields[7].bytes.isEmpty ? nil : try self.number(fields[7], "a speed in knots") * Self.knot
        let course = fields[8].bytes.isEmpty ? nil : try self.number(fields[8], "a course in degrees")
        return LocationFix(
            time: time, position: position, speed: speed, course: course,
            accuracy: self.dilution.map { $0 * TraceLimits.rangeError })
    }

    /// `4807.038,N`: degrees of so many digits, then minutes.
    private func degrees(
        _ value: Field, _ side: Field, digits: Int, _ positive: Unicode.Scalar, _ negative: Unicode.Scalar
    ) throws(Problem) -> Double {
        let example = digits == 2 ? "4807.038" : "01131.000"
        let problem = Problem(offset: value.offset, message: "expected degrees and minutes such as '\(example)'")
        var whole = DigitReader(value.bytes)
        guard let degrees = whole.number(digits) else { throw problem }
        let rest = Array(value.bytes[digits...])
        var index = 0
        guard rest.first.map({ $0 &- 0x30 <= 9 }) ?? false, let minutes = self.decimal.read(rest.span, at: &index),
            index == rest.count, minutes < 60
        else { throw problem }
        let angle = Double(degrees) + minutes / 60
        if side.bytes == [UInt8(ascii: positive)] { return angle }
        guard side.bytes == [UInt8(ascii: negative)] else {
            throw Problem(offset: side.offset, message: "expected '\(positive)' or '\(negative)'")
        }
        return -angle
    }

    private func number(_ field: Field, _ wanted: String) throws(Problem) -> Double {
        var index = 0
        guard let value = self.decimal.read(field.bytes.span, at: &index), index == field.bytes.count, value.isFinite
        else { throw Problem(offset: field.offset, message: "expected \(wanted)") }
        return value
    }
}
