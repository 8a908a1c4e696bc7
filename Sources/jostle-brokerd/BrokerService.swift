import Arbitration
import Background
import BrokerCore
import DBus
import DaemonSupport
import EventLoop
import Glibc
import Journal
import Motion
import PolicyFiles
import Protocol

/// The shell of the broker: decodes what comes from the bus, calls the core, performs its actions.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class BrokerService {
    let loop: EventLoop
    let bus: Connection
    let names: NameWatch
    let log: Log
    let authority: Authority
    private(set) var core: BrokerCore
    private let sender: PacedSender
    /// Made with us, as they need us.
    private var madeLinks: BrokerLinks?
    private var clients: [String: Client] = [:]
    /// Apps by their ids, on the bus or not.
    private(set) var apps: [AppID: Client] = [:]
    /// Who waits for the disk to say whose apps are; `nil`: it has, or it fails.
    private var parked: [Client]?
    /// How long registrations wait for the disk, in µs.
    private static let diskPatience: Int64 = 1_000_000
    private var clientsByID: [Client?] = []
    private var freeIDs: [UInt32] = []
    private var actions: [BrokerAction] = []
    /// What follows from what could not be sent: it is performed after what was being performed.
    private var returned: [BrokerAction] = []
    private var clock = InputClock()

    init(
        on loop: EventLoop, bus: Connection, sensorBus: Connection, loginBus: Connection, policy source: PolicySource,
        apps: AppSource, batchLatency: TimeSpan, streamsFrom: Double, store: StoreLink?, record: BrokerRecord, log: Log
    ) throws(DirectoryInUse) {
        self.loop = loop
        self.bus = bus
        self.log = log
        self.names = NameWatch(on: bus)
        self.authority = Authority(on: bus)
        self.sender = PacedSender(on: bus)
        let (policy, files) = PolicyLink.first(of: source, log)
        // Read while the disk is busy with what was there before us.
        let reading = apps.readAll()
        // Epochs survive a lost disk because the wall clock is ahead of all that were given out.
        let epoch = try store?.firstEpoch() ?? UInt64(max(0, Clock.wallClock()))
        self.core = BrokerCore(policy: policy, epoch: epoch, batchLatency: batchLatency)
        self.core.record(
            inputs: record.wantsInputs, decisions: record.wantsDecisions, files: files.map(\.recorded),
            at: self.clock.arrival())
        self.madeLinks = BrokerLinks(
            self, store, PolicyLink(self, from: source, files), AppFileLink(self, from: apps), sensorBus: sensorBus,
            loginBus: loginBus,
            streamsFrom: streamsFrom, record: record)
        self.followClock()
        self.links.disk.keep(self.links.policy.inForce)
        self.parked = store == nil ? nil : []
        self.links.disk.begin()
        // What the disk knows besides comes when it answers.
        let taking = self.links.appFiles.take(reading)
        while taking() {}
        // Nobody waits for one that does not.
        if self.parked != nil { loop.once(after: Self.diskPatience) { [weak self] in self?.admitParked() } }
    }

    /// What stands beside the loop, which is there as long as we are.
    var links: BrokerLinks {
        guard let madeLinks else { invariantFailure("the links are made with the service") }
        return madeLinks
    }

    /// The bus is there, or there again.
    func busReady() {
        self.names.refresh()
        // Not before: who waits for us waits for our name.
        self.links.login.open()
    }

    /// The bus went away, and every client with it.
    func busLost() {
        self.names.forgetAll()
        for client in self.clients.values { self.leave(client) }
        self.links.reports.loseReporter()
    }

    // MARK: The core

    /// Hands an input to the core and performs what it asks for.
    func input<R>(
        _ body: (inout BrokerCore, Timestamp, inout [BrokerAction]) throws(Refusal) -> R
    ) throws(Refusal) -> R {
        defer {
            self.performActions()
            self.links.disk.useEpochs(upTo: self.core.lastEpoch)
            let due = self.core.due()
            self.links.due.begin(due)
            if due.isRecording { self.links.due.record(&self.core) }
        }
        // Read first, so that nothing is begun before its time.
        let wall = self.core.tasks.pendingCount > 0 ? Clock.wallClock() : nil
        let arrival = self.clock.arrival()
        self.tellSleep(until: arrival)
        if let wall { self.tellClock(wall, at: arrival) }
        if let minute = self.clock.newMinute() { self.core.clock(minute, at: arrival, &self.actions) }
        self.clock.noteInput(at: arrival)
        return try body(&self.core, arrival, &self.actions)
    }

    /// The rules in force.
    var currentRules: [Rule] { self.core.rules }

    /// Looks up a little of what a policy that is to come says to the detectors there are.
    func prepare(_ succession: inout PolicySuccession) -> Bool { self.core.prepare(&succession) }

    /// The same for what a caller asks for, who is told why it may not be.
    func request<R>(
        _ body: (inout BrokerCore, Timestamp, inout [BrokerAction]) throws(Refusal) -> R
    ) throws(BusError) -> R {
        do throws(Refusal) {
            return try self.input(body)
        } catch {
            throw BusError(error)
        }
    }

    /// Tells the core first of a sleep that nobody announced: it ended now.
    private func tellSleep(until arrival: Timestamp) {
        guard !self.core.isAsleep, let begin = self.clock.sleep(until: arrival) else { return }
        self.core.sleep(true, at: begin, &self.actions)
        self.core.sleep(false, at: arrival, &self.actions)
    }

    /// Tells the core what tasks go by until they begin.
    private func tellClock(_ wall: Int64, at arrival: Timestamp) {
        try? self.core.task(.clock(Timestamp(microseconds: wall) - arrival), at: arrival, &self.actions)
    }

    /// Another policy may go by the local time, which is to be right before anybody asks.
    func followClock() {
        self.clock.follow(minutes: self.core.followsClock)
        self.refreshClock()
    }

    /// Has what is only asked, and not told, know the local time.
    func refreshClock() {
        if self.clock.followsMinutes { try? self.input { (_, _, _) throws(Refusal) in } }
    }

    /// Tells the core that nothing stands in the way of what was to be on the disk first. What follows is performed after
    /// what is being performed, or with the next input.
    func taskKept(_ owner: TaskOwner, _ revision: UInt64) {
        try? self.core.task(.kept(owner, revision: revision), at: self.clock.arrival(), &self.returned)
    }

    /// The system goes to sleep, or is back.
    func sleep(_ begins: Bool) {
        try? self.input { (core, now, actions) throws(Refusal) in core.sleep(begins, at: now, &actions) }
        if !begins { self.clock.noteAwake() }
    }

    /// Asks the core, as things are now.
    func now<R>(_ body: (BrokerCore, Timestamp) -> R) -> R { body(self.core, self.clock.arrival()) }

    /// Gives out no epoch up to this one any more.
    func skipEpochs(upTo epoch: UInt64) { self.core.skipEpochs(upTo: epoch) }

    private func performActions() {
        let links = self.links
        for index in self.actions.indices {
            switch self.actions[index] {
            case .claim(let sensor, let pace): links.sensors.claim(sensor, pace)
            case .release(let sensor): links.sensors.release(sensor)
            case .availability(let sensor):
                links.sensors.report(sensor)
                self.availabilityChanged()
                links.sensors.watchSilence()
            case .deliver(let client, let event): self.deliver(event, to: client)
            case .life(let client, let effect): self.client(client)?.perform(effect)
            case .session(let client, let effect): self.client(client)?.perform(effect)
            case .task(let effect): links.tasks.perform(effect)
            case .start(let launch): links.launches.start(launch)
            case .mark(let client, let mark): self.deliver(mark, to: client)
            case .persist(let event): links.disk.persist(event)
            case .forget(let event): links.disk.forget(event)
            case .ended(let app, let user, let event, let end): links.disk.ended(event, of: app, user, end)
            case .keep(let record): links.disk.keep(record)
            case .launch(let launch, let events, let missing): links.launches.launch(launch, events, missing: missing)
            case .launchEnded(let launch, let result): links.launches.ended(launch, result)
            case .launchGivenUp(let request, let failure): links.launches.gaveUp(request, failure)
            }
        }
        self.actions.removeAll(keepingCapacity: self.actions.capacity <= Self.spareActions)
        guard !self.returned.isEmpty else { return }
        swap(&self.actions, &self.returned)
        self.performActions()
    }

    private func deliver(_ event: Event, to id: AppHandle) {
        guard let client = self.client(id), let object = client.object, let peer = client.peer else {
            return
        }
        // Once something came back, all that follows must, or the order were lost.
        if !self.core.isHeld(id) {
            let body = event.body
            let isSent = self.sender.signal(
                from: object.path, InterfaceName.app, "Event", to: peer, size: event.bytes
            ) { EventCodec.write(body, to: &$0) }
            if isSent {
                self.core.sent(id, event)
                return self.links.disk.keep(event, of: client.appState?.id ?? client.app, .sent)
            }
        }
        self.core.unsent(id, event, at: self.clock.arrival(), &self.returned)
    }

    private func deliver(_ mark: Mark, to id: AppHandle) {
        guard let client = self.client(id), let object = client.object, let peer = client.peer else {
            return
        }
        if !self.core.isHeld(id), self.send(mark, from: object.path, to: peer) {
            return self.core.sent(id, mark)
        }
        self.core.unsent(id, mark, &self.returned)
    }

    private func send(_ mark: Mark, from path: ObjectPath, to peer: PacedSender.Peer) -> Bool {
        switch mark {
        case .gap(let gap):
            let body = GapCodec.Body(
                first: gap.first, last: gap.last, dropped: UInt64(gap.losses.dropped),
                expired: UInt64(gap.losses.expired), removed: UInt64(gap.losses.removed))
            return self.sender.signal(from: path, InterfaceName.app, "Gap", to: peer, size: Mark.bytes) {
                GapCodec.write(body, to: &$0)
            }
        case .caughtUp(let mark):
            return self.sender.signal(from: path, InterfaceName.app, "CaughtUp", to: peer, size: Mark.bytes) {
                CaughtUpCodec.write(mark.last, to: &$0)
            }
        }
    }

    /// A sensor came or went, and detectors with it.
    func availabilityChanged() {
        for client in self.clients.values where client.appState?.detectors.isEmpty == false {
            client.detectorsChanged()
        }
    }

    /// All signals and replies that were not what they pretended to be.
    var forgeries: UInt64 {
        self.names.forgeries &+ self.bus.refusedReplies &+ self.links.sensors.forgeries
    }

    // MARK: Clients

    /// Registers the caller under an app id that it owns, or without a name. Answers when the bus has confirmed both.
    ///
    /// - Parameter isDurable: What it registers is to outlive it.
    func register(_ name: String, isDurable: Bool, _ call: MethodCall) throws(BusError) {
        if let client = self.clients[call.sender] {
            guard client.app.name == name else {
                throw .invalidConfiguration("already registered as '\(client.app)'; one connection is one app")
            }
            if client.object != nil, isDurable, let obstacle = self.links.durable.obstacle(to: client) {
                throw obstacle
            }
            client.isDurable = client.isDurable || isDurable
            client.waiting.append(call)
            if client.object != nil { self.answerRegistrations(of: client) }
            return
        }
        guard name.isEmpty || AppID.isValid(name) else {
            throw .invalidConfiguration("'\(printable(name))' is no app id: give a well-known bus name, or nothing")
        }
        guard self.clients.count < self.core.limits.apps else {
            throw .limitsExceeded("apps: \(self.core.limits.apps) are registered")
        }
        let client = Client(self.takeID(), call.sender, AppID(name), self.sender.peer(call.sender), self)
        client.isDurable = isDurable
        self.clients[call.sender] = client
        self.clientsByID[Int(client.id.index)] = client
        client.waiting.append(call)
        // The watch comes before the question who owns the name, so that nobody can slip away in between.
        client.watches.append(
            self.names.follow(client.uniqueName) { [weak self, weak client] owner in
                if let self, let client, owner == nil { self.leave(client) }
            })
        if client.app.isAnonymous { return self.identify(client) }
        client.watches.append(
            self.names.follow(name) { [weak self, weak client] owner in
                guard let self, let client else { return }
                if owner == client.uniqueName { return self.identify(client) }
                self.leave(client, .identityMismatch("you do not own the name '\(name)'"))
            })
    }

    /// Learns who is behind the client, which is what remains to be known.
    private func identify(_ client: Client) {
        self.bus.credentials(of: client.uniqueName) { [weak self, weak client] credentials in
            guard let self, let client, self.clients[client.uniqueName] === client, client.uid == nil else { return }
            guard let credentials, let uid = credentials.user else {
                return self.leave(client, .accessDenied("the bus does not know your user"))
            }
            client.uid = uid
            client.proof = credentials.proof(of: client.app)
            self.complete(client)
        }
    }

    private func complete(_ client: Client) {
        if self.parked != nil, !client.app.isAnonymous {
            self.parked?.append(client)
            return
        }
        // Whoever had the name before us has lost it; the bus's word on that may still be under way.
        if let other = self.apps[client.app], other.isConnected { self.leave(other) }
        if let mismatch = self.links.durable.mismatch(of: client) { return self.leave(client, mismatch) }
        let entrance = self.links.appFiles.entrance(of: client)
        if client.isDurable, let obstacle = self.links.durable.obstacle(to: client) {
            return self.leave(client, obstacle)
        }
        if !client.app.isAnonymous { self.takeOver(client) }
        do throws(BusError) {
            try self.request { (core, now, actions) throws(Refusal) in
                try core.register(client.id, client.app, entrance, user: client.uid ?? 0, at: now, &actions)
            }
        } catch {
            return self.leave(client, error)
        }
        self.export(client)
        client.peer?.setLimit(self.core.busShare(of: client.id))
        client.peer?.onRoom = { [weak self, weak client] bytes in
            guard let self, let client, client.object != nil else { return }
            try? self.input { (core, now, actions) throws(Refusal) in core.room(client.id, bytes, at: now, &actions) }
        }
        self.log.debug("\(client.app.isAnonymous ? client.uniqueName : client.app.name) registered")
        self.answerRegistrations(of: client)
        try? self.links.tasks.input(.came(client.id))
    }

    /// Shows an app on the bus.
    private func export(_ client: Client) {
        let path = Path.app(client.app.isAnonymous ? client.uniqueName : client.app.name)
        let object = ExportedObject(
            path, [(AppInterface.table, client)], audience: client.uniqueName,
            guardian: { [weak self, weak client] call, answer in
                guard let self, let client else { return answer(.noObject(at: path.text)) }
                self.authority.admit(call, to: client, answer)
            },
            visibility: { [weak client] sender, uid in client?.isShown(to: sender, of: uid) ?? false })
        client.object = object
        if !client.app.isAnonymous { self.apps[client.app] = client }
        self.bus.export(object)
    }

    /// Gives a connection the number of its app, if that exists without it.
    private func takeOver(_ client: Client) {
        guard let known = self.apps.removeValue(forKey: client.app) else { return }
        if let object = known.object { self.bus.unexport(object) }
        self.free(client.id)
        client.id = known.id
        self.clientsByID[Int(client.id.index)] = client
    }

    /// Shows an app that is not on the bus.
    func exportInstalled(_ id: AppHandle, _ app: AppID, user: UInt32, _ file: AppFile?) {
        let client = Client(id, "", app, nil, self)
        client.uid = user
        client.file = file
        self.clientsByID[Int(id.index)] = client
        self.export(client)
    }

    /// Forgets an app that is not on the bus.
    func forgetInstalled(_ client: Client) {
        if let object = client.object { self.bus.unexport(object) }
        self.apps[client.app] = nil
        self.free(client.id)
    }

    /// The app of a connection; `nil` while it is not completely registered.
    func registered(_ uniqueName: String) -> Client? {
        self.clients[uniqueName].flatMap { $0.object == nil ? nil : $0 }
    }

    /// The app of this id, or with this unique name.
    func registered(app name: String) -> Client? {
        self.registered(name) ?? self.apps[AppID(name)].flatMap { $0.isConnected ? $0 : nil }
    }

    /// An app that is here, on the bus or not.
    func client(_ app: AppReference) -> Client? {
        func isMeant(_ client: Client) -> Bool {
            guard client.object != nil, let own = client.appState else { return false }
            return app.registration.map { $0 == own.registration }
                ?? (own.id == app.id && (app.user.map { $0 == own.user } ?? true))
        }
        if !app.id.isAnonymous { return self.apps[app.id].flatMap { isMeant($0) ? $0 : nil } }
        return self.clients.values.first { isMeant($0) }
    }

    /// Answers when what is to outlive the app is on the disk.
    private func answerRegistrations(of client: Client) {
        guard let object = client.object else { return }
        let calls = client.waiting
        client.waiting = []
        self.links.durable.bind(client) { error in
            let results: [String: Value] = [
                "identity": .string(client.proof.name), "durable": .boolean(client.isDurable),
            ]
            for call in calls {
                if let error { call.fail(error) } else { call.reply(object.path, results) }
            }
        }
    }

    /// Completes the registrations that waited for the disk.
    func admitParked() {
        guard let waiting = self.parked else { return }
        self.parked = nil
        for client in waiting where self.clients[client.uniqueName] === client && client.object == nil {
            self.complete(client)
        }
    }

    /// Has those leave whose apps are somebody else's, as the disk has said since they came.
    func leaveMismatched() {
        for app in self.apps.values where app.isConnected {
            if let mismatch = self.links.durable.mismatch(of: app) { self.leave(app, mismatch) }
        }
    }

    /// Cleans up after a client, at once and whole.
    func leave(_ client: Client, _ error: BusError = .disconnected("the client left")) {
        guard self.clients[client.uniqueName] === client else { return }
        self.clients[client.uniqueName] = nil
        for token in client.watches { self.names.unfollow(token) }
        for call in client.waiting { call.fail(error) }
        client.waiting = []
        if let object = client.object { self.bus.unexport(object) }
        client.assertions = [:]
        client.activities = [:]
        try? self.input { (core, now, actions) throws(Refusal) in core.leave(client.id, at: now, &actions) }
        if self.apps[client.app] === client { self.apps[client.app] = nil }
        if let app = client.appState, client.object != nil {
            self.exportInstalled(client.id, client.app, user: app.user, client.file)
        } else {
            self.free(client.id)
        }
        client.object = nil
    }

    /// `nil` when it is gone.
    private func client(_ id: AppHandle) -> Client? {
        id.index < self.clientsByID.count ? self.clientsByID[Int(id.index)] : nil
    }

    /// Actions for which room is kept from one input to the next.
    private static let spareActions = 1_024

    /// Gives back memory that was needed for clients that are gone.
    func shrink() {
        self.core.shrink()
        self.clients.shrink()
        self.apps.shrink()
        while let last = self.clientsByID.last, last == nil { self.clientsByID.removeLast() }
        self.clientsByID.shrink()
        let count = UInt32(clamping: self.clientsByID.count)
        self.freeIDs.removeAll { $0 >= count }
        self.freeIDs.shrink()
        self.names.shrink()
    }

    func free(_ id: AppHandle) {
        self.clientsByID[Int(id.index)] = nil
        self.freeIDs.append(id.index)
    }

    func takeID() -> AppHandle {
        if let index = self.freeIDs.popLast() { return AppHandle(index) }
        self.clientsByID.append(nil)
        return AppHandle(UInt32(self.clientsByID.count - 1))
    }

    /// Policy says how much the bus may hold for each client.
    func limitPeers() {
        for client in self.clients.values { client.peer?.setLimit(self.core.busShare(of: client.id)) }
    }

    // MARK: What there is to see

    /// Answers with the apps that the caller may see: as many as one list may have, from the first on or behind an object.
    func listApps(after path: ObjectPath? = nil, _ call: MethodCall) {
        self.authority.ifKnown(call) { [weak self] uid in
            guard let self else { return }
            let all = [self.clients.values.lazy.filter { _ in true }, self.apps.values.lazy.filter { !$0.isConnected }]
            let page = all.lazy.joined().filter { client in
                guard let own = client.object?.path, uid == 0 || client.uid == uid else { return false }
                return path.map { $0.text < own.text } ?? true
            }.first(self.core.limits.listRows) { ($0.object?.path.text ?? "") < ($1.object?.path.text ?? "") }
            call.reply(page.compactMap(self.row))
        }
    }

    /// A row of `ListApps`.
    typealias AppRow = Structure<ObjectPath, String, String, UInt32, UInt64, UInt64, UInt64, UInt64>

    private func row(of client: Client) -> AppRow? {
        guard let object = client.object, let app = self.core.app(client.id) else { return nil }
        return Structure(
            object.path, client.app.name, client.stateName, UInt32(clamping: app.detectors.count), app.hits,
            app.delivered, app.denied, client.mailbox?.dropped ?? 0)
    }
}

extension Event {
    /// The event as it travels.
    var body: EventCodec.Body {
        var body = EventCodec.Body(
            sequence: self.sequence, epoch: self.epoch, time: self.time, detector: self.detector, peak: self.peak,
            generation: self.generation, isSimulated: self.isSimulated, isClipped: self.isClipped)
        body.note = self.note
        body.wantsAck = self.wantsAck
        body.answerBy = self.answerBy
        body.isRedelivered = self.isRedelivered
        body.isPersistent = self.isPersistent
        return body
    }
}

extension BusError {
    init(_ refusal: Refusal) {
        switch refusal {
        case .unknownClient: self = .notFound("register first")
        case .limit(let name, let value, let message): self = .limitsExceeded("\(message): \(name) is \(value)")
        case .muteTooLong(let limit):
            self = .limitsExceeded("motion can be silenced for at most \(limit.microseconds) us: mute")
        case .badDetector(let message): self = .invalidConfiguration(message)
        case .unknownDetector(let name): self = .notFound("there is no detector '\(printable(name))'")
        case .duplicateDetector(let name):
            self = .invalidConfiguration("the detector name '\(printable(name))' stands twice in one call")
        case .life(let refusal): self.init(refusal)
        case .task(let refusal): self.init(refusal)
        case .unknownApp(let app): self = .notFound("there is no app '\(printable(app.name))'")
        case .wakeQuota(let app, let wait):
            self = .launchFailed("\(app) was launched as often as its WakeQuota allows: again in \(wait.inWords)")
        }
    }
}
