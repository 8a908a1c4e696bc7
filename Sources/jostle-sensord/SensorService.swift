import DBus
import DaemonSupport
import DeviceCore
import Devices
import EventLoop
import Motion
import Protocol
import SensorCore

/// One sensor on the bus: the shell around its hub. Decodes calls, asks the hub, performs what it says.
///
/// Not `Sendable`: it belongs to the loop's thread.
final class SensorService: SampleSink {
    private let bus: Connection
    private let loop: EventLoop
    private let names: NameWatch
    private let sender: PacedSender
    private let log: Log
    private let source: any SampleSource
    private(set) var hub: SensorHub
    private(set) var object: ExportedObject?
    private var clients: [String: Client] = [:]
    private var clientsByID: [Client?] = []
    private var freeIDs: [UInt32] = []
    private var actions: [SensorAction] = []
    private var timer: EventLoop.TimerID?
    private var isPerforming = false
    /// Told when the sensor's description changed, after the object itself has said so.
    var onChange: (SensorService) -> Void = { _ in }
    /// What was last told of the source, to tell only what changed.
    private var told: (description: SensorDescription, state: SensorState)

    /// A connection that claims the sensor.
    private final class Client {
        let id: ClientID
        let uniqueName: String
        let peer: PacedSender.Peer
        var watch: NameWatch.Token?

        init(_ id: ClientID, _ uniqueName: String, _ peer: PacedSender.Peer) {
            self.id = id
            self.uniqueName = uniqueName
            self.peer = peer
        }
    }

    init(_ source: any SampleSource, on bus: Connection, _ names: NameWatch, _ sender: PacedSender, log: Log) {
        self.bus = bus
        self.loop = bus.loop
        self.names = names
        self.sender = sender
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
    var state: SensorState { self.source.trouble ?? (self.hub.running == nil ? .idle : .running) }

    /// The bus went away, and every claimant with it.
    func busLost() {
        for client in self.clients.values { self.forget(client) }
    }

    // MARK: Calls

    func claim(_ options: [String: Value], _ call: MethodCall) throws(BusError) -> [String: Value] {
        let pace = try SensorPace(claim: options)
        // What the source holds was read for those who claimed the sensor until now, at its pace until now.
        self.source.catchUp()
        let isNew = self.clients[call.sender] == nil
        let client = self.clients[call.sender] ?? self.makeClient(call.sender)
        do throws(ClaimProblem) {
            let inForce = try self.hub.claim(client.id, pace, into: &self.actions)
            // What was left of the old claim goes out ahead of the answer.
            self.perform()
            return (self.hub.claimant(client.id)?.inForce ?? inForce).options
        } catch {
            if isNew { self.forget(client) }
            switch error.kind {
            case .value: throw .invalidConfiguration("claim: \(error)")
            case .limit: throw .limitsExceeded("\(error)")
            }
        }
    }

    /// Releasing what is not held is fine: the caller has what it wanted.
    func release(_ call: MethodCall) {
        if let client = self.clients[call.sender] { self.forget(client) }
    }

    func inject(_ motion: String) throws(BusError) {
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

    /// A row per claimant: unique name, rate, batch latency, samples sent and dropped.
    var claimants: [Structure<String, Double, UInt64, UInt64, UInt64>] {
        self.hub.claimants.compactMap { claimant in
            guard let client = self.clientsByID[Int(claimant.client.index)] else { return nil }
            return Structure(
                client.uniqueName, claimant.inForce.rate, (Timestamp.zero + claimant.inForce.batchLatency).wire,
                claimant.sent, claimant.dropped)
        }
    }

    // MARK: Claimants

    private func makeClient(_ uniqueName: String) -> Client {
        let id: ClientID
        if let index = self.freeIDs.popLast() {
            id = ClientID(index)
        } else {
            id = ClientID(UInt32(self.clientsByID.count))
            self.clientsByID.append(nil)
        }
        let client = Client(id, uniqueName, self.sender.peer(uniqueName))
        self.clients[uniqueName] = client
        self.clientsByID[Int(id.index)] = client
        client.watch = self.names.follow(uniqueName) { [weak self, weak client] owner in
            if let self, let client, owner == nil { self.forget(client) }
        }
        return client
    }

    private func forget(_ client: Client) {
        guard self.clients[client.uniqueName] === client else { return }
        self.clients[client.uniqueName] = nil
        if let watch = client.watch { self.names.unfollow(watch) }
        self.source.catchUp()
        self.hub.clientGone(client.id, into: &self.actions)
        self.perform()
        self.clientsByID[Int(client.id.index)] = nil
        self.freeIDs.append(client.id.index)
    }

    // MARK: Samples

    func sample(at time: Timestamp, _ row: Span<Double>) {
        self.hub.process(time, row, arrivedAt: self.source.now, into: &self.actions)
        self.perform()
    }

    func readingDone() {
        self.hub.tick(at: self.source.now, into: &self.actions)
        self.perform()
        self.setTimer()
    }

    func gap() {
        self.hub.gap(into: &self.actions)
        self.perform()
    }

    func paceChanged(_ pace: SensorPace) {
        guard self.hub.running != pace else { return }
        self.hub.deviceRuns(at: pace, into: &self.actions)
        self.perform()
        self.paceChanged()
    }

    func sourceChanged() {
        let description = self.source.sensor
        let isOther = description != self.told.description
        if isOther {
            self.told.description = description
            self.hub.describe(description, into: &self.actions)
            self.perform()
            for property: StaticString in ["Range", "Rates", "Placement", "Source"] {
                self.object?.changed(property, of: SensorInterface.table)
            }
        }
        for property: StaticString in ["Driver", "Method"] { self.object?.changed(property, of: SensorInterface.table) }
        self.stateChanged()
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
        case .broken(let reason): self.log.error("\(self.description.name): \(reason)")
        }
    }

    /// A timer only while samples wait for company.
    private func setTimer() {
        guard let deadline = self.hub.nextDeadline else { return }
        let alarm = self.source.alarm(for: deadline)
        if let timer { return self.loop.reschedule(timer, at: alarm) }
        self.timer = self.loop.schedule(at: alarm, on: .boottime) { [weak self] in self?.readingDone() }
    }

    private func perform() {
        // An action can bring about others (the device runs otherwise than asked): they are appended and come in turn.
        guard !self.isPerforming else { return }
        self.isPerforming = true
        var index = 0
        while index < self.actions.count {
            switch self.actions[index] {
            case .run(let pace): self.run(at: pace)
            case .stop: self.stop()
            case .tell(let client, let pace): self.tell(client, pace)
            case .send(let client): self.send(client)
            }
            index += 1
        }
        self.actions.removeAll(keepingCapacity: true)
        self.isPerforming = false
    }

    private func run(at pace: SensorPace) {
        let real = self.source.run(at: pace)
        if real != pace { self.hub.deviceRuns(at: real, into: &self.actions) }
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
        guard let client = self.clientsByID[Int(id.index)], let object else { return }
        _ = self.sender.signal(from: object.path, InterfaceName.sensor, "ClaimChanged", to: client.peer, size: 300) {
            pace.options.write(to: &$0)
        }
    }

    private func send(_ id: ClientID) {
        guard let client = self.clientsByID[Int(id.index)], let object else { return }
        var count = 0
        var isSent = false
        self.hub.withBlock(of: id) { first, times, values in
            count = times.count
            let size = SampleCodec.size(samples: times.count, channels: self.description.channels.count)
            isSent = self.sender.signal(
                from: object.path, InterfaceName.sensor, "Samples", to: client.peer, size: size
            ) { SampleCodec.write(first: first, times: times, values: values, to: &$0) }
        }
        if isSent {
            self.hub.delivered(id, samples: count)
        } else {
            self.hub.dropped(id, samples: count)
        }
    }
}
