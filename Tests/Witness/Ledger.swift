import JostleClient

/// Keeps what came, and says which promise is broken by what comes next.
struct Ledger {
    /// The number that the next event has; `nil` where numbers may have begun anew.
    private var next: UInt64?
    private var lastEpoch: UInt64 = 0
    /// The epochs of events that an earlier life of ours was done with.
    private let done: Set<UInt64>
    /// How many events came.
    private(set) var heard = 0
    /// Of how many events we were told that they do not come.
    private(set) var missing: UInt64 = 0
    /// How many came that had been sent before.
    private(set) var again = 0

    init(done: Set<UInt64>) { self.done = done }

    /// The broker went, or came back: it may number from 1 again, and send again what was not answered.
    mutating func beginAnew() { self.next = nil }

    /// Takes an event, and returns what is wrong with it.
    mutating func hear(_ event: MotionEvent) -> String? {
        self.heard += 1
        if self.done.contains(event.epoch) { return "epoch \(event.epoch) was done with, and comes again" }
        if event.isRedelivered {
            self.again += 1
            if let next, event.sequence < next { return nil }
        }
        defer { (self.next, self.lastEpoch) = (event.sequence + 1, max(self.lastEpoch, event.epoch)) }
        if let next, event.sequence != next { return "event \(event.sequence) comes where \(next) is due" }
        if event.epoch <= self.lastEpoch, !event.isRedelivered {
            return "epoch \(event.epoch) comes behind \(self.lastEpoch)"
        }
        return nil
    }

    /// Takes a gap, and returns what is wrong with it.
    mutating func hear(_ gap: EventGap) -> String? {
        self.missing += gap.count
        defer { self.next = gap.last + 1 }
        if gap.last < gap.first || gap.dropped + gap.expired + gap.removed != gap.count {
            return "a gap from \(gap.first) to \(gap.last) of \(gap.dropped), \(gap.expired) and \(gap.removed)"
        }
        if let next, gap.first != next { return "a gap at \(gap.first) comes where \(next) is due" }
        return nil
    }
}
