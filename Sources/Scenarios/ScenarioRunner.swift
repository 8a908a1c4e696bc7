package import Arbitration
import Motion

/// Runs a scenario through the arbiter in virtual time.
package struct ScenarioRunner {
    private var arbiter: Arbiter
    private var log = DecisionLog()
    private var apps: [AppID: AppHandle] = [:]
    private var ids: [AppHandle: AppID] = [:]
    private var detectors: [Key: DetectorID] = [:]
    private var freeApps: [AppHandle] = []
    private var freeDetectors: [DetectorID] = []
    private var lastTrue: [DetectorID: Timestamp] = [:]
    private var lastEpoch: [AppHandle: UInt64] = [:]
    private var device = DeviceFacts()
    private var verdicts: [Verdict] = []
    private var now = Timestamp.zero

    private struct Key: Hashable {
        var app: AppHandle
        var name: String
    }

    /// What came of a scenario.
    package struct Outcome: Sendable {
        /// The same bytes for the same policy and scenario, always.
        package var log: String
        package var verdicts: [Verdict]
    }

    private init(_ policy: Policy) {
        self.arbiter = Arbiter(policy: policy, epoch: 0)
    }

    /// Runs a scenario from its start to the last thing that follows from it.
    package static func run(_ scenario: Scenario, policy: Policy) -> Outcome {
        var runner = ScenarioRunner(policy)
        var index = 0
        while index < scenario.steps.count {
            let time = Timestamp.zero + scenario.steps[index].time
            runner.passTime(to: time)
            if case .hit = scenario.steps[index].event {
                // Hits of one time are of one sample.
                var hits: [Hit] = []
                while index < scenario.steps.count, Timestamp.zero + scenario.steps[index].time == time,
                    case .hit(let app, let name, let peak, let lasting) = scenario.steps[index].event
                {
                    if let hit = runner.hit(app, name, peak, lasting, at: time) { hits.append(hit) }
                    index += 1
                }
                runner.tell(.hits(hits))
            } else {
                runner.take(scenario.steps[index].event, at: time)
                index += 1
            }
        }
        runner.passTime(to: nil)
        return Outcome(log: runner.log.text, verdicts: runner.verdicts)
    }

    // MARK: Time

    /// Lets everything happen that falls due up to a time; all that is left, without one.
    private mutating func passTime(to end: Timestamp?) {
        while let deadline = [self.arbiter.nextMotionDeadline, self.arbiter.nextArrivalDeadline].compactMap({ $0 })
            .min(),
            end.map({ deadline <= $0 }) ?? true
        {
            self.now = max(self.now, deadline)
            self.tell(.motion(self.now))
        }
        guard let end else { return }
        self.now = end
        self.tell(.motion(end))
    }

    private mutating func tell(_ input: ArbiterInput) {
        var actions: [ArbiterAction] = []
        let (lastTrue, now) = (self.lastTrue, self.now)
        self.arbiter.take(input, at: now, lastTrue: { lastTrue[$0].map { min($0, now) } }, into: &actions)
        for action in actions {
            self.log.add(action, at: self.now) { handle in self.ids[handle] }
            switch action {
            case .deliver(let delivery): self.lastEpoch[delivery.app] = delivery.epoch
            case .verdict(let verdict): self.verdicts.append(verdict)
            case .repeated: break
            }
        }
    }

    // MARK: Events

    private mutating func hit(
        _ app: AppID, _ name: String, _ peak: Double, _ lasting: TimeSpan, at time: Timestamp
    ) -> Hit? {
        guard let app = self.apps[app], let detector = self.detectors[Key(app: app, name: name)] else { return nil }
        self.lastTrue[detector] = time + lasting
        return Hit(detector: detector, time: time, peak: peak)
    }

    private mutating func take(_ event: Scenario.Event, at time: Timestamp) {
        switch event {
        case .app(let id, let state, let proof):
            guard self.apps[id] == nil else { return }
            let handle = self.freeApps.popLast() ?? AppHandle(UInt32(truncatingIfNeeded: self.apps.count))
            self.apps[id] = handle
            self.ids[handle] = id
            let grants = self.arbiter.policy.settings(for: id).grants
            let lastUsed = state == .foreground ? time : Timestamp(microseconds: .min)
            self.tell(.app(handle, id, AppFacts(state: state, proof: proof, grants: grants, lastUsed: lastUsed)))
        case .detector(let id, let facts): self.add(facts, to: id, at: time)
        case .removeDetector(let id, let name):
            guard let app = self.apps[id], let detector = self.detectors.removeValue(forKey: Key(app: app, name: name))
            else { return }
            self.tell(.removeDetector(detector))
            self.freeDetectors.append(detector)
        case .state(let id, let state):
            self.change(id, at: time) {
                $0.state = state
                if state == .foreground { $0.lastUsed = time }
            }
        case .activity(let id, let mode, let isRunning):
            self.change(id, at: time) {
                let one = WordSet([mode])
                $0.activities = isRunning ? $0.activities.union(one) : $0.activities.subtracting(one)
            }
        case .assertion(let id, let isHeld): self.change(id, at: time) { $0.hasAssertion = isHeld }
        case .locked(let isLocked): self.changeDevice(at: time) { $0.isLocked = isLocked }
        case .power(let power): self.changeDevice(at: time) { $0.power = power }
        case .clock(let minute): self.changeDevice(at: time) { $0.minuteOfWeek = minute }
        case .answer(let id, let answer, let epoch):
            guard let app = self.apps[id], let epoch = epoch ?? self.lastEpoch[app] else { return }
            self.tell(.answer(app, epoch: epoch, answer))
        case .leave(let id):
            guard let app = self.apps.removeValue(forKey: id) else { return }
            self.tell(.leave(app))
            let gone = self.detectors.filter { $0.key.app == app }
            for key in gone.keys { self.detectors[key] = nil }
            self.freeDetectors += gone.values.sorted()
            self.freeApps.append(app)
        case .hit, .end: break
        }
    }

    private mutating func add(_ facts: DetectorFacts, to id: AppID, at time: Timestamp) {
        guard let app = self.apps[id] else { return }
        let key = Key(app: app, name: facts.name)
        if let old = self.detectors[key] { self.tell(.removeDetector(old)) }
        let detector =
            self.detectors[key] ?? self.freeDetectors.popLast()
            ?? DetectorID(UInt32(truncatingIfNeeded: self.detectors.count))
        self.detectors[key] = detector
        self.tell(.detector(detector, app, facts))
    }

    private mutating func change(_ id: AppID, at time: Timestamp, _ body: (inout AppFacts) -> Void) {
        guard let app = self.apps[id], var facts = self.arbiter.facts(of: app) else { return }
        body(&facts)
        self.tell(.facts(app, facts))
    }

    private mutating func changeDevice(at time: Timestamp, _ body: (inout DeviceFacts) -> Void) {
        body(&self.device)
        self.tell(.device(self.device))
    }
}
