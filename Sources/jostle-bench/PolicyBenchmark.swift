import Arbitration
import Glibc
import Loop
import Motion
import PolicyFiles
import TestSupport

/// What policy costs: deciding between very many, rules in great number, and another policy.
enum PolicyBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        try self.measureDecision(plan, report)
        try self.measureLookup(plan, report)
        try self.measureCheck(plan, report)
        try self.measureNames(plan, report)
        try self.measureReload(plan, report)
    }

    // MARK: Deciding

    /// A thousand apps fire at once, and one gets the event. Measured is the end of the window, with all verdicts.
    private static func measureDecision(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let text = """
            [Group g]
            Mode=exclusive
            Select=strength specificity intensity recent
            CommitWindow=350ms
            Aging=1/3 max 20

            [Rule all]
            Then=allow
            Group=g

            """
        let crowd = 1_000
        var arbiter = Arbiter(policy: try self.policy([text]), epoch: 0)
        var actions: [ArbiterAction] = []
        for index in 0..<crowd {
            let app = AppHandle(UInt32(index))
            arbiter.take(.app(app, AppID("org.example.App\(index)"), AppEntrance()), at: .zero, into: &actions)
            let facts = DetectorFacts(name: "d", preset: "shake", threshold: 1 + Double(index % 37) / 10, rest: .zero)
            arbiter.take(.detector(DetectorID(UInt32(index)), app, facts), at: .zero, into: &actions)
        }
        var deciding = Pairs()
        var arriving: [Double] = []
        for round in 0..<max(20, plan.rounds * 20) {
            let start = Timestamp.zero + .seconds(Int64(round) * 60)
            let hits = (0..<crowd).map {
                Hit(detector: DetectorID(UInt32($0)), time: start, peak: 2 + Double($0 * 7 % 13) / 10)
            }
            actions.removeAll(keepingCapacity: true)
            let begin = ProcessorClock.now()
            arbiter.take(.hits(hits), at: start, into: &actions)
            let middle = ProcessorClock.now()
            arbiter.take(.motion(start + .milliseconds(350)), at: start + .milliseconds(350), into: &actions)
            let end = ProcessorClock.now()
            guard actions.count == crowd + 1 else { throw Failure("\(actions.count) actions of \(crowd) candidates") }
            arriving.append((middle - begin) / Double(crowd))
            deciding.add(ours: (end - middle) / 1_000, baseline: try self.microsecondsOfOrdering(hits))
            arbiter.take(.motion(start + .seconds(50)), at: start + .seconds(50), into: &actions)
        }
        report(deciding.figure("policy.decision.1000", "us", within: .atMost(4.5)))
        report(Figure(name: "policy.hit.1000", unit: "ns/hit", value: arriving.median))
    }

    /// The least that deciding is: putting as many in the order of what they have, and remembering of each whether it won.
    private static func microsecondsOfOrdering(_ hits: [Hit]) throws(Failure) -> Double {
        struct Rival {
            let app: UInt32
            let strength: Int
            let specificity: Double
            let intensity: Double
        }
        let rivals = hits.enumerated().map { index, hit in
            Rival(
                app: UInt32(index), strength: index * 31 % 5, specificity: 1 + Double(index % 37) / 10,
                intensity: hit.peak)
        }
        let began = ProcessorClock.now()
        let ordered = rivals.sorted {
            ($0.strength, $0.specificity, $0.intensity, $0.app) > ($1.strength, $1.specificity, $1.intensity, $1.app)
        }
        let results = ordered.map { (app: $0.app, isWinner: $0.app == ordered[0].app) }
        let microseconds = (ProcessorClock.now() - began) / 1_000
        guard results.count(where: \.isWinner) == 1 else { throw Failure("there is no winner") }
        return microseconds
    }

    // MARK: Rules in great number

    /// Rules of ten thousand apps, ten each, over as many files as that takes.
    private static func crowdedFiles(_ count: Int) -> [String] {
        var files: [String] = []
        var text = ""
        for index in 0..<count {
            text += """
                [Rule r\(index)]
                Priority=\(index % 3)
                WhenApp=org.example.App\(index / 10)
                WhenPreset=preset-\(index % 10)
                WhenState=foreground background
                Then=\(index % 4 == 0 ? "deny" : "allow")


                """
            if text.utf8.count > 8 << 20 || index == count - 1 {
                files.append(text)
                text = ""
            }
        }
        return files
    }

    /// Reading and checking a hundred thousand rules.
    private static func measureCheck(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var seconds = Pairs()
        for _ in 0..<plan.longRounds {
            let (ours, plain, findings) = self.check(self.crowdedFiles(100_000))
            seconds.add(ours: ours, baseline: plain)
            guard findings.isEmpty else { throw Failure("the rules are not clean: \(findings[0])") }
        }
        report(seconds.figure("policy.check.100000", "s", within: .atMost(50)))
    }

    /// Seconds of processor time that texts take to be read and checked, and to be read and kept by who understands nothing.
    private static func check(_ texts: [String]) -> (ours: Double, plain: Double, findings: [Finding]) {
        let files = texts.enumerated().map { PolicyFile(name: "\($0).conf", $1) }
        let bytes = texts.map { Array($0.utf8) }
        let begin = ProcessorClock.now()
        let findings = PolicyLinter.check(PolicyReader.read(files))
        let middle = ProcessorClock.now()
        for text in bytes { blackHole(PlainReading.words(of: text)) }
        return ((middle - begin) / 1e9, (ProcessorClock.now() - middle) / 1e9, findings)
    }

    /// Reading and checking one list of thirty thousand names, a MiB long.
    private static func measureNames(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var text = "[Rule many]\nThen=deny\n"
        for line in 0..<600 {
            text += "WhenApp="
            for index in 0..<50 { text += "org.example.of-many-names.Nobody\(line * 50 + index) " }
            text += "\n"
        }
        guard text.utf8.count >= 1 << 20 else { throw Failure("\(text.utf8.count) bytes are no MiB") }
        var seconds = Pairs()
        for _ in 0..<plan.rounds {
            let (ours, plain, findings) = self.check([text])
            seconds.add(ours: ours, baseline: plain)
            guard findings.allSatisfy({ $0.severity == .info }) else {
                throw Failure("the names are not clean: \(findings[0])")
            }
        }
        report(seconds.figure("policy.check.names.30000", "s", within: .atMost(40)))
    }

    /// A hit of an app with ten rules, alone and beside a hundred thousand rules of others.
    private static func measureLookup(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let many = try self.policy(self.crowdedFiles(100_000))
        let few = try self.policy(self.crowdedFiles(10))
        var pairs = Pairs()
        for _ in 0..<plan.rounds {
            pairs.add(ours: try self.nanosecondsPerHit(many), baseline: try self.nanosecondsPerHit(few))
        }
        report(pairs.figure("policy.lookup.100000-to-10", "ns/hit", within: .atMost(1.5)))
    }

    private static func nanosecondsPerHit(_ policy: Policy) throws(Failure) -> Double {
        var arbiter = Arbiter(policy: policy, epoch: 0)
        var actions: [ArbiterAction] = []
        let app = AppHandle(0)
        arbiter.take(.app(app, AppID("org.example.App0"), AppEntrance()), at: .zero, into: &actions)
        let facts = DetectorFacts(name: "d", preset: "preset-1", rest: .zero)
        arbiter.take(.detector(DetectorID(0), app, facts), at: .zero, into: &actions)
        let hits = 20_000
        var delivered = 0
        let begin = Clock.monotonic.now()
        for index in 0..<hits {
            let time = Timestamp.zero + .milliseconds(Int64(index))
            arbiter.take(.hits([Hit(detector: DetectorID(0), time: time, peak: 2)]), at: time, into: &actions)
            delivered += actions.count / 2
            actions.removeAll(keepingCapacity: true)
        }
        let end = Clock.monotonic.now()
        guard delivered == hits else { throw Failure("\(delivered) of \(hits) hits were delivered") }
        return Double(end - begin) * 1_000 / Double(hits)
    }

    // MARK: Another policy

    /// Five hundred rules from the disk into an arbiter with two hundred apps, and none of their hits is lost.
    private static func measureReload(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let directory = try self.temporaryDirectory(with: self.crowdedFiles(500))
        defer { self.remove(directory) }
        var arbiter = Arbiter(policy: .builtIn, epoch: 0)
        var actions: [ArbiterAction] = []
        let crowd = 200
        for index in 0..<crowd {
            let app = AppHandle(UInt32(index))
            arbiter.take(.app(app, AppID("org.example.App\(index)"), AppEntrance()), at: .zero, into: &actions)
            for detector in 0..<5 {
                let facts = DetectorFacts(name: "d\(detector)", preset: "preset-\(detector)", rest: .zero)
                arbiter.take(
                    .detector(DetectorID(UInt32(index * 5 + detector)), app, facts), at: .zero, into: &actions)
            }
        }
        var milliseconds = Pairs()
        for round in 0..<max(5, plan.rounds) {
            let time = Timestamp.zero + .seconds(Int64(round))
            let hits = (0..<crowd * 5).map { Hit(detector: DetectorID(UInt32($0)), time: time, peak: 2) }
            actions.removeAll(keepingCapacity: true)
            arbiter.take(.hits(hits), at: time, into: &actions)
            let begin = Clock.monotonic.now()
            let (files, _) = PolicyDirectories.load(system: [directory])
            guard let policy = PolicyReader.read(files).policy else { throw Failure("the policy cannot be read") }
            arbiter.take(.policy(policy), at: time, into: &actions)
            let middle = Clock.monotonic.now()
            for file in files { blackHole(PlainReading.words(of: try contents(of: file.name))) }
            milliseconds.add(
                ours: Double(middle - begin) / 1_000, baseline: Double(Clock.monotonic.now() - middle) / 1_000)
            arbiter.take(
                .hits(hits.map { Hit(detector: $0.detector, time: time + .seconds(1), peak: 2) }), at: time,
                into: &actions)
            let verdicts = actions.count { action in if case .deliver = action { false } else { true } }
            guard verdicts == 2 * hits.count else { throw Failure("\(verdicts) answers to \(2 * hits.count) hits") }
        }
        report(milliseconds.figure("policy.reload.500", "ms", within: .atMost(60)))
    }

    // MARK: Around it

    private static func policy(_ texts: [String]) throws(Failure) -> Policy {
        let files = texts.enumerated().map { PolicyFile(name: "\($0).conf", $1) }
        let reading = PolicyReader.read(files)
        guard let policy = reading.policy else { throw Failure("the policy cannot be read: \(reading.errors)") }
        return policy
    }

    private static func temporaryDirectory(with texts: [String]) throws(Failure) -> String {
        var template = Array("/tmp/jostle-bench-XXXXXX".utf8CString)
        // SAFETY: the array is the terminated template that mkdtemp writes into.
        guard unsafe mkdtemp(&template) != nil else { throw Failure("no directory for policy files") }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for (index, text) in texts.enumerated() {
            // SAFETY: path and text are NUL-terminated for the calls, and the stream is closed here.
            guard let file = unsafe fopen("\(directory)/\(index).conf", "w") else { throw Failure("no policy file") }
            let written = unsafe fputs(text, file)
            guard unsafe fclose(file) == 0, written >= 0 else { throw Failure("the policy file is not written") }
        }
        return directory
    }

    private static func remove(_ directory: String) {
        for file in PolicyDirectories.load(system: [directory]).files {
            // SAFETY: the path is NUL-terminated for the call.
            unsafe unlink(file.name)
        }
        // SAFETY: as above.
        unsafe rmdir(directory)
    }
}
