import Motion

/// How many samples a claim may have, whatever its device gives: those of its rate, and a quarter more, as clocks are not exact.
///
/// It goes by the samples' own times, so that what a device gathered passes at once.
struct SampleAllowance: Sendable {
    private static let excess = 1.25
    /// So many may come together, as after a time without any.
    private static let burst = 32.0

    private var credit = Self.burst
    private var last: Timestamp?

    /// Takes a sample at the rate in force, if it may have one more.
    @inline(__always)
    mutating func take(_ time: Timestamp, at rate: Double) -> Bool {
        if let last = self.last {
            let more = Double((time - last).microseconds) * rate * Self.excess / 1_000_000
            // The kernel keeps a second while we sleep.
            self.credit = min(self.credit + more, max(Self.burst, rate))
        }
        self.last = time
        guard self.credit >= 1 else { return false }
        self.credit -= 1
        return true
    }
}
