import Motion

/// Keeps the orders that are not through, oldest first. The epoch of one says which.
struct Chains: Sendable {
    private var chains: [Chain] = []

    var epochs: [UInt64] { self.chains.map { $0.epoch } }

    func contains(_ epoch: UInt64) -> Bool { self.chains.contains { $0.epoch == epoch } }

    subscript(_ epoch: UInt64) -> Chain? { self.index(of: epoch).map { self.chains[$0] } }

    private func index(of epoch: UInt64) -> Int? { self.chains.firstIndex { $0.epoch == epoch } }

    /// Adds what may still come to an app.
    func addPromised(to app: AppHandle, _ promised: inout Promised) {
        for chain in self.chains { if let candidate = chain.waiting(app) { promised.add(candidate) } }
    }

    /// Whose time to answer is up first, and when.
    var next: (epoch: UInt64, answerBy: Timestamp)? {
        var next: (epoch: UInt64, answerBy: Timestamp)?
        for index in self.chains.indices {
            let (epoch, answerBy) = (self.chains[index].epoch, self.chains[index].answerBy)
            if let known = next, (known.answerBy, known.epoch) < (answerBy, epoch) { continue }
            next = (epoch, answerBy)
        }
        return next
    }

    mutating func add(_ chain: Chain) { self.chains.append(chain) }

    mutating func remove(_ epoch: UInt64) {
        if let index = self.index(of: epoch) { self.chains.remove(at: index) }
    }

    /// Whoever's turn it is has the event, and may answer until then.
    mutating func wait(_ epoch: UInt64, until answerBy: Timestamp) {
        if let index = self.index(of: epoch) { self.chains[index].wait(until: answerBy) }
    }

    /// It is the next one's turn.
    mutating func advance(_ epoch: UInt64) {
        if let index = self.index(of: epoch) { self.chains[index].advance() }
    }

    /// Drops hits of an app whose turn has not come. Returns where it has none left, and why.
    ///
    /// - Parameter others: Of how many decisions the app waits for it still may get something.
    mutating func drop(
        _ app: AppHandle, _ others: inout Int, _ objection: WaitingObjection
    ) -> [(candidate: Candidate, reason: Reason, chain: Chain)] {
        var dropped: [(candidate: Candidate, reason: Reason, chain: Chain)] = []
        for index in self.chains.indices {
            if let (candidate, reason) = self.chains[index].drop(app, { objection($0, others, &$1) }) {
                dropped.append((candidate, reason, self.chains[index]))
            } else if self.chains[index].waiting(app) != nil {
                others += 1
            }
        }
        return dropped
    }

    /// Goes on from a sample time that is earlier than what was seen.
    mutating func rewind(to now: Timestamp) {
        for index in self.chains.indices { self.chains[index].rewind(to: now) }
    }
}
