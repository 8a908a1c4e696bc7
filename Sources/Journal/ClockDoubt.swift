/// Whether the wall clock is believed when it says how old something is.
///
/// A clock that is wrong when the system starts may be decades ahead until somebody sets it, and what goes by it never comes back. So one
/// that is more than a year ahead of what is known is believed only when it has been so for a while.
struct ClockDoubt {
    /// The latest time that is known to have been, in µs of the wall clock.
    private var latest: Int64
    /// Since when the clock is far ahead of that, in the time of `Clock.monotonic`.
    private var since: Int64?

    /// Few systems are off for so long, and then the old go a little later.
    private static let most: Int64 = 366 * 86_400 * 1_000_000

    init(latest: Int64) { self.latest = latest }

    /// Whether the clock is believed.
    ///
    /// - Parameters:
    ///   - wall: What it says.
    ///   - now: The time of `Clock.monotonic`.
    ///   - patience: How long it has to be far ahead until it is right.
    mutating func believes(_ wall: Int64, at now: Int64, after patience: Int64) -> Bool {
        let (ahead, overflow) = wall.subtractingReportingOverflow(self.latest)
        let isFar = overflow ? wall > self.latest : ahead > Self.most
        guard isFar else {
            self.latest = max(self.latest, wall)
            self.since = nil
            return true
        }
        let since = self.since ?? now
        self.since = since
        guard now - since >= patience else { return false }
        (self.latest, self.since) = (wall, nil)
        return true
    }
}
