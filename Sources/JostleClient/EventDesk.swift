/// Says what is done with each event, and remembers which were answered.
struct EventDesk {
    /// What is done with an event that came.
    enum Course: Equatable {
        /// It is a copy of one that was answered: it is answered once more, and not handed out.
        case answered
        /// It waits until somebody asks for it, or is a copy that is left unheard.
        case kept
        /// The same, and an older one that does not come again has given way to it.
        case keptInPlaceOf(EventGap)
        /// It is handed out now. One that `wantsAck` is acknowledged afterwards, if it is still `isOpen`.
        case due(wantsAck: Bool)
    }

    /// Whether events that want an answer are acknowledged when they have been handled, and copies of them left unheard.
    var answersByItself = true
    /// The event that is being handled, and not answered yet.
    private var current: MotionEvent.Name?
    /// Events that we answered lately, and how many of them are remembered.
    private var answered: [MotionEvent.Name] = []
    private var mostAnswered = EventDesk.mostAnswered
    /// The newest event that was answered: the app is done with it, and with all that came before it.
    private(set) var lastAnswered: MotionEvent.Name?
    /// Events are asked for one by one: those that came and were not yet, and the one that was asked for last.
    private var isSequenced = false
    private var heard: [MotionEvent] = []
    private var given: MotionEvent?

    /// More than the events that the broker sends without having had an answer. What a launch brings comes on top.
    private static let mostAnswered = 32

    /// Takes an event that came, and says what is done with it.
    mutating func take(_ event: MotionEvent) -> Course {
        let wantsAck = self.acknowledges(event)
        // A copy that was under way when we answered. The broker may not know that we did.
        if self.answersByItself, event.isRedelivered, self.answered.contains(event.name) {
            // Answered now, what came before it would be done with: it comes once more when that is. What wants no answer we were
            // launched with, and had it then.
            return !wantsAck || self.isOpen(before: event.name) ? .kept : .answered
        }
        if self.isSequenced {
            // A copy of one that waits, or that was asked for last, is answered with that one.
            if wantsAck, event.isRedelivered, self.isAtHand(event.name) { return .kept }
            let gap = self.heard.count < Arrivals.mostEvents ? nil : self.giveWay()
            self.heard.append(event)
            return gap.map { .keptInPlaceOf($0) } ?? .kept
        }
        if wantsAck { self.current = event.name }
        return .due(wantsAck: wantsAck)
    }

    /// Whether we say by ourselves that the app is done with an event.
    private func acknowledges(_ event: MotionEvent) -> Bool {
        self.answersByItself && (event.wantsAck || event.answerBy != nil)
    }

    /// Whether an event is being handled and nobody answered it.
    func isOpen(_ event: MotionEvent) -> Bool { self.current == event.name }

    /// Somebody answers an event.
    mutating func close(_ event: MotionEvent) {
        if self.isOpen(event) { self.current = nil }
    }

    /// Takes note of an answer that went out.
    mutating func remember(_ name: MotionEvent.Name) {
        if let index = self.answered.firstIndex(of: name) { self.answered.remove(at: index) }
        self.answered.append(name)
        self.answered.removeFirst(max(0, self.answered.count - self.mostAnswered))
        // What we were launched with may be done before what came earlier, which a broker that is told would not send again.
        if self.isOpen(before: name) { return }
        // Another broker may number anew: its epochs are later. What is older in both was answered late.
        if let last = self.lastAnswered, name.sequence <= last.sequence, name.epoch <= last.epoch { return }
        self.lastAnswered = name
    }

    /// Takes note of the answer to a launch. All of it may come once more, however much it is.
    mutating func remember(launched events: [MotionEvent]) {
        self.mostAnswered = Self.mostAnswered + events.count
        for event in events { self.remember(event.name) }
    }

    // MARK: One by one

    /// From now on events wait until they are asked for.
    mutating func beginSequence() { self.isSequenced = true }

    private func isAtHand(_ name: MotionEvent.Name) -> Bool {
        self.given?.name == name || self.heard.contains { $0.name == name }
    }

    /// Whether something waits or is being worked on that an answer to an event would be for, too.
    private func isOpen(before name: MotionEvent.Name) -> Bool {
        func isCovered(_ event: MotionEvent) -> Bool {
            event.wantsAck && event.sequence < name.sequence && !self.answered.contains(event.name)
        }
        if let given, isCovered(given) { return true }
        return self.heard.contains { isCovered($0) }
    }

    /// Drops the oldest event that does not come again.
    private mutating func giveWay() -> EventGap? {
        guard let index = self.heard.firstIndex(where: { !$0.wantsAck }) else { return nil }
        return EventGap(dropping: self.heard.remove(at: index))
    }

    /// Whether an event waits.
    var hasNext: Bool { !self.heard.isEmpty }

    /// The next event that waits.
    mutating func next() -> MotionEvent? {
        guard self.hasNext else { return nil }
        let event = self.heard.removeFirst()
        self.given = event
        return event
    }

    /// Ends the handling of the event that was asked for last, and gives it back if it is to be acknowledged now.
    mutating func finishGiven() -> MotionEvent? {
        guard let event = self.given.take(), self.acknowledges(event), !self.answered.contains(event.name) else {
            return nil
        }
        return event
    }
}
