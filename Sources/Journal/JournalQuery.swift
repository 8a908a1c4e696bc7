package import Arbitration
package import Motion

/// Which stored verdicts somebody wants to see.
package struct JournalQuery: Sendable {
    package enum End: Sendable {
        /// The first ones, for whoever goes through all of them.
        case oldest
        /// The last ones.
        case newest
    }

    package var epoch: UInt64?
    package var app: AppID?
    /// Only those of a user's apps: another user's may have the same name.
    package var user: UInt32?
    /// Only those of which the app got the event under this number of its own.
    package var sequence: UInt64?
    /// From and to when, in µs of the wall clock, both included.
    package var since: Int64?
    package var until: Int64?
    /// Only those behind this one: the `last` of an earlier answer.
    package var after: Int64?
    /// Of more than `limit`, which.
    package var end: End
    package var limit: Int

    /// The most verdicts in one answer.
    package static let mostVerdicts = 4_096

    package init(
        epoch: UInt64? = nil, app: AppID? = nil, user: UInt32? = nil, sequence: UInt64? = nil, since: Int64? = nil,
        until: Int64? = nil, after: Int64? = nil, keeping end: End = .newest, limit: Int = JournalQuery.mostVerdicts
    ) {
        self.epoch = epoch
        self.app = app
        self.user = user
        self.sequence = sequence
        self.since = since
        self.until = until
        self.after = after
        self.end = end
        self.limit = min(max(0, limit), Self.mostVerdicts)
    }
}

/// Stored verdicts, the oldest first.
package struct JournalAnswer: Equatable, Sendable {
    package var verdicts: [StoredVerdict] = []
    /// Some that the disk gave back as something else, or that another version wrote.
    package var unreadable = 0
    /// For `JournalQuery.after`: the last one that was looked at.
    package var last: Int64?
}

/// A verdict as it was, and when and under which policy that was.
package struct StoredVerdict: Equatable, Sendable {
    package var verdict: Verdict
    /// How its event came to its end, if it was kept and did.
    package var end: Reason?
    /// What became of it besides.
    package var aftermath: Aftermath
    /// The user of its app.
    package var user: UInt32
    /// Which registration of its run it was, counted from 1.
    package var registration: UInt64
    /// When it was made, in µs of the wall clock.
    package var wall: Int64
    /// The start of the broker that made it, in µs of the wall clock: generations count from there.
    package var started: Int64
    /// The boot of the system that its times count from.
    package var boot: String
    package var policy: JournalPolicy
}
