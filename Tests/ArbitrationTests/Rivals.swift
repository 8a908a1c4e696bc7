import Arbitration
import Motion
import Randomness

/// Random groups and a random script of what their apps' detectors see, to be played as often as one likes.
///
/// Everything that a script does not say follows from what the arbiter does: what falls due runs when it is due, and apps
/// answer as is their character. What rules see of apps changes only while no motion is open.
struct Rivals {
    struct Step {
        /// When the detectors fire, in sample time. It arrives later.
        var time: Timestamp
        var hits: [Hit]
        /// What changes before, if no motion is open then.
        var changes: [ArbiterInput]
    }

    /// What an app does about an event that it may answer.
    private struct Character {
        /// `nil`: nothing.
        var answer: Answer?
        var delay: TimeSpan
    }

    private struct PendingAnswer {
        var app: AppHandle
        var epoch: UInt64
        var answer: Answer
        var time: Timestamp
    }

    /// What came of a motion, app by app.
    struct Outcome: Equatable {
        var contest: Contest?
        var reasons: [AppID: Reason] = [:]
        /// Whoever was served or asked, in order.
        var served: [AppID] = []

        /// Whose turn came, in order.
        var order: [AppID] {
            self.served.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        }
    }

    /// Room for whatever a motion may still come to: an order and its answers.
    static let aftermath = TimeSpan.seconds(5)

    let policy: Policy
    private(set) var arbiter: Arbiter
    private(set) var outcomes: [UInt64: Outcome] = [:]
    let script: [Step]
    private let characters: [Character]
    private var pending: [PendingAnswer] = []
    /// How far arrivals are behind the samples.
    private let lag: TimeSpan

    /// - Parameter isPrompt: Nothing depends on when a decision is taken: there are no leases, every app answers at once, and
    ///   one group decides alone what its apps use up.
    init(seed: UInt64, isPrompt: Bool = false) {
        var generator = SeededRandom(seed: seed)
        let count = Int.random(in: 2...6, using: &generator)
        self.policy = Self.policy(apps: count, isPrompt: isPrompt, &generator)
        self.arbiter = Arbiter(policy: self.policy, epoch: 0)
        self.lag = .milliseconds([0, 0, 30, 250].randomElement(using: &generator) ?? 0)
        self.characters = (0..<count).map { _ in
            Character(
                answer: (isPrompt ? [.consume, .pass] : [.consume, .pass, nil]).randomElement(using: &generator) ?? nil,
                delay: .milliseconds(isPrompt ? 0 : [0, 0, 50, 390, 700].randomElement(using: &generator) ?? 0))
        }
        var entered: [ArbiterInput] = []
        var detectors: [(id: DetectorID, facts: DetectorFacts)] = []
        for index in 0..<count {
            let handle = AppHandle(UInt32(index))
            let state = AppState.allCases.randomElement(using: &generator) ?? .foreground
            entered.append(
                .app(handle, AppID("app\(index)"), AppEntrance(told: index < 2 ? .foreground : state)))
            for number in 0..<Int.random(in: 1...2, using: &generator) {
                let facts = Self.detector("d\(index)-\(number)", &generator)
                let id = DetectorID(UInt32(detectors.count))
                entered.append(.detector(id, handle, facts))
                detectors.append((id, facts))
            }
        }
        self.script = Self.script(detectors, apps: count, &generator)
        for input in entered { self.take(input, at: ms(0)) }
    }

    private static func policy(apps count: Int, isPrompt: Bool, _ generator: inout SeededRandom) -> Policy {
        func pick<T>(_ values: T...) -> T { values[Int.random(in: 0..<values.count, using: &generator)] }
        var groups: [GroupConfiguration] = []
        for index in 0..<(isPrompt ? 1 : pick(1, 1, 2)) {
            var group = GroupConfiguration(name: "g\(index)", place: Place(file: "random.conf", line: index))
            group.mode = pick(.exclusive, .ordered)
            group.select = Array(SelectKey.allCases.shuffled(using: &generator).prefix(pick(1, 2, 3)))
            group.commitWindow = .milliseconds(pick(100, 300, 600))
            group.quiet = .milliseconds(pick(200, 1_000))
            group.cooldown = .milliseconds(pick(0, 0, 700))
            group.isSticky = pick(true, false)
            group.lease = isPrompt ? nil : pick(nil, .milliseconds(200), .milliseconds(1_500), .seconds(4))
            group.hysteresis = pick(0, 3, 10)
            group.ackTimeout = .milliseconds(pick(100, 400))
            group.orderBudget = .milliseconds(pick(300, 1_200))
            group.aging = pick(nil, Aging(step: 3, denials: 1, limit: 40), Aging(step: 5, denials: 2, limit: 20))
            groups.append(group)
        }
        var rules: [Rule] = []
        for line in 0..<8 {
            var conditions = Conditions()
            conditions.apps.any = [NamePattern("app\(Int.random(in: 0..<count, using: &generator))")]
            if pick(true, false, false) { conditions.presets.any = [NamePattern(pick("shake", "tap"))] }
            if pick(true, false) {
                let low = Double.random(in: 0...3, using: &generator)
                conditions.intensity = IntensityCondition(
                    dimension: .acceleration, ranges: RangeSet(low..<pick(.infinity, low + 1)))
            }
            if pick(true, false, false) { conditions.locked = pick(true, false) }
            if pick(true, false, false) {
                conditions.states = WordSet(AppState.allCases.filter { _ in pick(true, false) })
            }
            rules.append(
                rule(
                    "r\(line)", line: line, priority: pick(0, 1), pick(.allow, .allow, .allow, .allow, .deny),
                    group: pick("g0", "g0", groups.last?.name, nil), strength: .random(in: 0...20, using: &generator),
                    terms: terms(pick(.live, .store, .wake), pick(.bestEffort, .ack))
                ) { $0 = conditions })
        }
        rules.append(rule("rest", line: 9, group: "g0", strength: 1))
        var settings = AppSettings()
        if isPrompt { return Policy(otherwise: pick(.allow, .deny), groups: groups, rules: rules, everyApp: settings) }
        settings.quota = pick(nil, nil, Quota(count: 60, period: .seconds(60), burst: pick(1, 3)))
        settings.cooldown = .milliseconds(pick(0, 0, 150, 900))
        settings.wakeQuota = pick(nil, Quota(count: 60, period: .seconds(60), burst: 1))
        return Policy(otherwise: pick(.allow, .deny), groups: groups, rules: rules, everyApp: settings)
    }

    private static func detector(_ name: String, _ generator: inout SeededRandom) -> DetectorFacts {
        func pick<T>(_ values: T...) -> T { values[Int.random(in: 0..<values.count, using: &generator)] }
        return DetectorFacts(
            name: name, preset: pick("shake", "shake", "tap"),
            threshold: pick(nil, .random(in: 1...3, using: &generator), 2),
            dimension: pick(.acceleration, .acceleration, .acceleration, .speed),
            rest: .milliseconds(pick(0, 100, 500, 2_000)), startsResting: pick(true, false, false),
            isAvailable: pick(true, true, true, false))
    }

    /// A detector does not fire before its rest is over, nor without its sensor: that is what an early decision builds on.
    private static func script(
        _ detectors: [(id: DetectorID, facts: DetectorFacts)], apps: Int, _ generator: inout SeededRandom
    ) -> [Step] {
        func pick<T>(_ values: T...) -> T { values[Int.random(in: 0..<values.count, using: &generator)] }
        var ready = detectors.map { $0.facts.startsResting ? Timestamp.zero + $0.facts.rest : .zero }
        var time = Timestamp.zero
        var steps: [Step] = []
        for _ in 0..<50 {
            time = time + .milliseconds(pick(10, 20, 70, 150, 400, 1_200, 2_500))
            var step = Step(time: time, hits: [], changes: [])
            if pick(true, false, false) {
                let app = AppHandle(UInt32(Int.random(in: 0..<apps, using: &generator)))
                step.changes.append(
                    pick(
                        .told(app, AppState.allCases.randomElement(using: &generator)),
                        .device(DeviceFacts(isLocked: pick(true, false)))))
            }
            let peak = Double.random(in: 1...4, using: &generator)
            for (index, detector) in detectors.enumerated()
            where detector.facts.isAvailable && ready[index] <= time && pick(true, false) {
                ready[index] = time + detector.facts.rest
                step.hits.append(
                    Hit(
                        detector: detector.id, time: time,
                        peak: pick(true, false) ? peak : .random(in: 1...4, using: &generator)))
            }
            steps.append(step)
        }
        return steps
    }

    // MARK: Playing

    private mutating func take(_ input: ArbiterInput, at arrival: Timestamp) {
        var actions: [ArbiterAction] = []
        var launches: [Launch] = []
        self.arbiter.take(input, at: arrival, into: &actions)
        for action in actions {
            switch action {
            case .deliver(let delivery):
                self.outcomes[delivery.epoch, default: Outcome()].served.append(delivery.id)
                let character = self.characters[Int(delivery.app.index)]
                guard delivery.answerBy != nil || delivery.terms.reliability == .ack, let answer = character.answer
                else { continue }
                self.pending.append(
                    PendingAnswer(
                        app: delivery.app, epoch: delivery.epoch, answer: answer, time: arrival + character.delay))
            case .verdict(let verdict):
                self.outcomes[verdict.epoch, default: Outcome()].reasons[verdict.id] = verdict.reason
                if let contest = verdict.contest { self.outcomes[verdict.epoch]?.contest = contest }
            case .launch(.begin(let launch)): launches.append(launch)
            case .repeated, .life, .assertion, .activity, .session, .launch: break
            }
        }
        // All come up at once: who rests after a failure hangs on when it was launched.
        for launch in launches { self.take(.launched(launch.app, launch.number, .done), at: arrival) }
    }

    /// Lets everything happen that falls due until samples of a time arrive.
    mutating func pass(to time: Timestamp) {
        let end = time + self.lag
        while true {
            let motion = self.arbiter.nextMotionDeadline.map { $0 + self.lag }
            let answer = self.pending.indices.min { self.pending[$0].time < self.pending[$1].time }
            let next = [motion, self.arbiter.nextArrivalDeadline, answer.map { self.pending[$0].time }]
                .compactMap { $0 }.min()
            guard let next, next <= end else { break }
            if next == motion || next == self.arbiter.nextArrivalDeadline {
                self.take(.motion(next - self.lag), at: next)
            } else if let answer {
                let said = self.pending.remove(at: answer)
                self.take(.answer(said.app, epoch: said.epoch, said.answer), at: next)
            }
        }
        self.take(.motion(time - TimeSpan(microseconds: 1)), at: end)
    }

    /// Lets time pass until a step of the script, and what rules see change.
    mutating func approach(_ step: Step) {
        self.pass(to: step.time)
        // Lives have no deadlines here, so what falls due by arrival is an order that is not through.
        guard self.arbiter.openGroups.isEmpty, self.arbiter.nextArrivalDeadline == nil else { return }
        for change in step.changes { self.take(change, at: step.time + self.lag) }
    }

    mutating func fire(_ step: Step) { self.take(.hits(step.hits), at: step.time + self.lag) }

    /// Plays the whole script.
    mutating func play() {
        for step in self.script {
            self.approach(step)
            self.fire(step)
        }
        if let last = self.script.last { self.pass(to: last.time + Self.aftermath) }
    }

    /// Waits for the end of the window from now on in a group; in all without one.
    mutating func becomePatient(_ group: String? = nil, at time: Timestamp) {
        var groups = self.policy.groups
        for index in groups.indices where group.map({ groups[index].name == $0 }) ?? true {
            groups[index].commitsEagerly = false
        }
        let patient = Policy(
            otherwise: self.policy.otherwise, groups: groups, rules: self.policy.rules, everyApp: self.policy.everyApp)
        self.take(.policy(patient), at: time + self.lag)
    }
}
