import FleetCore
import Glibc
import Loop
import MQTT
import TestSupport
import Testing

extension Surroundings {
    /// Many devices at one server: they come all at once, and once more when it was away.
    @Suite(.serialized) struct FleetStorms {
        @Test func nobodyLosesAnythingInAStorm() throws {
            let count = FleetBars().devices
            try Self.allow(files: count * 4 + 256)
            let server = try MQTTServer(lines: [
                "persistence true", "autosave_on_changes false", "max_queued_messages 0", "max_connections -1",
                "connection_messages false",
            ])
            let idle = try ServerFigures(server)
            let listener = try FleetListener(server)
            try listener.connect()
            let before = try Resident(of: getpid())
            let storm = try Storm(of: count, at: server, on: listener.loop)
            let first = try storm.play(listener, "the first time")
            let during = try ServerFigures(server)
            let held = try Resident(of: getpid())
            // It ends in order, and all come back at once, each with what it could not say.
            try server.end()
            try listener.wait("the end of all", timeout: 60_000_000) { storm.connected == 0 }
            storm.haveAllSomethingToSay()
            try server.restart()
            try listener.connect()
            let second = try storm.play(listener, "after an outage")
            let after = try ServerFigures(server)
            #expect(storm.problems.isEmpty, "\(storm.problems.prefix(5))")
            #expect(storm.missing(in: listener).isEmpty, "\(storm.missing(in: listener).count) are lost")
            print(
                """
                fleet: \(count) devices at once: all there after \(first / 1_000) ms, after an outage after \(second / 1_000) ms; \
                the server: \(idle.memory >> 10) kB alone, \(during.memory >> 10) kB with all, \
                \((during.processor - idle.processor) / 1_000) ms and \(after.processor / 1_000) ms of a processor; \
                \(max(0, held.own - before.own) / (count << 10)) kB of ours for each device's connection
                """)
        }

        /// Lets us, and those that we start, have so many files open.
        private static func allow(files: Int) throws {
            var limit = rlimit()
            // SAFETY: the structure is ours.
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            guard limit.rlim_cur < rlim_t(files) else { return }
            limit.rlim_cur = min(limit.rlim_max, rlim_t(files))
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            try #require(limit.rlim_cur >= rlim_t(files), "this machine lets us have \(limit.rlim_max) files open")
        }
    }
}

/// What a server takes of the machine.
private struct ServerFigures {
    let memory: Int
    /// In µs.
    let processor: Int

    init(_ server: MQTTServer) throws {
        self.memory = try Resident(of: server.pid).all
        let fields = try Tool.run(["cat", "/proc/\(server.pid)/stat"]).stdout.split(separator: " ")
        let ticks = try #require(fields.count > 14 ? Int(fields[13]) : nil) + (Int(fields[14]) ?? 0)
        self.processor = ticks * 1_000_000 / sysconf(Int32(_SC_CLK_TCK))
    }
}

/// Devices as a server sees them: each a connection with a will, a birth and events.
///
/// Not `Sendable`: one test, one thread.
private final class Storm {
    private let devices: [StormDevice]
    private(set) var problems: [String] = []

    var connected: Int { self.devices.count { $0.isConnected } }

    init(of count: Int, at server: MQTTServer, on loop: EventLoop) throws {
        self.devices = (0..<count).map { StormDevice(number: $0, server: server, loop: loop) }
        for device in self.devices { device.onProblem = { [unowned self] in self.problems.append($0) } }
    }

    func haveAllSomethingToSay() { for device in self.devices { device.haveSomethingToSay() } }

    /// Connects all at once, and returns after how many µs all that they have to say was heard.
    func play(_ listener: FleetListener, _ what: String) throws -> Int64 {
        let start = Clock.monotonic.now()
        for device in self.devices { try device.connect() }
        try listener.wait("all connected \(what)", timeout: 120_000_000) { self.connected == self.devices.count }
        try listener.wait("all acknowledged \(what)", timeout: 120_000_000) { self.devices.allSatisfy(\.isDone) }
        try listener.wait("all heard \(what)", timeout: 120_000_000) { self.missing(in: listener).isEmpty }
        return Clock.monotonic.now() - start
    }

    func missing(in listener: FleetListener) -> [EventName] {
        self.devices.flatMap(\.names).filter { !listener.names.contains($0) }
    }
}

private final class StormDevice {
    private let topics: FleetTopics
    private let settings: ConnectionSettings
    private let loop: EventLoop
    private var client: Client?
    private(set) var isConnected = false
    private var waiting: [EventName] = []
    private var onTheWay: Set<Int32> = []
    /// All that it ever had to say.
    private(set) var names: [EventName] = []
    var onProblem: (String) -> Void = { _ in }

    var isDone: Bool { self.waiting.isEmpty && self.onTheWay.isEmpty }

    init(number: Int, server: MQTTServer, loop: EventLoop) {
        self.topics = FleetTopics(device: "device-\(number)")
        var settings = ConnectionSettings(host: "localhost", port: server.port, client: "jostle-device-\(number)")
        settings.sessionExpiry = 3_600
        settings.will = Publication(
            self.topics.presence, JSONCoding.bytes(PresenceMessage(isOnline: false).value), isRetained: true)
        self.settings = settings
        self.loop = loop
        self.haveSomethingToSay()
    }

    func haveSomethingToSay() {
        for _ in 0..<5 {
            let name = EventName(
                app: self.topics.device, epoch: UInt64(self.names.count + 1), sequence: UInt64(self.names.count + 1))
            self.names.append(name)
            self.waiting.append(name)
        }
    }

    func connect() throws {
        let client = try Client(self.settings, on: self.loop)
        client.onEvent = { [unowned self] in self.heard($0) }
        self.client = client
        try client.connect(to: "127.0.0.1")
    }

    private func heard(_ event: Client.Event) {
        switch event {
        case .connected:
            self.isConnected = true
            self.say()
        case .acknowledged(let number, let reason):
            if reason >= 128 { self.onProblem("\(self.topics.device): refused with \(reason)") }
            self.onTheWay.remove(number)
        case .ended(let problem):
            if !self.isConnected { self.onProblem("\(self.topics.device): \(problem)") }
            if !self.isDone { self.onProblem("\(self.topics.device): it ended with something on its way") }
            self.isConnected = false
        case .subscribed, .arrived: break
        }
    }

    /// A birth and its events: fewer than a server lets be on their way.
    private func say() {
        guard let client else { return }
        do throws(MQTTProblem) {
            self.onTheWay.insert(
                try client.publish(
                    Publication(
                        self.topics.presence, JSONCoding.bytes(PresenceMessage(isOnline: true).value), isRetained: true)
                ))
            for name in self.waiting { self.onTheWay.insert(try client.publish(self.message(name))) }
            self.waiting = []
        } catch {
            self.onProblem("\(self.topics.device): \(error)")
        }
    }

    private func message(_ name: EventName) -> Publication {
        let event = EventMessage(
            name: name, detector: "knock", peak: 2.5, time: Clock.boottime.now(), wall: Clock.wallClock(),
            generation: 1,
            isSimulated: true)
        var message = Publication(self.topics.event(of: "knock"), JSONCoding.bytes(event.value))
        message.properties.contentType = PayloadFormat.json.contentType
        message.properties.user = [UserProperty("epoch", "\(name.epoch)")]
        return message
    }
}
