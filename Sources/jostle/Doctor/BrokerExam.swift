import DBus
import Loop
import Motion

/// What `jostle doctor` finds in what the broker says of itself: whether motion is heard, by which apps, and whether it is kept.
struct BrokerExam: Equatable {
    var isPaused = false
    /// In CLOCK_BOOTTIME µs; past or 0: not at all.
    var mutedUntil: Int64 = 0
    var isLocked = false
    /// Whether somebody says which app is in front.
    var isForegroundTold = false
    /// Empty: none, or one that we may not know of.
    var foreground = ""
    /// Who says it, as far as we may know.
    var sources: [FocusRow] = []
    var durability = ""
    var journalDropped: UInt64 = 0
    /// What shows the broker's log.
    var log: [TypedCommand] = []
    /// Where the broker keeps things, unless it was told where.
    var directory: String?

    func remarks(now: Int64) -> [Remark] {
        var remarks: [Remark] = []
        if self.isPaused {
            remarks.append(
                .note(.apps, "motion is switched off for all apps", mend: [.jostle("resume", to: .broker)]))
        }
        if self.mutedUntil > now {
            // Nobody reads microseconds; the second that has begun counts.
            let rest = TimeSpan.seconds((self.mutedUntil - now - 1) / 1_000_000 + 1)
            remarks.append(.note(.apps, "motion is silenced, and is heard again in \(rest.text)"))
        }
        remarks.append(self.place)
        switch self.durability {
        case "ok": remarks.append(.good(.storage, "what must outlive the broker is on the disk"))
        case "off": remarks.append(.note(.storage, "the broker was told to keep nothing (--no-journal)"))
        case "degraded":
            let files = self.directory.map { [TypedCommand.run("ls", "-la", $0)] } ?? []
            remarks.append(
                .wrong(
                    .storage,
                    "the disk is full, fails, is too slow or may not be written to: what happened, or what must outlive the "
                        + "broker, is not kept",
                    look: [.run("df", "-h")] + files + self.log))
        default: break
        }
        if self.journalDropped > 0 {
            remarks.append(
                .note(
                    .storage,
                    "\(self.journalDropped) verdicts are not in the journal: the disk did not take them in time"))
        }
        return remarks
    }

    /// Where apps are by what was said: the lock holds for whatever would be in the foreground without it.
    private var place: Remark {
        let known = self.foreground.isEmpty ? "no app that you may know of" : printable(self.foreground)
        let front = self.sources.frontText ?? known
        switch (self.isLocked, self.isForegroundTold) {
        case (false, false):
            return .note(
                .foreground,
                "nobody says which app is in front, so every app counts as in the foreground; once somebody does, the others "
                    + "are suspended but for those that are at work",
                mend: [.jostle("foreground", "APP", to: .broker)])
        case (true, false):
            return .note(
                .foreground,
                "the screen counts as locked, and nobody says which app is in front: every app is behind the lock",
                mend: [.jostle("unlock", to: .broker)])
        case (true, true):
            return .note(
                .foreground, "the screen counts as locked: in front, and behind the lock, is \(front)",
                mend: [.jostle("unlock", to: .broker)])
        case (false, true): return .good(.foreground, "in front is \(front)")
        }
    }
}

extension BrokerExam {
    /// - Parameter properties: what the broker says of itself.
    init(_ properties: [String: Value], log: [TypedCommand], directory: String?) {
        (self.log, self.directory) = (log, directory)
        self.isPaused = properties.flag("Paused")
        self.mutedUntil = Int64(clamping: properties.count("MutedUntil"))
        self.isLocked = properties.flag("Locked")
        self.isForegroundTold = properties.flag("ForegroundReported")
        self.foreground = properties.text("Foreground")
        self.sources = FocusRow.all(properties)
        self.durability = properties.text("Durability")
        self.journalDropped = properties.count("JournalDropped")
    }
}
