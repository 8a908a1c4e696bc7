import Protocol

/// Events that were due to us and that we do not get.
public struct EventGap: Hashable, Sendable {
    /// The first number.
    public var first: UInt64
    /// The last number.
    public var last: UInt64
    /// How many gave way to newer ones because we did not read.
    public var dropped: UInt64
    /// How many grew too old.
    public var expired: UInt64
    /// How many had lost what they were for.
    public var removed: UInt64

    /// How many there are.
    public var count: UInt64 { self.last &- self.first &+ 1 }
}

extension EventGap {
    /// An event that we have, and that gives way to newer ones because nobody asks for it.
    init(dropping event: MotionEvent) {
        self.init(first: event.sequence, last: event.sequence, dropped: 1, expired: 0, removed: 0)
    }

    /// Takes in the next event, if all events of the gap gave way.
    mutating func take(_ event: MotionEvent) -> Bool {
        guard event.sequence == self.last &+ 1, self.dropped == self.count else { return false }
        self.last = event.sequence
        self.dropped &+= 1
        return true
    }

    /// What the broker said.
    init(_ body: GapCodec.Body) {
        self.init(
            first: body.first, last: body.last, dropped: body.dropped, expired: body.expired, removed: body.removed)
    }
}
