package import Arbitration
import Motion

/// Runs a scenario through the arbiter in virtual time.
///
/// In one that somebody wrote there is one clock: motion passes with it, and what falls due happens in between. In a recording
/// sample time passes as it says, because live it is behind the clock, and by how much differs.
package struct ScenarioRunner {
    /// Makes a policy of its files; none: the built-in policy. `nil` when they say none.
    package typealias PolicyReading = ([Scenario.File]) -> Policy?
    /// Is told how many steps of how many are done.
    package typealias Watching = (_ done: Int, _ of: Int) -> Void

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
    private var fates = HitFates()
    private var now = Timestamp.zero
    /// Numbers assertions and activities that have none in the scenario.
    private var lastNumber: UInt64 = 0

    private struct Key: Hashable {
        var app: AppHandle
        var name: String
    }

    /// What came of a scenario.
    package struct Outcome: Sendable {
        /// The same for the same policy and scenario, always.
        package fileprivate(set) var entries: [DecisionLog.Entry] = []
        package fileprivate(set) var verdicts: [Verdict] = []
        /// What became of each hit, in their order.
        package fileprivate(set) var fates: [HitFate] = []

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
    ///   - onStep: Is told how far it is, with each input.
    package static func run(
        _ scenario: Scenario, policy: Policy?, read: @escaping PolicyReading = { _ in nil }, onStep: Watching? = nil
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
        while !steps.isEmpty {
            runner.take(Self.takeInput(&steps, isRecording: scenario.isRecording))
            onStep?(scenario.steps.count - steps.count, scenario.steps.count)
        }
        if !scenario.isRecording { runner.passTime(to: nil) }
        runner.outcome.fates = runner.fates.all
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
            self.fates.note(action)
            let entry = self.log.entry(action, at: self.now) { handle in self.ids[handle] }
            if let entry { self.outcome.entries.append(entry) }
            switch action {
            case .deliver(let delivery): self.lastEpoch[delivery.app] = delivery.epoch
            case .verdict(let verdict): self.outcome.verdicts.append(verdict)
            case .repeated, .life, .assertion, .activity, .session, .launch: break
            }
        }
    }

    // MARK: Events

    private mutating func take(_ input: [Scenario.Step]) {
        guard let first = input.first else { return }
        let time = Timestamp.zero + first.time
        if self.isRecording { self.now = time } else { self.passTime(to: time) }
        switch first.event {
        case .app(let id, let entrance):
            guard self.apps[id] == nil else { return }
            let handle = self.freeApps.popLast() ?? AppHandle(UInt32(truncatingIfNeeded: self.apps.count))
            self.apps[id] = handle
            self.ids[handle] = id
            self.tell(.app(handle, id, entrance))
        case .back(let id, let entrance): if let app = self.apps[id] { self.tell(.back(app, entrance)) }
        case .away(let id): if let app = self.apps[id] { self.tell(.away(app)) }
        case .state(let id, let state): if let app = self.apps[id] { self.tell(.told(app, state)) }
        case .foreground(let report): self.tell(.foreground(report))
        case .frozen(let apps):
            let testimony = FocusTestimony.frozen(by: "")
            self.tell(.frozen(Dictionary(uniqueKeysWithValues: apps.map { ($0, testimony) })))
        case .playing(let apps): self.tell(.playing(apps))
        case .activity(let id, let mode, let isRunning, let number, let session):
            if let app = self.apps[id] { self.activity(app, mode, isRunning, number, session) }
        case .assertion(let id, let step): if let app = self.apps[id] { self.assertion(app, step) }
        case .task(let id, let step): if let app = self.apps[id] { self.tell(.task(app, step)) }
        case .sleep(let begins): self.tell(.sleep(begins))
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
        case .launch(let id, let reason, let strength, let lasting, let user):
            self.tell(.launch(LaunchRequest(id, reason, strength: strength, ends: time + lasting, of: user)))
        case .launched(let id, let result, let number):
            guard let number = number ?? self.arbiter.launches.launch(of: id)?.number else { return }
            self.tell(.launched(id, number, result))
        case .leave(let id):
            guard let app = self.apps.removeValue(forKey: id) else { return }
            self.tell(.leave(app))
            let gone = self.detectors.filter { $0.key.app == app }
            for key in gone.keys { self.detectors[key] = nil }
            for detector in gone.values.sorted() { self.forget(detector) }
            self.freeApps.append(app)
        case .policy: self.swap(Self.files(input))
        case .motion(let time): self.tell(.motion(Timestamp.zero + time))
        case .rewind(let time): self.tell(.rewind(Timestamp.zero + time))
        case .patience(let begins): self.tell(.patience(begins))
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
        guard case .hit(let app, let name, let peak, let lasting, let sample, let isClipped, let note) = event,
            let detector = self.detector(app, name)
        else { return nil }
        if !self.isRecording { self.lastTrue[detector] = time + lasting }
        let hit = Hit(
            detector: detector, time: sample.map { Timestamp.zero + $0 } ?? time, peak: peak, isClipped: isClipped,
            note: note)
        if let handle = self.apps[app] {
            let groups = self.arbiter.groups(of: detector).map { self.arbiter.policy.groups[Int($0)].name }
            self.fates.begin(hit, of: handle, app, detector: name, groups: groups)
        }
        return hit
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

    /// Puts another policy in force.
    private mutating func swap(_ files: [Scenario.File]) {
        if let policy = self.read(files) { self.tell(.policy(policy)) }
    }

    // MARK: What apps do

    private mutating func nextNumber() -> UInt64 {
        self.lastNumber += 1
        return self.lastNumber
    }

    private mutating func activity(
        _ app: AppHandle, _ mode: BackgroundMode, _ isRunning: Bool, _ number: UInt64?, _ session: SessionRequest?
    ) {
        if isRunning {
            let number = number ?? self.nextNumber()
            self.tell(.beginActivity(app, ActivityID(number), mode, session))
        } else {
            let running = self.arbiter.life(of: app)?.activities ?? []
            let old = number.map { ActivityID($0) } ?? running.first { $0.mode == mode }?.id
            if let old { self.tell(.endActivity(app, old)) }
        }
    }

    private mutating func assertion(_ app: AppHandle, _ step: Scenario.AssertionStep) {
        switch step {
        case .begin(let name, let warning, let number): self.begin(app, name, warning, number)
        case .end(let name, let number): self.end(app, name, number)
        case .renew(let name, let below):
            if let below {
                guard let remaining = self.arbiter.remaining(of: app, at: self.now), remaining < below else { return }
            }
            self.end(app, name, nil)
            self.begin(app, name, AssertionRequest.standardWarning, nil)
        }
    }

    private mutating func begin(_ app: AppHandle, _ name: String?, _ warning: TimeSpan, _ number: UInt64?) {
        let id = AssertionID(number ?? self.nextNumber())
        self.tell(.beginAssertion(app, AssertionRequest(id, name ?? "-", warning: warning)))
    }

    private mutating func end(_ app: AppHandle, _ name: String?, _ number: UInt64?) {
        let held = self.arbiter.life(of: app)?.assertions ?? []
        let old = number.map { AssertionID($0) } ?? held.first { name == nil || $0.name == name }?.id
        if let old { self.tell(.endAssertion(app, old)) }
    }

    // MARK: The device

    private mutating func apply(_ event: Scenario.Event) {
        switch event {
        case .locked(let isLocked): self.device.isLocked = isLocked
        case .power(let power): self.device.power = power
        case .clock(let minute): self.device.minuteOfWeek = minute
        case .app, .back, .away, .detector, .removeDetector, .available, .state, .foreground, .frozen, .playing,
            .activity,
            .assertion, .task, .sleep, .hit,
            .answer, .launch, .launched, .leave, .policy, .motion, .rewind, .patience, .lastTrue, .end:
            break
        }
    }
}
