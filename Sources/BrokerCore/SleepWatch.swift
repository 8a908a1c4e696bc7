package import Motion

/// Finds out from the clocks that the system slept: one of them counts sleep, the other does not.
package struct SleepWatch: Sendable {
    /// Both clocks, one read before and after the other, in microseconds.
    package struct Reading: Sendable {
        package var awakeBefore: Int64
        package var boot: Int64
        package var awakeAfter: Int64

        package init(awakeBefore: Int64, boot: Int64, awakeAfter: Int64) {
            self.awakeBefore = awakeBefore
            self.boot = boot
            self.awakeAfter = awakeAfter
        }

        /// All sleep since the system started; `nil` when something came between the readings.
        fileprivate var slept: Int64? {
            self.awakeAfter - self.awakeBefore <= SleepWatch.longestReading ? self.boot - self.awakeAfter : nil
        }
    }

    /// Shorter sleeps are none: the two clocks are read one after the other.
    private static let shortest: Int64 = 10_000
    /// How far apart they may be read.
    private static let longestReading: Int64 = 1_000

    /// All sleep that is told; `nil` before the first reading.
    private var told: Int64?

    package init() {}

    /// Takes what was slept as told: somebody else said it.
    package mutating func note(_ reading: Reading) {
        if let slept = reading.slept { self.told = slept }
    }

    /// How long the system slept that is not told yet; `nil`: it did not.
    package mutating func take(_ reading: Reading) -> TimeSpan? {
        guard let slept = reading.slept else { return nil }
        guard let told = self.told else {
            self.told = slept
            return nil
        }
        guard slept - told >= Self.shortest else { return nil }
        self.told = slept
        return TimeSpan(microseconds: slept - told)
    }
}
