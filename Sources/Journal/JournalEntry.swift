package import Arbitration
package import Motion

/// Something to be kept in the journal.
package enum JournalEntry: Sendable {
    /// Why an app of some user got an event or did not; and which registration of the run it was, counted from 1.
    case verdict(Verdict, user: UInt32, registration: UInt64)
    /// What an app was sent, or what became of it when it had been kept.
    case event(JournalEvent)

    /// Whether policy wants it on the disk before the power can fail.
    var isPersistent: Bool {
        switch self {
        case .verdict(let verdict, _, _): verdict.isDelivered && verdict.rule?.terms.durability == .persistent
        case .event: false
        }
    }

    var kind: JournalRow.Kind {
        switch self {
        case .verdict: .verdict
        case .event(let event): if case .sent = event.fate { .sent } else { .changed }
        }
    }
}

/// An event that went out, which may be more than once, or that was kept and came to its end.
package struct JournalEvent: Equatable, Sendable {
    package enum Fate: Equatable, Sendable {
        case sent
        /// How, and whose app it was for: of several users one may have an app of the same name.
        case ended(Reason, user: UInt32)
        /// It is kept still: its app could not be launched for it, this time.
        case failed(LaunchFailure, user: UInt32)
    }

    package var app: AppID
    package var content: EventContent
    package var fate: Fate

    package init(app: AppID, _ content: EventContent, _ fate: Fate) {
        self.app = app
        self.content = content
        self.fate = fate
    }
}

/// A policy that came into force, as verdicts name it by its generation.
package struct JournalPolicy: Equatable, Sendable {
    package var generation: UInt64
    /// None: the built-in policy.
    package var files: [String]
    /// Since when, in µs of the wall clock.
    package var since: Int64

    package init(generation: UInt64, files: [String], since: Int64) {
        self.generation = generation
        self.files = files
        self.since = since
    }
}
