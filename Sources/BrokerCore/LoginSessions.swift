package import Motion

/// What logind says of the sessions that count: which there are, and whether each is locked or idle.
///
/// A round begins with a list, and is over when each session on it has answered or failed to: until then nobody knows whether all are
/// locked. A list that is asked for and does not come takes nothing from the round before, whose answers count on, and is asked for
/// again later. So it is when a session did not answer, and what that one said before counts on.
package struct LoginSessions: Sendable {
    /// What a session says of itself.
    private struct Session: Sendable {
        var isLocked = false
        var isIdle = false
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
    /// Without a session nobody has locked anything.
    package var isLocked: Bool { !self.sessions.isEmpty && self.sessions.values.allSatisfy(\.isLocked) }
    package var isIdle: Bool { self.sessions.values.allSatisfy(\.isIdle) }
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

    /// A session answered in a round. What it does not say is not so: it is neither locked nor idle.
    package mutating func answered(
        _ session: String, in round: UInt64, isLocked: Bool?, isIdle: Bool?, at now: Timestamp
    ) {
        guard round == self.round, self.waiting > 0 else { return }
        self.sessions[session] = Session()
        self.changed(session, isLocked: isLocked, isIdle: isIdle)
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

    /// A session said by itself what is so now; `nil`: that is as it was.
    package mutating func changed(_ session: String, isLocked: Bool?, isIdle: Bool?) {
        if let isLocked { self.sessions[session]?.isLocked = isLocked }
        if let isIdle { self.sessions[session]?.isIdle = isIdle }
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
