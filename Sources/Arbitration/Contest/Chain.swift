import Motion

/// An event on its way down an order of candidates, in arrival time.
struct Chain: Sendable {
    let epoch: UInt64
    let generation: UInt64
    let configuration: GroupConfiguration
    let contest: Contest
    /// As the episode has them.
    private var candidates: [Candidate]
    /// Indices of the candidates, best first.
    private var order: [Int]
    /// Who has the event at present, as an index of `order`.
    private var offered = 0
    /// Until when whoever has the event may answer.
    private(set) var answerBy: Timestamp
    let ends: Timestamp

    init(_ decision: GroupState.Decision, at arrival: Timestamp) {
        let episode = decision.episode
        let ranks = episode.candidates.map(\.rank)
        var order = ranks.indices.filter { $0 != decision.winner }
        order.sort { ranks[$0].outranks(ranks[$1], by: episode.configuration.select).outranks }
        order.insert(decision.winner, at: 0)
        self.epoch = episode.epoch
        self.generation = episode.generation
        self.configuration = episode.configuration
        self.contest = decision.contest
        self.candidates = episode.candidates
        self.order = order
        self.ends = arrival + episode.configuration.orderBudget
        self.answerBy = self.ends
    }

    /// Whoever's turn it is; `nil` when nobody is left.
    var current: Candidate? {
        self.offered < self.order.count ? self.candidates[self.order[self.offered]] : nil
    }

    /// Whoever's turn has not come, and whoever has it.
    var rest: [Candidate] { self.order.dropFirst(self.offered).map { self.candidates[$0] } }

    /// The app as a candidate whose turn has not come.
    func waiting(_ app: AppHandle) -> Candidate? {
        let index = self.order.dropFirst(self.offered + 1).first { self.candidates[$0].app == app }
        return index.map { self.candidates[$0] }
    }

    /// All whom the event was for.
    var apps: [AppHandle] { self.order.map { self.candidates[$0].app } }

    /// Until when an app that is offered the event now may answer.
    func answerBy(at arrival: Timestamp) -> Timestamp { min(arrival + self.configuration.ackTimeout, self.ends) }

    /// What a candidate's verdict was decided by.
    func key(of candidate: Candidate) -> Rank.Key? {
        if let winner = self.contest.winnerRank, winner != candidate.rank {
            return winner.key(over: candidate.rank, self.configuration.select)
        }
        return self.contest.nextRank.map { candidate.rank.key(over: $0, self.configuration.select) }
    }

    /// Whoever's turn it is has the event.
    mutating func wait(until answerBy: Timestamp) { self.answerBy = answerBy }

    /// It is the next one's turn.
    mutating func advance() { self.offered += 1 }

    /// Drops hits of an app whose turn has not come. Returns the candidate if it has none left, and why.
    mutating func drop(_ app: AppHandle, _ objection: Candidate.Objection) -> (Candidate, Reason)? {
        let waiting = self.order.indices.dropFirst(self.offered + 1)
        guard let turn = waiting.first(where: { self.candidates[self.order[$0]].app == app }) else { return nil }
        let index = self.order[turn]
        guard let reason = self.candidates[index].lose(objection) else { return nil }
        self.order.remove(at: turn)
        return (self.candidates[index], reason)
    }

    /// Goes on from a sample time that is earlier: what its apps get from it is of now.
    mutating func rewind(to now: Timestamp) {
        for index in self.candidates.indices {
            self.candidates[index].hits = self.candidates[index].hits.map { held in
                var held = held
                held.hit.time = min(held.hit.time, now)
                return held
            }
        }
    }
}
