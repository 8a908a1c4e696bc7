import DeviceCore
import Motion
import SensorCore

/// One sensor of the reader: its hub and its device, with what the shells of `SensorService` and `DeviceSource` do around them.
final class ReaderSensor {
    unowned let scene: ReaderScene
    let name: String
    private let kind: SensorKind
    private(set) var hub: SensorHub
    private var use: DeviceUse
    private var clock: SampleClock
    private var description: SensorDescription
    /// Which device is behind it, if any is.
    private(set) var device: Int?
    /// At which pace it was started last, while it runs.
    private var asked: SensorPace?
    /// Which is there and not taken yet.
    private var coming: Int?
    /// When samples have waited long enough, and when a broken device is tried again.
    private(set) var timer: Timestamp?
    private(set) var retryTimer: Timestamp?
    private var clients: [ReaderClient?] = []
    private var freeIDs: [UInt32] = []
    private(set) var refused = LatestOfUsers<String>(SensorLimits.refused)
    private var actions = ActionLine()
    let history = ReaderHistory()

    init(_ name: String, _ kind: SensorKind, in scene: ReaderScene) {
        self.scene = scene
        self.name = name
        self.kind = kind
        self.use = DeviceUse(kind)
        self.clock = SampleClock(bits: nil)
        self.description = SensorDescription(
            name: name, channels: kind.channels, unit: kind.unit, rates: [], source: "", isSimulated: false,
            isAvailable: false)
        self.hub = SensorHub(self.description)
    }

    private var now: Timestamp { self.scene.now }
    /// What the hub asked of the device.
    var pace: SensorPace? { self.use.pace }

    // MARK: Claims

    var all: [ReaderClient] { self.clients.compactMap { $0 } }

    func peer(_ name: String) -> ReaderClient? { self.all.first { $0.isPeer && $0.caller.name == name } }
    var taker: ReaderClient? { self.all.first { if case .taker = $0.receiver { true } else { false } } }

    func makeClient(
        _ caller: ReaderCaller, _ receiver: ReaderClient.Receiver, _ connection: ReaderConnection?
    ) -> ReaderClient {
        let id: ClientID
        if let index = self.freeIDs.popLast() {
            id = ClientID(index)
        } else {
            id = ClientID(UInt32(self.clients.count))
            self.clients.append(nil)
        }
        let client = ReaderClient(id, at: self, caller, receiver, connection)
        self.clients[Int(id.index)] = client
        return client
    }

    /// Claims the sensor for a client, in place of what it claimed before. False when that may not be.
    func claim(_ request: SensorRequest, for client: ReaderClient) -> Bool {
        self.catchUp()
        let claim = ReaderClaim(
            self.name, of: client.connection?.name, client.caller.user, request, isStream: client.socket != nil,
            self.history)
        let before = client.claim
        // Whoever has it in hand gets what was left first.
        do throws(ClaimProblem) {
            let isPrompt = client.connection == nil
            _ = try self.hub.claim(
                client.id, request, of: client.caller.user, isPrompt: isPrompt, at: self.now,
                into: &self.actions.wanted)
        } catch {
            self.scene.counts.refused += 1
            if error.kind == .limit, client.connection != nil {
                _ = self.refused.takeFirst { $0 == client.caller.name }
                self.refused.add(client.caller.name, of: client.caller.user ?? UserShares.root)
            }
            return false
        }
        before?.isOver = true
        // What was left of the one before goes first; a signal with it comes before the answer to the new one.
        if client.connection == nil { self.perform() }
        client.claim = claim
        client.socket?.claim = claim
        self.scene.watch.claims(client, claim)
        self.performAll()
        self.scene.counts.claims += 1
        return true
    }

    /// Lets a client's claim rest, or go on.
    func rest(_ client: ReaderClient, _ resting: Resting?) {
        client.resting = resting
        if resting != nil {
            self.hub.rest(client.id)
            _ = client.forget()
            client.claim?.pause(true)
            self.catchUp()
            self.hub.settle(at: self.now, into: &self.actions.wanted)
            self.scene.counts.rests += 1
        } else {
            self.catchUp()
            client.claim?.pause(false)
            self.hub.wake(client.id, at: self.now, into: &self.actions.wanted)
        }
        self.performAll()
        if self.hub.claimant(client.id) != nil { client.tell() }
    }

    /// Ends a client's claim, if it had one. Returns whether it had.
    func end(_ client: ReaderClient) -> Bool {
        self.catchUp()
        let hadPlace = self.hub.release(client.id, at: self.now, into: &self.actions.wanted)
        client.claim?.isOver = true
        self.scene.watch.ends(client)
        self.performAll()
        self.clients[Int(client.id.index)] = nil
        self.freeIDs.append(client.id.index)
        return hadPlace
    }

    /// Who found no place, to be told that there may be one.
    func takeRefused() -> [String] { self.refused.takeAll { _ in true } }

    /// Samples that waited here are of a claim that was replaced.
    func forget(of client: ReaderClient) {
        let lost = client.forget()
        if lost > 0 { self.hub.dropped(client.id, samples: lost) }
    }

    /// Sends all that there is for a client.
    func flush(_ client: ReaderClient) {
        if client.resting == nil {
            self.catchUp()
            self.hub.flush(client.id, into: &self.actions.wanted)
            self.perform()
        }
        if client.socket != nil { self.delivered(client, client.caughtUp()) }
    }

    func settle(_ client: ReaderClient) { self.delivered(client, client.settle()) }

    private func delivered(_ client: ReaderClient, _ sent: Int) {
        if sent > 0 { self.hub.delivered(client.id, samples: sent) }
    }

    // MARK: Samples

    private func sample(at time: Timestamp, _ row: [Double]) {
        if self.hub.process(time, row.span, arrivedAt: self.now, into: &self.actions.wanted) == .accepted {
            self.history.accepted(time, rate: self.hub.running?.rate ?? 0)
            self.scene.counts.samples += 1
        }
        self.perform()
    }

    private func readingDone() {
        if self.isToSlowDown { self.setTimer() } else { self.tick() }
    }

    private var isToSlowDown: Bool { self.hub.slowsDown.map { $0 <= self.now } ?? false }

    private func deadlineCame() {
        if self.isToSlowDown { self.catchUp() }
        self.tick()
    }

    private func tick() {
        self.hub.tick(at: self.now, into: &self.actions.wanted)
        self.performAll()
    }

    private func gap() {
        self.hub.gap(into: &self.actions.wanted)
        self.perform()
    }

    private func paceChanged(_ pace: SensorPace) {
        guard self.hub.running != pace else { return }
        self.hub.deviceRuns(at: pace, into: &self.actions.wanted)
        self.perform()
    }

    private func changed() {
        self.description.isAvailable = self.use.trouble?.isAvailable ?? true
        guard self.description != self.hub.sensor else { return }
        self.hub.describe(self.description, at: self.now, into: &self.actions.wanted)
        self.perform()
    }

    private func setTimer() {
        guard let deadline = self.hub.nextDeadline else { return }
        self.timer = deadline
    }

    private func performAll() {
        self.perform()
        self.setTimer()
    }

    private func perform() {
        guard self.actions.begin() else { return }
        while let action = self.actions.next() {
            switch action {
            case .run(let pace):
                let real = self.run(at: pace)
                if real != self.hub.running { self.hub.deviceRuns(at: real, into: &self.actions.wanted) }
                self.setTimer()
            case .stop:
                self.history.breaksOff()
                self.perform(self.use.unwanted())
            case .tell(let client, _): self.clients[Int(client.index)]?.tell()
            case .send(let client): self.send(client)
            }
        }
    }

    private func send(_ id: ClientID) {
        guard let client = self.clients[Int(id.index)] else { return }
        var (sent, lost) = (0, 0)
        self.hub.withBlock(of: id) { first, times, values in
            (sent, lost) = client.send(first, times, values)
        }
        self.scene.counts.sent += sent
        self.scene.counts.lost += lost
        if sent > 0 { self.hub.delivered(id, samples: sent) }
        if lost > 0 { self.hub.dropped(id, samples: lost) }
    }

    // MARK: The device

    func attach(_ device: Int) {
        self.coming = device
        self.perform(self.use.attached())
    }

    /// Something about it changed: what did not work may now.
    func refresh() { self.perform(self.use.refreshed()) }

    func detach() { self.perform(self.use.detached()) }

    private func run(at pace: SensorPace) -> SensorPace {
        self.perform(self.use.wanted(at: pace))
        return self.use.inForce(pace)
    }

    private func perform(_ steps: [DeviceUse.Step]) {
        for step in steps { self.perform(step) }
        self.retryTimer = self.use.nextRetry
    }

    private func perform(_ step: DeviceUse.Step) {
        switch step {
        case .probe: self.probe()
        case .start: self.start()
        case .stop: self.standStill()
        case .letGo: self.device = nil
        case .take: self.take()
        case .tellGap: self.gap()
        case .tellPace(let pace): self.paceChanged(pace)
        case .tellChange: self.changed()
        case .goOn: self.perform(self.use.goOn())
        }
    }

    private func standStill() {
        self.history.breaksOff()
        self.asked = nil
        if let device { self.scene.devices[device].running = nil }
    }

    private func take() {
        guard let device = self.coming else { return }
        self.coming = nil
        self.device = device
        self.clock = SampleClock(bits: ReaderSetup.hardware[device].bits)
        self.description.source = ReaderSetup.hardware[device].driver
        self.perform(self.use.taken())
    }

    private func probe() {
        guard let device else { return }
        if self.scene.devices[device].mood == .blind {
            return self.perform(self.use.probeFailed("it cannot be looked at", at: self.now))
        }
        let hardware = ReaderSetup.hardware[device]
        self.description = SensorDescription(
            name: self.name, channels: self.kind.channels, unit: self.kind.unit, range: 16, rates: hardware.rates,
            source: hardware.driver, isSimulated: false)
        self.perform(self.use.probed(range: 16, at: self.now))
    }

    private func start() {
        guard let device, let pace = self.pace else { return }
        if self.asked == pace { self.scene.find("\(self.name): is started at a pace at which it runs") }
        self.asked = pace
        guard self.scene.devices[device].mood != .refusing else { return self.broke("it refuses", isFinal: true) }
        let hardware = ReaderSetup.hardware[device]
        let rate = hardware.rates.isEmpty ? min(pace.rate, 300) * 0.99 : pace.rate
        let real = SensorPace(rate: rate, batchLatency: min(pace.batchLatency, hardware.gathers))
        self.scene.devices[device].running = real
        self.scene.devices[device].wall = self.scene.wall
        self.perform(self.use.started(at: real))
    }

    private func broke(_ problem: String, isFinal: Bool) {
        let steps = self.use.failed(problem, isFinal: isFinal, at: self.now)
        if !steps.isEmpty { self.scene.counts.failures += 1 }
        self.perform(steps)
    }

    /// What the device holds is read for those who claim the sensor until now, at its pace until now.
    private func catchUp() {
        guard let device, self.use.isRunning, self.scene.devices[device].held > 0 else { return }
        let held = self.scene.devices[device].held
        self.scene.devices[device].held = 0
        self.read(held)
    }

    /// Readings arrive together, so many.
    func read(_ count: Int) {
        guard let device, let running = self.scene.devices[device].running, self.use.isRunning else { return }
        let mood = self.scene.devices[device].mood
        switch mood {
        case .failing: return self.broke("a reading failed", isFinal: false)
        case .ending: return self.broke("it is gone", isFinal: true)
        case .hanging: return self.broke("it does not answer", isFinal: true)
        case .well, .refusing, .blind, .misdated, .spoilt: break
        }
        let hardware = ReaderSetup.hardware[device]
        // Those that it held were dated by the wall clock of then.
        let (wall, before) = hardware.bits == 64 ? (self.scene.wall, self.scene.devices[device].wall) : (0, 0)
        self.scene.devices[device].wall = wall
        let arrival = SampleClock.Arrival(
            now: self.now, offset: TimeSpan(microseconds: -wall),
            period: TimeSpan(microseconds: Int64(1_000_000 / running.rate)),
            held: running.batchLatency)
        for after in (0..<count).reversed() {
            // It holds back what it says that it may, and is late by a little.
            let age = Int64(after) * arrival.period.microseconds + Int64(after * 7 % 5)
            var stamp = (self.now.microseconds + (after > 0 ? before : wall) - age) * 1_000
            if mood == .misdated { stamp = stamp &* 3 &+ Int64(after) }
            if let bits = hardware.bits, bits < 64 { stamp &= (1 << Int64(bits)) - 1 }
            let time = self.clock.time(of: hardware.bits == nil ? nil : stamp, after: after, arrival)
            if time > self.now + .milliseconds(50) {
                self.scene.find("\(self.name): a sample of \(time) at \(self.now)")
            }
            let isSpoilt = mood == .spoilt && after % 2 == 0
            self.reading(at: time, [isSpoilt ? .nan : Double(self.history.next), 0, 1])
            // Whoever was told may have done something about it.
            guard self.use.isRunning, self.device == device else { return }
        }
        self.readingDone()
    }

    private func reading(at time: Timestamp, _ row: [Double]) {
        guard row.allSatisfy(\.isFinite) else {
            self.sample(at: time, row)
            return self.broke("a reading is no number", isFinal: false)
        }
        if self.use.succeeded() { self.changed() }
        let isNews = self.use.note(time, row.span)
        self.sample(at: time, row)
        if isNews { self.changed() }
    }

    // MARK: Time

    var nextTimer: Timestamp? {
        guard let timer, let retryTimer else { return self.timer ?? self.retryTimer }
        return min(timer, retryTimer)
    }

    func fire() {
        if let timer, timer <= self.now {
            self.timer = nil
            self.deadlineCame()
        }
        if let retryTimer, retryTimer <= self.now {
            self.retryTimer = nil
            self.perform(self.use.retry(at: self.now))
        }
    }
}
