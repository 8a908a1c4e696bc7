import Glibc
import TestSupport
import Testing

/// A flood of calls for one daemon, as `test-attacker` makes it.
struct Flood: Sendable, CustomTestStringConvertible {
    let daemon: Daemon
    let kind: String
    let options: [String]

    enum Daemon: String, Sendable {
        case reader = "org.jostle.Sensors1"
        case broker = "org.jostle.Broker1"
    }

    init(_ daemon: Daemon, _ kind: String, _ options: String...) {
        (self.daemon, self.kind, self.options) = (daemon, kind, options)
    }

    var testDescription: String { "\(self.daemon): \(self.kind) \(self.options.joined(separator: " "))" }

    /// What the ordinary suite has time for: what is dear to answer, what is dear to take in, and answers that nobody reads.
    private static let few = [
        Flood(.broker, "get-all", "--connections", "4"),
        Flood(.broker, "explain", "--unread"),
        Flood(.broker, "get-detectors", "--unread"),
        Flood(.broker, "add-detectors"),
        Flood(.reader, "get-all", "--unread"),
    ]

    private static let others = [
        Flood(.broker, "introspect", "--connections", "4"),
        Flood(.broker, "introspect", "--unread"),
        Flood(.broker, "get-all", "--unread"),
        Flood(.broker, "explain", "--connections", "4"),
        Flood(.broker, "list", "--connections", "4"),
        Flood(.broker, "get-detectors"),
        Flood(.broker, "add-detectors", "--unread", "--leave", "300"),
        Flood(.broker, "ping", "--connections", "4"),
        Flood(.broker, "ping", "--unread"),
        Flood(.reader, "introspect", "--connections", "4"),
        Flood(.reader, "list", "--connections", "4"),
        Flood(.reader, "ping", "--unread"),
    ]

    /// dbus-broker keeps what a connection does not read until its user has used up all, and then throws off others of that user,
    /// whoever they are: `aBusWithoutRoomIsJoinedAgain` sees to that.
    private var isUnread: Bool { self.options.contains("--unread") }

    static let all = (FloodBars.asked == nil ? few : few + others).filter {
        FloodBars.asked == nil || !$0.isUnread || (try? PrivateBus.Implementation.chosen()) == .dbusDaemon
    }
}

/// What is asked of a daemon under a flood.
///
/// In the ordinary suite a flood is short, and only what does not depend on the speed of the machine is asked;
/// `JOSTLE_ATTACK_SECONDS` makes it so long, and asks for all.
struct FloodBars {
    /// How long a flood lasts.
    let seconds: Int
    /// How old an event may be that comes at 99 of 100, in microseconds.
    let eventAge: Int
    /// How much later than a plain service a daemon may answer a Ping, in microseconds.
    let pingDelay: Int
    /// How long a daemon may take to end, once it is told.
    let ending: Duration
    /// Memory, in bytes, and what of it may stay, in parts of what it was: only where the programs are those that ship.
    let memory: (peak: Int, after: Double)?

    /// How long floods are to last, when somebody asks for more than the ordinary suite does.
    static let asked = ProcessValue.environment("JOSTLE_ATTACK_SECONDS").flatMap { Int($0) }

    init(otherUser: Bool) {
        let asked = Self.asked
        self.seconds = asked ?? 2
        self.eventAge = asked == nil ? 2_000_000 : otherUser ? 10_000 : 50_000
        self.pingDelay = asked == nil ? 1_000_000 : 100_000
        self.ending = asked == nil ? .seconds(3) : .milliseconds(500)
        self.memory = asked == nil ? nil : (64 << 20, 1.1)
    }
}

/// A good app, and a plain service, beside a flood.
final class FloodScene {
    private let flood: Flood
    private let bars: FloodBars
    private let stage: Stage
    private let attackerOptions: [String]
    private let watchdog: ServiceManager

    private static let app = "org.example.Good"
    private static let yardstick = "org.example.Yardstick"
    private static let verdictBytes = 1_024
    /// How much later than by a plain relay, to which nobody sends a flood, an event may come where that alone takes longer
    /// than half of the bar, in parts of it.
    private static let besideRelay = 2

    /// - Parameters:
    ///   - otherUser: True: on a bus with the rules of a system bus, and the attacker is a user it does not know.
    ///   - limit: What the broker may have of private memory, in bytes.
    init(_ flood: Flood, otherUser: Bool, limit: Int? = nil) throws {
        self.flood = flood
        self.bars = FloodBars(otherUser: otherUser)
        self.attackerOptions = otherUser ? ["--user", "65534"] : []
        self.stage = try Stage(source: nil, broker: false, policed: otherUser)
        self.watchdog = try ServiceManager(in: self.stage.bus.directory, watchdog: 2_000_000)
        let managed = self.watchdog.environment
        try self.stage.startReader(Stage.rest, environment: flood.daemon == .reader ? managed : [:])
        try self.stage.startBroker(
            environment: flood.daemon == .broker ? managed : [:],
            under: limit.map { ["prlimit", "--data=\($0)"] } ?? [])
    }

    private func attacker(_ arguments: String...) throws -> BackgroundProgram {
        try BackgroundProgram("test-attacker", arguments + ["--bus", self.stage.address])
    }

    private func startFlood(seconds: Int) throws -> BackgroundProgram {
        let program = try BackgroundProgram(
            "test-attacker",
            ["flood", self.flood.kind, "--to", self.flood.daemon.rawValue, "--seconds", "\(seconds)"]
                + ["--bus", self.stage.address] + self.flood.options + self.attackerOptions)
        _ = try program.waitForLine(timeout: .seconds(60)) { $0 == "flooding" }
        return program
    }

    private var daemon: BackgroundProgram {
        get throws { try #require(self.flood.daemon == .broker ? self.stage.broker : self.stage.reader) }
    }

    func run() throws {
        let good = try self.stage.reader(of: "norm(x, y, z) > 0.5g", every: 20_000, Self.app)
        let plain = try BackgroundProgram(
            "jostle-baseline", ["daemon", "--bus", self.stage.address, "--name", Self.yardstick])
        try self.stage.until("the plain service has its name") {
            try self.stage.busctl("status", Self.yardstick).status == 0
        }
        let relayed = try Relay(on: self.stage)
        let before = try ProcessValue.status("VmRSS", of: self.daemon.pid)

        // The flood outlasts what is measured beside it.
        let flood = try self.startFlood(seconds: self.bars.seconds + 1)
        let pings = try [self.flood.daemon.rawValue, Self.yardstick].map {
            try self.attacker("ping", "--to", $0, "--seconds", "\(self.bars.seconds)")
        }
        let figures = try pings.map { try self.figures(of: $0) }
        let damage = try self.figures(of: flood)
        #expect((damage["sent"] ?? 0) > 0)
        try self.checkPings(figures[0], beside: figures[1])
        let events = try self.checkEvents(of: good, beside: relayed.figures())
        try self.checkMemory(before: before, verdicts: events)
        try self.watchdog.check()
        try self.checkEnd()
        #expect(try plain.terminate() == .exited(0))
    }

    private func figures(of program: BackgroundProgram) throws -> Figures {
        let line = try program.waitForLine(timeout: .seconds(self.bars.seconds + 60)) { $0.hasPrefix("{") }
        return try #require(Figures(line), "\(line)")
    }

    private func checkPings(_ daemon: Figures, beside plain: Figures) throws {
        for figures in [daemon, plain] { #expect(figures["answered"] == figures["pings"]) }
        let (found, usual) = (try #require(daemon["max_us"]), try #require(plain["max_us"]))
        #expect(found <= usual + self.bars.pingDelay, "\(daemon), a plain service: \(plain)")
    }

    /// Every event that was due has come, in time.
    ///
    /// Where the bus and the processors are what is slow, a plain relay is the measure.
    private func checkEvents(of good: BackgroundProgram, beside relayed: Figures) throws -> Int {
        try good.signal(SIGTERM)
        let line = try good.waitForLine { $0.hasPrefix("{") }
        let figures = try #require(Figures(line))
        #expect((figures["events"] ?? 0) >= 45 * self.bars.seconds, "\(line)")
        #expect(figures["lost"] == 0 && figures["refused"] == 0, "\(line)")
        let usual = try #require(relayed["p99_us"])
        let bar = max(self.bars.eventAge, usual * Self.besideRelay)
        #expect((figures["p99_us"] ?? .max) <= bar, "\(line), a plain relay: \(relayed)")
        // Nor did a sample get lost on the way, which would have been one.
        #expect(try self.stage.count("Dropped", at: Stage.Object.accelerometer) == 0)
        return try #require(figures["events"])
    }

    /// - Parameter verdicts: How many are kept of the good app's events, to be explained: they are no flood's.
    private func checkMemory(before: Int, verdicts: Int) throws {
        guard let memory = self.bars.memory else { return }
        let pid = try self.daemon.pid
        let usual = before + verdicts * Self.verdictBytes
        #expect(try ProcessValue.status("VmHWM", of: pid) <= memory.peak)
        try self.stage.until("the memory returns", timeout: .seconds(5)) {
            try Double(ProcessValue.status("VmRSS", of: pid)) <= Double(usual) * memory.after
        }
    }

    /// A daemon that is told to end does, whoever calls it.
    private func checkEnd() throws {
        let flood = try self.startFlood(seconds: 60)
        let daemon = try self.daemon
        let start = ContinuousClock.now
        try daemon.signal(SIGTERM)
        #expect(try daemon.waitForEnd() == .exited(0))
        #expect(ContinuousClock.now - start <= self.bars.ending)
        _ = try flood.terminate()
    }
}

/// An app that a plain relay in C sends an event for each sample, from the same reader by the same bus.
final class Relay {
    private let app: BackgroundProgram
    private let relay: BackgroundProgram

    init(on stage: Stage) throws {
        self.app = try BackgroundProgram(
            "jostle-baseline", ["subscribe", "--bus", stage.address, "--count", "1000000"])
        let name = try self.app.waitForLine { $0.hasPrefix(":") }
        self.relay = try BackgroundProgram(
            "jostle-baseline", ["relay", "--bus", stage.address, "--to", name, "--rate", "50", "--threshold", "0"])
    }

    /// Ends it, and returns how old its events were.
    func figures() throws -> Figures {
        try self.app.signal(SIGTERM)
        let line = try self.app.waitForLine { $0.hasPrefix("{") }
        _ = try self.relay.terminate()
        return try #require(Figures(line), "\(line)")
    }
}

/// Stands in the place of systemd, and hears whether a daemon lives.
final class ServiceManager {
    /// How long the daemon may be silent, in microseconds.
    private let limit: Int
    private let listener: BackgroundProgram
    /// What makes a daemon tell us.
    let environment: [String: String]

    init(in directory: String, watchdog limit: Int) throws {
        self.limit = limit
        let socket = "\(directory)/notify"
        self.listener = try BackgroundProgram("test-attacker", ["watchdog", "--bus", socket])
        _ = try self.listener.waitForLine { $0 == "listening" }
        self.environment = ["NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "\(limit)"]
    }

    /// Waits for a ping, and returns how long after the one before it came, in microseconds.
    func nextPing() throws -> Int {
        let line = try self.listener.waitForLine { $0.hasPrefix("ping ") }
        return try #require(Int(line.dropFirst("ping ".count)), "\(line)")
    }

    /// It would not have been ended up to now.
    func check() throws {
        try self.listener.signal(SIGTERM)
        let line = try self.listener.waitForLine { $0.hasPrefix("{") }
        let figures = try #require(Figures(line))
        #expect((figures["pings"] ?? 0) > 0)
        #expect((figures["longest_us"] ?? .max) < self.limit, "\(line)")
    }
}

/// What the system says of processes.
enum ProcessValue {
    /// A variable of our environment.
    static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// A size in `/proc/PID/status`, in bytes.
    static func status(_ field: String, of pid: Int32) throws -> Int {
        let line = try Tool.run(["grep", "^\(field):", "/proc/\(pid)/status"]).stdout
        let words = line.split(whereSeparator: \.isWhitespace)
        return try #require(words.count == 3 ? Int(words[1]) : nil, "\(line)") << 10
    }
}
