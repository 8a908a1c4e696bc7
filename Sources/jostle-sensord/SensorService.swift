import DBus
import DaemonSupport
import DeviceCore
import Devices
import Loop
import Motion
import Protocol
import SensorCore

/// One sensor on the bus: the shell around its hub. Decodes calls, asks the hub, performs what it says.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class SensorService: SampleSink {
    private let bus: Connection
    private let names: NameWatch
    private let sender: PacedSender
    private let rights: ClaimRights
    private let log: Log
    private let source: any SampleSource
    private(set) var hub: SensorHub
    private(set) var object: ExportedObject?
    private var clients = SensorClients()
    /// Connections that found no place, to be told when there is one.
    private var refused = LatestOfUsers<String>(SensorLimits.refused)
    private var actions = ActionLine()
    private var timer: EventLoop.TimerID?
    /// Told when the sensor's description changed, after the object itself has said so.
    var onChange: (SensorService) -> Void = { _ in }
    /// What was last told of the source, to tell only what changed.
    private var told: (description: SensorDescription, state: SensorState)

    init(
        _ source: any SampleSource, on bus: Connection, _ names: NameWatch, _ sender: PacedSender,
        _ rights: ClaimRights,
        log: Log
    ) {
        self.bus = bus
        self.names = names
        self.sender = sender
        self.rights = rights
        self.log = log
        self.source = source
        self.hub = SensorHub(source.sensor)
        self.told = (source.sensor, source.trouble ?? .idle)
        let object = ExportedObject(Path.sensor(source.sensor.name), [(SensorInterface.table, self)])
        self.object = object
        bus.export(object)
        source.sink = self
    }

    var description: SensorDescription { self.source.sensor }
    var driver: String { self.source.driver }
    var method: String { self.source.method }
    var trouble: SensorState? { self.source.trouble }
    var state: SensorState { self.trouble ?? (self.hub.running == nil ? .idle : .running) }
    /// The clock of the sensor's samples.
    var now: Timestamp { self.source.now }

    /// When that clock will show `time`, as CLOCK_BOOTTIME microseconds.
    func alarm(for time: Timestamp) -> Int64 { self.source.alarm(for: time) }

    /// What there is of the sensor for all, and who has it.
    var usage: [LimitUsage] {
        self.hub.usage + [LimitUsage("refused-claims", of: .sensor(self.description.name), self.refused.shares)]
    }

    // MARK: Calls

    func claim(_ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let request = try SensorRequest(options, of: "claim")
        self.whenAllowed(request, call) { (service, request, caller) throws(BusError) in
            call.reply(try service.claim(request, caller))
        }
    }

    /// Goes on when it is known who the caller is, with the rate that it may have.
    private func whenAllowed(
        _ request: SensorRequest, _ call: MethodCall,
        _ body: @escaping (SensorService, SensorRequest, ClaimRights.Caller) throws(BusError) -> Void
    ) {
        let rate = request.pace.rate
        self.rights.ask(SensorLimits.rates.contains(rate) ? rate : 0, orSlower: request.orSlower, of: call.sender) {
            [weak self] result in
            // Policy may have been read for longer than his bus was there.
            guard call.isCurrent else { return }
            do throws(BusError) {
                let caller = try result.get()
                var request = request
                if let fastest = caller.fastest { request.pace.rate = fastest }
                if let self { try body(self, request, caller) }
            } catch {
                call.fail(error)
            }
        }
    }

    private func claim(
        _ request: SensorRequest, _ caller: ClaimRights.Caller
    ) throws(BusError) -> [String: Value] {
        let known = self.clients.peer(caller.name)
        let client = known ?? self.makeClient(caller)
        do throws(BusError) {
            let answer = try self.claim(request, for: client, atMost: caller.fastest)
            // It hears nothing any more of what it claimed before.
            if case .peer(_, let line) = client.receiver, known != nil {
                let lost = line.forget()
                if lost > 0 { self.hub.dropped(client.id, samples: lost) }
            }
            return answer
        } catch {
            if known == nil { self.forget(client) }
            throw error
        }
    }

    /// - Parameter fastest: The rate that it may have, if it asked for more.
    private func claim(
        _ request: SensorRequest, for client: SensorClient, atMost fastest: Double?
    ) throws(BusError) -> [String: Value] {
        // What the source holds was read for those who claimed the sensor until now, at its pace until now.
        self.source.catchUp()
        do throws(ClaimProblem) {
            let caller = client.caller
            let inForce = try self.hub.claim(
                client.id, request, of: caller?.user, at: self.source.now, into: &self.actions.wanted)
            client.allowed = fastest
            // What was left of the old claim goes out ahead of the answer.
            self.performAll()
            return self.terms(of: client, inForce)
        } catch {
            switch error.kind {
            case .value:
                throw .invalidConfiguration("\(client.stream == nil ? "claim" : "stream"): \(error)")
            case .limit:
                if let caller = client.caller { self.remember(refused: caller) }
                throw .limitsExceeded("\(error)")
            }
        }
    }

    /// Remembers somebody who found no place, of many of a user the latest.
    private func remember(refused caller: ClaimRights.Caller) {
        _ = self.refused.takeFirst { $0 == caller.name }
        self.refused.add(caller.name, of: caller.user ?? UserShares.root)
    }

    /// Tells those who found no place that there may be one.
    private func tellRefused() {
        for name in self.refused.takeAll(where: { _ in true }) { self.announce(to: name) }
    }

    /// Tells one connection, or everybody, of the sensor as it is now.
    func announce(to name: String?) {
        let description = self.description
        self.bus.signal(from: Path.sensors, InterfaceName.sensors, "SensorChanged", to: name) {
            Path.sensor(description.name).write(to: &$0)
            description.options.write(to: &$0)
        }
    }

    /// What is in force for a client, as it is told.
    private func terms(of client: SensorClient, _ inForce: SensorPace) -> [String: Value] {
        let claimant = self.hub.claimant(client.id)
        var options = (claimant?.inForce ?? inForce).options
        options[SensorPace.Key.gathering] = .string((claimant?.gathering ?? .none).rawValue)
        options[SensorPace.Key.deviceLatency] = .uint64(
            (Timestamp.zero + (self.hub.running?.batchLatency ?? .zero)).wire)
        options[SensorPace.Key.running] = .boolean(self.hub.running != nil && client.resting == nil)
        if let resting = client.resting { options[SensorPace.Key.resting] = .string(resting.rawValue) }
        if claimant?.isPassive == true { options[SensorPace.Key.passive] = .boolean(true) }
        if let decimation = claimant?.decimation, decimation != .last {
            options[SensorPace.Key.decimation] = .string(decimation.rawValue)
        }
        if let stream = client.stream { options[SensorPace.Key.stream] = .uint64(stream.number) }
        if let allowed = client.allowed { options[SensorPace.Key.allowed] = .double(allowed) }
        return options
    }

    /// Sends all that there is for the caller's claim and streams. The answer follows it.
    func flush(_ call: MethodCall) {
        self.rights.afterAnswers(call) { [weak self] in
            if let self {
                for client in self.clients.all where client.names == [call.sender] { self.flush(client) }
            }
            call.reply()
        }
    }

    /// Claims the sensor for a descriptor of the caller's, beside whatever else it claims.
    func openStream(_ options: [String: Value], _ call: MethodCall) throws(BusError) {
        let request = try SensorRequest(options, of: "stream")
        self.whenAllowed(request, call) { (service, request, caller) throws(BusError) in
            let (stream, inForce) = try service.openStream(request, caller)
            call.reply(stream, inForce)
        }
    }

    private func openStream(
        _ request: SensorRequest, _ caller: ClaimRights.Caller
    ) throws(BusError) -> (WireDescriptor, [String: Value]) {
        guard self.clients.streams(of: caller.name) < SensorLimits.streams else {
            throw .limitsExceeded("streams: one connection has \(SensorLimits.streams) of a sensor at most")
        }
        let (stream, given) = try self.makeStream(for: caller)
        let client = self.makeClient(caller, stream)
        stream.onSent = { [weak self, weak client] in
            if let self, let client { self.hub.delivered(client.id, samples: $0) }
        }
        stream.onEnd = { [weak self, weak client] in
            if let self, let client { self.forget(client) }
        }
        stream.onRequest = { [weak self, weak client] in
            if let self, let client { self.flush(client) }
        }
        do throws(BusError) {
            return (given, try self.claim(request, for: client, atMost: caller.fastest))
        } catch {
            self.forget(client)
            throw error
        }
    }

    private func makeStream(
        for caller: ClaimRights.Caller
    ) throws(BusError) -> (own: SampleStream, given: WireDescriptor) {
        try self.rights.takeStream(for: caller)
        let (number, channels) = (self.clients.nextStream(), self.description.channels.count)
        do throws(SystemError) {
            return try SampleStream.make(number, channels: channels, on: self.bus.loop)
        } catch {
            self.rights.giveBackStream(of: caller)
            throw .limitsExceeded("no descriptor is left: \(error)")
        }
    }

    /// Sends all that there is for a client, and has its stream say so.
    private func flush(_ client: SensorClient) {
        // Who rests has nothing that waits, and the device is not read for him.
        if client.resting != nil {
            client.stream?.caughtUp()
            return
        }
        self.source.catchUp()
        self.hub.flush(client.id, into: &self.actions.wanted)
        self.perform()
        client.stream?.caughtUp()
    }

    /// Releasing what is not held is fine: the caller has what it wanted.
    func release(_ call: MethodCall) {
        self.rights.afterAnswers(call) { [weak self] in
            if let self, let client = self.clients.peer(call.sender) { self.forget(client) }
            call.reply()
        }
    }

    /// Adds made motion, for everybody and therefore for a caller that is our own user, or root.
    func inject(_ motion: String, _ call: MethodCall) {
        self.bus.identity(of: call.sender) { [weak self] identity in
            guard let self else { return }
            do throws(BusError) {
                guard try identity.get().isTrusted else {
                    throw .accessDenied("motion is made by the reader's own user and root, in no sandbox")
                }
                try self.inject(motion)
                call.reply()
            } catch {
                call.fail(error)
            }
        }
    }

    private func inject(_ motion: String) throws(BusError) {
        do throws(InjectProblem) {
            try self.source.inject(motion)
        } catch {
            switch error {
            case .notSupported:
                throw .notSupported("motion can be added to a synth source only; this is \(self.description.source)")
            case .limit(let message):
                throw .limitsExceeded(message)
            case .bad(let message):
                throw .invalidConfiguration(message)
            }
        }
    }

    /// A row of `Claimants`: unique name, rate, batch latency, samples sent and dropped, and what else is in force.
    typealias ClaimantRow = Structure<String, Double, UInt64, UInt64, UInt64, [String: Value]>

    /// The first of them, or so many that came after a claim.
    func claimants(after number: UInt64 = 0) -> [ClaimantRow] {
        self.hub.claimants(after: number, atMost: Self.listRows).flatMap { claimant -> [ClaimantRow] in
            guard let client = self.clients[claimant.client] else { return [] }
            var others = self.terms(of: client, claimant.inForce).filter { claimant.inForce.options[$0.key] == nil }
            others[SensorPace.Key.claim] = .uint64(claimant.number)
            others[SensorPace.Key.user] = client.caller?.user.map { .uint32($0) }
            return client.names.map {
                ClaimantRow(
                    $0, claimant.inForce.rate, (Timestamp.zero + claimant.inForce.batchLatency).wire, claimant.sent,
                    claimant.dropped, others)
            }
        }
    }

    /// How many claims one list shows.
    static let listRows = 64

    // MARK: Claims in this process

    /// Claims the sensor for somebody in this process, or claims it anew; returns the pace in force.
    func claim(_ pace: SensorPace, for taker: any SampleTaker) throws(ClaimProblem) -> SensorPace {
        self.source.catchUp()
        let known = self.clients.taker(taker)
        let client = known ?? self.clients.add(.taker(taker))
        do throws(ClaimProblem) {
            let inForce = try self.hub.claim(
                client.id, SensorRequest(pace), of: nil, isPrompt: true, at: self.source.now,
                into: &self.actions.wanted)
            self.performAll()
            return self.pace(for: taker) ?? inForce
        } catch {
            if known == nil { self.release(taker) }
            throw error
        }
    }

    /// At which pace somebody in this process gets samples: at the rate in force for it, and as often as the device is read. `nil`: it
    /// claims nothing. The device itself may run faster, for others.
    func pace(for taker: any SampleTaker) -> SensorPace? {
        guard let running = self.hub.running, let client = self.clients.taker(taker),
            let inForce = self.hub.claimant(client.id)?.inForce
        else { return nil }
        return SensorPace(rate: inForce.rate, batchLatency: running.batchLatency)
    }

    /// Has somebody in this process take all that there is for it, also what the source holds.
    func flush(_ taker: any SampleTaker) {
        if let client = self.clients.taker(taker) { self.flush(client) }
    }

    func release(_ taker: any SampleTaker) {
        guard let client = self.clients.taker(taker) else { return }
        self.clients.hide(client)
        self.end(client)
    }

    // MARK: Claimants

    private func makeClient(_ caller: ClaimRights.Caller, _ stream: SampleStream? = nil) -> SensorClient {
        let peer = self.sender.peer(caller.name)
        if let user = caller.user { peer.setUser(user) }
        let client: SensorClient
        if let stream {
            client = self.clients.add(.stream(caller, stream, peer))
        } else {
            let path = Path.sensor(self.description.name)
            let line = SignalLine(to: peer, from: path, channels: self.description.channels.count, self.sender)
            client = self.clients.add(.peer(caller, line))
            line.onSent = { [weak self, weak client] in
                if let self, let client { self.hub.delivered(client.id, samples: $0) }
            }
        }
        peer.onRoom(for: client) { [weak self, weak client] _ in
            if let self, let client { self.hasRoom(client) }
        }
        self.rights.holders.hold(client, of: self, caller)
        client.watch = self.names.follow(caller.name) { [weak self, weak client] owner in
            if let self, let client, owner == nil { self.forget(client) }
        }
        return client
    }

    /// Lets a client's claim rest, or go on: from now on nothing leaves us for it that was read while it may not have it.
    func rest(_ client: SensorClient, _ resting: Resting?) {
        client.resting = resting
        if resting != nil {
            self.hub.rest(client.id)
            switch client.receiver {
            case .peer(_, let line): _ = line.forget()
            case .stream(_, let stream, _): stream.forget()
            case .taker: break
            }
            self.source.catchUp()
            self.hub.settle(at: self.source.now, into: &self.actions.wanted)
        } else {
            self.source.catchUp()
            self.hub.wake(client.id, at: self.source.now, into: &self.actions.wanted)
        }
        self.performAll()
        if let pace = self.hub.claimant(client.id)?.inForce { self.tell(client.id, pace) }
    }

    private func forget(_ client: SensorClient) {
        guard self.clients[client.id] === client else { return }
        switch client.receiver {
        case .peer(let caller, _): self.rights.holders.letGo(client, caller)
        case .stream(let caller, _, _):
            self.rights.giveBackStream(of: caller)
            self.rights.holders.letGo(client, caller)
        case .taker: return
        }
        self.clients.hide(client)
        if let watch = client.watch { self.names.unfollow(watch) }
        self.end(client)
    }

    /// Ends a client's claim, if it had one; its id may be used again.
    private func end(_ client: SensorClient) {
        self.source.catchUp()
        let hadPlace = self.hub.release(client.id, at: self.source.now, into: &self.actions.wanted)
        self.performAll()
        self.clients.remove(client)
        // Whoever was refused himself leaves none: told so, he would claim again, and again.
        if hadPlace { self.tellRefused() }
    }

    // MARK: Samples

    func sample(at time: Timestamp, _ row: Span<Double>) {
        self.hub.process(time, row, arrivedAt: self.source.now, into: &self.actions.wanted)
        self.perform()
    }

    func readingDone() {
        let now = self.source.now
        // The source is still telling. One that is made of others is lent their samples meanwhile, and cannot ask less of them.
        if self.isToSlowDown(by: now) { self.setTimer() } else { self.tick(at: now) }
    }

    /// Whether less is to be asked of the source.
    private func isToSlowDown(by now: Timestamp) -> Bool { self.hub.slowsDown.map { $0 <= now } ?? false }

    /// It is time for what waits, or for less.
    private func deadlineCame() {
        // What the source holds was read at its pace until now.
        if self.isToSlowDown(by: self.source.now) { self.source.catchUp() }
        self.tick(at: self.source.now)
    }

    private func tick(at now: Timestamp) {
        self.hub.tick(at: now, into: &self.actions.wanted)
        self.performAll()
    }

    func gap() {
        self.hub.gap(into: &self.actions.wanted)
        self.perform()
        self.tellTakers { $0.gap(in: self) }
    }

    private func tellTakers(_ news: (any SampleTaker) -> Void) {
        for client in self.clients.takers {
            if case .taker(let taker) = client.receiver { news(taker) }
        }
    }

    func paceChanged(_ pace: SensorPace) {
        guard self.hub.running != pace else { return }
        self.hub.deviceRuns(at: pace, into: &self.actions.wanted)
        self.perform()
        self.paceChanged()
    }

    func sourceChanged() {
        let description = self.source.sensor
        let isOther = description != self.told.description
        if isOther {
            self.told.description = description
            self.hub.describe(description, at: self.source.now, into: &self.actions.wanted)
            self.perform()
            for property: StaticString in ["Unit", "Range", "Rates", "Placement", "Source"] {
                self.object?.changed(property, of: SensorInterface.table)
            }
        }
        for property: StaticString in ["Driver", "Method"] { self.object?.changed(property, of: SensorInterface.table) }
        self.stateChanged()
        self.tellTakers { $0.changed(self) }
        if isOther { self.onChange(self) }
    }

    private func stateChanged() {
        let state = self.state
        guard state != self.told.state else { return }
        self.told.state = state
        for property: StaticString in ["State", "StateDetail"] {
            self.object?.changed(property, of: SensorInterface.table)
        }
        switch state {
        case .idle, .running: self.log.debug("\(self.description.name): \(state.name)")
        case .absent, .stuck, .saturated: self.log.notice("\(self.description.name): \(state.detail)")
        case .broken(let reason):
            self.log.error(
                "\(self.description.name): \(reason)", as: .sensorBroken,
                about: [.sensor: self.description.name, .reason: reason])
        }
    }

    /// A timer only while samples wait for company, or less is claimed than the device does.
    private func setTimer() {
        guard let deadline = self.hub.nextDeadline else { return }
        let alarm = self.source.alarm(for: deadline)
        self.bus.loop.set(&self.timer, at: alarm, on: .boottime) { [weak self] in self?.deadlineCame() }
    }

    /// Does what the hub wants, and lets it be asked again when it is time.
    private func performAll() {
        self.perform()
        self.setTimer()
    }

    private func perform() {
        guard self.actions.begin() else { return }
        while let action = self.actions.next() {
            switch action {
            case .run(let pace): self.run(at: pace)
            case .stop: self.stop()
            case .tell(let client, let pace): self.tell(client, pace)
            case .send(let client): self.send(client)
            }
        }
    }

    private func run(at pace: SensorPace) {
        let real = self.source.run(at: pace)
        // The source may have told of another pace while it was asked for this one.
        if real != self.hub.running { self.hub.deviceRuns(at: real, into: &self.actions.wanted) }
        // What was read at the old pace must not wait for the first reading at the new one.
        self.setTimer()
        self.paceChanged()
    }

    private func stop() {
        self.source.stop()
        self.paceChanged()
    }

    private func paceChanged() {
        for property: StaticString in ["Running", "Rate", "BatchLatency"] {
            self.object?.changed(property, of: SensorInterface.table)
        }
        self.stateChanged()
    }

    private func tell(_ id: ClientID, _ pace: SensorPace) {
        guard let client = self.clients[id], let object else { return }
        switch client.receiver {
        case .peer(_, let line): self.tell(client, pace, line.peer, from: object.path)
        case .stream(_, _, let peer): self.tell(client, pace, peer, from: object.path)
        case .taker(let taker): taker.changed(self)
        }
    }

    private func tell(_ client: SensorClient, _ pace: SensorPace, _ peer: PacedSender.Peer, from path: ObjectPath) {
        let isTold = self.sender.signal(from: path, InterfaceName.sensor, "ClaimChanged", to: peer, size: 300) {
            self.terms(of: client, pace).write(to: &$0)
        }
        client.isOwedWord = !isTold
    }

    /// A client may be sent more: first how its claim stands by now, if it was not told.
    private func hasRoom(_ client: SensorClient) {
        if client.isOwedWord, let pace = self.hub.claimant(client.id)?.inForce { self.tell(client.id, pace) }
        if case .peer(_, let line) = client.receiver { line.settle() }
    }

    private func send(_ id: ClientID) {
        guard let client = self.clients[id] else { return }
        var (sent, lost) = (0, 0)
        self.hub.withBlock(of: id) { first, times, values in
            switch client.receiver {
            case .peer(_, let line): (sent, lost) = line.send(first: first, times: times, values: values)
            case .stream(_, let stream, _):
                (sent, lost) = stream.send(first: first, times: times, values: values) ?? (0, 0)
            case .taker(let taker):
                taker.take(times, values, from: self)
                sent = times.count
            }
        }
        if sent > 0 { self.hub.delivered(id, samples: sent) }
        if lost > 0 { self.hub.dropped(id, samples: lost) }
    }
}

/// Somebody in this process who takes a sensor's samples, as claimants on the bus do.
protocol SampleTaker: AnyObject {
    /// Who stands behind the claim, as `Claimants` shows it.
    var names: [String] { get }
    /// Samples, lent. Nothing may be claimed of the sensor or released meanwhile.
    func take(_ times: Span<Int64>, _ values: Span<Double>, from sensor: SensorService)
    /// What comes next does not follow on from what came before.
    func gap(in sensor: SensorService)
    /// The sensor's description, state or pace changed.
    func changed(_ sensor: SensorService)
}
