/// Gives out epochs: each decision has one that no other has, and a later one a higher one.
struct Epochs: Sendable {
    /// The last one given out.
    private(set) var last: UInt64
    /// The last one that was given out before anything was decided here.
    private var first: UInt64

    /// - Parameter last: The last one that may have been given out before.
    init(after last: UInt64) {
        self.last = last
        self.first = last
    }

    /// The epoch of what was decided last here; 0: nothing yet.
    var lastDecision: UInt64 { self.last == self.first ? 0 : self.last }

    mutating func next() -> UInt64 {
        self.last &+= 1
        return self.last
    }

    /// Gives out none up to this one any more: others may have.
    mutating func skip(upTo epoch: UInt64) {
        let hasDecided = self.last != self.first
        self.last = max(self.last, epoch)
        if !hasDecided { self.first = self.last }
    }
}
