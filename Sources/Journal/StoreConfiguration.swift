package import Motion

/// How much is kept, and for how long.
package struct StoreLimits: Equatable, Sendable {
    /// The journal's file; what stands beside it until the next checkpoint comes on top.
    package var journalBytes: Int64 = 64 << 20
    package var journalAge = TimeSpan.seconds(30 * 86_400)
    /// Rows that wait to be written. What does not find room is left out, and counted.
    package var waitingRows = 4_096
    /// How long a row waits for others that are written with it: one that comes after a quiet time, and what comes all the time.
    /// A commit costs as much as twenty rows.
    package var linger = TimeSpan.milliseconds(10)
    package var spacing = TimeSpan.milliseconds(500)
    /// How long after a failure to try again.
    package var retry = TimeSpan.seconds(1)
    /// How long the disk may take for anything until it counts as failing.
    package var longestSilence = TimeSpan.seconds(10)
    /// How long everything must go well again until it is said, at first and at most.
    package var calm = TimeSpan.seconds(2)
    package var longestCalm = TimeSpan.seconds(60)
    /// How long to wait for a broker that is about to leave the directory.
    package var lockPatience = TimeSpan.milliseconds(2_500)
    /// How many epochs to reserve at a time: as many as the wall clock counts microseconds while a broker starts, so that
    /// it stays ahead of all that were given out.
    package var epochBlock: UInt64 = 65_536

    package init() {}

    var pace: WaitingRows.Pace {
        WaitingRows.Pace(
            linger: self.linger.microseconds, spacing: self.spacing.microseconds, many: self.waitingRows / 8)
    }
}

/// One life of the broker, as the journal tells them apart.
package struct StoreRun: Equatable, Sendable {
    /// In µs of the wall clock.
    package var started: Int64
    /// Which boot of the system it belongs to.
    package var boot: String
    package var version: String

    package init(started: Int64, boot: String, version: String) {
        self.started = started
        self.boot = boot
        self.version = version
    }
}

/// Whether what must last is on the disk.
package enum StoreHealth: String, Sendable {
    case ok
    /// The disk is full or fails, or is too slow. Delivery goes on; it mends by itself.
    case degraded
    /// Nothing is kept, as was asked for.
    case off
}
