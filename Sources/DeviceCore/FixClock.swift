package import Motion

/// Puts fixes, whose times are of the wall clock, onto the clock of samples.
///
/// A fix is as old as the wall clock says when it arrives, if that makes sense: a receiver that replays its log, and a clock
/// that was never set, do not.
package struct FixClock: Sendable {
    /// A fix is under way no longer than this.
    package static let oldest = TimeSpan.seconds(10)

    private var lastFix: Int64?

    package init() {}

    /// The sample time of a fix that arrives now; `nil` for one that was told before.
    package mutating func time(of fix: Int64?, wallClock: Int64, now: Timestamp) -> Timestamp? {
        guard let fix else { return now }
        if fix == self.lastFix { return nil }
        self.lastFix = fix
        let (age, overflow) = wallClock.subtractingReportingOverflow(fix)
        guard !overflow, (0...Self.oldest.microseconds).contains(age) else { return now }
        return now - TimeSpan(microseconds: age)
    }
}
