import Motion

/// Keeps the orders that are not through, oldest first. The epoch of one says which.
struct Chains: Sendable {
    private var chains: [Chain] = []

    var epochs: [UInt64] { self.chains.map { $0.epoch } }

    func contains(_ epoch: UInt64) -> Bool { self.chains.contains { $0.epoch == epoch } }

    subscript(_ epoch: UInt64) -> Chain? { self.index(of: epoch).map { self.chains[$0] } }

    private func index(of epoch: UInt64) -> Int? { self.chains.firstIndex { $0.epoch == epoch } }

    /// How many of the events may still come to an app.
    func promised(to app: AppHandle) -> Int { self.chains.count { $0.isPromised(to: app) } }

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

    /// Drops hits of an app whose turn has not come, and that do not pass the test. Returns those that have none left.
    mutating func drop(_ epoch: UInt64, _ app: AppHandle, keeping isKept: (HeldHit) -> Bool) -> [Candidate] {
        self.index(of: epoch).map { self.chains[$0].drop(app, keeping: isKept) } ?? []
    }

    /// Goes on from a sample time that is earlier than what was seen.
    mutating func rewind(to now: Timestamp) {
        for index in self.chains.indices { self.chains[index].rewind(to: now) }
    }
}
