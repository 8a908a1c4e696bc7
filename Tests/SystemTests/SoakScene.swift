import Glibc
import Randomness
import TestSupport
import Testing

/// Apps of many kinds on a real bus, to which, and to whose daemons, everything happens that may go wrong.
///
/// Time passes in chapters. In one, apps are killed and stopped, policy is reloaded, a device comes and goes, the disk fails and
/// strangers call as fast as they can. Its end is quiet: then the daemons are looked at, and one of them or the bus is killed.
final class SoakScene {
    /// Whose memory and descriptors are asked for.
    private enum Daemon: String, CaseIterable { case reader, broker }

    /// How a daemon stood when it had run for so long that it has all it keeps.
    private struct Standing {
        let memory, descriptors: Int
    }

    /// How long, in seconds; the ordinary suite plays it shortly.
    private static let asked = Programs.variable("JOSTLE_SOAK_SECONDS").flatMap { Int($0) }
    /// How much memory may come to it after that, in bytes.
    private static let growth = 1 << 20
    /// How long a flood is over until what it took is given back, in milliseconds.
    private static let rest = 4_000
    /// How long an answer to a Ping, and the first event after a death, may take where it is the programs that ship, and where only
    /// hanging is asked for.
    private static let prompt: Duration = asked == nil ? .seconds(5) : .seconds(1)
    private static let lux = "org.example.Lux"
    private static let keepers = ["org.example.Keeper0", "org.example.Keeper1"]
    private static let ambient = "/devices/platform/ambient/iio:device7"

    private let stage: Stage
    private let bed: DeviceBed
    private let disk: String
    private let policy: String
    private let seconds: Int
    private var random: SeededRandom
    private var apps: [String: BackgroundProgram] = [:]
    private var strangers: [BackgroundProgram] = []
    private var isPlugged = false
    private var generation = 0
    private var deaths = 0
    private var began: [Daemon: ContinuousClock.Instant] = [:]
    private var standings: [Daemon: Standing] = [:]
    /// The epochs that were due to an app on the disk when a broker died.
    private var owed: [String: Set<UInt64>] = [:]
    private var counts: [String: Int] = [:]
    private var waits: [Duration] = []

    init() throws {
        let seconds = Self.asked ?? 12
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed), \(seconds) s")
        self.random = SeededRandom(seed: seed)
        self.seconds = seconds
        self.stage = try Stage(source: nil, broker: false, replaceable: true)
        self.bed = try DeviceBed(self.stage)
        self.disk = "\(self.stage.home)/fault"
        self.policy = "\(self.stage.home)/policy"
        try self.setDisk("0")
        try self.writePolicy()
        try self.startReader()
        try self.startBroker()
    }

    /// How often each app is due an event, in microseconds: fifty times a second where it is the programs that ship.
    private static let every = asked == nil ? 100_000 : 20_000

    // MARK: Who is there

    private func startReader() throws {
        try self.stage.startReader(
            "synth:rate=200Hz; noise=0.05g; gravity=z", "auto", environment: self.bed.environment)
        self.began[.reader] = .now
        self.standings[.reader] = nil
    }

    private func startBroker() throws {
        try self.stage.startBroker(
            "--policy", self.policy,
            environment: ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": self.disk])
        self.began[.broker] = .now
        self.standings[.broker] = nil
    }

    /// What an app is started with, besides its name.
    private func arguments(of app: String) -> [String] {
        switch app {
        case Self.lux: ["light", "lux < 1000000lx", "200000"]
        case _ where Self.keepers.contains(app):
            ["accelerometer", Self.condition, "200000", "\(self.stage.home)/\(app)"]
        case _ where app.contains("Slow"): ["accelerometer", Self.condition, "\(Self.every)", "slow"]
        default: ["accelerometer", Self.condition, "\(Self.every)"]
        }
    }

    private static let condition = "norm(x, y, z) > 0.5g"

    private static let names =
        keepers + [lux] + (0..<2).map { "org.example.Slow\($0)" } + (0..<15).map { "org.example.App\($0)" }

    private func start(_ app: String) throws {
        let program = try BackgroundProgram("test-witness", [self.stage.address, app] + self.arguments(of: app))
        _ = try program.waitForLine { $0 == "watching" }
        self.apps[app] = program
    }

    private var daemons: [Daemon: BackgroundProgram] {
        get throws { [.reader: try #require(self.stage.reader), .broker: try #require(self.stage.broker)] }
    }

    // MARK: What happens

    func run() throws {
        for name in Self.names { try self.start(name) }
        let end = ContinuousClock.now + .seconds(self.seconds)
        let chapter: Duration = .seconds(max(1, min(60, self.seconds / 12)))
        repeat {
            let isOver = ContinuousClock.now + chapter
            while ContinuousClock.now < isOver { try self.step() }
            try self.quieten()
            try self.look()
            try self.kill()
        } while ContinuousClock.now < end
        try self.quieten()
        try self.checkKept()
        print(self.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        let sorted = self.waits.sorted()
        print("first event after a death: median \(sorted[sorted.count / 2]), longest \(sorted[sorted.count - 1])")
        #expect(sorted.allSatisfy { $0 < Self.prompt }, "\(sorted.suffix(3))")
        for daemon in try self.daemons.values { #expect(try daemon.terminate() == .exited(0)) }
    }

    /// One thing happens, and some time passes.
    private func step() throws {
        let events: [(String, () throws -> Void)] = [
            ("apps killed", self.killApp), ("apps stopped", self.stopApp), ("reloads", self.reload),
            ("devices", self.plug), ("disk faults", self.failDisk), ("strangers", self.flood),
            ("daemons stopped", self.stopDaemon),
        ]
        let (what, event) = try #require(events.randomElement(using: &self.random))
        try event()
        self.counts[what, default: 0] += 1
        self.pass(.random(in: 50...300, using: &self.random))
        try self.listen()
        try self.ping()
    }

    private func pass(_ milliseconds: Int) { usleep(UInt32(milliseconds) * 1_000) }

    private func anApp() throws -> (String, BackgroundProgram) {
        let name = try #require(Self.names.randomElement(using: &self.random))
        return (name, try #require(self.apps[name]))
    }

    private func killApp() throws {
        let (name, program) = try self.anApp()
        try self.stage.kill(program)
        try self.start(name)
    }

    private func stopApp() throws {
        let (_, program) = try self.anApp()
        try program.stop()
        self.pass(.random(in: 50...1_000, using: &self.random))
        try program.signal(SIGCONT)
    }

    /// Each reload is of another policy; what the keepers are promised stays.
    private func reload() throws {
        self.generation += 1
        try self.writePolicy()
        #expect(
            try self.stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "Reload", "a{sv}", "0"
            ).status == 0)
    }

    private func writePolicy() throws {
        let kept = "Reliability=ack\nDurability=persistent\nLifespan=1h\n"
        _ = try self.stage.directory(
            "policy",
            [
                "10-keep": "[Rule keep]\nThen=allow\nWhenApp=org.example.Keeper*\nStrength=50\n\(kept)",
                "20-all": "[Rule all]\nThen=allow\nStrength=\(self.generation % 40)\n",
            ])
    }

    private func plug() throws {
        try self.bed.perform(self.isPlugged ? "remove \(Self.ambient)" : DeviceBed.add("ambient"))
        self.isPlugged.toggle()
    }

    private func failDisk() throws {
        try self.setDisk(try #require(["1", "2", "3", "4"].randomElement(using: &self.random)))
        self.pass(.random(in: 50...1_000, using: &self.random))
        try self.setDisk("0")
    }

    /// In place, because it is mapped.
    private func setDisk(_ fault: String) throws {
        let file = open(self.disk, O_WRONLY | O_CREAT, 0o600)
        try #require(file >= 0)
        #expect(write(file, fault, 1) == 1)
        close(file)
    }

    private func flood() throws {
        let kind = try #require(["get-all", "introspect", "explain", "ping"].randomElement(using: &self.random))
        self.strangers.append(
            try BackgroundProgram(
                "test-attacker",
                ["flood", kind, "--to", "org.jostle.Broker1", "--seconds", "1", "--bus", self.stage.address]))
    }

    private func stopDaemon() throws {
        let daemon = try #require(self.daemons.values.sorted { $0.pid < $1.pid }.randomElement(using: &self.random))
        try daemon.stop()
        self.pass(.random(in: 20...300, using: &self.random))
        try daemon.signal(SIGCONT)
    }

    // MARK: What must be so

    /// Nobody ended who was not killed, and no promise was broken.
    private func listen() throws {
        for (name, program) in self.apps.sorted(by: { $0.key < $1.key }) {
            if let line = try? program.waitForLine(timeout: .milliseconds(1), where: { $0.hasPrefix("violation") }) {
                Issue.record("\(name): \(line)")
            }
            try #require(program.end == nil, "\(name): \(program.errors)")
        }
        for (daemon, program) in try self.daemons { try #require(program.end == nil, "\(daemon): \(program.errors)") }
    }

    /// Both daemons answer soon, whatever goes on.
    private func ping() throws {
        for name in ["org.jostle.Sensors1", "org.jostle.Broker1"] {
            let start = ContinuousClock.now
            let answer = try self.stage.busctl("call", name, "/", "org.freedesktop.DBus.Peer", "Ping")
            let took = ContinuousClock.now - start
            #expect(answer.status == 0 && took < Self.prompt, "\(name): \(took) \(answer.stderr)")
        }
    }

    /// Nothing more goes wrong, and each app has events.
    private func quieten() throws {
        try self.setDisk("0")
        if !self.isPlugged { try self.plug() }
        for stranger in self.strangers { _ = try stranger.waitForEnd() }
        self.strangers.removeAll()
        for name in Self.names { try self.stage.untilEventsReach(name) }
        try self.listen()
    }

    /// A daemon that has run for some time has no more memory and descriptors later, once what strangers took is given back.
    private func look() throws {
        guard Self.asked != nil else { return }
        if self.standings[.broker] == nil { try self.fillJournal() }
        self.pass(Self.rest)
        for (daemon, program) in try self.daemons {
            let files = try Tool.run(["ls", "/proc/\(program.pid)/fd"]).stdout.split(separator: "\n").count
            let now = Standing(memory: try Resident(of: program.pid).own, descriptors: files)
            let age = ContinuousClock.now - (self.began[daemon] ?? .now)
            guard age > .seconds(60) else { continue }
            guard let before = self.standings[daemon] else {
                self.standings[daemon] = now
                continue
            }
            #expect(now.memory <= before.memory + Self.growth, "\(daemon) after \(age): \(now), before \(before)")
            #expect(now.descriptors <= before.descriptors, "\(daemon) after \(age): \(now), before \(before)")
            self.counts["looks at memory", default: 0] += 1
        }
    }

    /// Has as many rows wait as ever may, on either side of a writer that the disk fails or holds up: their room is kept, and would
    /// else be taken in steps, whenever the disk happens to fail for long enough.
    private func fillJournal() throws {
        func untilMore(_ count: String) throws {
            let before = try self.stage.count(count, at: Stage.Object.broker)
            try self.stage.until("\(count) rises") {
                try self.stage.count(count, at: Stage.Object.broker) > before
            }
        }
        for fault in ["1", "4"] {
            try self.setDisk(fault)
            try untilMore("JournalDropped")
            try self.setDisk("0")
            try untilMore("JournalWritten")
        }
    }

    // MARK: Deaths

    /// Who is killed at the end of each chapter: sometimes nobody, so that they grow old.
    private static let victims = ["broker", "nobody", "reader", "nobody", "bus", "nobody"]

    private func kill() throws {
        let victim = Self.victims[self.deaths % Self.victims.count]
        self.deaths += 1
        self.counts["\(victim) killed", default: 0] += 1
        let began: ContinuousClock.Instant
        switch victim {
        case "reader":
            try self.stage.kill(self.stage.reader)
            began = .now
            try self.startReader()
        case "broker":
            // So that it owes something.
            for keeper in Self.keepers { try self.apps[keeper]?.stop() }
            try self.stage.until("something is due on the disk") { try self.due().count >= 4 }
            try self.stage.kill(self.stage.broker)
            for (app, epoch) in try self.due() { self.owed[app, default: []].insert(epoch) }
            began = .now
            try self.startBroker()
            for keeper in Self.keepers { try self.apps[keeper]?.signal(SIGCONT) }
        case "bus":
            let other = try PrivateBus()
            began = .now
            try self.stage.replaceBus(by: other)
        default: return
        }
        try self.stage.untilEventsReach("org.example.App0")
        self.waits.append(ContinuousClock.now - began)
    }

    /// What is due to the keepers on the disk.
    private func due() throws -> [(app: String, epoch: UInt64)] {
        try self.stage.sql("state.db", "SELECT app, epoch FROM due").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 2, let epoch = UInt64(words[1]) else { return nil }
            return (String(words[0]), epoch)
        }
    }

    /// What was due when a broker died has come.
    private func checkKept() throws {
        for name in Self.keepers {
            func missing() throws -> Set<UInt64> {
                let notes = try Tool.run(["cat", "\(self.stage.home)/\(name)"]).stdout
                let done = notes.split(separator: "\n").compactMap {
                    $0.split(separator: " ").last.flatMap { UInt64($0) }
                }
                return (self.owed[name] ?? []).subtracting(done)
            }
            try self.stage.until("\(name) has what was due") { try missing().isEmpty }
            self.counts["owed"] = (self.counts["owed"] ?? 0) + (self.owed[name]?.count ?? 0)
        }
    }
}
