import Glibc
import TestSupport
import Testing

/// A flood of calls for one daemon, as `test-attacker` makes it.
struct Flood: Sendable, CustomTestStringConvertible {
    let daemon: Daemon
    let kind: String
    let options: [String]
    /// Who is there besides, if anybody.
    let crowd: Crowd?

    enum Daemon: String, Sendable {
        case reader = "org.jostle.Sensors1"
        case broker = "org.jostle.Broker1"
    }

    init(_ daemon: Daemon, _ kind: String, _ options: String..., beside crowd: Crowd? = nil) {
        (self.daemon, self.kind, self.options, self.crowd) = (daemon, kind, options, crowd)
    }

    var testDescription: String {
        let crowd = self.crowd.map { ", beside \($0.count) \($0.kind)" } ?? ""
        return "\(self.daemon): \(self.kind) \(self.options.joined(separator: " "))\(crowd)"
    }

    /// What the ordinary suite has time for: what is dear to answer, what is dear to take in, and answers that nobody reads.
    private static let few = [
        Flood(.broker, "get-all", "--connections", "4"),
        Flood(.broker, "explain", "--unread"),
        Flood(.broker, "get-detectors", "--unread"),
        Flood(.broker, "add-detectors"),
        Flood(.reader, "get-all", "--unread"),
        Flood(.broker, "refused-detectors", "--window", "16"),
        Flood(.reader, "claim", beside: .claimants(150)),
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
        Flood(.broker, "refused-detectors", "--connections", "4", "--window", "16"),
        Flood(.broker, "refused-detectors", "--connections", "4"),
        Flood(.broker, "refused-detectors", "--window", "16", "--bytes", "1000000"),
        Flood(.broker, "refused-detectors", "--window", "16", "--unread", "--count", "64"),
        Flood(.broker, "introspect", "--connections", "4", beside: .apps(200)),
        Flood(.broker, "introspect-root", "--connections", "4", beside: .apps(200)),
        Flood(.reader, "claim-release", "--connections", "4", beside: .claimants(200)),
        Flood(.reader, "open-stream", "--connections", "4"),
        Flood(.reader, "refused-stream", "--connections", "4"),
        Flood(.reader, "flush", "--connections", "4", beside: .claimants(200)),
        Flood(.reader, "inject", "--connections", "4"),
        Flood(.reader, "get-all", "--connections", "4", beside: .claimants(200)),
        Flood(.reader, "list-claimants", "--connections", "4", beside: .claimants(200)),
    ]

    /// What a system bus does not let one user be, who may connect 256 times there.
    static let ofManyConnections =
        FloodBars.asked == nil
        ? []
        : [
            Flood(.broker, "introspect", "--connections", "4", beside: .apps(4_000)),
            Flood(.broker, "introspect-root", "--connections", "4", beside: .apps(4_000)),
            Flood(.reader, "claim", "--connections", "4", beside: .claimants(476)),
            Flood(.reader, "get-all", "--connections", "4", beside: .claimants(476)),
            Flood(.reader, "list-claimants", "--connections", "4", beside: .claimants(476)),
        ]

    /// dbus-broker keeps what a connection does not read until its user has used up all, and then throws off others of that user,
    /// whoever they are: `aBusWithoutRoomIsJoinedAgain` sees to that.
    private var isUnread: Bool { self.options.contains("--unread") }

    /// Calls of this kind are as large as the bus takes them.
    var isLarge: Bool { self.kind == "refused-detectors" }

    /// Those that another user can make: a system bus lets it claim nothing.
    static let ofAnotherUser = all.filter { $0.crowd?.kind != .claimants }

    static let all = played(FloodBars.asked == nil ? few : few + others)

    /// Those of some floods that are played on the bus that was chosen.
    static func played(_ floods: [Flood]) -> [Flood] {
        floods.filter {
            FloodBars.asked == nil || !$0.isUnread || (try? PrivateBus.Implementation.chosen()) == .dbusDaemon
        }
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
    /// How long a daemon may take to end, once it is told; `nil`: not as long as the flood goes on.
    let ending: Duration?
    /// Memory, in bytes, and what of it may stay, in parts of what it was: only where the programs are those that ship.
    let memory: (peak: Int, after: Double)?

    /// How long floods are to last, when somebody asks for more than the ordinary suite does.
    static let asked = Programs.variable("JOSTLE_ATTACK_SECONDS").flatMap { Int($0) }

    init(otherUser: Bool) {
        let asked = Self.asked
        self.seconds = asked ?? 2
        self.eventAge = asked == nil ? 2_000_000 : otherUser ? 10_000 : 50_000
        self.pingDelay = asked == nil ? 1_000_000 : 100_000
        self.ending = asked == nil ? nil : .milliseconds(500)
        self.memory = asked == nil ? nil : (64 << 20, 1.1)
    }
}

/// A good app, and a plain service, beside a flood or a crowd to which something happens.
final class FloodScene {
    /// Who is attacked.
    private let target: Flood.Daemon
    private let flood: Flood?
    private let crowds: [Crowd]
    private let event: Crowd.Event?
    private let bars: FloodBars
    private let stage: Stage
    private let attackerOptions: [String]
    private let watchdog: ServiceManager

    private static let app = "org.example.Good"
    private static let verdictBytes = 1_024
    /// What SQLite keeps in memory of the journal and the state, once they have so much.
    private static let leftByDisk = 1 << 20
    /// What may stay of a crowd: little of it is verdicts that are still to be explained, and they lie scattered.
    private static let leftByCrowd = 10 << 20
    /// What libdbus keeps to read a connection with, once it read a message of 1 MB from it.
    private static let leftByLarge = 2 << 20
    /// How old events may be at 99 of 100 when all that one user may have is hit at once, in microseconds: that is one step.
    private static let afterHits = 100_000
    /// How much later than by a plain relay, to which nobody sends a flood, an event may come where that alone takes longer
    /// than half of the bar, in parts of it.
    private static let besideRelay = 2
    /// How much later than by a plain service that gets the same large calls a Ping may be answered, in parts of it: we rest
    /// between them.
    private static let besideFlooded = 2

    /// - Parameters:
    ///   - otherUser: True: on a bus with the rules of a system bus, and the attacker is a user it does not know.
    ///   - limit: What the broker may have of private memory, in bytes.
    convenience init(_ flood: Flood, otherUser: Bool, limit: Int? = nil) throws {
        try self.init(flood.daemon, flood, flood.crowd.map { [$0] } ?? [], nil, otherUser: otherUser, limit: limit)
    }

    convenience init(_ attack: CrowdAttack) throws {
        try self.init(.broker, nil, attack.crowds, attack.event, otherUser: attack.otherUser, limit: nil)
    }

    private init(
        _ target: Flood.Daemon, _ flood: Flood?, _ crowds: [Crowd], _ event: Crowd.Event?, otherUser: Bool, limit: Int?
    ) throws {
        (self.target, self.flood, self.crowds, self.event) = (target, flood, crowds, event)
        self.bars = FloodBars(otherUser: otherUser)
        self.attackerOptions = otherUser ? ["--user", "65534"] : []
        self.stage = try Stage(source: nil, broker: false, policed: otherUser)
        self.watchdog = try ServiceManager(in: self.stage.bus.directory, watchdog: 2_000_000)
        let managed = self.watchdog.environment
        try self.stage.startReader(Stage.rest, environment: target == .reader ? managed : [:])
        try self.stage.startBroker(
            environment: target == .broker ? managed : [:],
            under: limit.map { ["prlimit", "--data=\($0)"] } ?? [])
    }

    private func attacker(_ arguments: String...) throws -> BackgroundProgram {
        try BackgroundProgram("test-attacker", arguments + ["--bus", self.stage.address])
    }

    private func startFlood(seconds: Int, at name: String? = nil) throws -> BackgroundProgram? {
        guard let flood = self.flood else { return nil }
        let program = try BackgroundProgram(
            "test-attacker",
            ["flood", flood.kind, "--to", name ?? flood.daemon.rawValue, "--seconds", "\(seconds)"]
                + ["--bus", self.stage.address] + flood.options + self.attackerOptions)
        _ = try program.waitForLine(timeout: .seconds(60)) { $0 == "flooding" }
        return program
    }

    private var daemon: BackgroundProgram {
        get throws { try #require(self.target == .broker ? self.stage.broker : self.stage.reader) }
    }

    func run() throws {
        let alone = try Resident(of: self.daemon.pid)
        let crowds = try self.crowds.map { try $0.start(on: self.stage.address, self.attackerOptions) }
        let good = try self.stage.reader(of: "norm(x, y, z) > 0.5g", every: 20_000, Self.app)
        let plain = try BackgroundProgram(
            "jostle-baseline", ["daemon", "--bus", self.stage.address, "--name", Stage.yardstick])
        try self.stage.until("the plain service has its name") {
            try self.stage.busctl("status", Stage.yardstick).status == 0
        }
        let relayed = try Relay(on: self.stage)
        let before = try self.crowds.isEmpty ? Resident(of: self.daemon.pid) : alone

        // The flood outlasts what is measured beside it.
        let flood = try self.startFlood(seconds: self.bars.seconds + 1)
        let pings = try [self.target.rawValue, Stage.yardstick].map {
            try self.attacker("ping", "--to", $0, "--seconds", "\(self.bars.seconds)")
        }
        for ping in pings { _ = try ping.waitForLine { $0 == "pinging" } }
        try self.letHappen(to: crowds)
        let figures = try pings.map { try self.figures(of: $0) }
        // Before the attacker leaves: what he did not read lies in the bus, which then frees it and does nothing else meanwhile, for a tenth of a
        // second for each 200 MB, whoever is there besides. Of two of whom one still listened then, neither would be a measure for the other.
        let usual = try relayed.figures()
        try good.signal(SIGTERM)
        let heard = try self.figures(of: good)
        if let flood { #expect((try self.figures(of: flood)["sent"] ?? 0) > 0) }
        try self.checkPings(figures[0], beside: figures[1])
        let events = try self.checkEvents(heard, beside: usual)
        for crowd in crowds where crowd.end == nil { try self.dismiss(crowd) }
        try self.checkMemory(before: before, verdicts: events)
        // For as long as a plain service was late, the machine or the bus was.
        try self.watchdog.check(beside: FloodBars.asked == nil ? try #require(figures[1]["max_us"]) : 0)
        try self.checkEnd()
        #expect(try plain.terminate() == .exited(0))
    }

    private func dismiss(_ crowd: BackgroundProgram) throws {
        #expect(try crowd.terminate() == .killed(signal: SIGTERM))
    }

    private func letHappen(to crowds: [BackgroundProgram]) throws {
        switch self.event {
        case .leaves: for crowd in crowds { try self.dismiss(crowd) }
        case .isHit:
            let object = Stage.Object.app(try #require(self.crowds.first).firstApp)
            #expect(try self.stage.count("Hits", at: object) == 0)
            #expect(try self.stage.jostle("shake", "--peak", "5g").status == 0)
            try self.stage.until("all are hit") {
                try self.stage.count("Hits", at: object) == self.crowds.first.map { UInt64($0.detectors) }
            }
        case nil: break
        }
    }

    private func figures(of program: BackgroundProgram) throws -> Figures {
        let line = try program.waitForLine(timeout: .seconds(self.bars.seconds + 60)) { $0.hasPrefix("{") }
        return try #require(Figures(line), "\(line)")
    }

    /// How long a plain service takes to answer a Ping while it has the flood.
    private func pingOfFloodedYardstick() throws -> Figures {
        let flood = try self.startFlood(seconds: self.bars.seconds + 1, at: Stage.yardstick)
        let ping = try self.attacker("ping", "--to", Stage.yardstick, "--seconds", "\(self.bars.seconds)")
        let figures = try self.figures(of: ping)
        _ = try flood?.terminate()
        return figures
    }

    /// A Ping waits behind what the bus has for the daemon, and who reads that is no faster than libdbus checks it: where it is
    /// later than a service that nobody calls would be, one that gets the same flood is the measure.
    private func checkPings(_ daemon: Figures, beside plain: Figures) throws {
        for figures in [daemon, plain] { #expect(figures["answered"] == figures["pings"]) }
        let (found, usual) = (try #require(daemon["max_us"]), try #require(plain["max_us"]))
        if found <= usual + self.bars.pingDelay { return }
        let flood = try #require(self.flood, "\(daemon), a plain service: \(plain)")
        let flooded = try self.pingOfFloodedYardstick()
        let longest = try #require(flooded["max_us"]) * (flood.isLarge ? Self.besideFlooded : 1)
        #expect(found <= longest + self.bars.pingDelay, "\(daemon), a flooded service: \(flooded)")
    }

    /// Every event that was due has come, in time.
    ///
    /// Where the bus and the processors are what is slow, a plain relay is the measure.
    private func checkEvents(_ figures: Figures, beside relayed: Figures) throws -> Int {
        #expect((figures["events"] ?? 0) >= 45 * self.bars.seconds, "\(figures)")
        #expect(figures["lost"] == 0 && figures["refused"] == 0, "\(figures)")
        let usual = try #require(relayed["p99_us"])
        let age = self.event == .isHit ? max(self.bars.eventAge, Self.afterHits) : self.bars.eventAge
        let bar = max(age, usual * Self.besideRelay)
        #expect((figures["p99_us"] ?? .max) <= bar, "\(figures), a plain relay: \(relayed)")
        // Nor did a sample get lost on the way, which would have been one. Claimants who do not read lose theirs.
        if !self.crowds.contains(where: { $0.kind == .claimants }) {
            #expect(try self.stage.count("Dropped", at: Stage.Object.accelerometer) == 0)
        }
        return try #require(figures["events"])
    }

    /// - Parameter verdicts: How many are kept of the good app's events, to be explained: they are no flood's.
    private func checkMemory(before: Resident, verdicts: Int) throws {
        guard let memory = self.bars.memory else { return }
        let pid = try self.daemon.pid
        let left = (self.crowds.isEmpty ? 0 : Self.leftByCrowd) + (self.flood?.isLarge == true ? Self.leftByLarge : 0)
        let usual = before.all + Self.leftByDisk + left + verdicts * Self.verdictBytes
        #expect(try ProcessValue.size("VmHWM", of: pid) <= memory.peak)
        do {
            try self.stage.until("the memory returns", timeout: .seconds(5)) {
                try Double(Resident(of: pid).own + before.files) <= Double(usual) * memory.after
            }
        } catch {
            let found = try Resident(of: pid)
            // Does it come too late, or never?
            sleep(5)
            Issue.record(
                "\(error), \(found), then \(try Resident(of: pid)), before \(before), usual \(usual)")
        }
    }

    /// A daemon that is told to end does, whoever calls it.
    private func checkEnd() throws {
        // It goes on for longer than is waited for the end.
        let flood = try self.startFlood(seconds: 60)
        let daemon = try self.daemon
        let start = ContinuousClock.now
        try daemon.signal(SIGTERM)
        #expect(try daemon.waitForEnd() == .exited(0))
        if let ending = self.bars.ending { #expect(ContinuousClock.now - start <= ending) }
        _ = try flood?.terminate()
    }
}

/// An app that a plain relay in C sends an event for each sample, from the same reader by the same bus.
final class Relay {
    private let app: BackgroundProgram
    private let relay: BackgroundProgram

    /// It relays when this returns.
    ///
    /// - Parameters:
    ///   - rate: How often it sends, in Hz.
    ///   - tool: A command that becomes the relay, with its arguments.
    init(on stage: Stage, rate: Int = 50, under tool: [String] = []) throws {
        self.app = try BackgroundProgram(
            "jostle-baseline", ["subscribe", "--bus", stage.address, "--count", "1000000"])
        let name = try self.app.waitForLine { $0.hasPrefix(":") }
        self.relay = try BackgroundProgram(
            "jostle-baseline",
            ["relay", "--bus", stage.address, "--to", name, "--rate", "\(rate)", "--threshold", "0"],
            under: tool)
        _ = try self.relay.waitForLine { $0 == "relaying" }
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
    ///
    /// - Parameter late: How late somebody was meanwhile who has nothing to do, in microseconds.
    func check(beside late: Int) throws {
        try self.listener.signal(SIGTERM)
        let line = try self.listener.waitForLine { $0.hasPrefix("{") }
        let figures = try #require(Figures(line))
        #expect((figures["pings"] ?? 0) > 0)
        #expect(try #require(figures["longest_us"]) < self.limit + late, "\(line)")
    }
}
