import Motion

/// What goes wrong with the two files, and when to try again. Times are those of `Clock.monotonic`.
struct StoreFailures {
    /// How long after a failure to try again.
    private let pause: Int64
    /// Why `state.db` cannot be written now.
    private(set) var state: StoreError?
    /// Why `journal.db` cannot.
    private(set) var journal: StoreError?
    /// What went wrong in this round and is mended already.
    private var mended: StoreError?
    private(set) var retryAt: Int64 = 0
    /// When we began to open files anew the last time.
    private var reopenedAt: Int64 = .min / 2

    /// How much longer than a try cost the time until the next is at least, and how many pauses that is at most.
    private static let share: Int64 = 20
    private static let longest: Int64 = 30

    init(pause: TimeSpan) { self.pause = pause.microseconds }

    var isAny: Bool { self.state != nil || self.journal != nil }

    /// Whether a file need not wait to be opened anew.
    func isTimeToReopen(at now: Int64) -> Bool { now >= self.retryAt }

    /// When to do something though nobody asks for it, of these times at which something is due.
    ///
    /// While anything fails that is the next try: a look at files that cannot be looked at leaves what is due as it is.
    func next(_ due: [Int64?]) -> Int64? { self.isAny ? self.retryAt : due.compactMap { $0 }.min() }

    mutating func stateFailed(_ error: StoreError, at now: Int64) {
        self.putOff(error.code, at: now)
        self.state = error
    }

    mutating func journalFailed(_ error: StoreError, at now: Int64) {
        self.putOff(error.code, at: now)
        self.journal = error
    }

    /// A broken journal could not be set aside, for this reason. The time to try again stays.
    mutating func journalStays(_ error: StoreError) { self.journal = error }

    mutating func stateWorks() { self.state = nil }
    mutating func journalWorks() { self.journal = nil }

    /// Notes what is mended already, unless something else was in this round.
    mutating func mend(_ error: StoreError) { self.mended = self.mended ?? error }

    /// Notes what is wrong with the directory, whatever else was in this round.
    mutating func directoryFailed(_ error: StoreError) { self.mended = error }

    /// Ends a round: what to tell people, if anything went wrong. A try that cost much, as to look a large file over does, is not
    /// repeated soon.
    ///
    /// - Parameter cost: How long processors worked for it, in µs.
    mutating func endRound(at now: Int64, cost: Int64) -> StoreError? {
        if self.isAny { self.retryAt = max(self.retryAt, now + min(cost * Self.share, self.pause * Self.longest)) }
        defer { self.mended = nil }
        return self.state ?? self.journal ?? self.mended
    }

    private mutating func putOff(_ code: StoreError.Code, at now: Int64) {
        switch code {
        case .broken, .unavailable, .unread, .full, .taken: self.retryAt = now + self.pause
        case .lost, .unshared, .touched, .emptied:
            // At once, unless somebody does it again and again.
            self.retryAt = max(now, self.reopenedAt + self.pause)
            self.reopenedAt = self.retryAt
        }
    }
}
