import DBus

/// What our handlers are told, in order.
enum Arrival {
    case event(MotionEvent)
    case gap(EventGap)
    case caughtUp(UInt64)
    case launch(Launch, MethodCall)
    case session(SessionChange)
    case expiring(ExpiringAssertion)
    case broker(isThere: Bool)
    case refusal(JostleError)
}

/// Holds what arrived until a handler can be told: whoever made a call learns the answer first, and one handler is told at a time,
/// which may make calls itself.
struct Arrivals {
    private var waiting: [Arrival] = []
    /// How many of those that wait were told.
    private var told = 0
    /// Calls of which the answer is waited for.
    private var calls = 0
    /// A handler is being told.
    private(set) var isTelling = false

    var isEmpty: Bool { self.told == self.waiting.count }

    mutating func add(_ arrival: Arrival) { self.waiting.append(arrival) }

    mutating func callBegins() { self.calls += 1 }
    mutating func callEnds() { self.calls -= 1 }

    /// Begins to tell. False: somebody waits for an answer, or is being told, and will see to the rest.
    mutating func begin() -> Bool {
        guard self.calls == 0, !self.isTelling, !self.isEmpty else { return false }
        self.isTelling = true
        return true
    }

    /// What a handler is to be told now.
    mutating func next() -> Arrival? {
        guard !self.isEmpty else { return nil }
        defer { self.told += 1 }
        return self.waiting[self.told]
    }

    /// Ends telling, whether or not something is left.
    mutating func end() {
        self.isTelling = false
        self.waiting.removeFirst(self.told)
        self.told = 0
    }
}
