import Arbitration
import Motion
import Testing
import Randomness

/// What the arbiter guarantees, over random policies and inputs.
@Suite struct GuaranteeTests {
    /// A policy with every mode and modifier in it, somewhere.
    static func policy(_ generator: inout SeededRandom, groups count: Int, apps: [String]) -> Policy {
        var groups: [GroupConfiguration] = []
        for index in 0..<count {
            var group = GroupConfiguration(name: "g\(index)", place: Place(file: "random.conf", line: index))
            group.mode = GroupMode.allCases.randomElement(using: &generator) ?? .exclusive
            group.select = Array(
                SelectKey.allCases.shuffled(using: &generator).prefix(.random(in: 1...3, using: &generator)))
            group.commitWindow = .milliseconds([0, 50, 350].randomElement(using: &generator) ?? 0)
            group.commitsEagerly = .random(using: &generator)
            group.quiet = .milliseconds([200, 1_000].randomElement(using: &generator) ?? 1_000)
            group.cooldown = .milliseconds([0, 0, 1_500].randomElement(using: &generator) ?? 0)
            group.isSticky = Int.random(in: 0..<4, using: &generator) == 0
            group.lease = .seconds(.random(in: 1...5, using: &generator))
            group.hysteresis = .random(in: 0...20, using: &generator)
            group.ackTimeout = .milliseconds(200)
            group.orderBudget = .milliseconds(500)
            if Bool.random(using: &generator) { group.aging = Aging(step: 5, denials: 2, limit: 60) }
            groups.append(group)
        }
        var rules: [Rule] = []
        for line in 0..<Int.random(in: 3...12, using: &generator) {
            var conditions = Conditions()
            if Bool.random(using: &generator) {
                conditions.apps.any = [NamePattern(apps.randomElement(using: &generator) ?? "*")]
            }
            if Bool.random(using: &generator) {
                conditions.states = WordSet(AppState.allCases.filter { _ in Bool.random(using: &generator) })
            }
            if Int.random(in: 0..<3, using: &generator) == 0 {
                let low = Double.random(in: 0...3, using: &generator)
                conditions.intensity = IntensityCondition(
                    dimension: .acceleration, ranges: RangeSet(low..<Double.infinity))
            }
            var terms = DeliveryTerms()
            terms.kind = DeliveryKind.allCases.randomElement(using: &generator) ?? .live
            terms.reliability = Bool.random(using: &generator) ? .ack : .bestEffort
            rules.append(
                Rule(
                    name: "r\(line)", place: Place(file: "random.conf", line: 100 + line),
                    priority: .random(in: 0...3, using: &generator), conditions: conditions,
                    effect: Int.random(in: 0..<5, using: &generator) == 0 ? .deny : .allow,
                    group: Int.random(in: 0..<6, using: &generator) == 0
                        ? nil : "g\(Int.random(in: 0..<count, using: &generator))",
                    strength: .random(in: 0...30, using: &generator), terms: terms))
        }
        var settings = AppSettings()
        if Bool.random(using: &generator) { settings.quota = Quota(count: 60, period: .seconds(60), burst: 5) }
        if Bool.random(using: &generator) { settings.cooldown = .milliseconds(300) }
        settings.queueBytes = 1_000
        return Policy(
            otherwise: Bool.random(using: &generator) ? .allow : .deny, groups: groups, rules: rules,
            everyApp: settings)
    }

    /// Random life: motions, apps that come, go, answer and do not, and now and then a new policy.
    ///
    /// - Parameter look: Sees it before each step.
    static func run(seed: UInt64, look: (Lab) -> Void = { _ in }) -> Lab {
        var generator = SeededRandom(seed: seed)
        let names = (0..<6).map { "app\($0)" }
        var lab = Lab(Self.policy(&generator, groups: 3, apps: names))
        for name in names {
            lab.add(name, threshold: .random(in: 1...3, using: &generator))
            lab.addDetector("\(name)-b", to: name, threshold: .random(in: 1...3, using: &generator))
        }
        let detectors = lab.detectors.keys.sorted()
        for _ in 0..<150 {
            look(lab)
            let name = names.randomElement(using: &generator) ?? ""
            switch Int.random(in: 0..<40, using: &generator) {
            case 0..<24:
                let some = detectors.shuffled(using: &generator).prefix(.random(in: 1...6, using: &generator))
                let time = lab.now + .random(in: 0...250, using: &generator)
                lab.hit(Array(some), at: time, .random(in: 1...4, using: &generator))
            case 24..<28:
                lab.pass(to: lab.now + .random(in: 0...2_000, using: &generator))
            case 28..<32:
                let state = AppState.allCases.randomElement(using: &generator) ?? .dead
                lab.tell(name, state)
            case 32..<38:
                let epoch = lab.deliveries.last { $0.id.name == name }?.epoch ?? 0
                lab.answer(name, epoch, Bool.random(using: &generator) ? .consume : .pass)
            case 38:
                guard let id = lab.detectors[name] else { continue }
                let now = ms(lab.now)
                lab.perform { $0.take(.removeDetector(id), at: now, into: &$1) }
                lab.addDetector(name, to: name, threshold: 2)
            default:
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    let policy = Self.policy(&generator, groups: 3, apps: names)
                    let now = ms(lab.now)
                    lab.perform { $0.take(.policy(policy), at: now, into: &$1) }
                } else if let handle = lab.apps[name] {
                    let now = ms(lab.now)
                    lab.perform { $0.take(.leave(handle), at: now, into: &$1) }
                    lab.perform { $0.take(.app(handle, AppID(name), AppEntrance()), at: now, into: &$1) }
                    lab.addDetector(name, to: name, threshold: 2)
                    lab.addDetector("\(name)-b", to: name, threshold: 1.5)
                }
            }
        }
        // Whoever is launched and does not answer is waited for.
        for _ in 0..<30 { lab.pass(to: lab.now + 1_000) }
        return lab
    }

    /// 600 lives, when all seeds are played, of three groups each, and of three more with each new policy.
    @Test(arguments: someSeeds(1...20))
    func livesKeepTheGuarantees(_ batch: UInt64) {
        let seeds = batch * 100..<batch * 100 + 30
        print("Arbiter seeds \(seeds)")
        var modes: Set<GroupMode> = []
        for seed in seeds {
            let lab = Self.run(seed: seed)
            #expect(lab.arbiter.nextArrivalDeadline == nil, "seed \(seed)")
            let byEpoch = Dictionary(grouping: lab.verdicts, by: \.epoch)
            for (epoch, verdicts) in byEpoch {
                let problems = Self.problems(verdicts)
                #expect(problems == [], "seed \(seed), epoch \(epoch)")
                if let contest = verdicts.lazy.compactMap(\.contest).first { modes.insert(contest.mode) }
            }
            #expect(Self.sharedEpochs(lab, byEpoch) == [], "seed \(seed)")
            for delivery in lab.deliveries {
                let verdict = byEpoch[delivery.epoch]?.first { $0.app == delivery.app }
                let wasCalled = verdict?.reason == .launchFailed && delivery.route == .wake
                #expect(verdict?.isDelivered == true || wasCalled, "seed \(seed), epoch \(delivery.epoch)")
            }
            #expect(lab.unanswered == 0, "seed \(seed)")
            #expect(lab.said == Self.run(seed: seed).said, "seed \(seed)")
            // The life was not an empty one.
            #expect(lab.verdicts.count > 10, "seed \(seed)")
        }
        #expect(modes == Set(GroupMode.allCases))
    }

    /// What is wrong with the verdicts of one epoch.
    private static func problems(_ verdicts: [Verdict]) -> [String] {
        var problems: [String] = []
        if Set(verdicts.map(\.app)).count < verdicts.count { problems.append("two verdicts of one app") }
        let served = verdicts.filter { $0.reason.stage == .delivery }
        guard let contest = verdicts.lazy.compactMap(\.contest).first else {
            // Of a group that had its say nobody is left; elsewhere an app is alone in its epoch.
            if verdicts.count > 1, !verdicts.allSatisfy({ $0.reason == .gone }) { problems.append("no contest") }
            return problems
        }
        // Whoever came to the group in time and did not go: if there is one, somebody gets the event.
        let isAnybodyLeft = verdicts.contains { $0.reason != .gone && $0.reason != .late }
        if isAnybodyLeft, served.isEmpty { problems.append("nobody got it") }
        switch contest.mode {
        // Without sessions nobody is in the way.
        case .broadcast, .mixable: if served.count < verdicts.count { problems.append("somebody did not get it") }
        case .exclusive:
            // Whoever cannot be launched either is passed over with the winner.
            let others = served.filter { $0.id != contest.winner && $0.reason != .launchFailed }
            let isWinnerServed = served.contains { $0.id == contest.winner }
            if !others.isEmpty || !isWinnerServed { problems.append("not the winner alone") }
        case .ordered: if verdicts.count(where: { $0.reason == .taken }) > 1 { problems.append("taken twice") }
        }
        return problems
    }

    /// Epochs that an app was given while another had them.
    private static func sharedEpochs(_ lab: Lab, _ byEpoch: [UInt64: [Verdict]]) -> [UInt64] {
        var owners: [UInt64: AppHandle] = [:]
        var shared: [UInt64] = []
        for action in lab.actions {
            switch action {
            case .deliver(let delivery):
                let contest = byEpoch[delivery.epoch]?.lazy.compactMap(\.contest).first
                if contest?.mode.compares == false { continue }
                if owners[delivery.epoch] ?? delivery.app != delivery.app { shared.append(delivery.epoch) }
                owners[delivery.epoch] = delivery.app
            case .verdict(let verdict):
                let isOver = [.passed, .silent, .left, .launchFailed].contains(verdict.reason)
                if isOver, owners[verdict.epoch] == verdict.app { owners[verdict.epoch] = nil }
            case .repeated, .life, .assertion, .activity, .session, .launch: break
            }
        }
        return shared
    }

    @Test func rulesOfOtherAppsAreNotTried() {
        let own = rule(for: "org.example.Own")
        func tried(others: Int) -> Int {
            let rules = (0..<others).map { rule(for: "org.example.App\($0)") } + [own, rule("all")]
            return Policy(rules: rules).rulesTried(for: AppID("org.example.Own"), preset: "shake").count
        }
        #expect(tried(others: 0) == 2)
        #expect(tried(others: 20_000) == 2)
    }

    @Test func hostileNumbersDoNotTrap() {
        var settings = AppSettings()
        settings.quota = Quota(count: .max, period: TimeSpan(microseconds: .max), burst: .max)
        settings.cooldown = TimeSpan(microseconds: .max)
        let configuration = group(.exclusive) {
            $0.commitWindow = TimeSpan(microseconds: .max)
            $0.quiet = TimeSpan(microseconds: .max)
            $0.cooldown = TimeSpan(microseconds: .max)
            $0.isSticky = true
            $0.lease = TimeSpan(microseconds: .max)
            $0.hysteresis = .max
            $0.aging = Aging(step: .max, denials: 1, limit: .max)
        }
        let rules = [rule(for: "A", strength: .max), rule(for: "B", strength: .min), rule("all", strength: .max)]
        var lab = Lab(Policy(groups: [configuration], rules: rules, everyApp: settings))
        for name in ["A", "B", "C"] { lab.add(name, threshold: .nan) }
        for time in [Int64.min, -1, 0, .max] {
            let hits = (0..<3).map {
                Hit(detector: DetectorID($0), time: Timestamp(microseconds: time), peak: .infinity)
            }
            lab.perform {
                $0.take(.hits(hits), at: Timestamp(microseconds: time), into: &$1)
                $0.take(.hits([Hit(detector: DetectorID(99), time: .zero, peak: .nan)]), at: .zero, into: &$1)
                let end = Timestamp(microseconds: .max)
                $0.take(.motion(end), at: end, into: &$1)
                $0.take(.answer(AppHandle(77), epoch: .max, .consume), at: .zero, into: &$1)
            }
        }
        #expect(lab.verdicts.count >= 3)
    }
}
