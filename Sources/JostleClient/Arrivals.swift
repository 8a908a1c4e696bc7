import DBus

/// What the broker sends us, in order.
enum Arrival {
    case event(MotionEvent)
    case gap(EventGap)
    case caughtUp(UInt64)
    case launch(Launch, MethodCall)
}

/// Holds back what arrives while a call waits for its answer: whoever called learns the answer first.
struct Arrivals {
    private var early: [Arrival] = []
    private var isCalling = false

    /// Takes what arrives, and gives it back if it need not wait.
    mutating func take(_ arrival: Arrival) -> Arrival? {
        guard self.isCalling || !self.early.isEmpty else { return arrival }
        self.early.append(arrival)
        return nil
    }

    /// A call begins to wait.
    mutating func callBegins() { self.isCalling = true }

    /// It waits no longer. True: something arrived meanwhile, and may follow once the caller has gone on.
    mutating func callEnds() -> Bool {
        self.isCalling = false
        return !self.early.isEmpty
    }

    /// What may follow now, in order. Nothing while a call waits; its end says that there is something.
    mutating func release() -> [Arrival] {
        guard !self.isCalling else { return [] }
        defer { self.early = [] }
        return self.early
    }
}
