/// Keeps work that waits for the end of a batch of events, or for that of a round.
struct LaterWork {
    struct Item {
        let run: () -> Void
    }

    private var deferred: [Item] = []
    private var between: [Item] = []
    /// Serves the next batch, empty.
    private var spare: [Item] = []

    var hasDeferred: Bool { !self.deferred.isEmpty }
    var hasBetween: Bool { !self.between.isEmpty }

    mutating func `defer`(_ work: @escaping () -> Void) { self.deferred.append(Item(run: work)) }
    mutating func addBetween(_ work: @escaping () -> Void) { self.between.append(Item(run: work)) }

    /// What was deferred until now; what is deferred from now on is the next batch's.
    mutating func takeDeferred() -> [Item] {
        var taken: [Item] = []
        swap(&taken, &self.spare)
        swap(&taken, &self.deferred)
        return taken
    }

    /// Takes back the list of a batch that is done, empty: what is released with its items may defer work again.
    mutating func giveBack(_ done: consuming [Item]) { swap(&done, &self.spare) }

    mutating func takeBetween() -> [Item] {
        defer { self.between = [] }
        return self.between
    }
}
