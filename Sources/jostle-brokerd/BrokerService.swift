import Arbitration
import Background
import BrokerCore
import DBus
import DaemonSupport
import Glibc
import Journal
import Loop
import Motion
import PolicyFiles

/// Hands inputs to the core, and performs the actions that it asks for. What comes from the bus and goes there is the work of
/// `BrokerLinks`.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class BrokerService {
    let loop: EventLoop
    let bus: Connection
    let names: NameWatch
    let log: Log
    let authority: Authority
    let outbox: Outbox
    private(set) var core: Broker
    /// Made with us, as they need us.
    private var madeLinks: BrokerLinks?
    private var actions: [BrokerAction] = []
    /// What follows from what could not be sent: it is performed after what was being performed.
    private var returned: [BrokerAction] = []
    private var clock = InputClock()

    init(
        on loop: EventLoop, bus: Connection, sensorBuses: [Connection], loginBus: Connection,
        policy source: PolicySource,
        apps: AppSource, batchLatency: TimeSpan, streamsFrom: Double, store: StoreLink?, record: BrokerRecord, log: Log
    ) throws(DirectoryInUse) {
        self.loop = loop
        self.bus = bus
        self.log = log
        self.names = NameWatch(on: bus)
        self.authority = Authority(on: bus)
        self.outbox = Outbox(on: bus)
        let (policy, files) = PolicyLink.first(of: source, log)
        // Read while the disk is busy with what was there before us.
        let reading = apps.readAll()
        // Epochs survive a lost disk because the wall clock is ahead of all that were given out.
        let epoch = try store?.firstEpoch() ?? UInt64(max(0, Clock.wallClock()))
        self.core = Broker(
            policy: policy, epoch: epoch, batchLatency: batchLatency, clips: store?.clips, keeper: getuid())
        record.begin(&self.core, files, at: self.clock.arrival())
        self.madeLinks = BrokerLinks(
            self, store, PolicyLink(self, from: source, files), AppFileLink(self, from: apps), sensorBuses: sensorBuses,
            loginBus: loginBus, streamsFrom: streamsFrom, record: record)
        self.followClock()
        self.links.disk.keep(self.links.policy.inForce)
        self.links.disk.begin()
        self.links.history.begin()
        // What the disk knows besides comes when it answers.
        let taking = self.links.appFiles.take(reading)
        while taking() {}
        // Nobody waits for one that does not.
        self.links.registrations.begin()
    }

    /// What stands beside the loop, which is there as long as we are.
    var links: BrokerLinks {
        guard let madeLinks else { invariantFailure("the links are made with the service") }
        return madeLinks
    }

    /// The bus is there, or there again.
    func busReady() {
        self.names.refresh()
        // That nobody has the reader's name here either is no news, so that nobody else has it started.
        self.links.sensors.startIfNeeded()
        // Not before: who waits for us waits for our name.
        self.links.login.open()
    }

    /// The bus went away, and every client with it.
    func busLost() {
        self.names.forgetAll()
        self.links.clients.leaveAll()
        self.links.reports.loseReporters()
        self.links.clients.watchers.unwatchAll()
    }

    // MARK: Inputs

    /// Hands an input to the core and performs what it asks for.
    @discardableResult
    func input(_ input: BrokerInput) throws(Refusal) -> BrokerAnswer {
        try self.input { (core, now, actions) throws(Refusal) in try core.apply(input, at: now, &actions) }
    }

    /// Takes in something that happened. Nobody waits to hear that it may not be.
    func happened(_ input: BrokerInput) { _ = try? self.input(input) }

    /// The same for what has to know when that is, or is lent, or does something before what is asked for is performed.
    func input<R>(
        _ body: (inout Broker, Timestamp, inout [BrokerAction]) throws(Refusal) -> R
    ) throws(Refusal) -> R {
        defer {
            let links = self.links
            self.performActions(links)
            let due = self.core.due()
            links.disk.useEpochs(upTo: due.lastEpoch)
            links.dueWork.begin(due)
            if due.hasSteps { links.dueWork.record(self.core.takeSteps()) }
        }
        let awaited = self.core.awaited()
        // Read first, so that nothing is begun before its time.
        let wall = awaited.wallClock ? Clock.wallClock() : nil
        let stamp = self.clock.input(isAwake: awaited.isAwake)
        if let begin = stamp.sleep { self.tellSleep(from: begin, until: stamp.arrival) }
        if let wall { self.tellClock(wall, at: stamp.arrival) }
        if let minute = stamp.minute { self.tell(.life(.clock(minuteOfWeek: minute)), at: stamp.arrival) }
        return try body(&self.core, stamp.arrival, &self.actions)
    }

    /// The same for what a caller asks for, who is told why it may not be.
    @discardableResult
    func request(_ input: BrokerInput) throws(BusError) -> BrokerAnswer {
        try self.request { (core, now, actions) throws(Refusal) in try core.apply(input, at: now, &actions) }
    }

    func request<R>(
        _ body: (inout Broker, Timestamp, inout [BrokerAction]) throws(Refusal) -> R
    ) throws(BusError) -> R {
        do throws(Refusal) {
            return try self.input(body)
        } catch {
            throw BusError(error)
        }
    }

    /// Tells the core what it is to know before an input.
    private func tell(_ input: BrokerInput, at arrival: Timestamp) {
        _ = try? self.core.apply(input, at: arrival, &self.actions)
    }

    /// Tells the core first of a sleep that nobody announced: it ended now.
    private func tellSleep(from begin: Timestamp, until arrival: Timestamp) {
        self.tell(.life(.sleep(true)), at: begin)
        self.tell(.life(.sleep(false)), at: arrival)
        let wall = Clock.wallClock()
        self.links.history.sleep(true, at: wall - (arrival - begin).microseconds)
        self.links.history.sleep(false, at: wall)
    }

    /// Tells the core what tasks go by until they begin.
    private func tellClock(_ wall: Int64, at arrival: Timestamp) {
        self.tell(.task(.clock(Timestamp(microseconds: wall) - arrival)), at: arrival)
    }

    /// Another policy may go by the local time, which is to be right before anybody asks.
    func followClock() {
        self.clock.follow(minutes: self.core.arbiter.policy.rules.contains { $0.conditions.times != nil })
        self.refreshClock()
    }

    /// Has what is only asked, and not told, know the local time.
    func refreshClock() {
        if self.clock.followsMinutes { try? self.input { (_, _, _) throws(Refusal) in } }
    }

    /// Tells the core that nothing stands in the way of what was to be on the disk first. What follows is performed after
    /// what is being performed, or with the next input.
    func taskKept(_ owner: TaskOwner, _ revision: UInt64) {
        _ = try? self.core.apply(.task(.kept(owner, revision: revision)), at: self.clock.arrival(), &self.returned)
    }

    /// The system goes to sleep, or is back.
    func sleep(_ begins: Bool) {
        self.links.history.sleep(begins)
        self.happened(.life(.sleep(begins)))
        if !begins { self.clock.noteAwake() }
    }

    /// Asks the core, as things are now.
    func now<R>(_ body: (borrowing Broker, Timestamp) -> R) -> R { body(self.core, self.clock.arrival()) }

    /// Tells the core whether somebody is called with what a launch hands over. Nothing follows from that by itself.
    func setCalled(_ launch: Launch, _ isCalled: Bool) { self.core.setCalled(launch, isCalled) }

    /// What is left of what a launch hands over; `nil`: nothing. Nothing follows from that by itself.
    func handOver(_ handover: Handover, of launch: Launch) -> Handover? { self.core.handOver(handover, of: launch) }

    /// Gives out no epoch up to this one any more.
    func skipEpochs(upTo epoch: UInt64) { self.core.skipEpochs(upTo: epoch) }

    // MARK: Actions

    private func performActions(_ links: BrokerLinks) {
        var actions: [BrokerAction] = []
        swap(&actions, &self.actions)
        // Taken from the end, where that copies nothing.
        actions.turnRound()
        while let action = actions.popLast() {
            switch consume action {
            case .claim(let sensor, let pace): links.sensors.claim(sensor, pace)
            case .release(let sensor):
                links.sensors.release(sensor)
                links.history.sensorsChanged()
            case .availability(let sensor):
                links.sensors.report(sensor)
                links.history.sensorsChanged()
                links.clients.availabilityChanged()
                links.sensors.watchSilence()
            case .deliver(let client, let event): self.deliver(event, to: client, links)
            case .life(let client, let effect): links.clients[client]?.perform(effect)
            case .session(let client, let effect): links.clients[client]?.perform(effect)
            case .task(let effect): links.tasks.perform(effect)
            case .mark(let client, let mark): self.deliver(mark, to: client, links)
            case .persist(let event): links.disk.persist(event)
            case .forget(let event): links.disk.forget(event)
            case .ended(let app, let user, let event, let end): links.disk.ended(event, of: app, user, end)
            case .failed(let app, let user, let event, let failure):
                links.disk.keep(event, of: app, user, .failed(failure))
            case .keep(let record): links.disk.keep(record)
            case .clip(let sensor): self.keepClip(of: sensor, links)
            case .launch(let launch, let handover): links.launches.launch(launch, handover)
            case .launchEnded(let launch, let result): links.launches.ended(launch, result)
            case .launchGivenUp(let request, let failure): links.launches.gaveUp(request, failure)
            }
        }
        // Its memory serves the next input.
        if self.actions.isEmpty, actions.capacity <= Self.spareActions { swap(&actions, &self.actions) }
        guard !self.returned.isEmpty else { return }
        swap(&self.actions, &self.returned)
        self.performActions(links)
    }

    /// Has a clip kept that is complete.
    private func keepClip(of sensor: String, _ links: BrokerLinks) {
        links.disk.keepClip { self.core.cutClip(of: sensor, into: &$0) }
    }

    /// Has the clips of whoever calls forgotten, and everybody's for root. They are a user's, and of none in a sandbox.
    func forgetClips(_ call: MethodCall) {
        self.authority.ifKnown(call) { [weak self] identity in
            guard let self else { return }
            guard identity.sandbox == nil else {
                return call.fail(.accessDenied("clips are forgotten for their user and root, and you are in a sandbox"))
            }
            self.forgetClips(of: identity.isRoot ? nil : identity.user) { error in
                if let error { call.fail(error) } else { call.reply() }
            }
        }
    }

    /// Has clips forgotten, of a user or of all: also those in the making. Told when that is on the disk.
    func forgetClips(of user: UInt32?, then done: @escaping (BusError?) -> Void) {
        self.core.forgetClips(of: user)
        self.links.disk.forgetClips(of: user, then: done)
    }

    private func deliver(_ event: Event, to id: AppHandle, _ links: BrokerLinks) {
        guard let client = links.clients[id], let object = client.object, let peer = client.peer else { return }
        // Once something came back, all that follows must, or the order were lost.
        if !self.core.isHeld(id), self.outbox.send(event, from: object.path, to: peer) {
            let app = self.core.sent(id, event, &self.returned) ?? client.app
            return links.disk.keep(event, of: app, client.uid ?? UserShares.unknown, .sent)
        }
        _ = try? self.core.apply(.unsent(id, event), at: self.clock.arrival(), &self.returned)
    }

    private func deliver(_ mark: Mark, to id: AppHandle, _ links: BrokerLinks) {
        guard let client = links.clients[id], let object = client.object, let peer = client.peer else { return }
        if !self.core.isHeld(id), self.outbox.send(mark, from: object.path, to: peer) {
            return self.core.sent(id, mark)
        }
        _ = try? self.core.apply(.unsentMark(id, mark), at: self.clock.arrival(), &self.returned)
    }

    /// All signals and replies that were not what they pretended to be.
    var forgeries: UInt64 {
        self.names.forgeries &+ self.bus.refusedReplies &+ self.links.sensors.forgeries
    }

    /// Actions for which room is kept from one input to the next.
    private static let spareActions = 1_024

    /// Gives back memory that was needed for clients that are gone.
    func shrink() {
        self.core.shrink()
        self.links.clients.shrink()
        self.links.history.shrink()
        self.names.shrink()
    }
}
