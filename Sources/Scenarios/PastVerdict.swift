package import Arbitration
package import Motion

/// A verdict as it was made, on one clock with others.
package struct PastVerdict: Sendable {
    package var verdict: Verdict
    /// When the hit was.
    package var hit: TimeSpan
    /// When the verdict was made.
    package var made: TimeSpan
    /// Which life of the broker made it: apps come anew in each.
    package var run: Int64

    package init(_ verdict: Verdict, hit: TimeSpan, made: TimeSpan, run: Int64 = 0) {
        self.verdict = verdict
        self.hit = hit
        self.made = made
        self.run = run
    }

    /// False for what classes decided: that depends on what sounded then, and verdicts do not tell it.
    package var tellsAll: Bool { self.verdict.contest?.mode != .mixable }
}
