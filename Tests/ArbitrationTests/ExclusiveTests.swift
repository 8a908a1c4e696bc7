import Arbitration
import Loop
import Motion
import Testing

@Suite struct ExclusiveTests {
    private func lab(
        _ rules: [Rule] = [rule("all")], _ set: @escaping (inout GroupConfiguration) -> Void = { _ in }
    ) -> Lab {
        let configuration = group(.exclusive) {
            $0.commitWindow = .milliseconds(350)
            set(&$0)
        }
        return Lab(Policy(groups: [configuration], rules: rules))
    }

    @Test func theStrictestCommitsAtOnceTheOthersWait() {
        var lab = self.lab { $0.select = [.specificity] }
        lab.add("Gentle", threshold: 1.2)
        lab.add("Hard", threshold: 2.7)
        lab.hit(["gentle"], at: 0, 1.5)
        #expect(lab.take() == [])
        #expect(lab.arbiter.nextMotionDeadline == ms(350))
        lab.pass(to: 349)
        #expect(lab.take() == [])
        lab.pass(to: 350)
        #expect(lab.take() == ["1 deliver Gentle gentle", "1 Gentle S5.sent"])
        lab.hit(["gentle"], at: 3_000, 1.5)
        lab.hit(["hard"], at: 3_100, 3.1)
        #expect(lab.take() == ["2 deliver Hard hard", "2 Gentle S4.outranked", "2 Hard S5.sent"])
        #expect(lab.verdicts[1].decidedBy == .selected(.specificity))
        #expect(lab.verdicts[1].contest?.isEager == true)
    }

    @Test func withoutEagerCommitTheWindowRunsOut() {
        var lab = self.lab { $0.commitsEagerly = false }
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.pass(to: 349)
        #expect(lab.take() == [])
        lab.pass(to: 350)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent"])
    }

    @Test func withoutAWindowTheSampleDecides() {
        var lab = self.lab([rule(for: "A", strength: 1), rule(for: "B", strength: 2)]) { $0.commitWindow = .zero }
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver B b", "1 A S4.outranked", "1 B S5.sent"])
        lab.hit(["a"], at: 2_000)
        lab.hit(["b"], at: 2_001)
        #expect(lab.take() == ["2 deliver A a", "2 A S5.sent", "2 B S4.late"])
    }

    @Test func waitingEndsWhenTheRivalRests() {
        var lab = self.lab { $0.select = [.specificity] }
        lab.add("Gentle", threshold: 1.2)
        lab.add("Hard", threshold: 2.7, rest: .seconds(2))
        lab.hit(["hard"], at: 0, 3)
        #expect(lab.take() == ["1 deliver Hard hard", "1 Hard S5.sent"])
        lab.pass(to: 1_100)
        lab.hit(["gentle"], at: 1_200, 1.5)
        #expect(lab.take() == ["2 deliver Gentle gentle", "2 Gentle S5.sent"])
        // 2 s after its last hit is within the window that opens now.
        lab.pass(to: 3_000)
        lab.hit(["hard"], at: 5_000, 3)
        lab.pass(to: 6_500)
        _ = lab.take()
        lab.hit(["gentle"], at: 6_700, 1.5)
        #expect(lab.take() == [])
    }

    @Test func waitingEndsWhenTheRivalCannotPassAnyMore() {
        let rules = [rule("fg") { $0.states = WordSet([.foreground]) }]
        var lab = self.lab(rules) { $0.select = [.specificity] }
        lab.add("Gentle", threshold: 1.2)
        lab.add("Hard", threshold: 2.7)
        lab.hit(["gentle"], at: 0, 1.5)
        #expect(lab.take() == [])
        lab.tell("Hard", .background)
        #expect(lab.take() == ["1 deliver Gentle gentle", "1 Gentle S5.sent"])
    }

    @Test func laterHitsOfTheWinnerBelongToItOthersAreLate() {
        var lab = self.lab { $0.commitWindow = .zero }
        for name in ["A", "B", "C"] { lab.add(name) }
        lab.hit(["a", "b"], at: 0)
        _ = lab.take()
        lab.hit(["a", "b", "c"], at: 500)
        #expect(lab.take() == ["1 deliver A a", "1 again B S4.outranked", "1 C S4.late"])
        // Quiet is counted from whoever was true last.
        lab.hit(["c"], at: 1_499)
        #expect(lab.take() == ["1 again C S4.late"])
        lab.hit(["c"], at: 2_499)
        #expect(lab.take() == ["2 deliver C c", "2 C S5.sent"])
    }

    @Test func aConditionStillTrueKeepsTheEpisodeOpen() {
        var lab = self.lab { $0.commitWindow = .zero }
        lab.add("A")
        lab.add("B")
        lab.hit(["a"], at: 0)
        _ = lab.take()
        lab.perform { $0.take(.motion(ms(1_500)), at: ms(1_500), lastTrue: { _ in ms(900) }, into: &$1) }
        lab.hit(["b"], at: 1_800)
        #expect(lab.take() == ["1 B S4.late"])
    }

    /// A detector that hits when its app has the motion already.
    @Test func anotherConditionOfItsOwnerKeepsTheEpisodeOpen() throws {
        var lab = self.lab { $0.commitWindow = .zero }
        lab.add("A")
        lab.addDetector("a2", to: "A")
        lab.add("B")
        lab.hit(["a"], at: 0)
        lab.hit(["a2"], at: 100)
        _ = lab.take()
        let second = try #require(lab.detectors["a2"])
        lab.perform {
            $0.take(
                .motion(ms(1_500)), at: ms(1_500), lastTrue: { detector in detector == second ? ms(900) : nil },
                into: &$1)
        }
        lab.hit(["b"], at: 1_800)
        #expect(lab.take() == ["1 B S4.late"])
    }

    @Test func noMotionKeepsAGroupForEver() {
        var lab = self.lab { $0.commitWindow = .zero }
        lab.add("A")
        lab.add("B")
        for time in stride(from: Int64(0), through: 31_000, by: 500) { lab.hit(["a"], at: time) }
        _ = lab.take()
        lab.hit(["b"], at: 31_100)
        #expect(lab.take() == ["3 deliver B b", "3 B S5.sent"])
        lab.pass(to: 70_000)
        lab.hit(["b"], at: 70_000)
        #expect(lab.take() == ["4 deliver B b", "4 B S5.sent"])
    }

    /// A detector fires each half second, without end. Whoever fires now and then hears all the same, and so does it.
    @Test(arguments: [GroupMode.exclusive, .ordered]) func whoStaysKeepsAGroupFromNobody(_ mode: GroupMode) {
        var lab = self.lab {
            $0.mode = mode; $0.commitWindow = .zero
        }
        lab.add("A")
        lab.add("B")
        for time in stride(from: Int64(0), through: 120_000, by: 500) {
            lab.hit(["a"], at: time)
            if time % 6_000 == 0 { lab.hit(["b"], at: time + 100) }
        }
        let heard = lab.deliveries.filter { $0.id.name == "B" }.map(\.hit.time)
        #expect(heard == stride(from: Int64(36_100), through: 120_100, by: 6_000).map { ms($0) })
        #expect(lab.deliveries.contains { $0.id.name == "A" && $0.hit.time > ms(90_000) })
    }

    @Test func whoStaysAloneHearsAll() {
        var lab = self.lab { $0.commitWindow = .zero }
        lab.add("A")
        let times = Array(stride(from: Int64(0), through: 90_000, by: 500))
        for time in times { lab.hit(["a"], at: time) }
        #expect(lab.deliveries.map(\.hit.time) == times.map { ms($0) })
    }

    @Test func thoseWhoStayTakeTurns() {
        var lab = self.lab { $0.commitWindow = .zero }
        lab.add("A")
        lab.add("B")
        for time in stride(from: Int64(0), through: 120_000, by: 500) {
            lab.hit(["a"], at: time)
            lab.hit(["b"], at: time + 250)
        }
        let turns: [String] = lab.deliveries.reduce(into: []) { if $0.last != $1.id.name { $0.append($1.id.name) } }
        #expect(turns == ["A", "B", "A", "B"])
    }

    /// Two apps of one user take no turns at another's cost.
    @Test(arguments: [7, 8] as [UInt32]) func whoStaysIsCountedByUser(_ user: UInt32) {
        var lab = self.lab { $0.commitWindow = .zero }
        for name in ["A", "B"] { lab.add(name, AppEntrance(user: 7)) }
        lab.add("C", AppEntrance(user: user))
        for time in stride(from: Int64(0), to: 30_000, by: 500) { lab.hit(["a"], at: time) }
        for time: Int64 in [30_000, 30_600] { lab.hit(["b"], at: time) }
        _ = lab.take()
        lab.hit(["c"], at: 31_200)
        #expect(lab.take() == (user == 7 ? ["2 C S4.late"] : ["3 deliver C c", "3 C S5.sent"]))
    }

    /// A motion of its own that ended in silence: it does not stay any more.
    @Test func whoDoesNotStayKeepsItsMotions() {
        var lab = self.lab { $0.commitWindow = .zero }
        lab.add("A")
        lab.add("B")
        for time in stride(from: Int64(0), through: 30_000, by: 500) { lab.hit(["a"], at: time) }
        lab.hit(["a"], at: 40_000)
        _ = lab.take()
        lab.hit(["b"], at: 40_100)
        #expect(lab.take() == ["3 B S4.late"])
    }

    /// A jog was true to the end of its motion, and is no more: each shake behind it is one event, of its winner alone.
    @Test(arguments: [GroupMode.exclusive, .ordered]) func whoJoggedHasItsShakesAlone(_ mode: GroupMode) {
        var lab = self.lab {
            $0.mode = mode; $0.commitWindow = .zero
        }
        lab.add("A")
        lab.add("B")
        for time in stride(from: Int64(0), through: 30_000, by: 500) { lab.hit(["a"], at: time) }
        for time in stride(from: Int64(40_000), through: 320_000, by: 20_000) {
            lab.hit(["a"], at: time)
            lab.hit(["b"], at: time + 20)
        }
        let behind = lab.deliveries.filter { $0.hit.time >= ms(40_000) }
        #expect(behind.count { $0.id.name == "A" } == 15)
        // In an order it has what A was offered and did not take.
        #expect(mode == .ordered || behind.allSatisfy { $0.id.name == "A" })
    }

    /// Somebody has stayed, and a motion that nobody owns has thousands of candidates: whoever hits has not all of them looked at.
    @Test func aHitCostsTheSameHoweverManyCompete() {
        func spent(_ count: UInt32) -> Int64 {
            var arbiter = Arbiter(policy: Policy(groups: [group(.ordered)], rules: [rule("all")]), epoch: 0)
            func tell(_ input: ArbiterInput, at time: Int64) {
                var actions: [ArbiterAction] = []
                arbiter.take(input, at: ms(time), into: &actions)
            }
            func hit(_ detectors: [UInt32], at time: Int64) {
                tell(.hits(detectors.map { Hit(detector: DetectorID($0), time: ms(time), peak: 3) }), at: time)
            }
            let all = Array(0..<count)
            for number in all {
                tell(.app(AppHandle(number), AppID("org.example.A\(number)"), AppEntrance()), at: 0)
                let facts = DetectorFacts(name: "d", preset: "shake", threshold: 2, rest: .zero)
                tell(.detector(DetectorID(number), AppHandle(number), facts), at: 0)
            }
            hit(all, at: 0)
            for time in stride(from: Int64(500), to: 30_000, by: 500) { hit([1], at: time) }
            hit(all, at: 31_000)
            // The time of their order is up before it is measured.
            for time in stride(from: Int64(31_500), to: 34_000, by: 500) { hit([0], at: time) }
            let begin = Clock.threadTime()
            for time in 34_000..<Int64(35_000) { hit([0], at: time) }
            return Clock.threadTime() - begin
        }
        let (few, many) = (min(spent(300), spent(300)), spent(4_800))
        #expect(many < 5 * few, "\(many) us and \(few) us")
    }

    /// Thousands that cannot be launched for the better of two hits are looked at together, and not one after the other.
    @Test func aDecisionCostsTheSameHoweverManyCannotBeLaunched() {
        var wake = terms(.wake)
        wake.lifespan = .milliseconds(100)
        let rules = [
            rule("wake", line: 1, strength: 2, terms: wake) { $0.presets.any = [NamePattern("shake")] },
            rule("store", line: 2, strength: 1, terms: terms(.store)) { $0.presets.any = [NamePattern("tilt")] },
        ]
        func spent(_ count: UInt32) -> Int64 {
            var arbiter = Arbiter(policy: Policy(groups: [group(.exclusive)], rules: rules), epoch: 0)
            var actions: [ArbiterAction] = []
            for number in 0..<count {
                let (app, id) = (AppHandle(number), AppID("org.example.A\(number)"))
                arbiter.take(.app(app, id, AppEntrance(isConnected: false, user: 7)), at: ms(0), into: &actions)
                for (detector, preset) in [(2 * number, "shake"), (2 * number + 1, "tilt")] {
                    let facts = DetectorFacts(name: preset, preset: preset, threshold: 2, rest: .zero)
                    arbiter.take(.detector(DetectorID(detector), app, facts), at: ms(0), into: &actions)
                }
                // That fails, and it is left alone for a second.
                arbiter.take(.launch(LaunchRequest(id, .push, ends: ms(10), of: 7)), at: ms(0), into: &actions)
                let launch = arbiter.launches.launch(of: id)?.number ?? 0
                arbiter.take(.launched(id, launch, .failed(.unknown)), at: ms(0), into: &actions)
            }
            actions = []
            let hits = (0..<2 * count).map { Hit(detector: DetectorID($0), time: ms(500), peak: 3) }
            let begin = Clock.threadTime()
            arbiter.take(.hits(hits), at: ms(500), into: &actions)
            arbiter.take(.motion(ms(1_000)), at: ms(600), into: &actions)
            let cost = Clock.threadTime() - begin
            let deliveries = actions.compactMap { action -> Delivery? in
                if case .deliver(let delivery) = action { delivery } else { nil }
            }
            #expect(deliveries.map(\.app) == [AppHandle(0)] && deliveries.map(\.detector) == ["tilt"])
            return cost
        }
        let (few, many) = (min(spent(128), spent(128)), spent(4_096))
        // As the square of it, it would be 1 024 times as much.
        #expect(many < 128 * few, "\(many) us and \(few) us")
    }

    /// Who stays and loses keeps the winner's motion going for nobody.
    @Test(arguments: [Int64(0), 350]) func whoStaysAndLosesKeepsNoMotionGoing(_ window: Int64) {
        var lab = self.lab([rule(for: "C", strength: 60), rule(for: "B", strength: 10)]) {
            $0.commitWindow = .milliseconds(window)
        }
        for name in ["A", "B", "C"] { lab.add(name) }
        for time in stride(from: Int64(0), through: 150_000, by: 250) {
            lab.hit(["a"], at: time)
            if time % 3_000 == 1_000 { lab.hit(["c"], at: time + 100) }
        }
        lab.pass(to: 160_000)
        let heard = lab.deliveries.filter { $0.id.name == "C" && $0.hit.time > ms(60_000) }
        #expect(heard.count >= 25)
    }

    /// No motion of the group begins before its cooldown is over.
    @Test func theCooldownHoldsForWhoComesAfterOneWhoStays() {
        var lab = self.lab {
            $0.commitWindow = .zero; $0.cooldown = .seconds(5)
        }
        lab.add("A")
        lab.add("B")
        for time in stride(from: Int64(0), through: 35_000, by: 500) {
            lab.hit(["a"], at: time)
            if time == 32_000 || time == 35_000 { lab.hit(["b"], at: time + 100) }
        }
        #expect(lab.verdicts.filter { $0.id.name == "B" }.map(\.reason) == [.late, .sent])
    }

    @Test func aDeadOwnerIsReplacedAtOnceUnderAnEpochOfItsOwn() {
        let rules = [rule(for: "A", strength: 3), rule(for: "B", strength: 2), rule(for: "C", strength: 1)]
        var lab = self.lab(rules)
        for name in ["A", "B", "C"] { lab.add(name) }
        lab.hit(["a", "b", "c"], at: 0)
        _ = lab.take()
        lab.tell("A", .dead)
        #expect(lab.take() == ["2 deliver B b", "2 B S5.sent", "2 C S4.outranked"])
        #expect(lab.verdicts.last?.contest?.inherits == 1)
        lab.answer("B", 2, .consume)
        lab.tell("B", .dead)
        #expect(lab.take() == [])
        // Nobody owns the motion any more, so what comes next is a new one.
        lab.hit(["c"], at: 100)
        #expect(lab.take() == ["3 deliver C c", "3 C S5.sent"])
    }

    @Test func anOwnerThatAnsweredLeavesNothing() {
        var lab = self.lab { $0.commitWindow = .zero }
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        lab.answer("A", 1, .consume)
        _ = lab.take()
        lab.perform { $0.take(.leave(AppHandle(0)), at: ms(10), into: &$1) }
        #expect(lab.take() == [])
    }

    @Test func aStaleGestureIsNotInherited() {
        var lab = self.lab {
            $0.commitWindow = .zero; $0.quiet = .seconds(10)
        }
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        _ = lab.take()
        lab.pass(to: 3_000)
        lab.tell("A", .dead)
        #expect(lab.take() == [])
    }

    @Test func whoLeavesBeforeTheDecisionIsOut() {
        let rules = [rule(for: "A", strength: 2), rule(for: "B", strength: 1)]
        var lab = self.lab(rules) { $0.commitsEagerly = false }
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        lab.tell("A", .suspended)
        lab.pass(to: 400)
        #expect(lab.take() == ["1 A S4.gone", "1 deliver B b", "1 B S5.sent"])
        lab.pass(to: 3_000)
        lab.hit(["b"], at: 3_000)
        lab.perform { $0.take(.removeDetector(DetectorID(1)), at: ms(3_001), into: &$1) }
        lab.pass(to: 4_000)
        #expect(lab.take() == ["2 B S4.gone"])
    }

    @Test func anAppIsOneCandidateHoweverManyOfItsDetectorsFire() {
        var lab = self.lab {
            $0.select = [.specificity]; $0.commitsEagerly = false
        }
        lab.add("A", threshold: 1.2)
        lab.addDetector("strong", to: "A", threshold: 3)
        lab.add("B", threshold: 2)
        lab.hit(["a"], at: 0)
        lab.hit(["b", "strong"], at: 100, 4)
        lab.pass(to: 400)
        #expect(lab.take() == ["1 deliver A a", "1 deliver A strong", "1 A S5.sent", "1 B S4.outranked"])
        #expect(lab.verdicts.first?.rank?.specificity == 3)
        #expect(lab.verdicts.first?.intensity == 4)
    }

    @Test(arguments: [GroupMode.exclusive, .ordered]) func whatFiresBeforeTheDecisionIsHeard(_ mode: GroupMode) {
        var lab = self.lab {
            $0.mode = mode; $0.commitsEagerly = false
        }
        lab.add("A")
        let others = (1..<40).map { "a\($0)" }
        for name in others { lab.addDetector(name, to: "A") }
        lab.hit(["a"] + others, at: 0)
        lab.pass(to: 350)
        #expect(lab.deliveries.map(\.detector) == ["a"] + others)
    }

    @Test func whatIsLeftOutBeforeTheDecisionIsCounted() {
        var lab = self.lab { $0.commitsEagerly = false }
        lab.add("A")
        lab.addDetector("a2", to: "A")
        for time in 0..<Int64(40) { lab.hit(["a"], at: time) }
        #expect(lab.take() == Array(repeating: "1 again A S3.quota", count: 8))
        for time: Int64 in [100, 101] { lab.hit(["a2"], at: time) }
        lab.pass(to: 350)
        let counted = lab.take().filter { $0 == "1 again A S3.quota" }
        #expect(counted.count == 1)
        #expect(lab.deliveries.map(\.hit.time) == (0..<Int64(32)).map { ms($0) } + [ms(100)])
    }

    @Test(arguments: [
        (SelectKey.state, "B"), (.recent, "C"), (.intensity, "D"), (.strength, "A"), (.roundRobin, "A"),
    ])
    func keys(_ key: SelectKey, _ winner: String) {
        var lab = self.lab {
            $0.select = [key]; $0.commitsEagerly = false
        }
        lab.add("A", AppEntrance(told: .background))
        lab.add("B", AppEntrance(told: .foreground))
        lab.now = 2
        lab.add("C")
        lab.tell("C", .inactive)
        lab.add("D", AppEntrance(told: .background))
        lab.hit(["a", "b", "c"], at: 2, 2)
        lab.hit(["d"], at: 10, 3)
        lab.pass(to: 352)
        #expect(lab.deliveries.map(\.id.name) == [winner])
    }

    @Test func roundRobinServesWhoWaitedLongest() {
        var lab = self.lab {
            $0.select = [.roundRobin]; $0.commitWindow = .zero
        }
        for name in ["A", "B", "C"] { lab.add(name) }
        for time: Int64 in [0, 2_000, 4_000, 6_000] { lab.hit(["a", "b", "c"], at: time) }
        #expect(lab.deliveries.map(\.id.name) == ["A", "B", "C", "A"])
    }

    /// Leaving and coming back is no waiting, under another name neither.
    @Test(arguments: [["A", "A", "A"], ["C", "D", "E"]])
    func whoComesHasNotWaited(_ names: [String]) {
        var lab = self.lab {
            $0.select = [.roundRobin]; $0.commitWindow = .zero
        }
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        var last = "A"
        for (index, name) in names.enumerated() {
            // That motion is over: nobody is to have it in its place.
            lab.pass(to: 2_000 * Int64(index) + 1_500)
            lab.apps[last].map { lab.take(.leave($0)) }
            lab.apps[name] = lab.apps[last]
            if name != last { lab.apps[last] = nil }
            lab.detectors[name.lowercased()] = lab.detectors[last.lowercased()]
            lab.add(name)
            last = name
            lab.hit(["b", name.lowercased()], at: 2_000 * Int64(index + 1))
        }
        #expect(lab.deliveries.map(\.id.name) == ["A", "B", "B", "B"])
    }

    @Test func stickyKeepsTheGroupForTheLease() {
        let rules = [rule(for: "A", strength: 10), rule(for: "B", strength: 15), rule(for: "C", strength: 40)]
        var lab = self.lab(rules) {
            $0.commitWindow = .zero
            $0.isSticky = true
            $0.lease = .seconds(10)
            $0.hysteresis = 20
        }
        for name in ["A", "B", "C"] { lab.add(name) }
        lab.hit(["a"], at: 0)
        lab.hit(["a", "b"], at: 2_000)
        #expect(lab.verdicts.last?.decidedBy == .holder)
        // An absent holder loses the event, not its hold.
        lab.hit(["b"], at: 4_000)
        lab.hit(["a", "b"], at: 6_000)
        lab.hit(["a", "b", "c"], at: 8_000)
        lab.hit(["b", "c"], at: 10_000)
        lab.hit(["b"], at: 21_000)
        lab.hit(["b", "a"], at: 23_000)
        #expect(lab.deliveries.map(\.id.name) == ["A", "A", "B", "A", "C", "C", "B", "B"])
    }

    /// A group that A has won for three seconds.
    private func leasedLab() -> Lab {
        let rules = [rule(for: "A", strength: 1), rule(for: "B", strength: 2)]
        var lab = self.lab(rules) {
            $0.commitWindow = .zero
            $0.isSticky = true
            $0.lease = .seconds(3)
            $0.hysteresis = 5
        }
        lab.add("A")
        lab.add("B")
        lab.hit(["a"], at: 0)
        return lab
    }

    /// What another policy gives counts from what happened, not from what the one before would have made of it.
    @Test func anotherPolicysLeaseCountsAtOnce() {
        var lab = self.leasedLab()
        let old = lab.arbiter.policy
        var group = old.groups[0]
        group.lease = .seconds(1)
        lab.take(.policy(Policy(groups: [group], rules: old.rules)))
        lab.hit(["a", "b"], at: 1_500)
        #expect(lab.deliveries.map(\.id.name) == ["A", "B"])
    }

    @Test func anotherPolicysCooldownCountsAtOnce() {
        var lab = self.lab([rule(for: "A")]) {
            $0.commitWindow = .zero; $0.cooldown = .seconds(3_600)
        }
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.pass(to: 9_000)
        lab.hit(["a"], at: 10_000)
        let old = lab.arbiter.policy
        var group = old.groups[0]
        group.cooldown = .seconds(15)
        lab.take(.policy(Policy(groups: [group], rules: old.rules)))
        lab.hit(["a"], at: 14_000)
        lab.hit(["a"], at: 16_000)
        #expect(lab.deliveries.map { $0.hit.time } == [ms(0), ms(16_000)])
    }

    /// Also for who was away when it came into force.
    @Test func anotherPolicysQuotaCountsAtOnce() {
        for isAway in [false, true] {
            func policy(_ period: TimeSpan) -> Policy {
                var settings = AppSettings()
                settings.quota = Quota(count: 1, period: period, burst: 1)
                return Policy(rules: [rule("all", group: nil)], everyApp: settings)
            }
            var lab = Lab(policy(.seconds(86_400)))
            lab.add("A")
            lab.hit(["a"], at: 0)
            if isAway, let app = lab.apps["A"] { lab.take(.leave(app)) }
            lab.pass(to: 5_000)
            lab.take(.policy(policy(.seconds(60))))
            if isAway { lab.add("A") }
            lab.hit(["a"], at: 6_000)
            lab.hit(["a"], at: 70_000)
            #expect(lab.deliveries.map { $0.hit.time } == [ms(0), ms(70_000)])
        }
    }

    @Test func anAnswerRenewsTheLease() {
        var lab = self.leasedLab()
        lab.pass(to: 2_000)
        lab.answer("A", 1, .consume)
        lab.hit(["a", "b"], at: 4_000)
        lab.pass(to: 7_500)
        lab.hit(["a", "b"], at: 7_500)
        #expect(lab.deliveries.map(\.id.name) == ["A", "A", "B"])
    }

    @Test func oneAnswerRenewsTheLeaseOnce() {
        var lab = self.leasedLab()
        for time: Int64 in [2_000, 4_000] {
            lab.pass(to: time)
            lab.answer("A", 1, .consume)
        }
        lab.pass(to: 6_000)
        lab.hit(["a", "b"], at: 6_000)
        #expect(lab.deliveries.map(\.id.name) == ["A", "B"])
    }

    @Test func aDeadHolderHoldsNothing() {
        let rules = [rule(for: "A", strength: 1), rule(for: "B", strength: 1)]
        var lab = self.lab(rules) {
            $0.commitWindow = .zero; $0.isSticky = true
        }
        lab.add("B")
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.pass(to: 2_000)
        lab.tell("A", .dead)
        lab.tell("A", .foreground)
        lab.hit(["a", "b"], at: 2_000)
        #expect(lab.deliveries.map(\.id.name) == ["A", "B"])
    }

    @Test func anOpenEpisodeIsDecidedAsItWasBegun() {
        var lab = self.lab { $0.commitsEagerly = false }
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.perform { $0.take(.policy(Policy(otherwise: .deny)), at: ms(10), into: &$1) }
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent"])
        #expect(lab.verdicts.map(\.generation) == [1])
    }
}
