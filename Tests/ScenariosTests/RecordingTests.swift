import Arbitration
import Motion
import Scenarios
import Testing
import Randomness

/// What is written down about an arbiter gives the same decisions again.
@Suite struct RecordingTests {
    /// An arbiter that is given whatever a broker could give it, under a clock and epochs of its own, and written down.
    private struct Live {
        var generator: SeededRandom
        var arbiter: Arbiter
        var recorder: ScenarioRecorder
        var log = ""
        var text = ""
        let decisions: DecisionLog
        var now: Timestamp
        var motion: Timestamp
        var apps: [AppHandle: AppID] = [:]
        var freeApps: [UInt32] = [0, 1, 2, 3, 4]
        var detectors: [DetectorID: (app: AppHandle, name: String)] = [:]
        var freeDetectors: [UInt32] = Array(0..<12)
        var lastTrue: [DetectorID: Timestamp] = [:]
        var events: [(AppHandle, UInt64)] = []
        var anonymous: UInt32 = 0

        static let origin = Timestamp(microseconds: 123_456_789)

        init(seed: UInt64, policy: Policy) {
            let epoch: UInt64 = 1_700_000_000_000_000
            self.generator = SeededRandom(seed: seed)
            self.arbiter = Arbiter(policy: policy, epoch: epoch)
            self.recorder = ScenarioRecorder(files: [RecordingTests.file(0)], origin: Self.origin, epoch: epoch)
            self.decisions = DecisionLog(origin: Self.origin, epoch: epoch)
            self.now = Self.origin
            self.motion = Self.origin
        }

        mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self.generator) }
        mutating func flip() -> Bool { Bool.random(using: &self.generator) }

        mutating func tell(_ input: ArbiterInput, files: [Scenario.File] = []) {
            let wasIdle =
                if case .motion(let time) = input { self.arbiter.isIdle(until: time, at: self.now) } else { false }
            var actions: [ArbiterAction] = []
            var answers: [(detector: DetectorID, lastTrue: Timestamp?)] = []
            let lastTrue = self.lastTrue
            self.arbiter.take(
                input, at: self.now,
                lastTrue: {
                    answers.append(($0, lastTrue[$0]))
                    return lastTrue[$0]
                }, into: &actions)
            self.recorder.add(input, at: self.now, answers: answers, wasIdle: wasIdle, files: files)
            self.text += self.recorder.takeText()
            for action in actions {
                let entry = self.decisions.entry(action, at: self.now) { self.apps[$0] }
                if let entry { self.log += "\(entry)\n" }
                if case .deliver(let delivery) = action { self.events.append((delivery.app, delivery.epoch)) }
            }
        }

        /// Something that a broker could tell its arbiter.
        mutating func step() {
            self.now = self.now + TimeSpan(microseconds: Int64(self.pick(5) * self.pick(60_001)))
            switch self.pick(25) {
            case 24:
                self.motion = self.motion - .milliseconds(Int64(self.pick(900)))
                if self.pick(4) == 0 { self.tell(.rewind(self.motion)) }
                self.tell(.patience(self.flip()))
            case 0...1: self.comeOrGo()
            case 2...4: self.addOrRemoveDetector()
            case 5...12: self.hit()
            case 13...16: self.pass()
            case 17: self.answer()
            case 18: self.launch()
            case 19...21: self.change()
            case 22:
                self.tell(
                    .device(
                        DeviceFacts(
                            isLocked: self.flip(),
                            power: [.ac, .battery(nil), .battery(Double(self.pick(101)) / 100)][self.pick(3)],
                            minuteOfWeek: self.pick(DeviceFacts.minutesOfWeek))))
            default:
                let number = self.pick(4)
                self.tell(
                    .policy(RecordingTests.policy(number)), files: number == 3 ? [] : [RecordingTests.file(number)])
            }
        }

        private mutating func comeOrGo() {
            if let free = self.freeApps.popLast() {
                var id = AppID("org.example.App\(free)")
                if self.pick(3) == 0 {
                    self.anonymous += 1
                    id = .anonymous(self.anonymous)
                }
                let handle = AppHandle(free)
                self.apps[handle] = id
                self.tell(.app(handle, id, self.entrance()))
            } else if let gone = self.apps.keys.sorted().first {
                self.tell(.leave(gone))
                for detector in self.detectors.filter({ $0.value.app == gone }).keys.sorted() { self.forget(detector) }
                self.apps[gone] = nil
                self.freeApps.insert(gone.index, at: self.pick(self.freeApps.count + 1))
            }
        }

        private mutating func launch() {
            let id = AppID("org.example.App\(self.pick(3))")
            if self.flip() {
                let reason: LaunchReason = [.motion("shake"), .push, .task("a b")][self.pick(3)]
                let ends = self.now + .milliseconds(Int64(self.pick(3_000)))
                let user = [nil, 1_000, 1_001][self.pick(3)] as UInt32?
                self.tell(.launch(LaunchRequest(id, reason, strength: self.pick(5) - 2, ends: ends, of: user)))
            } else {
                let results = LaunchResult.all
                self.tell(.launched(id, UInt64(self.pick(20)), results[self.pick(results.count)]))
            }
        }

        private mutating func forget(_ detector: DetectorID) {
            self.detectors[detector] = nil
            self.lastTrue[detector] = nil
            self.freeDetectors.insert(detector.index, at: self.pick(self.freeDetectors.count + 1))
        }

        private mutating func entrance() -> AppEntrance {
            AppEntrance(
                proof: IdentityProof.allCases[self.pick(4)], isProvenEnough: self.pick(8) > 0,
                declared: self.flip() ? .all : WordSet(bits: UInt16(self.pick(128))), told: self.state(),
                isConnected: self.pick(6) > 0, user: [nil, 1_000, 1_001][self.pick(3)])
        }

        private mutating func state() -> AppState? { self.flip() ? nil : AppState.allCases[self.pick(5)] }

        private mutating func addOrRemoveDetector() {
            guard let app = self.apps.keys.sorted().randomElement(using: &self.generator) else { return }
            if self.pick(4) == 0, let old = self.detectors.keys.sorted().randomElement(using: &self.generator) {
                self.tell(.removeDetector(old))
                self.forget(old)
            } else if let free = self.freeDetectors.popLast() {
                let name = ["a b", "50%", "é\n", "d"][self.pick(4)] + "\(free)"
                let facts = DetectorFacts(
                    name: name, preset: ["", "shake"][self.pick(2)],
                    threshold: [nil, 1.1, 0.1 + 0.2, .infinity][self.pick(4)],
                    dimension: Dimension.allCases[self.pick(Dimension.allCases.count)],
                    rest: TimeSpan(microseconds: Int64(self.pick(3)) * 300_001), startsResting: self.flip(),
                    isAvailable: self.pick(5) > 0)
                self.detectors[DetectorID(free)] = (app, name)
                self.tell(.detector(DetectorID(free), app, facts))
            }
        }

        private mutating func hit() {
            var hits: [Hit] = []
            for detector in self.detectors.keys.sorted() where self.flip() {
                if self.pick(4) == 0 {
                    self.motion = min(self.now, self.motion + TimeSpan(microseconds: Int64(self.pick(90_000))))
                }
                let peak = [Double(self.pick(4_000)) / 997, .infinity, -0.0, .nan][min(3, self.pick(40))]
                let note = HitNote(rawValue: peak > 2 ? 32_818 : 0)
                hits.append(Hit(detector: detector, time: self.motion, peak: peak, isClipped: peak > 3, note: note))
                self.lastTrue[detector] = self.motion
            }
            self.tell(.hits(hits))
        }

        private mutating func pass() {
            for detector in self.detectors.keys.sorted() where self.pick(4) == 0 {
                self.lastTrue[detector] = self.motion
            }
            self.motion = max(self.motion, self.now - .milliseconds(Int64(self.pick(300))))
            self.tell(.motion(self.motion))
        }

        private mutating func answer() {
            guard let (app, epoch) = self.events.randomElement(using: &self.generator), self.apps[app] != nil else {
                return
            }
            self.tell(.answer(app, epoch: self.pick(9) == 0 ? 7 : epoch, self.flip() ? .consume : .pass))
        }

        private mutating func change() {
            guard let app = self.apps.keys.sorted().randomElement(using: &self.generator) else { return }
            let (mode, number) = (BackgroundMode.allCases[self.pick(7)], UInt64(self.pick(4)))
            switch self.pick(20) {
            case 16: self.tell(.away(app))
            case 17: self.tell(.back(app, self.entrance()))
            case 0...1: self.tell(.told(app, self.state()))
            case 2...3:
                let ids = [nil] + self.apps.values.sorted().map { Optional($0) }
                self.tell(.foreground(self.pick(4) == 0 ? .none : .app(ids[self.pick(ids.count)])))
            case 18:
                let ids = self.apps.values.sorted().filter { _ in self.flip() }
                let testimony = FocusTestimony.frozen(by: "freezer")
                self.tell(.frozen(Dictionary(ids.map { ($0, testimony) }, uniquingKeysWith: { first, _ in first })))
            case 19: self.tell(.playing(Set(self.apps.values.sorted().filter { _ in self.flip() })))
            case 4: self.tell(.sleep(self.flip()))
            case 5...7:
                let name = ["a", "=b c", "-"][self.pick(3)]
                let warning = TimeSpan(microseconds: Int64(self.pick(3)) * 700_001)
                self.tell(.beginAssertion(app, AssertionRequest(AssertionID(number), name, warning: warning)))
            case 8: self.tell(.endAssertion(app, AssertionID(number)))
            case 9...11: self.tell(.beginActivity(app, ActivityID(number), mode))
            case 12: self.tell(.endActivity(app, ActivityID(number)))
            default:
                guard let detector = self.detectors.keys.sorted().randomElement(using: &self.generator) else { return }
                self.tell(.available(detector, self.flip()))
            }
        }
    }

    /// The files of the policies are their numbers.
    static func file(_ number: Int) -> Scenario.File {
        Scenario.File(path: "/dir/\(number).conf", isUser: number == 1, bytes: Array("# \(number)\n\nx|y\r\n".utf8))
    }

    static func policy(_ number: Int) -> Policy {
        guard number < 3 else { return .builtIn }
        var group = GroupConfiguration(name: "g", place: Place(file: "p", line: 1))
        group.mode = GroupMode.allCases[number]
        group.commitWindow = .milliseconds(Int64(number) * 150)
        group.quiet = .milliseconds(400)
        group.cooldown = .milliseconds(Int64(number) * 100)
        group.isSticky = number == 1
        group.lease = .seconds(2)
        group.ackTimeout = .milliseconds(100)
        group.orderBudget = .milliseconds(250)
        group.aging = Aging(step: 1, denials: 1, limit: 9)
        var asleep = Conditions()
        asleep.states = WordSet([.suspended, .dead])
        asleep.grants.any = WordSet([.audio, .location])
        var terms = DeliveryTerms()
        terms.kind = .wake
        var strong = Conditions()
        strong.intensity = IntensityCondition(dimension: .acceleration, ranges: RangeSet(2.0..<4.0))
        strong.locked = false
        var settings = AppSettings()
        settings.quota = Quota(count: 5, period: .seconds(2), burst: 2)
        settings.grants = WordSet([.audio, .location])
        settings.grace = .milliseconds(Int64(number) * 200)
        settings.assertionBudget = .milliseconds(900)
        settings.allowsRenewal = number == 2
        settings.assertionsPerHour = 30
        return Policy(
            groups: [group],
            rules: [
                Rule(
                    name: "asleep", place: Place(file: "/d/p", line: 1), conditions: asleep, effect: .allow, group: "g",
                    terms: terms),
                Rule(
                    name: "strong", place: Place(file: "p", line: 2), conditions: strong, effect: .allow, group: "g",
                    strength: 3),
                Rule(name: "any", place: Place(file: "p", line: 3), effect: .allow, group: "g"),
            ], everyApp: settings)
    }

    private static func read(_ files: [Scenario.File]) -> Policy? {
        guard let file = files.first else { return .builtIn }
        return Int(file.name.dropLast(5)).map { number in
            #expect(files == [Self.file(number)])
            return Self.policy(number)
        }
    }

    @Test(arguments: someSeeds(1...8))
    func givesTheSameDecisionsAgain(_ seed: UInt64) throws {
        print("Recording seed \(seed)")
        var decided = 0
        var kinds: Set<String> = []
        for round in 0..<40 {
            var live = Live(seed: seed &* 1_000 &+ UInt64(round), policy: Self.policy(0))
            live.text += live.recorder.takeText()
            for _ in 0..<150 { live.step() }
            #expect(live.recorder.failure == nil)
            let scenario = try Scenario(parsing: live.text)
            #expect("\(scenario)" == live.text)
            for policy in [nil, Self.policy(0)] {
                let log = ScenarioRunner.run(scenario, policy: policy, read: Self.read).log
                #expect(log == live.log, "seed \(seed) round \(round)")
                if log != live.log { return }
            }
            decided += live.log.utf8.count { $0 == 0x0A }
            for line in live.log.split(separator: "\n") {
                kinds.formUnion(line.split(separator: " ").dropFirst().prefix(2).map { String($0) })
            }
        }
        #expect(decided > 2_000)
        let events: Set = ["deliver", "verdict", "again"]
        #expect(kinds.isSuperset(of: events.union(["state", "assertion", "activity", "expiring", "ended"])))
    }

    /// Whoever gives rules a new thing to see must have it recorded, too: `changes` and `Scenario.Event` name them all. No rule
    /// sees `report`, nor `isSimulated`.
    @Test func whatRulesSeeIsRecordedWhole() {
        func names(_ value: Any) -> [String] { Mirror(reflecting: value).children.compactMap(\.label) }
        #expect(
            names(AppFacts()) == [
                "state", "proof", "isProvenEnough", "grants", "activities", "hasAssertion", "report", "lastUsed",
            ])
        #expect(
            names(AppEntrance()) == [
                "proof", "isProvenEnough", "declared", "hasPlayer", "told", "isConnected", "user",
            ])
        #expect(names(AssertionRequest(AssertionID(1), "")) == ["id", "name", "warning"])
        #expect(names(DeviceFacts()) == ["isLocked", "power", "minuteOfWeek"])
        #expect(
            names(DetectorFacts(name: "")) == [
                "name", "preset", "sensor", "threshold", "dimension", "rest", "startsResting", "isAvailable",
            ])
        #expect(
            names(Hit(detector: DetectorID(0), time: .zero, peak: 0)) == [
                "detector", "isClipped", "isSimulated", "note", "time", "peak",
            ])
    }

    /// Time that passes without anything happening takes no room.
    @Test func silenceIsNotWritten() {
        var recorder = ScenarioRecorder(files: [], origin: .zero, epoch: 0)
        let before = recorder.takeText()
        for index in 0..<100_000 {
            let time = Timestamp(microseconds: Int64(index) * 1_000)
            recorder.add(.motion(time), at: time, answers: [], wasIdle: true)
        }
        #expect(recorder.takeText() == "")
        recorder.add(
            .app(AppHandle(0), .anonymous(1), AppEntrance()), at: .zero + .seconds(100), answers: [], wasIdle: false)
        #expect(before == "# jostle scenario 2\n0ms policy\n")
        #expect(recorder.takeText() == "99999ms motion 99999ms\n100000ms app -1 proof=name\n")
    }

    @Test func aTimeOutOfAllBoundsEndsIt() {
        var recorder = ScenarioRecorder(files: [], origin: .zero, epoch: 0)
        _ = recorder.takeText()
        recorder.add(.motion(Timestamp(microseconds: .max)), at: .zero, answers: [], wasIdle: false)
        #expect(recorder.failure != nil)
        recorder.add(.motion(.zero), at: .zero, answers: [], wasIdle: false)
        #expect(recorder.takeText() == "")
    }
}
