/// Times of the calendar in UTC, as µs since the beginning of 1970. Leap seconds are not counted, as everywhere.
enum CalendarTime {
    private static let day: Int64 = 86_400_000_000

    /// A date and a time of that day in µs; `nil` for a day that there is not.
    static func microseconds(year: Int, month: Int, day: Int, ofDay: Int64) -> Int64? {
        guard (1...9_999).contains(year), (1...12).contains(month),
            (1...self.length(of: month, in: year)).contains(day),
            // The last minute may have a second more.
            (0...Self.day).contains(ofDay)
        else { return nil }
        // Years that begin in March end with the day that some of them lack.
        let years = Int64(month > 2 ? year : year - 1)
        let days = Int64((153 * ((month + 9) % 12) + 2) / 5 + day - 1)
        let sinceMarchOfNull = years * 365 + years / 4 - years / 100 + years / 400 + days
        return (sinceMarchOfNull - 719_468) * Self.day + ofDay
    }

    private static func length(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Reads `2026-11-22T06:30:15.25Z`, or with `+01:00` behind it; UTC when it says no zone.
    static func read(_ text: [UInt8]) -> Int64? {
        var reader = DigitReader(text)
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), reader.take("T") || reader.take(" "),
            let ofDay = reader.timeOfDay(separator: ":"),
            let time = self.microseconds(year: year, month: month, day: day, ofDay: ofDay)
        else { return nil }
        if reader.take("Z") || reader.isAtEnd { return reader.isAtEnd ? time : nil }
        let isEast = reader.take("+")
        guard isEast || reader.take("-"), let hours = reader.number(2), reader.take(":"),
            let minutes = reader.number(2),
            hours < 24, minutes < 60, reader.isAtEnd
        else { return nil }
        let offset = Int64(hours * 60 + minutes) * 60_000_000
        return isEast ? time - offset : time + offset
    }

    /// A time as `read` takes it, to the second.
    static func text(_ time: Int64) -> String {
        let days = (Double(time) / Double(self.day)).rounded(.down)
        let seconds = Int((time - Int64(days) * self.day) / 1_000_000)
        var (year, rest) = (1970, Int(days))
        while rest < 0 {
            year -= 1
            rest += self.length(ofYear: year)
        }
        while rest >= self.length(ofYear: year) {
            rest -= self.length(ofYear: year)
            year += 1
        }
        var month = 1
        while rest >= self.length(of: month, in: year) {
            rest -= self.length(of: month, in: year)
            month += 1
        }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(year)-\(two(month))-\(two(rest + 1))T"
            + "\(two(seconds / 3_600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))Z"
    }

    private static func length(ofYear year: Int) -> Int { 337 + self.length(of: 2, in: year) }
}

/// Reads digits and marks from bytes.
struct DigitReader {
    private let bytes: [UInt8]
    private(set) var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { self.index == self.bytes.count }

    mutating func take(_ mark: Unicode.Scalar) -> Bool {
        guard self.index < self.bytes.count, UInt32(self.bytes[self.index]) == mark.value else { return false }
        self.index += 1
        return true
    }

    /// A number of exactly so many digits, at most nine.
    mutating func number(_ digits: Int) -> Int? {
        guard self.bytes.count - self.index >= digits else { return nil }
        var value = 0
        for place in self.index..<self.index + digits {
            guard self.bytes[place] &- 0x30 <= 9 else { return nil }
            value = value * 10 + Int(self.bytes[place] &- 0x30)
        }
        self.index += digits
        return value
    }

    /// Hours, minutes and seconds with what is behind the point, as µs since midnight.
    mutating func timeOfDay(separator: Unicode.Scalar?) -> Int64? {
        guard let hours = self.number(2), separator.map({ self.take($0) }) ?? true, let minutes = self.number(2),
            separator.map({ self.take($0) }) ?? true, let seconds = self.number(2), hours < 24, minutes < 60,
            // A minute may have a second more.
            seconds <= 60
        else { return nil }
        var fraction: Int64 = 0
        if self.take(".") {
            var unit: Int64 = 100_000
            let start = self.index
            while self.index < self.bytes.count, self.bytes[self.index] &- 0x30 <= 9 {
                fraction += Int64(self.bytes[self.index] &- 0x30) * unit
                unit /= 10
                self.index += 1
            }
            guard self.index > start else { return nil }
        }
        return Int64((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction
    }
}
