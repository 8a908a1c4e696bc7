package import Motion

/// What logind says of the sessions that count: which there are, and whether each is locked or idle.
///
/// A round begins with a list, and is over when each session on it has answered: until then nobody knows whether all are locked. A list
/// that is asked for and does not come takes nothing from the round before, whose answers count on, and is asked for again later.
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
    /// When the list is to be asked for again that did not come; `nil`: it came, or is asked for.
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
        self.patience = RetryPatience()
        self.sessions = self.sessions.filter { sessions.contains($0.key) }
        self.waiting = sessions.count
        self.round += 1
        return self.round
    }

    /// A session answered in a round. One that did not says nothing: it is neither locked nor idle.
    package mutating func answered(_ session: String, in round: UInt64, isLocked: Bool?, isIdle: Bool?) {
        guard round == self.round, self.waiting > 0 else { return }
        self.sessions[session] = Session()
        self.changed(session, isLocked: isLocked, isIdle: isIdle)
        self.waiting -= 1
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
        self.isInDoubt = false
        self.patience = RetryPatience()
    }
}
