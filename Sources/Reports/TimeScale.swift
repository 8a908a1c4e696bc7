package import Pictures

/// A time of the wall clock as an axis, with marks at round local times.
package struct TimeScale: Sendable {
    package let since: Int64
    package let until: Int64
    /// How far local time is ahead of UTC, in seconds.
    private let offset: Int64

    package init(since: Int64, until: Int64, offset: Int64) {
        self.since = since
        self.until = max(until, since + 1)
        self.offset = offset
    }

    private static let day: Int64 = 86_400
    private static let steps: [Int64] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, day, 2 * day, 5 * day,
        10 * day, 30 * day, 90 * day, 365 * day,
    ]

    package var axis: Axis {
        let span = max(1, (self.until - self.since) / 1_000_000)
        let step = Self.steps.first { span / $0 <= 8 } ?? span
        var ticks: [Axis.Tick] = []
        let first = (self.since / 1_000_000 + self.offset) / step * step
        var time = first
        while time <= first + (16 * step), time - self.offset <= self.until / 1_000_000 {
            let wall = (time - self.offset) * 1_000_000
            if wall >= self.since { ticks.append(Axis.Tick(Double(wall), Self.text(time, step))) }
            time += step
        }
        return Axis("local time", from: Double(self.since), to: Double(self.until), ticks: ticks)
    }

    /// - Parameter time: In local seconds since 1970.
    private static func text(_ time: Int64, _ step: Int64) -> String {
        if step >= self.day { return self.date(time) }
        let (hour, minute, second) = (time % self.day / 3_600, time % 3_600 / 60, time % 60)
        return "\(self.two(hour)):\(self.two(minute))" + (step < 60 ? ":\(self.two(second))" : "")
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Month and day.
    private static func date(_ time: Int64) -> String {
        // Counted from March, so that a leap day is the last of its year.
        let days = time / self.day + 719_468
        let era = days - days / 146_097 * 146_097
        let year = (era - era / 1_460 + era / 36_524 - era / 146_096) / 365
        let ofYear = era - (365 * year + year / 4 - year / 100)
        let month = (5 * ofYear + 2) / 153
        return "\(self.two(month < 10 ? month + 3 : month - 9))-\(self.two(ofYear - (153 * month + 2) / 5 + 1))"
    }
}

/// How long something lasted, for people.
enum Lasting {
    static func text(_ microseconds: Int64) -> String {
        let seconds = Double(microseconds) / 1_000_000
        if seconds < 60 { return "\(Digits.text(seconds, atMost: seconds < 10 ? 1 : 0)) s" }
        let minutes = Int64((seconds / 60).rounded())
        if minutes < 60 { return "\(minutes) min" }
        let rest = minutes % 60
        return "\(minutes / 60) h" + (rest == 0 ? "" : " \(rest) min")
    }

    /// What to measure a time of this length in.
    static func unit(of microseconds: Int64) -> (name: String, microseconds: Double) {
        switch microseconds {
        case ..<120_000_000: ("seconds", 1_000_000)
        case ..<7_200_000_000: ("minutes", 60_000_000)
        default: ("hours", 3_600_000_000)
        }
    }

    static func cell(_ microseconds: Int64) -> DataTable.Cell {
        .number(Double(microseconds) / 1_000_000, self.text(microseconds))
    }
}
