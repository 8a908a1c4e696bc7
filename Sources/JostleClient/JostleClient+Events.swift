import DBus
import EventLoop
import Motion
import Protocol

extension JostleClient {
    /// What the broker sends us, in order.
    enum Arrival {
        case event(MotionEvent)
        case gap(EventGap)
        case caughtUp(UInt64)
        case launch(Launch, MethodCall)
    }

    /// As many answers of ours are remembered as the broker sends events without having had one.
    private static let mostAnswered = 32

    // MARK: Answers

    /// Says that we are done with an event and with all before it: with `answersByItself` off, or from the handler.
    public func acknowledge(_ event: MotionEvent) { self.answer(event, "consume") }

    /// Leaves an event of an ordered group to the next app: with `answersByItself` off, or from the handler.
    ///
    /// It counts until the event's `answerBy`. Where nobody is next it is as good as `acknowledge`.
    public func pass(_ event: MotionEvent) { self.answer(event, "pass") }

    private func answer(_ event: MotionEvent, _ answer: String) {
        if self.current?.name == event.name { self.current = nil }
        guard let target = try? self.target() else { return }
        self.connection.tell(target, "Ack", event.sequence, event.epoch, answer)
        self.remember(event.name)
    }

    func remember(_ name: MotionEvent.Name) {
        if self.answered.count == Self.mostAnswered { self.answered.removeFirst() }
        self.answered.append(name)
    }

    // MARK: Arrivals

    /// Anybody can send us signals of these names: only the broker's, about our own object, are heard.
    func isOurs(_ message: borrowing Message) -> Bool {
        guard let broker, let object else { return false }
        return message.isFrom(broker) && message.isAt(object)
    }

    func receivedEvent(_ message: borrowing Message) {
        guard self.isOurs(message), let body = EventCodec.read(message) else { return self.forgeries &+= 1 }
        self.arrived(.event(MotionEvent(body)))
    }

    func receivedGap(_ message: borrowing Message) {
        guard self.isOurs(message), let body = GapCodec.read(message) else { return self.forgeries &+= 1 }
        self.arrived(
            .gap(
                EventGap(
                    first: body.first, last: body.last, dropped: body.dropped, expired: body.expired,
                    removed: body.removed)))
    }

    func receivedCaughtUp(_ message: borrowing Message) {
        guard self.isOurs(message), let last = CaughtUpCodec.read(message) else { return self.forgeries &+= 1 }
        self.arrived(.caughtUp(last))
    }

    func receivedSession(_ message: borrowing Message) {
        guard self.isOurs(message),
            let (name, word, details) = try? message.read(String.self, String.self, [String: Value].self),
            let change = SessionChange(name, word, details)
        else { return self.forgeries &+= 1 }
        self.onSession(change)
    }

    func receivedExpiring(_ message: borrowing Message) {
        guard self.isOurs(message), let (name, remaining) = try? message.read(String.self, UInt64.self) else {
            return self.forgeries &+= 1
        }
        self.onExpiring(name, .microseconds(Int64(clamping: remaining)))
    }

    func arrived(_ arrival: Arrival) {
        if self.isCalling || !self.early.isEmpty {
            self.early.append(arrival)
        } else {
            self.handle(arrival)
        }
    }

    private func handle(_ arrival: Arrival) {
        switch arrival {
        case .event(let event): self.handle(event)
        case .gap(let gap): self.onGap(gap)
        case .caughtUp(let last): self.onCaughtUp(last)
        case .launch(let launch, let call): self.handle(launch, call)
        }
    }

    private func handle(_ event: MotionEvent) {
        let isAnswered = self.answersByItself && (event.wantsAck || event.answerBy != nil)
        // A copy that was under way when we answered. The broker may not know that we did.
        if isAnswered, event.isRedelivered, self.answered.contains(event.name) { return self.answer(event, "consume") }
        if self.isSequenced { return self.heard.append(event) }
        guard isAnswered else { return self.onEvent(event) }
        self.current = event
        self.onEvent(event)
        if self.current?.name == event.name { self.answer(event, "consume") }
    }

    /// Lets what waited follow, once the caller has gone on.
    func callEnded() {
        self.isCalling = false
        guard !self.early.isEmpty else { return }
        // A timer makes the descriptor readable, for programs with a loop of their own.
        self.loop.once(after: 0) { [weak self] in self?.handleEarly() }
    }

    private func handleEarly() {
        // The end of a call that is under way asks for it again.
        guard !self.isCalling else { return }
        let arrivals = self.early
        self.early = []
        for arrival in arrivals { self.handle(arrival) }
    }
}

extension MotionEvent {
    /// What the broker said, heard now.
    init(_ body: EventCodec.Body) {
        self.init(
            sequence: body.sequence, epoch: body.epoch, time: body.time.wire, detector: body.detector, peak: body.peak,
            isSimulated: body.isSimulated, isClipped: body.isClipped, wantsAck: body.wantsAck,
            answerBy: body.answerBy?.wire, isRedelivered: body.isRedelivered, isPersistent: body.isPersistent,
            transition: body.note.transition, distance: body.note.distance(body.peak), filter: body.note.filter,
            stay: body.note.stay(body.peak).map { (Timestamp.zero + $0).wire },
            received: UInt64(max(0, Clock.boottime.now())))
    }
}
