package import Arbitration
import Motion

/// Runs a scenario through the arbiter in virtual time.
///
/// In one that somebody wrote there is one clock: motion passes with it, and what falls due happens in between. In a recording
/// sample time passes as it says, because live it is behind the clock, and by how much differs.
package struct ScenarioRunner {
    /// Makes a policy of its files; none: the built-in policy. `nil` when they say none.
    package typealias PolicyReading = ([Scenario.File]) -> Policy?

    private let isRecording: Bool
    private let read: PolicyReading
    private var arbiter: Arbiter
    private let log = DecisionLog()
    private var apps: [AppID: AppHandle] = [:]
    private var ids: [AppHandle: AppID] = [:]
    private var detectors: [Key: DetectorID] = [:]
    private var freeApps: [AppHandle] = []
    private var freeDetectors: [DetectorID] = []
    private var lastTrue: [DetectorID: Timestamp] = [:]
    private var lastEpoch: [AppHandle: UInt64] = [:]
    private var device = DeviceFacts()
    private var outcome = Outcome()
    private var now = Timestamp.zero

    private struct Key: Hashable {
        var app: AppHandle
        var name: String
    }

    /// What came of a scenario.
    package struct Outcome: Sendable {
        /// The same for the same policy and scenario, always.
        package fileprivate(set) var entries: [DecisionLog.Entry] = []
        package fileprivate(set) var verdicts: [Verdict] = []

        /// The decision log, to the byte.
        package var log: String { self.entries.map { "\($0)\n" }.joined() }
    }

    private init(_ policy: Policy, isRecording: Bool, read: @escaping PolicyReading) {
        self.arbiter = Arbiter(policy: policy, epoch: 0)
        self.isRecording = isRecording
        self.read = read
    }

    /// Runs a scenario from its start to the last thing that follows from it.
    ///
    /// - Parameters:
    ///   - policy: What it begins with; `nil`: what it says itself, or the built-in policy.
    ///   - read: Reads the policies that it holds.
    package static func run(
        _ scenario: Scenario, policy: Policy?, read: @escaping PolicyReading = { _ in nil }
    ) -> Outcome {
        var steps = scenario.steps[...]
        let first = Self.takeInput(&steps, isRecording: scenario.isRecording)
        var begin = policy
        if case .policy = first.first?.event {
            if policy == nil { begin = read(self.files(first)) }
        } else {
            steps = scenario.steps[...]
        }
        var runner = ScenarioRunner(begin ?? .builtIn, isRecording: scenario.isRecording, read: read)
        while !steps.isEmpty { runner.take(Self.takeInput(&steps, isRecording: scenario.isRecording)) }
        if !scenario.isRecording { runner.passTime(to: nil) }
        return runner.outcome
    }

    /// The steps that are one input.
    private static func takeInput(_ steps: inout ArraySlice<Scenario.Step>, isRecording: Bool) -> [Scenario.Step] {
        var input: [Scenario.Step] = []
        while let step = steps.first {
            guard let first = input.first else {
                input.append(steps.removeFirst())
                continue
            }
            // Hits of one time are of one sample, as people write them.
            let isOneSample =
                !isRecording && step.time == first.time && step.event.subject == .motion
                && first.event.subject == .motion
            guard step.isJoined || isOneSample else { break }
            input.append(steps.removeFirst())
        }
        return input
    }

    private static func files(_ input: [Scenario.Step]) -> [Scenario.File] {
        input.compactMap { if case .policy(let file) = $0.event { file } else { nil } }
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
        let (lastTrue, now, isRecording) = (self.lastTrue, self.now, self.isRecording)
        self.arbiter.take(
            input, at: now, lastTrue: { lastTrue[$0].map { isRecording ? $0 : min($0, now) } }, into: &actions)
        for action in actions {
            self.outcome.entries.append(self.log.entry(action, at: self.now) { handle in self.ids[handle] })
            switch action {
            case .deliver(let delivery): self.lastEpoch[delivery.app] = delivery.epoch
            case .verdict(let verdict): self.outcome.verdicts.append(verdict)
            case .repeated: break
            }
        }
    }

    // MARK: Events

    private mutating func take(_ input: [Scenario.Step]) {
        guard let first = input.first else { return }
        let time = Timestamp.zero + first.time
        if self.isRecording { self.now = time } else { self.passTime(to: time) }
        switch first.event {
        case .app(let id, let state, let proof):
            guard self.apps[id] == nil else { return }
            var facts = AppFacts(state: state, proof: proof)
            if !self.isRecording {
                facts.grants = self.arbiter.policy.settings(for: id).grants
                if state == .foreground { facts.lastUsed = time }
            }
            for step in input.dropFirst() { self.apply(step.event, to: &facts, at: time) }
            let handle = self.freeApps.popLast() ?? AppHandle(UInt32(truncatingIfNeeded: self.apps.count))
            self.apps[id] = handle
            self.ids[handle] = id
            self.tell(.app(handle, id, facts))
        case .state(let id, _), .activity(let id, _, _), .assertion(let id, _), .grants(let id, _), .proof(let id, _),
            .proven(let id, _), .used(let id, _):
            guard let app = self.apps[id], var facts = self.arbiter.facts(of: app) else { return }
            for step in input { self.apply(step.event, to: &facts, at: time) }
            self.tell(.facts(app, facts))
        case .locked, .power, .clock:
            for step in input { self.apply(step.event) }
            self.tell(.device(self.device))
        case .hit: self.tell(.hits(input.compactMap { self.hit($0.event, at: time) }))
        case .detector(let id, let facts): self.add(facts, to: id)
        case .removeDetector(let id, let name):
            guard let app = self.apps[id], let detector = self.detectors.removeValue(forKey: Key(app: app, name: name))
            else { return }
            self.tell(.removeDetector(detector))
            self.forget(detector)
        case .available(let id, let name, let isAvailable):
            guard let detector = self.detector(id, name) else { return }
            self.tell(.available(detector, isAvailable))
        case .answer(let id, let answer, let epoch):
            guard let app = self.apps[id], let epoch = epoch ?? self.lastEpoch[app] else { return }
            self.tell(.answer(app, epoch: epoch, answer))
        case .leave(let id):
            guard let app = self.apps.removeValue(forKey: id) else { return }
            self.tell(.leave(app))
            let gone = self.detectors.filter { $0.key.app == app }
            for key in gone.keys { self.detectors[key] = nil }
            for detector in gone.values.sorted() { self.forget(detector) }
            self.freeApps.append(app)
        case .policy: self.swap(Self.files(input))
        case .motion(let time): self.tell(.motion(Timestamp.zero + time))
        case .lastTrue(let id, let name, let time):
            guard let detector = self.detector(id, name) else { return }
            self.lastTrue[detector] = time.map { Timestamp.zero + $0 }
        case .end: if self.isRecording { self.tell(.motion(Timestamp(microseconds: .min))) }
        }
    }

    private func detector(_ id: AppID, _ name: String) -> DetectorID? {
        self.apps[id].flatMap { self.detectors[Key(app: $0, name: name)] }
    }

    /// Handles are used again; what is known of a condition is not.
    private mutating func forget(_ detector: DetectorID) {
        self.lastTrue[detector] = nil
        self.freeDetectors.append(detector)
    }

    private mutating func hit(_ event: Scenario.Event, at time: Timestamp) -> Hit? {
        guard case .hit(let app, let name, let peak, let lasting, let sample, let isClipped) = event,
            let detector = self.detector(app, name)
        else { return nil }
        if !self.isRecording { self.lastTrue[detector] = time + lasting }
        return Hit(
            detector: detector, time: sample.map { Timestamp.zero + $0 } ?? time, peak: peak, isClipped: isClipped)
    }

    private mutating func add(_ facts: DetectorFacts, to id: AppID) {
        guard let app = self.apps[id] else { return }
        let key = Key(app: app, name: facts.name)
        if !self.isRecording, let old = self.detectors[key] { self.tell(.removeDetector(old)) }
        let detector =
            self.detectors[key] ?? self.freeDetectors.popLast()
            ?? DetectorID(UInt32(truncatingIfNeeded: self.detectors.count))
        self.detectors[key] = detector
        self.lastTrue[detector] = nil
        self.tell(.detector(detector, app, facts))
    }

    /// Puts another policy in force. What it grants is granted from now on; a recording says that itself.
    private mutating func swap(_ files: [Scenario.File]) {
        guard let policy = self.read(files) else { return }
        self.tell(.policy(policy))
        guard !self.isRecording else { return }
        for (id, app) in self.apps.sorted(by: { $0.value < $1.value }) {
            guard var facts = self.arbiter.facts(of: app) else { continue }
            facts.grants = policy.settings(for: id).grants
            self.tell(.facts(app, facts))
        }
    }

    private func apply(_ event: Scenario.Event, to facts: inout AppFacts, at time: Timestamp) {
        switch event {
        case .state(_, let state):
            facts.state = state
            if state == .foreground, !self.isRecording { facts.lastUsed = time }
        case .activity(_, let mode, let isRunning):
            let one = WordSet([mode])
            facts.activities = isRunning ? facts.activities.union(one) : facts.activities.subtracting(one)
        case .assertion(_, let isHeld): facts.hasAssertion = isHeld
        case .grants(_, let modes): facts.grants = modes
        case .proof(_, let proof): facts.proof = proof
        case .proven(_, let isProven): facts.isProvenEnough = isProven
        case .used(_, let used): facts.lastUsed = used.map { Timestamp.zero + $0 } ?? Timestamp(microseconds: .min)
        case .app, .detector, .removeDetector, .available, .locked, .power, .clock, .hit, .answer, .leave, .policy,
            .motion, .lastTrue, .end:
            break
        }
    }

    private mutating func apply(_ event: Scenario.Event) {
        switch event {
        case .locked(let isLocked): self.device.isLocked = isLocked
        case .power(let power): self.device.power = power
        case .clock(let minute): self.device.minuteOfWeek = minute
        case .app, .detector, .removeDetector, .available, .state, .activity, .assertion, .grants, .proof, .proven,
            .used, .hit, .answer, .leave, .policy, .motion, .lastTrue, .end:
            break
        }
    }
}
