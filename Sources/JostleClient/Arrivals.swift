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
    /// As many events wait at most. Then the oldest gives way that does not come again, and its place says so: whoever makes calls
    /// all the time reads all that comes, and would be told of it later and later.
    static let mostEvents = 1_024

    private var waiting: [Arrival] = []
    /// How many events there are among those that were not told yet.
    private var events = 0
    /// How many of those that wait were told.
    private var told = 0
    /// Calls of which the answer is waited for.
    private var calls = 0
    /// A handler is being told.
    private(set) var isTelling = false

    /// How many were not told yet.
    var count: Int { self.waiting.count - self.told }
    var isEmpty: Bool { self.count == 0 }

    mutating func add(_ arrival: Arrival) {
        if case .event = arrival {
            if self.events >= Self.mostEvents { self.giveWay() }
            self.events += 1
        }
        self.waiting.append(arrival)
    }

    /// Puts a gap in the place of the oldest event that does not come again, or has the gap before it take it in.
    private mutating func giveWay() {
        for index in self.told..<self.waiting.count {
            guard case .event(let event) = self.waiting[index], !event.wantsAck else { continue }
            self.events -= 1
            if index > self.told, case .gap(var gap) = self.waiting[index - 1], gap.take(event) {
                self.waiting[index - 1] = .gap(gap)
                self.waiting.remove(at: index)
            } else {
                self.waiting[index] = .gap(EventGap(dropping: event))
            }
            return
        }
    }

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
        if case .event = self.waiting[self.told] { self.events -= 1 }
        return self.waiting[self.told]
    }

    /// Ends telling, whether or not something is left.
    mutating func end() {
        self.isTelling = false
        self.waiting.removeFirst(self.told)
        self.told = 0
    }
}
