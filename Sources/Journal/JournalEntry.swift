package import Arbitration
package import Motion

/// Something to be kept in the journal.
package struct JournalEntry: Sendable {
    enum Content: Sendable {
        /// Why an app got an event or did not; and which registration of the run it was, counted from 1.
        case verdict(Verdict, registration: UInt64)
        case event(JournalEvent)
    }

    /// What it does to the tables.
    enum Kind: Sendable {
        /// Adds a verdict.
        case verdict
        /// Adds an event.
        case sent
        /// Changes the verdict of an event, and may add one.
        case changed
    }

    /// There is none only while somebody has it.
    var content: Content?
    /// Whose app it is about, which may be of several users.
    let user: UInt32
    /// Whether policy wants it on the disk before the power can fail. Found out once, as is the kind: to ask the content copies it.
    let isPersistent: Bool
    let kind: Kind

    /// Why an app of some user got an event or did not.
    ///
    /// - Parameter registration: Which one of the run it was, counted from 1.
    package static func verdict(
        _ verdict: consuming Verdict, user: UInt32, registration: UInt64
    ) -> JournalEntry {
        let isPersistent = verdict.isDelivered && verdict.rule?.terms.durability == .persistent
        return JournalEntry(
            content: .verdict(consume verdict, registration: registration), user: user, isPersistent: isPersistent,
            kind: .verdict)
    }

    /// What an app of some user was sent, or what became of it when it had been kept.
    package static func event(_ event: consuming JournalEvent, user: UInt32) -> JournalEntry {
        let kind = if case .sent = event.fate { Kind.sent } else { Kind.changed }
        return JournalEntry(content: .event(consume event), user: user, isPersistent: false, kind: kind)
    }
}

/// An event that went out, which may be more than once, or that was kept and came to its end.
package struct JournalEvent: Equatable, Sendable {
    package enum Fate: Equatable, Sendable {
        case sent
        case ended(Reason)
        /// It is kept still: its app could not be launched for it, this time.
        case failed(LaunchFailure)
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
