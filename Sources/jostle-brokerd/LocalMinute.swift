import Arbitration
import Glibc

/// The minute of the week, local time, and for how long that is known.
///
/// It is looked up when somebody needs it, and by the wall clock alone: a clock that is set makes no minute too long. A time zone
/// that is set counts with the next minute.
struct LocalMinute {
    /// The wall clock's microseconds that lie in the minute.
    private var span: Range<Int64> = 0..<0

    private static let length: Int64 = 60_000_000

    /// The minute that `wall` lies in, in microseconds since 1970; `nil` when it is the one that was told last.
    mutating func news(at wall: Int64) -> Int? {
        guard !self.span.contains(wall) else { return nil }
        // Without it the zone that was found first would hold as long as we run.
        tzset()
        var seconds = time_t(wall / 1_000_000)
        // SAFETY: both are ours for the time of the call; the zone's name, which is not, is not looked at.
        var local = unsafe tm()
        guard unsafe localtime_r(&seconds, &local) != nil else { return nil }
        let start = wall - (wall % Self.length)
        self.span = start..<start + Self.length
        // Weeks begin on Monday here, and on Sunday there.
        let (day, hour, minute) = unsafe (Int(local.tm_wday), Int(local.tm_hour), Int(local.tm_min))
        return ((day + 6) % 7 * 24 + hour) * 60 + minute
    }

    /// Somebody else needs to be told.
    mutating func forget() { self.span = 0..<0 }
}
