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
    var durability = ""
    var journalDropped: UInt64 = 0

    func remarks(now: Int64) -> [Remark] {
        var remarks: [Remark] = []
        if self.isPaused { remarks.append(.note(.apps, "motion is switched off for all apps", mend: "jostle resume")) }
        if self.mutedUntil > now {
            let rest = TimeSpan(microseconds: self.mutedUntil - now).text
            remarks.append(.note(.apps, "motion is silenced for another \(rest)", mend: "jostle resume"))
        }
        if self.isLocked {
            remarks.append(
                .note(.foreground, "the screen counts as locked, so no app is in the foreground", mend: "jostle unlock")
            )
        }
        if !self.isForegroundTold {
            remarks.append(
                .note(
                    .foreground, "nobody says which app is in front, so every app counts as in the foreground",
                    mend: "jostle foreground APP"))
        } else if self.foreground.isEmpty {
            remarks.append(.good(.foreground, "somebody says what is in front: no app that you may know of"))
        } else {
            remarks.append(.good(.foreground, "\(printable(self.foreground)) is in front"))
        }
        switch self.durability {
        case "ok": remarks.append(.good(.storage, "what must outlive the broker is on the disk"))
        case "off": remarks.append(.note(.storage, "the broker was told to keep nothing (--no-state)"))
        default:
            remarks.append(
                .wrong(
                    .storage, "the disk is full, fails or is too slow: what must outlive the broker is not kept",
                    mend: "df -h", "journalctl --user -u jostle-brokerd -n 50"))
        }
        if self.journalDropped > 0 {
            remarks.append(
                .note(
                    .storage,
                    "\(self.journalDropped) verdicts are not in the journal: the disk did not take them in time"))
        }
        return remarks
    }
}

extension BrokerExam {
    /// - Parameter properties: what the broker says of itself.
    init(_ properties: [String: Value]) {
        self.isPaused = properties.flag("Paused")
        self.mutedUntil = Int64(clamping: properties.count("MutedUntil"))
        self.isLocked = properties.flag("Locked")
        self.isForegroundTold = properties.flag("ForegroundReported")
        self.foreground = properties.text("Foreground")
        self.durability = properties.text("Durability")
        self.journalDropped = properties.count("JournalDropped")
    }
}
