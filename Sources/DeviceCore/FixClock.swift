package import Motion

/// Puts fixes, whose times are of the wall clock, onto the clock of samples.
///
/// A fix is as old as the wall clock says when it arrives, if that makes sense: a receiver that replays its log, and a clock
/// that was never set, do not. One that made sense is believed for as long as nobody has read since: of what waited meanwhile each
/// is younger than the one before.
package struct FixClock: Sendable {
    /// A fix is under way no longer than this.
    package static let oldest = TimeSpan.seconds(10)

    private var lastFix: Int64?
    /// The time of the last fix, and how old it was in µs, if that made sense.
    private var told: (time: Timestamp, age: Int64)?

    package init() {}

    /// The sample time of a fix that arrives now; `nil` for one that was told before.
    package mutating func time(of fix: Int64?, wallClock: Int64, now: Timestamp) -> Timestamp? {
        guard let fix else { return now }
        if fix == self.lastFix { return nil }
        self.lastFix = fix
        let (age, overflow) = wallClock.subtractingReportingOverflow(fix)
        let time = now - TimeSpan(microseconds: age)
        let oldest = Self.oldest.microseconds
        // A clock that is off makes the next one as old as this one.
        let waited = self.told.map { time > $0.time && ($0.age <= oldest || age < $0.age) } ?? false
        self.told = !overflow && age >= 0 && (age <= oldest || waited) ? (time: time, age: age) : nil
        return self.told?.time ?? now
    }
}
