package import Arbitration
package import Motion

/// What a queue wants to be done, in order.
package enum QueueAction: Equatable, Sendable {
    case send(Event)
    case mark(Mark)
    /// Put it on the disk; it is kept there until it is to be forgotten.
    case persist(Event)
    case forget(Event)
    /// A kept event came to its end.
    case ended(Event, EventEnd)
    /// The app could not be launched for what its queue keeps of an epoch, this time.
    case failed(Event, LaunchFailure)
}

/// What is due to one app: numbered, held back where the app cannot take it, sent, and ended exactly once.
///
/// A value without a clock. An event that nobody has to acknowledge ends with its sending; one with `Reliability=ack` with
/// its acknowledgement, and until then it is sent again after a second, after two more, after four more, and so on. Both may
/// expire, give way to newer ones, or lose what they were for. The numbers of events that end unsent are told in a mark
/// before whatever is sent next.
package struct EventQueue: Sendable {
    /// How many bytes are kept at most.
    package internal(set) var limit: Int
    package internal(set) var bytes = 0
    /// The number of the last event.
    package internal(set) var lastSequence: UInt64 = 0
    /// Events that ended without the app: newer ones needed the room, or they grew too old.
    package internal(set) var dropped: UInt64 = 0
    package internal(set) var expired: UInt64 = 0
    /// Acknowledgements of what the app does not have.
    package internal(set) var staleAcks: UInt64 = 0

    /// Not sent yet, or not since the app came back.
    var waiting = WaitingLine<KeptEvent>()
    /// Sent and not acknowledged, in the order of their numbers.
    var unacknowledged: [KeptEvent] = []
    /// What is known of what went out, and of what was handed over in calls.
    var outgoing = Outgoing()
    var calls = CallBook()
    /// What ended unsent and is still to be told.
    var lost = LostNumbers()
    /// False until the app says that it wants its events.
    var isSubscribed: Bool
    /// False while the app is suspended or not there.
    var isReachable = true
    /// The app does not read: what is to be sent now would only be handed back.
    package internal(set) var isHeld = false
    /// What the app is to be told once it was sent all that was kept.
    var catchingUp: CaughtUp?
    /// Not later than the first time at which something happens without an input.
    package internal(set) var deadline: Timestamp?

    /// Events that an app may have without having acknowledged them.
    package static let creditWindow = 16
    /// The longest time between two sendings of the same event.
    package static let longestPatience = TimeSpan.seconds(60)
    /// What the bus may hold for an app; half of what may be kept for it anywhere, when that is less.
    private static let busLimit = 128 << 10

    /// - Parameter keeping: bytes that may be kept for the app anywhere: here, and by the bus.
    package init(keeping total: Int, isSubscribed: Bool = true) {
        self.limit = total - Self.busShare(of: total)
        self.isSubscribed = isSubscribed
    }

    /// How many of the bytes that may be kept for an app anywhere may be sent and not read.
    package static func busShare(of total: Int) -> Int { min(Self.busLimit, total / 2) }

    /// Nothing is kept, and nothing is left to tell.
    package var isIdle: Bool {
        self.waiting.isEmpty && self.unacknowledged.isEmpty && self.lost.isEmpty
            && self.catchingUp == nil
    }

    /// Something waits, or may have to be sent again.
    var isKeeping: Bool { !self.waiting.isEmpty || !self.unacknowledged.isEmpty }
    /// The bytes of all that is kept, added up: what `bytes` says without.
    package var keptBytes: Int {
        self.unacknowledged.reduce(0) { $0 + $1.event.bytes } + self.waiting.all.reduce(0) { $0 + $1.event.bytes }
    }
    package var unacknowledgedCount: Int { self.unacknowledged.count }
    package var waitingCount: Int { self.waiting.count }
    /// What is to outlive the broker.
    var durableEvents: [Event] {
        self.unacknowledged.filter(\.isDurable).map(\.event) + self.waiting.all.filter(\.isDurable).map(\.event)
    }
    var isOpen: Bool { self.isSubscribed && self.isReachable && !self.isHeld }

    // MARK: Coming in

    /// Takes in an event that is due from now on. If it can go at once and then is done with, that is all.
    ///
    /// - Parameter start: when what it tells of happened, which is when its lifespan begins. One that is too old when it comes
    ///   ends here.
    package mutating func add(
        _ delivery: Delivery, isSimulated: Bool, wasNobodys: Bool = false, since start: Timestamp, at now: Timestamp,
        _ actions: inout [QueueAction]
    ) -> (event: Event, goesAtOnce: Bool) {
        self.lastSequence &+= 1
        var ends = start + delivery.terms.lifespan
        // Whose turn is over must not act any more.
        if let answerBy = delivery.answerBy { ends = min(ends, answerBy) }
        let content = EventContent(
            sequence: self.lastSequence, epoch: delivery.epoch, generation: delivery.generation,
            time: delivery.hit.time, detector: delivery.detector, peak: delivery.hit.peak, isSimulated: isSimulated,
            isClipped: delivery.hit.isClipped, note: delivery.hit.note)
        var event = Event(
            content, delivery.terms, ends: ends, strength: delivery.strength, answerBy: delivery.answerBy)
        event.wasNobodys = wasNobodys
        if ends <= now {
            self.finish(KeptEvent(event), .expired, &actions)
            self.pump(at: now, &actions)
            return (event, false)
        }
        if self.isOpen, !event.wantsAck, self.waiting.isEmpty, self.lost.isEmpty, self.catchingUp == nil {
            self.outgoing.offer(event)
            return (event, true)
        }
        self.keep(KeptEvent(event), at: now, &actions)
        self.pump(at: now, &actions)
        self.store(event, &actions)
        return (event, false)
    }

    /// Has an event outlive the broker, if it is to and is kept here.
    mutating func store(_ event: Event, _ actions: inout [QueueAction]) {
        guard event.terms.durability == .persistent, self.keeps(event.sequence) else { return }
        // Of what is to be acknowledged nobody asks.
        self.waiting.updateFirst(at: event.sequence) { $0.isStored = true }
        actions.append(.persist(event))
    }

    /// Puts an event where its number belongs, or ends it when there is no room.
    mutating func keep(_ kept: KeptEvent, at now: Timestamp, _ actions: inout [QueueAction]) {
        let event = kept.event
        guard self.makeRoom(for: event.bytes, before: event.sequence, at: now, &actions) else {
            return self.finish(kept, .dropped, &actions)
        }
        self.bytes += event.bytes
        self.waiting.insert(kept)
        self.expect(event.ends)
    }

    func keeps(_ sequence: UInt64) -> Bool {
        self.waiting.has(sequence) || self.unacknowledged.firstIndex(at: sequence) != nil
    }

    func keeps(epoch: UInt64) -> Bool {
        self.unacknowledged.contains { $0.event.epoch == epoch }
            || self.waiting.all.contains { $0.event.epoch == epoch }
    }

    /// Makes room by giving up what waits and is older, the oldest first. What was sent and may still be acknowledged stays.
    mutating func makeRoom(
        for size: Int, before sequence: UInt64 = .max, at now: Timestamp, _ actions: inout [QueueAction]
    ) -> Bool {
        guard self.bytes + size > self.limit else { return true }
        // Looked for only when there may be some: a full queue comes by here with every event.
        if let deadline = self.deadline, deadline <= now { self.expire(at: now, &actions) }
        guard self.unacknowledged.reduce(size, { $0 + $1.event.bytes }) <= self.limit else { return false }
        while self.bytes + size > self.limit {
            guard let next = self.waiting.first, next.event.sequence < sequence,
                let oldest = self.waiting.popFirst()
            else { return false }
            self.bytes -= oldest.event.bytes
            self.finish(oldest, .dropped, &actions)
        }
        return true
    }

    // MARK: Going out

    /// Sends what can be sent at this time.
    ///
    /// - Parameter room: bytes that the app takes now, as far as that is known. One event more goes than there is room for,
    ///   if there is one: it comes back, and with it the promise to tell when there is room again.
    package mutating func pump(at now: Timestamp, room: Int = .max, _ actions: inout [QueueAction]) {
        if let deadline = self.deadline, deadline <= now { self.runDeadlines(at: now, &actions) }
        guard self.isOpen else { return }
        var room = room
        while let next = self.waiting.first {
            if room < 0 { return }
            if let catchingUp, next.event.sequence > catchingUp.last {
                self.tellCaughtUp(&actions)
                room -= Mark.bytes
                continue
            }
            if next.event.wantsAck, self.unacknowledged.count >= Self.creditWindow { return }
            guard let kept = self.waiting.popFirst() else { return }
            room -= self.tellGaps(before: kept.event.sequence, &actions) * Mark.bytes
            self.send(kept, at: now, &actions)
            room -= kept.event.bytes
        }
        _ = self.tellGaps(before: .max, &actions)
        self.tellCaughtUp(&actions)
    }

    private mutating func send(_ taken: KeptEvent, at now: Timestamp, _ actions: inout [QueueAction]) {
        var kept = taken
        kept.event.isRedelivered = kept.attempts > 0
        actions.append(.send(kept.event))
        guard kept.event.wantsAck else {
            self.bytes -= kept.event.bytes
            // It is on the disk, and its verdict says that it waits, until it went out; or should it come back, it was handed over before.
            if kept.isStored || kept.isLaunching || kept.attempts > 0 { self.outgoing.add(kept) }
            if kept.attempts == 0 { self.outgoing.offer(kept.event) }
            return self.rest()
        }
        kept.goes(as: self.outgoing.next())
        kept.due = now + kept.patience
        self.expect(kept.due)
        let index = self.unacknowledged.firstIndex { $0.event.sequence > kept.event.sequence }
        self.unacknowledged.insert(kept, at: index ?? self.unacknowledged.count)
    }

    private mutating func tellGaps(before sequence: UInt64, _ actions: inout [QueueAction]) -> Int {
        var count = 0
        while let gap = self.lost.takeFirst(before: sequence) {
            actions.append(.mark(.gap(gap)))
            count += 1
        }
        return count
    }

    private mutating func tellCaughtUp(_ actions: inout [QueueAction]) {
        guard let mark = self.catchingUp else { return }
        self.catchingUp = nil
        actions.append(.mark(.caughtUp(mark)))
    }

    // MARK: Time

    mutating func expect(_ time: Timestamp) { self.deadline = min(self.deadline ?? time, time) }

    /// An empty queue waits for nothing.
    private mutating func rest() {
        if self.waiting.isEmpty, self.unacknowledged.isEmpty { self.deadline = nil }
    }

    /// Ends what is too old, sends again what was not acknowledged in time, and finds out what comes next.
    private mutating func runDeadlines(at now: Timestamp, _ actions: inout [QueueAction]) {
        self.expire(at: now, &actions)
        if self.isOpen {
            for index in self.unacknowledged.indices where self.unacknowledged[index].due <= now {
                self.unacknowledged[index].event.isRedelivered = true
                self.unacknowledged[index].goes(as: self.outgoing.next())
                self.unacknowledged[index].due = now + self.unacknowledged[index].patience
                actions.append(.send(self.unacknowledged[index].event))
            }
        }
        self.deadline = nil
        for kept in self.waiting.all { self.expect(kept.event.ends) }
        for kept in self.unacknowledged where !kept.isCalled {
            self.expect(self.isOpen ? min(kept.due, kept.event.ends) : kept.event.ends)
        }
    }

    /// Ends what is too old; if the app could not be launched for it, because of that.
    private mutating func expire(at now: Timestamp, _ actions: inout [QueueAction]) {
        if self.calls.hasFailed {
            self.end(.launchFailed, &actions) { $0.isLaunching && !$0.isCalled && $0.event.ends <= now }
        }
        self.end(.expired, &actions) { !$0.isCalled && $0.event.ends <= now }
    }

    // MARK: Ends

    /// Ends everything that fits, sent or not.
    mutating func end(_ end: EventEnd, _ actions: inout [QueueAction], where fits: (KeptEvent) -> Bool) {
        let ended = self.unacknowledged.filter(fits)
        if !ended.isEmpty { self.unacknowledged.removeAll(where: fits) }
        for kept in ended + self.waiting.remove(where: fits) {
            self.bytes -= kept.event.bytes
            self.finish(kept, end, &actions)
        }
        self.rest()
    }

    /// Notes the end of an event that is in no line, or not any more.
    mutating func finish(_ kept: KeptEvent, _ end: EventEnd, _ actions: inout [QueueAction]) {
        switch end {
        case .sent, .acknowledged, .removed: break
        case .dropped, .unkept: self.dropped &+= 1
        case .expired, .launchFailed: self.expired &+= 1
        }
        if kept.isSeen { self.outgoing.ended.add(kept) }
        let isOnlyCalled = kept.isCalled && kept.attempts == kept.earlierAttempts + 1
        if !kept.isSeen || isOnlyCalled, end != .acknowledged {
            let gap = Gap(of: kept.event.sequence, end)
            if kept.isSeen { self.calls.ended.append(gap) } else { self.lost.insert(gap) }
        }
        if kept.isDurable { actions.append(.forget(kept.event)) }
        actions.append(.ended(kept.event, end))
    }
}
