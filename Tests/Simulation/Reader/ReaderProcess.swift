import DeviceCore
import Motion
import SensorCore

/// Somebody who claims something.
struct ReaderCaller {
    let name: String
    /// In whose share it counts; `nil`: nobody's.
    let user: UInt32?
    /// The fastest rate that it may have, if it asked for more.
    var fastest: Double?
    /// When polkit was asked about it.
    var asked: ClaimRounds.Moment?
}

/// A process of the reader: what `DeviceSources`, `ClaimRights` and `ClaimHolders` do around its core.
final class ReaderProcess {
    private enum Question {
        case claim(Double, orSlower: Bool, (ReaderCaller?) -> Void)
        /// Only what was asked before must be answered.
        case turn((_ isTooMany: Bool) -> Void)

        /// Says that there is no room for it.
        func refuse() {
            switch self {
            case .claim(_, _, let answer): answer(nil)
            case .turn(let body): body(true)
            }
        }
    }

    private struct Holder {
        let user: UInt32
        var clients: [ReaderClient] = []
    }

    unowned let scene: ReaderScene
    private(set) var sensors: [ReaderSensor] = []
    private var roster = SensorRoster()
    private var attached: [ReaderSensor?]
    /// What comes of its own in the next turn: answers of the bus, and ends of what is in the middle of something.
    private var later: [() -> Void] = []
    private var waiting = WaitingLines<Question>(UserShares(limit: 24, reserve: 2))
    /// How many wait behind a connection's first question, and in whose share.
    private var lines: [String: (user: UInt32, count: Int)] = [:]
    private var streams = ReaderSetup.streams
    private var holders: [String: Holder] = [:]
    private(set) lazy var polkit = ReaderPolkit(in: self)

    init(in scene: ReaderScene) {
        self.scene = scene
        self.attached = [ReaderSensor?](repeating: nil, count: ReaderSetup.hardware.count)
    }

    var isSettled: Bool { self.later.isEmpty }

    func afterRound(_ body: @escaping () -> Void) { self.later.append(body) }

    /// What comes of its own.
    func turn() {
        if !self.later.isEmpty {
            let bodies = self.later
            self.later = []
            for body in bodies { body() }
        }
        for sensor in self.sensors where sensor.hub.claimCount > 0 {
            for client in sensor.all {
                guard let socket = client.socket else { continue }
                if socket.isClosed || socket.hasEnded {
                    self.forget(client)
                } else if client.isBehind {
                    sensor.settle(client)
                }
            }
        }
    }

    // MARK: Devices

    func sensor(_ name: String) -> ReaderSensor? { self.sensors.first { $0.name == name } }
    func sensor(of device: Int) -> ReaderSensor? { self.attached[device] }

    func appeared(_ device: Int) {
        guard self.attached[device] == nil else { return }
        let hardware = ReaderSetup.hardware[device]
        let (name, isNew) = self.roster.appeared(
            SensorRoster.Candidate(kind: hardware.kind, driver: hardware.driver, placement: ""))
        if isNew != (self.sensor(name) == nil) { self.scene.find("\(name) is new, or is not") }
        if self.attached.contains(where: { $0?.name == name }) { self.scene.find("two devices are \(name)") }
        let sensor = self.sensor(name) ?? ReaderSensor(name, hardware.kind, in: self.scene)
        if isNew { self.sensors.append(sensor) }
        self.attached[device] = sensor
        sensor.attach(device)
    }

    func vanished(_ device: Int) {
        guard let sensor = self.attached[device] else { return }
        self.attached[device] = nil
        self.roster.vanished(sensor.name)
        sensor.detach()
    }

    // MARK: What connections say

    func take(_ message: ReaderConnection.Message, from connection: ReaderConnection) {
        switch message {
        case .claim(let name, let request):
            guard let sensor = self.sensor(name) else { return connection.toClient.append(.other) }
            self.whenAllowed(request, connection) { [unowned self] request, caller in
                self.claim(sensor, request, caller, connection)
            }
        case .open(let name, let request):
            guard let sensor = self.sensor(name) else { return connection.toClient.append(.other) }
            self.whenAllowed(request, connection) { [unowned self] request, caller in
                self.open(sensor, request, caller, connection)
            }
        case .release(let name):
            self.afterAnswers(connection.name) { [unowned self] isTooMany in
                guard !isTooMany else { return connection.toClient.append(.other) }
                if let client = self.sensor(name)?.peer(connection.name) { self.forget(client) }
                connection.toClient.append(.released(name))
            }
        case .flush(let name):
            self.afterAnswers(connection.name) { [unowned self] isTooMany in
                if !isTooMany, let sensor = self.sensor(name) {
                    for client in sensor.all where client.caller.name == connection.name { sensor.flush(client) }
                }
                connection.toClient.append(.other)
            }
        case .pong(let client):
            guard client.process == self.scene.processes, client.claim?.isOver == false, client.pong() else { return }
            if client.isPeer { client.sensor.settle(client) }
        case .ask(let socket):
            guard let client = self.client(of: socket) else { return }
            client.sensor.flush(client)
        case .close(let socket):
            if let client = self.client(of: socket) { self.forget(client) }
        case .gone: self.gone(connection)
        }
    }

    private func client(of socket: SimulatedSocket) -> ReaderClient? {
        self.sensors.lazy.flatMap(\.all).first { $0.socket === socket }
    }

    private func gone(_ connection: ReaderConnection) {
        self.scene.watch.gone(connection.name)
        self.polkit.forget(connection.name)
        for client in self.holders[connection.name]?.clients ?? [] { self.forget(client) }
    }

    private func whenAllowed(
        _ request: SensorRequest, _ connection: ReaderConnection,
        _ body: @escaping (SensorRequest, ReaderCaller) -> Void
    ) {
        let rate = SensorLimits.rates.contains(request.pace.rate) ? request.pace.rate : 0
        self.ask(rate, orSlower: request.orSlower, of: connection) { caller in
            guard let caller else { return connection.toClient.append(.other) }
            var request = request
            if let fastest = caller.fastest { request.pace.rate = fastest }
            body(request, caller)
        }
    }

    private func claim(
        _ sensor: ReaderSensor, _ request: SensorRequest, _ caller: ReaderCaller, _ connection: ReaderConnection
    ) {
        let known = sensor.peer(caller.name)
        let client = known ?? self.makeClient(sensor, caller, .peer, connection)
        if sensor.claim(request, for: client), let claim = client.claim {
            if known != nil { sensor.forget(of: client) }
            connection.toClient.append(.claimed(claim))
        } else {
            if known == nil { self.forget(client) }
            connection.toClient.append(.other)
        }
    }

    private func open(
        _ sensor: ReaderSensor, _ request: SensorRequest, _ caller: ReaderCaller, _ connection: ReaderConnection
    ) {
        let others = sensor.all.count { $0.socket != nil && $0.caller.name == caller.name }
        let hasPlace = others < ReaderSetup.streamsOfOne && caller.user.map { self.streams.take(1, for: $0) } ?? true
        guard hasPlace else {
            self.scene.counts.refused += 1
            return connection.toClient.append(.other)
        }
        let socket = SimulatedSocket()
        let client = self.makeClient(sensor, caller, .stream(socket), connection)
        if sensor.claim(request, for: client) {
            connection.toClient.append(.opened(socket))
        } else {
            self.forget(client)
            connection.toClient.append(.other)
        }
    }

    private func makeClient(
        _ sensor: ReaderSensor, _ caller: ReaderCaller, _ receiver: ReaderClient.Receiver,
        _ connection: ReaderConnection
    ) -> ReaderClient {
        let client = sensor.makeClient(caller, receiver, connection)
        if let user = caller.user {
            self.holders[caller.name, default: Holder(user: user)].clients.append(client)
            if self.isAsked(user) { self.polkit.hold(caller.name, of: user, asOf: caller.asked) }
        }
        // Whoever is gone by now is found to be.
        if self.scene.watch.isGone(caller.name) { self.afterRound { [unowned self] in self.forget(client) } }
        return client
    }

    private func forget(_ client: ReaderClient) {
        guard client.sensor.all.contains(where: { $0 === client }) else { return }
        if let user = client.caller.user {
            if client.socket != nil { self.streams.giveBack(1, for: user) }
            var holder = self.holders.removeValue(forKey: client.caller.name) ?? Holder(user: user)
            holder.clients.removeAll { $0 === client }
            if holder.clients.isEmpty {
                self.polkit.letGo(client.caller.name)
            } else {
                self.holders[client.caller.name] = holder
            }
        }
        if client.sensor.end(client) {
            for name in client.sensor.takeRefused() { self.scene.announce(to: name) }
        }
    }

    /// The reader itself claims a sensor, or ends that.
    func claimOwn(_ name: String, _ request: SensorRequest?) {
        guard let sensor = self.sensor(name) else { return }
        guard let request else {
            if let client = sensor.taker { _ = sensor.end(client) }
            return
        }
        let client = sensor.taker ?? sensor.makeClient(ReaderCaller(name: "", user: nil), .taker, nil)
        if !sensor.claim(request, for: client), client.claim == nil { _ = sensor.end(client) }
    }

    // MARK: Who may

    private func ask(
        _ rate: Double, orSlower: Bool, of connection: ReaderConnection, _ answer: @escaping (ReaderCaller?) -> Void
    ) {
        let name = connection.name
        if self.waiting.isOpen(name) {
            self.wait(.claim(rate, orSlower: orSlower, answer), of: connection)
        } else if let user = self.holders[name]?.user, self.isForAll(rate), self.isAwake(name) {
            answer(ReaderCaller(name: name, user: user))
        } else {
            self.waiting.open(name, of: nil)
            self.lines[name] = (UserShares.unknown, 0)
            // The bus is asked whose it is, and answers later.
            self.afterRound { [unowned self] in
                guard !self.scene.watch.isGone(name) else { return self.finish(connection) { answer(nil) } }
                let user = ReaderSetup.user(of: connection.listener)
                let left = self.waiting.setUser(user, of: name)
                self.lines[name] = (user, (self.lines[name]?.count ?? 0) - left.count)
                for question in left { question.refuse() }
                self.admit(ReaderCaller(name: name, user: user)) { [unowned self] caller in
                    guard let caller else { return self.finish(connection) { answer(nil) } }
                    self.look(rate, orSlower: orSlower, caller, connection) { [unowned self] caller in
                        self.finish(connection) { answer(caller.flatMap { self.confirm($0) ? $0 : nil }) }
                    }
                }
            }
        }
    }

    private func wait(_ question: Question, of connection: ReaderConnection) {
        if self.waiting.add(question, of: connection.name) {
            self.lines[connection.name]?.count += 1
            self.scene.counts.waited += 1
        } else {
            question.refuse()
        }
    }

    private func afterAnswers(_ name: String, _ body: @escaping (_ isTooMany: Bool) -> Void) {
        guard self.waiting.isOpen(name) else { return body(false) }
        guard self.waiting.add(.turn(body), of: name) else { return body(true) }
        self.lines[name]?.count += 1
    }

    private func finish(_ connection: ReaderConnection, _ answer: () -> Void) {
        let questions = self.waiting.close(connection.name)
        self.lines[connection.name] = nil
        answer()
        for question in questions {
            switch question {
            case .claim(let rate, let orSlower, let answer):
                self.ask(rate, orSlower: orSlower, of: connection, answer)
            case .turn(let body): self.afterAnswers(connection.name, body)
            }
        }
    }

    private func isForAll(_ rate: Double) -> Bool { rate <= 200 }

    /// Finds the fastest rate that a caller may have, as far as that is needed; policy is read in turns.
    private func look(
        _ rate: Double, orSlower: Bool, _ caller: ReaderCaller, _ connection: ReaderConnection,
        _ then: @escaping (ReaderCaller?) -> Void
    ) {
        if self.isForAll(rate) { return then(caller) }
        self.afterRound {
            let isNamed = connection.listener >= ReaderSetup.fast
            if isNamed || rate <= ReaderSetup.fastest { return then(caller) }
            var caller = caller
            caller.fastest = ReaderSetup.fastest
            then(orSlower ? caller : nil)
        }
    }

    func isAsked(_ user: UInt32) -> Bool { user != UserShares.root }

    private func isAwake(_ name: String) -> Bool { self.holders[name] != nil && self.polkit.resting(name) == nil }

    private func admit(_ caller: ReaderCaller, _ then: @escaping (ReaderCaller?) -> Void) {
        guard let user = caller.user, self.isAsked(user) else { return then(caller) }
        if self.holders[caller.name] != nil { return then(self.confirm(caller) ? caller : nil) }
        self.polkit.admit(caller.name, of: user) { asked in
            var result = caller
            result.asked = asked
            then(asked == nil ? nil : result)
        }
    }

    /// Whether somebody who was let in has not come to rest meanwhile.
    private func confirm(_ caller: ReaderCaller) -> Bool {
        guard let user = caller.user, self.holders[caller.name] != nil, self.polkit.resting(caller.name) != nil else {
            return true
        }
        self.polkit.refuse(caller.name, of: user)
        return false
    }

    /// Lets all claims of a connection rest, or go on.
    func rest(_ name: String, _ resting: Resting?) {
        for client in self.holders[name]?.clients ?? [] where client.resting != resting {
            client.sensor.rest(client, resting)
        }
    }

    func holds(_ name: String) -> Bool { self.holders[name] != nil }

    // MARK: Time

    var nextTimer: Timestamp? {
        var next = self.polkit.nextTimer
        for sensor in self.sensors {
            if let timer = sensor.nextTimer { next = min(next ?? timer, timer) }
        }
        return next
    }

    func fire() {
        for sensor in self.sensors { sensor.fire() }
        self.polkit.fire()
        self.turn()
    }

    // MARK: What must hold

    /// Says what is wrong with the books.
    func check() -> String? {
        var waiting: [UInt32: Int] = [:]
        for line in self.lines.values where line.count > 0 { waiting[line.user, default: 0] += line.count }
        if waiting != self.waiting.shares.holdings {
            return "\(waiting) wait, and \(self.waiting.shares.holdings) is counted"
        }
        var streams: [UInt32: Int] = [:]
        for client in self.sensors.lazy.flatMap(\.all) where client.socket != nil {
            if let user = client.caller.user { streams[user, default: 0] += 1 }
        }
        if streams != self.streams.holdings {
            return "\(streams) streams are there, and \(self.streams.holdings) are counted"
        }
        return self.polkit.check()
    }

    /// Nobody is there any more.
    var isAtRest: Bool { self.lines.isEmpty && self.holders.isEmpty && self.later.isEmpty && self.polkit.isAtRest }
}
