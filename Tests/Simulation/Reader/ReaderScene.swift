import Motion
import SensorCore

/// The reader with what is around it: devices, the programs that listen, and polkit; and what becomes of them step by step.
///
/// What jostle-sensord's shell does around the core is done here in the same order.
final class ReaderScene {
    struct Counts: Equatable {
        var samples = 0
        var sent = 0
        var lost = 0
        var read = 0
        var gaps = 0
        var claims = 0
        var refused = 0
        var rests = 0
        var failures = 0
        var questions = 0
        var waited = 0
    }

    /// By CLOCK_BOOTTIME; how long of that the system slept; and what the wall clock is ahead, both in µs.
    private(set) var now = Timestamp.zero
    private(set) var slept: Int64 = 0
    private(set) var wall: Int64 = 0
    var devices = [SimulatedDevice](repeating: SimulatedDevice(), count: ReaderSetup.hardware.count)
    private var connections: [ReaderConnection] = []
    /// No two of a life have one name.
    private var lastConnection = 0
    /// The connection of each program that runs, and those of before from which the reader has not heard all.
    private var current = [ReaderConnection?](repeating: nil, count: ReaderSetup.listeners)
    private var lines = [[ReaderConnection]](repeating: [], count: ReaderSetup.listeners)
    private var process: ReaderProcess?
    private(set) var processes = 0
    private(set) var polkit = ReaderPolkit.Mood.well
    private(set) var front = Set(ReaderSetup.seats)
    /// Since when polkit has said so, in the time that the system is awake; `nil`: it could not yet.
    private var frontSaid: Int64? = 0
    var watch = ReaderWatch()
    var counts = Counts()
    private(set) var finding: String?
    private var steps = 0

    var awake: Int64 { self.now.microseconds - self.slept }

    func find(_ what: String) { self.finding = self.finding ?? what }

    /// The clocks say so by now.
    func set(_ now: Timestamp, wall: Int64) {
        self.now = max(self.now, now)
        self.wall = wall
    }

    /// The system has slept for so long in all.
    func sleep(until slept: Int64) {
        self.now = self.now + TimeSpan(microseconds: max(0, slept - self.slept))
        self.slept = max(self.slept, slept)
    }

    // MARK: The reader

    func begin() {
        guard self.process == nil else { return }
        self.processes += 1
        let process = ReaderProcess(in: self)
        self.process = process
        process.polkit.ownerChanged(isThere: self.polkit != .absent)
        for device in self.devices.indices where self.devices[device].isThere { process.appeared(device) }
    }

    func kill() {
        guard self.process != nil else { return }
        self.process = nil
        self.watch.readerEnds()
        for device in self.devices.indices {
            self.devices[device].running = nil
            self.devices[device].held = 0
        }
        for connection in self.connections { connection.toReader = [] }
        for connection in self.current.compactMap({ $0 }) { connection.toClient.append(.readerGone) }
        self.lines = self.current.map { $0.map { [$0] } ?? [] }
        self.connections = self.current.compactMap { $0 }
    }

    /// Somebody who was refused is told that it may do better now. Nobody needs to be.
    func announce(to name: String) {
        self.connections.first { $0.name == name && $0.isOpen }?.toClient.append(.other)
    }

    // MARK: Devices

    func plug(_ device: Int, _ isThere: Bool) {
        guard self.devices.indices.contains(device), self.devices[device].isThere != isThere else { return }
        self.devices[device].isThere = isThere
        self.devices[device].held = 0
        if isThere { self.process?.appeared(device) } else { self.process?.vanished(device) }
        if !isThere, self.devices[device].running != nil { self.find("a device that is gone runs") }
    }

    func ail(_ device: Int, _ mood: Int) {
        guard self.devices.indices.contains(device), let mood = SimulatedDevice.Mood(rawValue: mood) else { return }
        let before = self.devices[device].mood
        self.devices[device].mood = mood
        // What answers again, or was seen to change, is looked at.
        if mood == .well, before != .well { self.process?.sensor(of: device)?.refresh() }
    }

    /// A device that runs has so many readings, which it may hold back.
    func measure(_ device: Int, _ count: Int) {
        guard self.devices.indices.contains(device), let running = self.devices[device].running else { return }
        let count = max(1, min(count, 200))
        self.devices[device].held += count
        if running.batchLatency > .zero, self.devices[device].held < 24, count % 3 != 0 { return }
        let held = self.devices[device].held
        self.devices[device].held = 0
        self.process?.sensor(of: device)?.read(held)
    }

    // MARK: Programs that listen

    private func listener(_ number: Int) -> ReaderConnection? {
        self.current.indices.contains(number) ? self.current[number] : nil
    }

    private func connect(_ listener: Int) -> ReaderConnection {
        self.lastConnection += 1
        let connection = ReaderConnection(":1.\(self.lastConnection)", of: listener)
        self.connections.append(connection)
        self.lines[listener].append(connection)
        return connection
    }

    func join(_ listener: Int) {
        guard self.current.indices.contains(listener), self.current[listener] == nil else { return }
        self.current[listener] = self.connect(listener)
    }

    /// A program dies; what it has of streams may live on in a child.
    func part(_ listener: Int, leavesStreams: Bool) {
        guard let connection = self.listener(listener) else { return }
        self.current[listener] = nil
        self.close(connection, leavesStreams: leavesStreams)
    }

    private func close(_ connection: ReaderConnection, leavesStreams: Bool) {
        connection.isOpen = false
        if !leavesStreams {
            for socket in connection.sockets { socket.isClosed = true }
            for case .opened(let socket) in connection.toClient { socket.isClosed = true }
        }
        connection.sockets = []
        connection.toClient = []
        self.say(.gone, connection)
    }

    /// Without a reader the bus refuses.
    private func say(_ message: ReaderConnection.Message, _ connection: ReaderConnection) {
        if self.process != nil { connection.toReader.append(message) }
    }

    /// Asks for a sensor: 3 times the number of the request, and which sensor.
    func claim(_ listener: Int, _ number: Int, asStream: Bool) {
        guard let connection = self.listener(listener), number >= 0 else { return }
        let (name, request) = (ReaderSetup.sensors[number % 3], ReaderSetup.request(number / 3))
        self.say(asStream ? .open(name, request) : .claim(name, request), connection)
    }

    /// Wants a sensor no more, or closes a stream: those behind the sensors.
    func release(_ listener: Int, _ number: Int) {
        guard let connection = self.listener(listener), number >= 0 else { return }
        if number < 3 { return self.say(.release(ReaderSetup.sensors[number]), connection) }
        guard !connection.sockets.isEmpty else { return }
        let socket = connection.sockets.remove(at: (number - 3) % connection.sockets.count)
        socket.isClosed = true
        self.say(.close(socket), connection)
    }

    /// Wants all that waits, of a sensor or of a stream.
    func flush(_ listener: Int, _ number: Int) {
        guard let connection = self.listener(listener), number >= 0 else { return }
        if number < 3 { return self.say(.flush(ReaderSetup.sensors[number]), connection) }
        guard !connection.sockets.isEmpty else { return }
        self.say(.ask(connection.sockets[(number - 3) % connection.sockets.count]), connection)
    }

    /// Reads so much of what came to it, and of each stream.
    func drain(_ listener: Int, _ count: Int) {
        guard let connection = self.listener(listener) else { return }
        self.drain(connection, count)
    }

    private func drain(_ connection: ReaderConnection, _ count: Int) {
        for _ in 0..<max(0, count) {
            guard !connection.toClient.isEmpty else { break }
            self.hear(connection.toClient.removeFirst(), connection)
        }
        for socket in connection.sockets {
            for _ in 0..<max(0, count) {
                guard let packet = socket.take() else { break }
                self.read(packet, socket)
            }
        }
    }

    private func hear(_ signal: ReaderConnection.Signal, _ connection: ReaderConnection) {
        switch signal {
        case .claimed(let claim): connection.claims[claim.sensor] = claim
        case .opened(let socket): connection.sockets.append(socket)
        case .released(let name): connection.claims[name] = nil
        case .samples(let name, let rows):
            guard let claim = connection.claims[name] else {
                return self.find("\(connection.name) gets samples of \(name), which it does not claim")
            }
            self.take(rows, claim)
        case .ping(let client):
            if client.process == self.processes { self.say(.pong(client), connection) }
        case .readerGone:
            connection.claims = [:]
            connection.sockets = []
        case .other: break
        }
    }

    private func take(_ rows: SimulatedRows, _ claim: ReaderClaim) {
        self.counts.read += rows.times.count
        if let wrong = claim.take(rows.first, rows.times, rows.samples) { self.find("\(claim.words): \(wrong)") }
    }

    private func read(_ packet: SimulatedSocket.Packet, _ socket: SimulatedSocket) {
        guard let claim = socket.claim else { return self.find("a stream is read that nobody opened") }
        switch packet {
        case .rows(let rows): self.take(rows, claim)
        case .gap(let gap):
            self.counts.gaps += 1
            if let wrong = claim.takeGap(gap.first, gap.count) { self.find("\(claim.words): \(wrong)") }
        case .caughtUp(let next):
            if next != claim.next {
                self.find("\(claim.words): all up to \(next) is said to have come of \(claim.next)")
            }
        }
    }

    /// The reader hears so much of a program, the oldest of its connections first.
    func heed(_ listener: Int, _ count: Int) {
        guard self.lines.indices.contains(listener) else { return }
        var left = count
        for connection in self.lines[listener] {
            while left > 0, !connection.toReader.isEmpty {
                left -= 1
                self.process?.take(connection.toReader.removeFirst(), from: connection)
            }
        }
        self.lines[listener].removeAll { !$0.isOpen && $0.toReader.isEmpty }
    }

    /// Many programs of a user come at once, each claims, and most leave again.
    func crowd(_ listener: Int, _ count: Int) {
        guard self.lines.indices.contains(listener), self.process != nil else { return }
        let crowd = (0..<max(0, min(count, 40))).map { _ in self.connect(listener) }
        for (index, connection) in crowd.enumerated() {
            self.say(.claim(ReaderSetup.sensors[index % 3], ReaderSetup.request(7 * index + 4)), connection)
        }
        self.heed(listener, 2 * count)
        for connection in crowd { self.close(connection, leavesStreams: false) }
    }

    /// The reader itself claims a sensor, or ends that.
    func own(_ sensor: Int, _ number: Int) {
        guard ReaderSetup.sensors.indices.contains(sensor) else { return }
        let request = number < 0 ? nil : ReaderSetup.request(number)
        if request?.isPassive == true { return }
        self.process?.claimOwn(ReaderSetup.sensors[sensor], request)
    }

    // MARK: polkit

    func setPolkit(_ mood: Int) {
        guard let mood = ReaderPolkit.Mood(rawValue: mood), mood != self.polkit else { return }
        let before = self.polkit
        self.polkit = mood
        if mood == .absent || before == .absent { self.process?.polkit.ownerChanged(isThere: mood != .absent) }
        self.sayFront()
    }

    /// Those are in front whose bits are set.
    func setFront(_ seats: Int) {
        let front = Set(ReaderSetup.seats.indices.filter { seats & 1 << $0 != 0 }.map { ReaderSetup.seats[$0] })
        guard front != self.front else { return }
        self.front = front
        self.frontSaid = nil
        self.sayFront()
    }

    private func sayFront() {
        guard self.frontSaid == nil, self.polkit == .well || self.polkit == .failing else { return }
        self.frontSaid = self.awake
        self.process?.polkit.changed()
    }

    func answer(_ count: Int) { self.process?.polkit.answer(count) }

    // MARK: Time

    /// Time passes, and the reader has its turn when its timers run.
    func pass(to end: Timestamp) {
        var spins = 0
        self.process?.turn()
        while let time = self.process?.nextTimer, time <= end {
            spins = time > self.now ? 0 : spins + 1
            if spins > 8 { return self.find("the reader's timer runs again and again at \(self.now)") }
            self.now = max(self.now, time)
            self.process?.fire()
            if let process = self.process, let wrong = self.watch.check(process) { self.find(wrong) }
        }
        self.now = max(self.now, end)
        self.checkFront()
    }

    /// Whoever is not in front gets no samples any more.
    private func checkFront() {
        guard let said = self.frontSaid, self.process != nil, self.awake > said + ClaimRounds.patience else { return }
        if let claim = self.watch.behind(self.front) { self.find("\(claim.words): its user is not in front") }
    }

    // MARK: What must hold

    func check() {
        guard let process else { return }
        if let wrong = self.watch.check(process) { self.find(wrong) }
        self.steps += 1
        guard self.steps.isMultiple(of: 4) else { return }
        self.checkBooks(process)
    }

    private func checkBooks(_ process: ReaderProcess) {
        if let wrong = process.check() { self.find(wrong) }
        for sensor in process.sensors {
            if let wrong = self.watch.checkBooks(sensor) { self.find("\(sensor.name): \(wrong)") }
        }
        for device in self.devices.indices where self.devices[device].running != nil {
            let sensor = process.sensor(of: device)
            if sensor?.pace == nil { self.find("device \(device) runs for nobody") }
        }
    }

    // MARK: In the end

    /// All are well and have time; then all leave, and nothing is left to do.
    func finish(_ tick: (_ milliseconds: Int64) -> Void) {
        self.setPolkit(0)
        self.setFront(7)
        self.begin()
        for device in self.devices.indices {
            self.ail(device, 0)
            self.plug(device, true)
        }
        for listener in self.current.indices { self.join(listener) }
        self.quieten(tick)
        tick(70_000)
        self.quieten(tick)
        for device in self.devices.indices { self.measure(device, 3) }
        for listener in self.current.indices {
            for number in 0..<3 { self.flush(listener, number) }
        }
        self.quieten(tick)
        if let process { self.checkAll(process) }
        for sensor in ReaderSetup.sensors.indices { self.own(sensor, -1) }
        for listener in self.current.indices { self.part(listener, leavesStreams: listener % 2 == 0) }
        self.quieten(tick)
        tick(70_000)
        guard let process else { return }
        self.checkBooks(process)
        if let timer = process.nextTimer { self.find("nothing is left to do, and the reader wakes up at \(timer)") }
        if !process.isAtRest { self.find("nobody is there, and something is held of the reader") }
        for sensor in process.sensors
        where sensor.hub.claimCount > 0 || sensor.hub.usage.contains(where: { $0.held > 0 }) {
            self.find("nobody is there, and \(sensor.name) is claimed")
        }
    }

    /// All who are there have read all, and nothing holds them back.
    private func checkAll(_ process: ReaderProcess) {
        for sensor in process.sensors {
            guard let device = sensor.device else {
                self.find("\(sensor.name) has no device")
                continue
            }
            if sensor.pace != nil, self.devices[device].running == nil { self.find("\(sensor.name) does not run") }
            for client in sensor.all {
                guard let claim = client.claim else { continue }
                if claim.isResting { self.find("\(claim.words) rests") }
                if let wrong = claim.check() { self.find("\(claim.words): \(wrong)") }
            }
        }
    }

    private func quieten(_ tick: (_ milliseconds: Int64) -> Void) {
        for _ in 0..<40 {
            for listener in self.lines.indices {
                self.heed(listener, 1_000)
                for connection in self.lines[listener] where connection.isOpen { self.drain(connection, 1_000) }
            }
            self.process?.turn()
            self.answer(100)
            self.check()
            let isCalm = self.lines.allSatisfy { $0.allSatisfy(\.isCalm) }
            if isCalm, self.process?.isSettled != false { break }
            tick(0)
        }
        tick(3_000)
    }
}
