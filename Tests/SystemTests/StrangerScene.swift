import Glibc
import Randomness
import TestSupport
import Testing

/// Daemons at which somebody says whatever their interfaces let one say, and much that they do not, beside an app that behaves.
///
/// In the ordinary suite few messages are said; `JOSTLE_FUZZ_MESSAGES` says how many, and asks for the memory besides.
final class StrangerScene {
    /// How a daemon stood.
    private struct Standing {
        let memory, descriptors: Int
    }

    private static let asked = Programs.variable("JOSTLE_FUZZ_MESSAGES").flatMap { Int($0) }
    private static let askedSeed = Programs.variable("JOSTLE_FUZZ_SEED").flatMap { UInt64($0) }
    /// How many are said until all is looked at.
    private static let batch = asked == nil ? 3_000 : 25_000
    /// How long a daemon may take for a sign of life while it is talked at, in microseconds.
    private static let prompt = asked == nil ? 5_000_000 : 1_000_000
    /// What a daemon may keep at first: verdicts that are to be explained, events of apps that are away, what SQLite keeps of two files.
    private static let kept = 8 << 20
    /// After so many batches it has all that, and what comes to it from then on is bounded by this. Verdicts of strangers are of any
    /// size, so it takes some until the heap has places for each.
    private static let warm = 8
    private static let growth = 1 << 20
    private static let app = "org.example.Good"

    private let user: UInt32?
    private let stage: Stage
    private var focus: BackgroundProgram?
    private var counts: [String: (sent: Int, answered: Int, refused: Int)] = [:]
    private var before: [String: Standing] = [:]

    /// - Parameter user: Who talks; `nil`: the daemons' own user, who may say more.
    init(as user: UInt32?) throws {
        self.user = user
        self.stage = try Stage(source: nil, broker: false, policed: user != nil)
        try self.stage.startReader(Stage.rest)
        let strangers = (0..<8).map { "org.example.Stranger\($0)" }
        let policy = try self.stage.directory(
            "policy",
            [
                "10-all": "[Rule all]\nThen=allow\n"
                    + strangers.map { "[App \($0)]\nWakeTimeout=1s\nMayPush=yes\nGrants=audio fetch processing push\n" }
                    .joined(),
                "20-strangers": "[Rule strangers]\nThen=allow\nWhenApp=org.example.Stranger*\nStrength=50\n"
                    + "Reliability=ack\nDeliver=wake\nLifespan=1min\n",
            ])
        func file(_ app: String) -> String {
            "[App]\nUsage=Strange things\nModes=audio fetch processing push\nTasks=\(app).refresh \(app).index\n"
        }
        let apps = try self.stage.directory("apps", Dictionary(uniqueKeysWithValues: strangers.map { ($0, file($0)) }))
        try self.stage.startBroker("--policy", policy, "--apps", apps)
        guard user == nil else { return }
        let focus = try BackgroundProgram("jostle-focus", ["--bus", self.stage.address, "--source", "gnome"])
        try Stage.waitUntilServing(focus)
        self.focus = focus
    }

    private var daemons: [String: BackgroundProgram] {
        get throws {
            var daemons = [
                "org.jostle.Broker1": try #require(self.stage.broker),
                "org.jostle.Sensors1": try #require(self.stage.reader),
            ]
            daemons["org.jostle.Focus1"] = self.focus
            return daemons
        }
    }

    private func standing(of program: BackgroundProgram) throws -> Standing {
        let files = try Tool.run(["ls", "/proc/\(program.pid)/fd"]).stdout.split(separator: "\n").count
        return Standing(memory: try Resident(of: program.pid).own, descriptors: files)
    }

    func run() throws {
        let seed = Self.askedSeed ?? UInt64.random(in: .min ... .max)
        let messages = Self.asked ?? Self.batch
        print("JOSTLE_FUZZ_SEED=\(seed) JOSTLE_FUZZ_MESSAGES=\(messages)")
        let good = try self.stage.reader(of: "norm(x, y, z) > 0.5g", every: 20_000, Self.app)
        try self.stage.untilEventsReach(Self.app)
        for (name, daemon) in try self.daemons { self.before[name] = try self.standing(of: daemon) }
        var said = 0
        while said < messages {
            try self.talk(seed &+ UInt64(said), min(Self.batch, messages - said))
            said += Self.batch
            try self.look(after: said)
        }
        try self.checkMethods()
        let figures = try self.stage.figures(of: good)
        let lost = try #require(Figures(figures))
        // Those who may not pause it take nothing from it.
        if self.user != nil { #expect(lost["lost"] == 0 && lost["refused"] == 0, "\(figures)") }
        for (name, daemon) in try self.daemons { #expect(try daemon.terminate() == .exited(0), "\(name)") }
    }

    private func talk(_ seed: UInt64, _ messages: Int) throws {
        let files = try Tool.run(["find", Programs.source("dbus"), "-name", "*.xml"]).stdout
        let stranger = try BackgroundProgram(
            "test-stranger",
            [
                self.stage.address, "\(seed)", "\(messages)", self.user.map { "\($0)" } ?? "",
                files.split(separator: "\n").sorted().joined(separator: ":"),
            ] + self.daemons.keys.sorted())
        let end = try self.waitForEnd(of: stranger, seed, timeout: .seconds(60 + messages / 100))
        let lines = stranger.output.split(separator: "\n")
        try #require(end == .exited(0), "seed \(seed), \(messages) messages: \(end) \(lines.suffix(3))")
        for line in lines where line.hasPrefix("problem ") {
            Issue.record("seed \(seed), \(messages) messages: \(line)")
        }
        let figures = try #require(lines.last.flatMap { Figures($0) }, "\(lines.suffix(2))")
        #expect((figures["pings"] ?? 0) > 0)
        #expect((figures["longest_us"] ?? .max) <= Self.prompt, "seed \(seed), \(messages) messages: \(figures)")
        for line in lines where line.hasPrefix("method ") {
            let words = line.split(separator: " ")
            let numbers = words.dropFirst(2).compactMap { Int($0) }
            try #require(numbers.count == 3)
            let known = self.counts[String(words[1])] ?? (0, 0, 0)
            self.counts[String(words[1])] = (
                known.sent + numbers[0], known.answered + numbers[1], known.refused + numbers[2]
            )
        }
    }

    /// Waits until all is said, and has the daemons late meanwhile, as they are on a busy machine.
    private func waitForEnd(of stranger: BackgroundProgram, _ seed: UInt64, timeout: Duration) throws -> ProgramEnd {
        var random = SeededRandom(seed: seed)
        let daemons = try self.daemons.values.sorted { $0.pid < $1.pid }
        let deadline = ContinuousClock.now + timeout
        while ContinuousClock.now < deadline {
            let pause = Duration.milliseconds(Int.random(in: 100...600, using: &random))
            if let end = try? stranger.waitForEnd(timeout: pause) { return end }
            guard let late = daemons.randomElement(using: &random) else { continue }
            try late.signal(SIGSTOP)
            usleep(UInt32.random(in: 20_000...200_000, using: &random))
            try late.signal(SIGCONT)
        }
        return try stranger.waitForEnd(timeout: .zero)
    }

    /// All live, what they took is given back, and the app that behaves has events.
    private func look(after said: Int) throws {
        for (name, daemon) in try self.daemons {
            try #require(daemon.end == nil, "\(name): \(daemon.errors.suffix(2_000))")
            guard Self.asked != nil else { continue }
            let before = try #require(self.before[name])
            let growth = said > Self.warm * Self.batch ? Self.growth : Self.kept
            do {
                try self.stage.until("what \(name) took is given back", timeout: .seconds(10)) {
                    let now = try self.standing(of: daemon)
                    return now.memory <= before.memory + growth && now.descriptors <= before.descriptors + 2
                }
            } catch {
                Issue.record("after \(said) messages: \(error): \(try self.standing(of: daemon)), before \(before)")
            }
        }
        try self.stage.untilEventsReach(Self.app)
        guard Self.asked != nil else { return }
        if said == Self.warm * Self.batch {
            for (name, daemon) in try self.daemons { self.before[name] = try self.standing(of: daemon) }
        }
        let now = try self.daemons.sorted { $0.key < $1.key }.map { name, daemon in
            "\(name) \(try self.standing(of: daemon).memory >> 10) KiB"
        }
        print("\(said) messages: \(now.joined(separator: ", "))")
    }

    /// Each method that there is was called, and where it is more than a glance, each was at times what it ought to be.
    private func checkMethods() throws {
        let all = self.counts.reduce((0, 0, 0)) {
            ($0.0 + $1.value.sent, $0.1 + $1.value.answered, $0.2 + $1.value.refused)
        }
        print("\(self.counts.count) methods: \(all.0) calls, \(all.1) answered, \(all.2) refused")
        #expect(self.counts.count > 40 && self.counts.allSatisfy { $0.value.sent > 0 }, "\(self.counts)")
        guard Self.asked != nil, self.user == nil else { return }
        let never = self.counts.filter { $0.value.answered == 0 }.keys.sorted()
        print("never answered but by errors: \(never.joined(separator: ", "))")
    }
}
