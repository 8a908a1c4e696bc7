import DBus
import DaemonSupport
import Detection
import DeviceCore
import Loop
import Motion
import SensorCore

/// `net.hadess.SensorProxy` as iio-sensor-proxy offers it, on top of our sensors: the shell around `ProxyState`.
///
/// It claims sensors as everybody does, so that there is one reader, and only while somebody claims them of it. On the system bus
/// polkit says who may claim, by iio-sensor-proxy's own action, and claims of whoever may not any more rest.
/// Not `Sendable`: it belongs to the loop's thread.
final class SensorProxy {
    static let busName = "net.hadess.SensorProxy"
    static let path = ObjectPath(literal: "/net/hadess/SensorProxy")
    static let compassPath = ObjectPath(literal: "/net/hadess/SensorProxy/Compass")

    /// As often as the original looks.
    static let usualRate = 1 / ProxyState.usualPeriod.seconds
    static let rates = 0.1...50.0
    /// So long a claim waits for a reading: a device may tell none for long, as some do while nothing changes.
    private static let patience: Int64 = 2_000_000

    private let pace: SensorPace
    /// Of the accelerometer, which is looked at more often where the screen turns calmly.
    private let turningPace: SensorPace
    private(set) var state: ProxyState
    private let bus: Connection
    private let names: NameWatch
    private let sender: PacedSender
    /// `nil`: nobody is asked.
    private let rounds: PolkitRounds?
    private let log: Log
    private var sensors: [ProxySensor: SensorService] = [:]
    private var clients: [String: Client] = [:]
    private var wanted: Set<ProxySensor> = []
    private var taps: [ProxySensor: Tap] = [:]
    /// What waits, by its sender, behind a question to polkit.
    private var asked = WaitingLines<Waiting>()
    /// Looks where up is for the compass.
    private var upTap: Tap?
    private var up = SIMD3<Double>(0, 0, 1)

    /// A call that waits, and what says whether it may go on.
    private typealias Waiting = (call: MethodCall, answer: (BusError?) -> Void)

    /// A connection that claims sensors.
    private final class Client {
        let peer: PacedSender.Peer
        /// In whose share its claims count.
        let user: UInt32
        var watch: NameWatch.Token?
        var sensors: Set<ProxySensor> = []
        /// Claims that are not answered yet, and when they are in any case.
        var calls: [ProxySensor: MethodCall] = [:]
        var deadlines: [ProxySensor: EventLoop.TimerID] = [:]
        /// There was no room to tell it of some change.
        var isOwedNews = false

        init(_ peer: PacedSender.Peer, of user: UInt32) {
            self.peer = peer
            self.user = user
        }
    }

    /// - Parameters:
    ///   - rate: how often sensors are read, in Hz.
    ///   - calm: what says when the screen turns; `nil`: each reading by itself.
    init(
        on bus: Connection, _ names: NameWatch, _ sender: PacedSender, _ polkit: Polkit?, rate: Double,
        calm: CalmScreen?, log: Log
    ) {
        // A device that gathers samples itself may do so a little longer than a period, so that it never wakes us more
        // often than that.
        self.pace = SensorPace(rate: rate, batchLatency: TimeSpan(seconds: 8 / (7 * rate)) ?? .zero)
        // Two looks travel together: a turn may be told so much later.
        self.turningPace = calm.map { SensorPace(rate: max(rate, $0.rate), batchLatency: .milliseconds(50)) } ?? pace
        self.state = ProxyState(calm: calm)
        self.bus = bus
        self.names = names
        self.sender = sender
        self.rounds = polkit.map { PolkitRounds($0, "net.hadess.SensorProxy.claim-sensor", names, on: bus.loop) }
        self.log = log
        let guardian: ExportedObject.Guardian = { [weak self] in self?.admit($0, $1) }
        bus.export(
            ExportedObject(Self.path, [(SensorProxyInterface.table, self)], guardian: guardian))
        bus.export(
            ExportedObject(Self.compassPath, [(SensorProxyInterface.compassTable, self)], guardian: guardian))
        self.rounds?.onRest = { [unowned self] name, resting in
            self.log.info("\(Self.busName): the claims of \(name) \(resting == nil ? "go on" : "rest")")
            self.change { resting == nil ? $0.wake(name, &$1) : $0.rest(name, &$1) }
        }
    }

    /// What there is for all who claim of it, and who has it.
    var usage: [LimitUsage] {
        let part = LimitUsage.Part.interface(Self.busName)
        return [LimitUsage("all-waiting", of: part, self.asked.shares)] + (self.rounds?.usage(of: part) ?? [])
            + self.state.usage
    }

    /// How much there is for all, as `Limits` shows it.
    static let limits = [
        ProxyState.limit: UInt64(SensorHub.strangers.limit),
        "\(ProxyState.limit)-of-root": UInt64(SensorHub.strangers.reserve),
        "\(ProxyState.limit)-per-user": UInt64(SensorHub.strangers.share),
    ]

    // MARK: Sensors

    /// The sensor behind one of ours, by its name. A sensor that sits elsewhere than in the display is no business of the screen's.
    private static func sensor(named name: String) -> ProxySensor? { ProxySensor.allCases.first { $0.name == name } }

    /// A sensor is there for the first time, or its description changed.
    func see(_ service: SensorService) {
        guard let sensor = Self.sensor(named: service.description.name) else { return }
        if self.sensors[sensor] == nil {
            self.sensors[sensor] = service
            if self.wanted.contains(sensor) { self.run(sensor) }
            if sensor == .accelerometer, self.wanted.contains(.compass) { self.run(.compass) }
        }
        self.change { $0.set(sensor, to: Self.presence(of: service), &$1) }
    }

    private static func presence(of service: SensorService) -> ProxyState.Presence {
        switch service.state {
        case .absent: .absent
        case .broken: .broken
        case .idle, .running, .stuck, .saturated: .there
        }
    }

    private func run(_ sensor: ProxySensor) {
        self.wanted.insert(sensor)
        let tap = self.taps[sensor] ?? Tap(self, sensor)
        self.taps[sensor] = tap
        self.claim(sensor, for: tap)
        guard sensor == .compass else { return }
        let upTap = self.upTap ?? Tap(self, .compass)
        self.upTap = upTap
        self.claim(.accelerometer, for: upTap)
    }

    private func claim(_ sensor: ProxySensor, for tap: Tap) {
        do throws(ClaimProblem) {
            _ = try self.sensors[sensor]?.claim(
                tap === self.taps[.accelerometer] ? self.turningPace : self.pace, for: tap)
        } catch {
            self.log.warning("\(Self.busName): \(error)")
        }
    }

    private func stop(_ sensor: ProxySensor) {
        self.wanted.remove(sensor)
        if let tap = self.taps[sensor] { self.sensors[sensor]?.release(tap) }
        guard sensor == .compass, let upTap = self.upTap else { return }
        self.sensors[.accelerometer]?.release(upTap)
    }

    // MARK: Calls

    func claim(_ sensor: ProxySensor, _ call: MethodCall) throws(BusError) {
        // Whoever may claim is one, until it is seen that it claims nothing.
        guard let client = self.clients[call.sender] else { throw .accessDenied("it is not known who you are") }
        // Answered when there is a reading; whoever asks again while it waits is answered at once.
        if let earlier = client.calls.updateValue(call, forKey: sensor) { earlier.reply() }
        var problem: ClaimProblem?
        self.change { problem = $0.claim(sensor, by: call.sender, of: client.user, &$1) }
        if let problem {
            client.calls[sensor] = nil
            throw .limitsExceeded("\(problem)")
        }
        client.sensors.insert(sensor)
        if client.calls[sensor] != nil, client.deadlines[sensor] == nil { self.limitWait(for: sensor, client) }
    }

    private func limitWait(for sensor: ProxySensor, _ client: Client) {
        let name = client.peer.name
        client.deadlines[sensor] = self.bus.loop.schedule(after: Self.patience) { [weak self] in
            self?.change { $0.waited(for: sensor, by: name, &$1) }
        }
    }

    private func answer(_ sensor: ProxySensor, _ client: Client) {
        if let deadline = client.deadlines.removeValue(forKey: sensor) { self.bus.loop.cancel(deadline) }
        client.calls.removeValue(forKey: sensor)?.reply()
    }

    /// Releasing what is not held is fine: the caller has what it wanted.
    func release(_ sensor: ProxySensor, _ call: MethodCall) {
        guard let client = self.clients[call.sender] else { return }
        self.release(sensor, client)
        self.tidy(client)
    }

    private func release(_ sensor: ProxySensor, _ client: Client) {
        client.sensors.remove(sensor)
        self.change { $0.release(sensor, by: client.peer.name, &$1) }
    }

    private func makeClient(_ name: String, of user: UInt32) -> Client {
        let client = Client(self.sender.peer(name), of: user)
        self.clients[name] = client
        client.peer.setUser(user)
        client.peer.onRoom(for: client) { [weak self, weak client] _ in
            if let self, let client { self.hasRoom(client) }
        }
        // With a rule of its own: what others do must not wake us.
        client.watch = self.names.follow(name, ownRule: true) { [weak self, weak client] owner in
            guard let self, let client, owner == nil else { return }
            for sensor in client.sensors { self.release(sensor, client) }
            self.tidy(client)
        }
        return client
    }

    private func tidy(_ client: Client) {
        guard client.sensors.isEmpty, self.clients[client.peer.name] === client else { return }
        self.clients[client.peer.name] = nil
        self.rounds?.letGo(client.peer.name)
        if let watch = client.watch { self.names.unfollow(watch) }
    }

    /// Finds out whose a caller is, in whose share it claims, and has polkit say whether it may. What a connection claims and
    /// releases is taken in the order in which it asked; to look is free at any time.
    private func admit(_ call: MethodCall, _ answer: @escaping (BusError?) -> Void) {
        let member = call.message.member ?? ""
        let isClaim = member.hasPrefix("Claim")
        guard isClaim || member.hasPrefix("Release") else { return answer(nil) }
        guard self.asked.isOpen(call.sender) else { return isClaim ? self.ask(call, answer) : answer(nil) }
        if !self.asked.add((call, answer), of: call.sender) { answer(.tooManyWait) }
    }

    /// Asks polkit: those who sit at the machine may claim, as a rule. Who holds claims is known to be let in, or not to be.
    private func ask(_ call: MethodCall, _ answer: @escaping (BusError?) -> Void) {
        let sender = call.sender
        if self.clients[sender] != nil {
            return answer(self.rounds?.resting(sender).map { Self.refusal($0, nil) })
        }
        self.asked.open(sender, of: nil)
        self.bus.user(of: sender) { [weak self] told in
            guard let self else { return }
            let user: UInt32
            switch told {
            case .success(let known): user = known
            case .failure(let error): return self.finish(sender) { answer(error) }
            }
            for (_, answer) in self.asked.setUser(user, of: sender) { answer(.tooManyWait) }
            guard let rounds = self.rounds else { return self.finish(sender) { self.letIn(sender, of: user, answer) } }
            rounds.admit(sender, of: user) { [weak self] admission in
                self?.finish(sender) {
                    switch admission {
                    case .yes(let asked):
                        self?.letIn(sender, of: user, answer)
                        if self?.clients[sender] != nil { rounds.hold(sender, of: user, asOf: asked) }
                    case .no(let resting, let reason): answer(Self.refusal(resting, reason))
                    }
                }
            }
        }
    }

    /// Has a caller claim, who is a client from then on if there was a place.
    private func letIn(_ sender: String, of user: UInt32, _ answer: (BusError?) -> Void) {
        let client = self.makeClient(sender, of: user)
        answer(nil)
        self.tidy(client)
    }

    private static func refusal(_ resting: Resting, _ reason: String?) -> BusError {
        switch resting {
        case .inactive: .accessDenied("polkit does not let you claim sensors")
        case .unknown:
            .accessDenied(
                "polkit cannot be asked whether you may claim sensors" + (reason.map { ": \($0)" } ?? ""))
        }
    }

    /// Answers the first call of a connection, and takes up what waited behind it.
    private func finish(_ sender: String, _ answer: () -> Void) {
        answer()
        // With the next one it is known by what it holds.
        self.bus.afterRound { [weak self] in
            for (call, answer) in self?.asked.close(sender) ?? [] { self?.admit(call, answer) }
        }
    }

    /// Whether a caller is to read what sensors show: claimants whose claims do not rest, our own user and root; where polkit is not
    /// asked, everybody.
    func mayRead(_ sensor: ProxySensor, _ call: MethodCall, _ answer: @escaping (Bool) -> Void) {
        guard self.rounds != nil, !self.state.isTold(call.sender, of: sensor) else { return answer(true) }
        self.bus.identity(of: call.sender) { answer((try? $0.get().isTrusted) ?? false) }
    }

    // MARK: Actions

    private func change(_ input: (inout ProxyState, inout [ProxyState.Action]) -> Void) {
        var actions: [ProxyState.Action] = []
        input(&self.state, &actions)
        for action in actions {
            switch action {
            case .run(let sensor): self.run(sensor)
            case .stop(let sensor): self.stop(sensor)
            case .answer(let sensor, let clients):
                for client in clients.compactMap({ self.clients[$0] }) { self.answer(sensor, client) }
            case .tell(let clients, let properties): self.tell(clients, properties)
            }
        }
    }

    /// The properties of one action belong to one interface.
    private func tell(_ names: [String], _ properties: [ProxyProperty]) {
        let isCompass = properties.contains { $0 == .hasCompass || $0 == .heading }
        let interface = isCompass ? SensorProxyInterface.compassName : SensorProxyInterface.name
        let values = Dictionary(
            uniqueKeysWithValues: properties.map { ($0.name, SensorProxyInterface.value(of: $0, self.state)) })
        for name in names {
            guard let client = self.clients[name] else { continue }
            let isTold = self.sender.signal(
                from: isCompass ? Self.compassPath : Self.path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
                to: client.peer, size: 400
            ) {
                interface.description.write(to: &$0)
                values.write(to: &$0)
                [String]().write(to: &$0)
            }
            if !isTold { client.isOwedNews = true }
        }
    }

    /// A client may be sent more: first all that is true by now, if it was not told of some change.
    private func hasRoom(_ client: Client) {
        guard client.isOwedNews else { return }
        client.isOwedNews = false
        self.change { $0.tellAnew(client.peer.name, &$1) }
    }

    // MARK: Readings

    /// What a sensor's claim of ours brings.
    private final class Tap: SampleTaker {
        private weak var proxy: SensorProxy?
        private let sensor: ProxySensor

        init(_ proxy: SensorProxy, _ sensor: ProxySensor) {
            self.proxy = proxy
            self.sensor = sensor
        }

        var names: [String] { self.proxy?.state.claimants(of: self.sensor) ?? [] }

        func take(_ times: Span<Int64>, _ values: Span<Double>, from service: SensorService) {
            let channels = service.description.channels.count
            guard let proxy, times.count > 0, values.count >= channels else { return }
            // Only what is true now matters, but for what looks back.
            if self.sensor == .accelerometer, proxy.state.isCalm {
                for index in times.indices where (index + 1) * channels <= values.count {
                    let row = values.extracting(index * channels..<(index + 1) * channels)
                    proxy.read(self.sensor, row, at: Timestamp(microseconds: times[index]), from: service)
                }
                return
            }
            let last = values.extracting(values.count - channels..<values.count)
            let isUp = service === proxy.sensors[.accelerometer] && self.sensor == .compass
            let time = Timestamp(microseconds: times[times.count - 1])
            isUp ? proxy.lookUp(last) : proxy.read(self.sensor, last, at: time, from: service)
        }

        func gap(in sensor: SensorService) {}
        /// Of that the reader's root tells.
        func changed(_ sensor: SensorService) {}
    }

    private func lookUp(_ row: Span<Double>) {
        guard row.count == 3 else { return }
        self.up = SIMD3(row[0], row[1], row[2])
    }

    private func read(_ sensor: ProxySensor, _ row: Span<Double>, at time: Timestamp, from service: SensorService) {
        let first = row[0]
        let isLux = service.description.unit == "lx"
        let vector = row.count == 3 ? SIMD3(row[0], row[1], row[2]) : .zero
        if sensor == .accelerometer {
            let bus = service.description.source.hasPrefix("evdev:") ? "input" : "IIO"
            // In the original's words and axes, which those who look for a fault know.
            let read = DeviceAxes.turned(vector)
            self.log.debug("Accel read from \(bus) on '\(service.driver)': \(read.x), \(read.y), \(read.z) (in g)")
        }
        self.change { state, actions in
            switch sensor {
            case .accelerometer:
                let before = (state.orientation, state.tilt)
                state.accelerated(vector, at: time, &actions)
                guard (state.orientation, state.tilt) != before else { return }
                let now = "orientation \(state.orientation.rawValue), tilt \(state.tilt.rawValue)"
                self.log.debug("Accel sent by driver: \(now)")
            case .light: state.lit(first, in: isLux ? .lux : .vendor, &actions)
            case .proximity: state.approached(first > 0.5, &actions)
            case .compass: state.pointed(Heading.degrees(vector, up: self.up), &actions)
            }
        }
    }
}
