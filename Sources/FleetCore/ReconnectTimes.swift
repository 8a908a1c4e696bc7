package import Motion

/// When to try again to reach a server: soon at first, then more and more seldom, and never all devices at once.
///
/// Each pause is between half of a bound and all of it, by chance, and the bound doubles up to the longest.
package struct ReconnectTimes: Equatable, Sendable {
    package static let first = TimeSpan.seconds(1)
    package static let longest = TimeSpan.seconds(120)
    /// A connection that lasted so long was one: what comes after it begins anew.
    package static let lasting = TimeSpan.seconds(30)

    private var failures = 0
    private var connectedAt: Timestamp?

    package init() {}

    package mutating func connected(at now: Timestamp) { self.connectedAt = now }

    /// It could not be reached, or the connection ended: how long to wait.
    package mutating func failed(at now: Timestamp, chance: UInt64) -> TimeSpan {
        if let connectedAt, now - connectedAt >= Self.lasting { self.failures = 0 }
        self.connectedAt = nil
        let bound = min(Self.longest.microseconds, Self.first.microseconds << Int64(min(self.failures, 20)))
        self.failures = min(self.failures + 1, 64)
        return TimeSpan(microseconds: bound / 2 + Int64(chance % UInt64(bound / 2 + 1)))
    }
}
