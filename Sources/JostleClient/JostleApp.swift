import DBus
package import Loop
import Motion
import Protocol

/// A connection to the broker as one app.
///
///     let client = try JostleApp(app: "org.example.Player")
///     client.onEvent = { event in print(event.detector, event.peak) }
///     try client.connect()
///     try client.add([Detector("skip", preset: "shake")])
///     try client.run()
///
/// An event that wants an answer is acknowledged when `onEvent` returns, unless `answersByItself` is switched off.
///
/// If the broker goes and comes back, or the bus does, the client registers again with all its detectors.
///
/// A handler may call whatever the client can do but `run`; while it waits for an answer, what comes for other handlers waits.
///
/// Not `Sendable`: use it from one thread. `run` drives it; a program with a loop of its own watches `descriptor` and
/// calls `dispatch` when it is readable.
public final class JostleApp {
    /// Which bus the broker is on.
    public enum Bus: Hashable, Sendable {
        /// The user's session bus.
        case session
        /// The system bus.
        case system
        /// A bus at this address.
        case address(String)
    }

    /// Called with every event.
    public var onEvent: (MotionEvent) -> Void = { _ in }
    /// Called with the numbers of events that we do not get, before the next one that we get.
    public var onGap: (EventGap) -> Void = { _ in }
    /// Called when all that was kept for us when we subscribed has come, with the number of the last such event.
    public var onCaughtUp: (UInt64) -> Void = { _ in }
    /// Whether events that want an answer are acknowledged when `onEvent` returns, and copies of them left unheard.
    public var answersByItself: Bool {
        get { self.desk.answersByItself }
        set { self.desk.answersByItself = newValue }
    }
    /// Whether the detectors are to outlive the app and the broker; to be said before `connect`. For apps whose app file says
    /// what they want motion for.
    public var isDurable: Bool {
        get { self.registration.isDurable }
        set { self.registration.isDurable = newValue }
    }
    /// Called when the broker is there with all our detectors (`true`) and when it is gone (`false`).
    public var onBrokerChange: (Bool) -> Void = { _ in }
    /// Called when an assertion ends soon.
    public var onExpiring: (ExpiringAssertion) -> Void = { _ in }
    /// Called when the broker started or resumed us for something; while it is set, we can be. The broker is answered when
    /// it returns, and the events are acknowledged with that.
    public var onLaunch: ((Launch) -> Void)?
    /// Called when one of our sessions stands otherwise beside those of other apps.
    public var onSession: (SessionChange) -> Void = { _ in }
    /// Called when the broker came back and does not take us or our detectors. While the error is not `isFinal`, the broker is
    /// asked again, after a second at first and at most a minute later. Without a handler `run` and `dispatch` throw a final one.
    public var onRefusal: ((JostleError) -> Void)?

    private let loop: EventLoop
    private let link: BrokerLink
    /// Nobody is told anything until the next `run` or `dispatch`.
    package private(set) var isStopped = false
    /// Handlers are told when this round is over.
    private var isDue = false
    var registration: Registration
    private var arrivals = Arrivals()
    private var desk = EventDesk()
    var tasks = BegunTasks()

    /// Signals that pretended to be events of ours or to come from the bus, and replies of others than were asked. None was heard.
    public var refusedMessages: UInt64 { self.link.refusedMessages }

    /// Makes a client; nothing is sent yet.
    ///
    /// - Parameter app: the app id, a well-known bus name that the client will own. Without one it is anonymous and
    ///   gets live events only.
    public convenience init(app: String = "", on bus: Bus = .session) throws(JostleError) {
        do throws(SystemError) {
            self.init(app: app, on: bus, loop: try EventLoop())
        } catch {
            throw JostleError(kind: .failed, name: "", message: "\(error)")
        }
    }

    /// The same on a loop that has other things to do too.
    package init(app: String, on bus: Bus, loop: EventLoop) {
        self.loop = loop
        self.link = BrokerLink(app: app, on: bus, loop: loop)
        self.registration = Registration(app: app)
        self.listen()
        if !app.isEmpty { self.link.export(Receiver.object(of: self)) }
    }

    /// Has the link tell us what the broker says, and of its comings and goings.
    private func listen() {
        self.link.hear("Event", EventCodec.read) { [unowned self] in self.arrived(.event(MotionEvent($0))) }
        self.link.hear("Gap", GapCodec.read) { [unowned self] in self.arrived(.gap(EventGap($0))) }
        self.link.hear("CaughtUp", CaughtUpCodec.read) { [unowned self] in self.arrived(.caughtUp($0)) }
        self.link.hear("SessionChanged", SessionChange.read) { [unowned self] in self.arrived(.session($0)) }
        self.link.hear("AssertionExpiring", ExpiringAssertion.read) { [unowned self] in self.arrived(.expiring($0)) }
        self.link.hear("TaskExpiring", { _ in () }) { [unowned self] in self.tasks.expire() }
        // A handler may have let go of us.
        self.link.onChange = { [weak self] in self?.brokerChanged($0) }
    }

    /// Connects to the bus and registers with the broker, which the bus starts if it can.
    public func connect() throws(JostleError) { try self.connect(onMissing: nil) }

    /// The same, and where there is no broker and the bus can start none, waits for one.
    ///
    /// - Parameter onMissing: called before it waits.
    package func connect(orWaiting onMissing: @escaping () -> Void) throws(JostleError) {
        try self.connect(onMissing: onMissing)
    }

    private func connect(onMissing: (() -> Void)?) throws(JostleError) {
        // What we are launched for comes as soon as we have our name, and waits until we are registered.
        self.arrivals.callBegins()
        defer { self.callEnded() }
        do throws(BusError) {
            try self.registration.check()
            try self.link.open()
            try self.link.enroll(self.registration, orWaiting: onMissing)
            self.registration.begin()
            // Another broker came since the one that took us, and nobody was told yet.
            if !self.link.isRegistered { self.registerAgain() }
        } catch {
            throw JostleError(error)
        }
    }

    /// Adds detectors, all or none, and returns what is in force for them.
    @discardableResult
    public func add(_ detectors: [Detector]) throws(JostleError) -> [EffectiveDetector] {
        let rows = try self.ask { (link) throws(BusError) in
            try link.change("AddDetectors", detectors.map(\.request.wire)) { self.registration.add(detectors) }
                .read(reply: [Structure<String, [String: Value]>].self)
        }
        return rows.map { EffectiveDetector($0.fields.0, $0.fields.1) }
    }

    /// What is in force for the app's detectors by now, in order of their names.
    public func detectors() throws(JostleError) -> [EffectiveDetector] {
        var all: [EffectiveDetector] = []
        while true {
            let known: [String: Value] = all.last.map { [ListOptions.after: .string($0.name)] } ?? [:]
            let rows = try self.ask { (link) throws(BusError) in
                try link.ask("ListDetectors", known).read(reply: [Structure<String, [String: Value]>].self)
            }
            // Each page is behind the one before; a broker that sends others would keep us for ever.
            guard let last = rows.last, all.last.map({ $0.name < last.fields.0 }) ?? true else { return all }
            all += rows.map { EffectiveDetector($0.fields.0, $0.fields.1) }
        }
    }

    /// The same of as many as one answer has, told when it comes.
    package func detectors(then: @escaping ([EffectiveDetector]) -> Void) {
        let all: [String: Value] = [:]
        self.link.ask("ListDetectors", all, as: [Structure<String, [String: Value]>].self) { rows in
            then(rows.map { EffectiveDetector($0.fields.0, $0.fields.1) })
        }
    }

    /// Removes detectors by name.
    public func remove(_ names: [String]) throws(JostleError) {
        try self.ask { (link) throws(BusError) in
            _ = try link.change("RemoveDetectors", names, noOptions) { self.registration.remove(names) }
        }
    }

    /// Asks the broker about our own object; what arrives meanwhile waits.
    func ask<Answer>(_ body: (BrokerLink) throws(BusError) -> Answer) throws(JostleError) -> Answer {
        self.arrivals.callBegins()
        defer { self.callEnded() }
        do throws(BusError) {
            return try body(self.link)
        } catch {
            throw JostleError(error)
        }
    }

    /// Lets what waited follow, once the caller has gone on.
    private func callEnded() {
        self.arrivals.callEnds()
        if !self.arrivals.isEmpty { self.tellSoon() }
    }

    /// Asks for the events that are kept for us and not yet expired, in order; `onCaughtUp` follows them. Call it before
    /// `add`, or what happens in between comes first.
    ///
    /// - Parameter event: the last event that we are done with, of an earlier run.
    /// - Returns: how many events are kept.
    @discardableResult
    public func subscribe(since event: MotionEvent.Name? = nil) throws(JostleError) -> UInt64 {
        let kept = try self.ask { (link) throws(BusError) -> UInt64 in
            let reply = try link.ask("Subscribe", Self.subscription(since: event))
            self.registration.subscribe()
            let results = try reply.read(reply: [String: Value].self)
            return if case .uint64(let count) = results[SubscribeOptions.kept] { count } else { 0 }
        }
        // Also for the next broker: this one may leave before its disk knows.
        if let event { self.desk.remember(event) }
        return kept
    }

    private static func subscription(since event: MotionEvent.Name?) -> [String: Value] {
        SubscribeOptions.options(since: event.map { ($0.sequence, $0.epoch) })
    }

    // MARK: Running

    /// Handles events until `stop`.
    public func run() throws(JostleError) { try self.run(until: { false }) }

    /// Handles events for some time, or until `stop`.
    public func run(for time: Duration) throws(JostleError) {
        var isOver = false
        let timer = self.loop.schedule(after: TimeSpan(time).microseconds) { isOver = true }
        defer { self.loop.cancel(timer) }
        try self.run(until: { isOver })
    }

    /// Handles events until something is so, or until `stop`.
    package func run(until isDone: () -> Bool) throws(JostleError) {
        guard !self.arrivals.isTelling else {
            throw JostleError(kind: .failed, name: "", message: "a handler cannot run the client that calls it")
        }
        self.goOn()
        do throws(BusError) {
            try self.link.wait { self.isStopped || isDone() }
        } catch {
            throw JostleError(error)
        }
        try self.registration.throwRefusal()
    }

    /// Ends `run`; to be called from a handler. What came besides is for the next `run`.
    public func stop() { self.isStopped = true }

    /// Tells handlers again, after `stop`.
    private func goOn() {
        self.isStopped = false
        if !self.arrivals.isEmpty { self.tellSoon() }
    }

    /// Readable when `dispatch` has something to do.
    public var descriptor: Int32 { self.loop.descriptor }

    /// Handles what has come in, without waiting.
    public func dispatch() throws(JostleError) {
        self.goOn()
        do throws(SystemError) {
            _ = try self.loop.runOnce(timeout: 0)
        } catch {
            throw JostleError(kind: .failed, name: "", message: "\(error)")
        }
        try self.registration.throwRefusal()
    }

    // MARK: Events

    /// Says that we are done with an event and with all before it: with `answersByItself` off, or from the handler.
    public func acknowledge(_ event: MotionEvent) { self.answer(event, "consume") }

    /// Leaves an event of an ordered group to the next app: with `answersByItself` off, or from the handler.
    ///
    /// It counts until the event's `answerBy`. Where nobody is next it is as good as `acknowledge`.
    public func pass(_ event: MotionEvent) { self.answer(event, "pass") }

    /// Has an event come again that wants an answer: from its handler, which could do nothing with it.
    package func leaveOpen(_ event: MotionEvent) { self.desk.close(event) }

    private func answer(_ event: MotionEvent, _ answer: String) {
        self.desk.close(event)
        // Without a broker it is kept in mind: the next one is told in Subscribe, or when it sends a copy.
        self.desk.remember(event.name)
        self.link.tell("Ack", event.sequence, event.epoch, answer, noOptions)
    }

    /// The events from now on, in place of `onEvent`.
    public func events() -> MotionEvents {
        self.desk.beginSequence()
        return MotionEvents(client: self)
    }

    /// The next event that waits, for whoever iterates over them.
    func nextEvent() -> MotionEvent? { self.desk.next() }

    /// Whoever asks for the next event is done with the last one.
    func finishGiven() { if let event = self.desk.finishGiven() { self.acknowledge(event) } }

    /// Has a handler told what the broker sent.
    func arrived(_ arrival: Arrival) {
        self.arrivals.add(arrival)
        self.tellSoon()
    }

    private func tellSoon() {
        guard !self.isDue else { return }
        self.isDue = true
        self.loop.between { [weak self] in
            self?.isDue = false
            self?.tell()
        }
    }

    private func tell() {
        guard !self.isStopped, self.arrivals.begin() else { return }
        // What handlers bring in by their calls is told in the next round: this one has an end.
        for _ in 0..<self.arrivals.count where !self.isStopped {
            if let arrival = self.arrivals.next() { self.handle(arrival) }
        }
        self.arrivals.end()
        // For programs with a loop of their own: there is more.
        if !self.arrivals.isEmpty { self.tellSoon() }
    }

    private func handle(_ arrival: Arrival) {
        switch arrival {
        case .session(let change): self.onSession(change)
        case .expiring(let assertion): self.onExpiring(assertion)
        case .broker(let isThere): self.onBrokerChange(isThere)
        case .refusal(let error): self.handle(error)
        case .event(let event): self.handle(event)
        case .gap(let gap): self.onGap(gap)
        case .caughtUp(let last): self.onCaughtUp(last)
        case .launch(let launch, let call): self.handle(launch, call)
        }
    }

    private func handle(_ refusal: JostleError) {
        if let onRefusal = self.onRefusal { return onRefusal(refusal) }
        guard refusal.isFinal else { return }
        // Whoever runs us would wait for ever.
        self.registration.refuse(refusal)
        self.stop()
    }

    private func handle(_ event: MotionEvent) {
        switch self.desk.take(event) {
        case .answered: self.acknowledge(event)
        case .kept: break
        case .keptInPlaceOf(let gap): self.onGap(gap)
        case .due(let wantsAck):
            self.onEvent(event)
            if wantsAck, self.desk.isOpen(event) { self.acknowledge(event) }
        }
    }

    /// Answers a launch when the handler is done with it. Only the broker launches us; who else says so is refused.
    private func handle(_ launch: Launch, _ call: MethodCall) {
        guard self.link.isFromBroker(call) else {
            self.link.countForgery()
            return call.fail(.accessDenied("only the broker launches apps"))
        }
        guard let onLaunch = self.onLaunch else {
            return call.fail(.notSupported("the app does nothing when it is launched"))
        }
        onLaunch(launch)
        self.desk.remember(launched: launch.events)
        call.reply("consume")
    }

    /// Takes a task that the broker began. False: somebody else says so.
    func begin(_ task: RunningTask, _ call: MethodCall) -> Bool {
        guard self.link.isFromBroker(call) else { return false }
        self.tasks.begin(task)
        return true
    }

    // MARK: The broker's comings and goings

    private func brokerChanged(_ change: BrokerLink.Change) {
        switch change {
        case .leaves:
            self.tasks.brokerLeaves()
            if self.registration.end() { self.arrived(.broker(isThere: false)) }
        case .comes: if self.registration.isNeeded { self.registerAgain() }
        case .refuses(let error): self.arrived(.refusal(JostleError(error)))
        }
    }

    /// The broker came back and knows nothing of us: it is told all of it, a call at a time.
    private func registerAgain() {
        self.link.register(self.registration) { [weak self] in self?.subscribeAgain() }
    }

    private func subscribeAgain() {
        guard self.registration.isSubscribed else { return self.addAgain(self.registration.batches[...]) }
        self.link.tellAgain("Subscribe", Self.subscription(since: self.desk.lastAnswered)) { [weak self] in
            if let self { self.addAgain(self.registration.batches[...]) }
        }
    }

    /// Adds the detectors that were there before.
    private func addAgain(_ batches: ArraySlice<ArraySlice<DetectorRequest>>) {
        guard let batch = batches.first else {
            self.link.endTellingAgain()
            self.registration.begin()
            return self.arrived(.broker(isThere: true))
        }
        self.link.tellAgain("AddDetectors", batch.map(\.wire)) { [weak self] in self?.addAgain(batches.dropFirst()) }
    }
}
