import Glibc
import Loop
import Motion

/// A point in time as people are shown it: by their clock, and how far from now.
struct Moment {
    /// In µs since 1970.
    private let wall: Int64
    /// The same of now.
    private let now: Int64

    /// A time of the wall clock, in µs since 1970.
    init(wall: Int64, now: Int64 = Loop.Clock.wallClock()) {
        self.wall = wall
        self.now = now
    }

    /// A time of CLOCK_BOOTTIME since this boot, in µs.
    init(boottime time: UInt64) {
        let now = Loop.Clock.wallClock()
        let ago = Loop.Clock.boottime.now().subtractingReportingOverflow(Int64(clamping: time))
        let wall = now.subtractingReportingOverflow(ago.partialValue)
        self.init(wall: ago.overflow || wall.overflow ? now : wall.partialValue, now: now)
    }

    /// Local time, such as `2026-03-01 12:00:05.250`.
    var text: String {
        // Years of more than four digits are nobody's; whoever answers on the bus may send any number.
        guard (0..<253_402_300_800_000_000).contains(self.wall) else { return "a time that cannot be" }
        var seconds = time_t(self.wall / 1_000_000)
        var parts = unsafe tm()
        var text = [CChar](repeating: 0, count: 32)
        // SAFETY: both structures are ours, and as many bytes are written as the buffer has at most.
        unsafe localtime_r(&seconds, &parts)
        let count = unsafe strftime(&text, text.count, "%F %T", &parts)
        let milliseconds = String(1_000 + self.wall / 1_000 % 1_000).dropFirst()
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) + ".\(milliseconds)"
    }

    /// The same without parts of a second.
    var seconds: String { String(self.text.prefix { $0 != "." }) }

    /// How far local time is ahead of UTC at a time of the wall clock, in seconds.
    static func offset(at wall: Int64) -> Int64 {
        var seconds = time_t(wall / 1_000_000)
        var parts = unsafe tm()
        // SAFETY: both structures are ours.
        unsafe localtime_r(&seconds, &parts)
        return Int64(unsafe parts.tm_gmtoff)
    }

    /// `3 min ago`, or `in 3 min`.
    private var distance: String {
        let (since, overflow) = self.now.subtractingReportingOverflow(self.wall)
        let span = TimeSpan(microseconds: overflow ? 0 : Int64(clamping: since.magnitude)).inWords
        return since < 0 ? "in \(span)" : "\(span) ago"
    }

    /// `2026-03-01 12:00:05.250 (3 min ago)`
    var line: String { "\(self.text) (\(self.distance))" }
}
