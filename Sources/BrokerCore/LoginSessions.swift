package import Motion

/// What logind says of the sessions that count: which there are, and whether each is locked or idle.
///
/// A session in which nobody works says nothing of the screen. Nor does one that is not seen while another is: who left a terminal
/// logged in locks what is in front of it.
///
/// A round begins with a list, and is over when each session on it has answered or failed to: until then nobody knows whether all are
/// locked. A list that is asked for and does not come takes nothing from the round before, whose answers count on, and is asked for
/// again later. So it is when a session did not answer, and what that one said before counts on.
package struct LoginSessions: Sendable {
    /// What a session says of itself; `nil`: that it does not say.
    package struct Word: Sendable {
        package var isLocked: Bool?
        package var isIdle: Bool?
        /// It is what its seat shows.
        package var isSeen: Bool?
        /// Somebody works in it. Nobody does in one that ends, and is there for what it left running, nor before a login.
        package var isUsed: Bool?

        package init(isLocked: Bool? = nil, isIdle: Bool? = nil, isSeen: Bool? = nil, isUsed: Bool? = nil) {
            self.isLocked = isLocked
            self.isIdle = isIdle
            self.isSeen = isSeen
            self.isUsed = isUsed
        }
    }

    private struct Session: Sendable {
        var isLocked = false
        var isIdle = false
        var isSeen = true
        var isUsed = true
    }

    private var sessions: [String: Session] = [:]
    /// Counts the times that the list was asked for: only the last answer counts.
    private var asked: UInt64 = 0
    /// The number of the last round, and how many sessions have not answered in it.
    private var round: UInt64 = 0
    private var waiting = 0
    /// None that was asked in the last round failed to answer.
    private var isWhole = true
    /// The list was asked for within a round: what comes of that round is known when it is known that there is no other list.
    private var isInDoubt = false
    private var patience = RetryPatience()

    package init() {}

    package func contains(_ session: String) -> Bool { self.sessions[session] != nil }

    /// Whether what follows is to be gone by.
    package var isKnown: Bool { self.waiting == 0 && !self.isInDoubt }
    /// Without a session nobody has locked anything. Where none is seen, because somebody else's is, it is as all of them say.
    package var isLocked: Bool {
        let used = self.sessions.values.filter(\.isUsed)
        let seen = used.filter(\.isSeen)
        return !used.isEmpty && (seen.isEmpty ? used : seen).allSatisfy(\.isLocked)
    }
    package var isIdle: Bool { self.sessions.values.allSatisfy { $0.isIdle || !$0.isUsed } }
    /// When the list is to be asked for again, because it or what a session says did not come; `nil`: all came, or is asked for.
    package var nextTry: Timestamp? { self.patience.nextTry }

    /// The list is to be asked for. Returns the number of the question.
    package mutating func ask() -> UInt64 {
        self.asked += 1
        self.patience.tried()
        self.isInDoubt = self.isInDoubt || self.waiting > 0
        return self.asked
    }

    /// The list came, or did not (`nil`). Returns the number of the round that begins, in which each session on it is to be asked.
    package mutating func listed(_ sessions: [String]?, asked question: UInt64, at now: Timestamp) -> UInt64? {
        guard question == self.asked else { return nil }
        self.isInDoubt = false
        guard let sessions else {
            self.patience.failed(at: now)
            return nil
        }
        self.patience.tried()
        self.sessions = self.sessions.filter { sessions.contains($0.key) }
        self.waiting = sessions.count
        self.isWhole = true
        self.round += 1
        self.endRound(at: now)
        return self.round
    }

    /// A session answered in a round. What it does not say is not so: it is neither locked nor idle, and is seen and used.
    package mutating func answered(_ session: String, in round: UInt64, _ word: Word, at now: Timestamp) {
        guard round == self.round, self.waiting > 0 else { return }
        self.sessions[session] = Session()
        self.changed(session, word)
        self.waiting -= 1
        self.endRound(at: now)
    }

    /// A session did not answer in a round: it is as it was, and neither locked nor idle if it never spoke.
    package mutating func failed(_ session: String, in round: UInt64, at now: Timestamp) {
        guard round == self.round, self.waiting > 0 else { return }
        if self.sessions[session] == nil { self.sessions[session] = Session() }
        self.waiting -= 1
        self.isWhole = false
        self.endRound(at: now)
    }

    /// Says when the list is to be asked for again after a round that is over, unless it is asked for anyway.
    private mutating func endRound(at now: Timestamp) {
        guard self.waiting == 0, !self.isInDoubt, self.patience.nextTry == nil else { return }
        if self.isWhole { self.patience = RetryPatience() } else { self.patience.failed(at: now) }
    }

    /// A session said by itself what is so now; what it did not say is as it was.
    package mutating func changed(_ session: String, _ word: Word) {
        guard var known = self.sessions[session] else { return }
        known.isLocked = word.isLocked ?? known.isLocked
        known.isIdle = word.isIdle ?? known.isIdle
        known.isSeen = word.isSeen ?? known.isSeen
        known.isUsed = word.isUsed ?? known.isUsed
        self.sessions[session] = known
    }

    /// logind is gone: what it was asked is answered no more.
    package mutating func forget() {
        self.sessions = [:]
        self.asked += 1
        self.round += 1
        self.waiting = 0
        self.isWhole = true
        self.isInDoubt = false
        self.patience = RetryPatience()
    }
}
