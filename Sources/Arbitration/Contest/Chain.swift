import Motion

/// An event on its way down an order of candidates, in arrival time.
struct Chain: Sendable {
    let epoch: UInt64
    let group: String
    let generation: UInt64
    let configuration: GroupConfiguration
    let contest: Contest
    /// As the episode has them.
    var candidates: [Candidate]
    /// Indices of the candidates, best first.
    var order: [Int]
    /// Who has the event at present, as an index of `order`.
    var offered = 0
    var answerBy: Timestamp
    let ends: Timestamp

    /// Whoever's turn it is; `nil` when nobody is left.
    var current: Candidate? {
        self.offered < self.order.count ? self.candidates[self.order[self.offered]] : nil
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
