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
}
