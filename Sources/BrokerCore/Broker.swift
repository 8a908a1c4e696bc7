package import Arbitration
import Background
package import Detection
package import Motion

/// What jostle-brokerd does, as a value: inputs in, actions out. No I/O, no clock.
///
/// It only says which steps an input means, and in which order. Who listens to what, `Listeners` know; what is due to whom,
/// `Post`; and what follows from a step, the `Clerk` carries out.
package struct Broker: ~Copyable {
    package let limits: BrokerLimits
    private var clerk: Clerk

    /// - Parameters:
    ///   - policy: who may have events, and who competes for them.
    ///   - epoch: where epochs begin; at least the wall clock in microseconds, so that a restart never repeats one.
    ///   - batchLatency: how long samples may be held back so that several travel together; events are late by as much.
    ///   - clips: how much motion is kept around what detectors hit, or nearly; `nil`: none.
    ///   - keeper: the user behind the broker, who may read about apps that are nobody's yet.
    package init(
        policy: Policy = .builtIn, limits: BrokerLimits = BrokerLimits(), epoch: UInt64,
        batchLatency: TimeSpan = .zero, clips: ClipTerms? = nil, keeper: UInt32 = UserShares.root
    ) {
        self.limits = limits
        let hearing = Hearing(limits, policy, epoch: epoch, batchLatency: batchLatency, clips: clips)
        self.clerk = Clerk(limits, hearing, keeper: keeper)
    }

    // MARK: Inputs

    /// Takes an input, and appends what is to be done about it.
    ///
    /// The one door, live and offline. Beside it stand only `samples` that are lent, and what became of an event (`sent`).
    @discardableResult
    package mutating func apply(
        _ input: BrokerInput, at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> BrokerAnswer {
        var answer = BrokerAnswer()
        self.clerk.post.now = now
        switch input {
        case .register(let app, let id, let entrance, let user):
            try self.register(app, id, entrance, user, at: now, &actions)
        case .leave(let app): self.leave(app, at: now, &actions)
        case .install(let app, let id, let entrance, let installation, let user):
            try self.install(app, id, entrance, installation, user, at: now, &actions)
        case .uninstall(let app): self.uninstall(app, at: now, &actions)
        case .addDetectors(let app, let requests):
            answer.effective = try self.addDetectors(requests, of: app, at: now, &actions)
        case .removeDetectors(let app, let names):
            try self.clerk.listeners.remove(names, of: app, at: now)
            self.detectorsChanged(at: now, &actions)
            self.clerk.steer(&actions)
        case .clean: if self.clerk.listeners.clean() { self.clerk.steer(&actions) }
        case .sensorAppeared(let sensor): self.clerk.appear(sensor, at: now, &actions)
        case .sensorsLost:
            self.clerk.listeners.hearing.disappear(at: now)
            self.clerk.perform(&actions)
            self.clerk.cutClips(&actions)
        case .claim(let sensor, let news):
            self.clerk.listeners.hearing.take(news, of: sensor, at: now)
            self.clerk.tellNews(of: sensor, at: now, &actions)
        case .silence: self.clerk.checkSilence(at: now, &actions)
        case .paceChanged(let sensor, let pace, let resting):
            self.clerk.listeners.hearing.paceChanged(sensor, pace, resting, at: now)
            self.clerk.tellNews(of: sensor, at: now, &actions)
        case .samples(let sensor, let first, let block):
            self.samples(sensor, first: first, times: block.times.span, values: block.values.span, at: now, &actions)
        case .mute(let span): try self.clerk.listeners.mute(for: span, at: now)
        case .pause(let isPaused):
            guard isPaused != self.sensing.isPaused else { break }
            self.clerk.listeners.hearing.pause(isPaused)
            self.clerk.steer(&actions)
            self.clerk.cutClips(&actions)
        case .policy(let policy, let prepared): self.clerk.swap(policy, prepared, at: now, &actions)
        case .life(let input):
            guard let input = try self.clerk.listeners.check(input) else { break }
            try self.clerk.ask(input, at: now, &actions)
        case .task(let input): try self.clerk.task(input, at: now, &actions)
        case .push(let app):
            self.clerk.tell(.launch(try self.clerk.listeners.checkPush(to: app, at: now)), at: now, &actions)
        case .answered(let launch, let answer): self.clerk.answered(launch, answer, at: now, &actions)
        case .failed(let launch, let failure):
            self.clerk.tell(.launched(launch.app, launch.number, .failed(failure)), at: now, &actions)
        case .answer(let app, let event, let answer):
            try self.clerk.answer(event, answer, of: app, at: now, &actions)
        case .subscribe(let app, let since):
            guard self.registry.has(app) else { throw .unknownClient }
            let count = self.clerk.post.change(app, &actions) { $0.subscribe(since: since, at: now, &$1) }
            answer.kept = count ?? 0
        case .unsent(let app, let event):
            self.clerk.post.change(app, &actions) { $0.takeBack(event, at: now, &$1) }
        case .unsentMark(let app, let mark): self.clerk.post.change(app, &actions) { queue, _ in queue.takeBack(mark) }
        case .room(let app, let bytes):
            self.clerk.post.change(app, &actions) { $0.resume(at: now, room: bytes, &$1) }
        case .persisted(let event): self.clerk.post.persisted(event)
        case .restored(let events): self.clerk.restore(events, at: now, &actions)
        case .tick: self.clerk.tick(at: now, &actions)
        }
        return answer
    }

    /// Samples arrived; the columns are lent, so that the hot path copies nothing.
    package mutating func samples(
        _ sensor: String, first: UInt64, times: Span<Int64>, values: Span<Double>, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        self.clerk.post.now = now
        guard let (stream, isHeardAgain) = self.clerk.listeners.hearing.begin(sensor, first: first, times, at: now)
        else { return }
        if isHeardAgain { self.clerk.tellNews(of: sensor, at: now, &actions) }
        self.clerk.listeners.hearing.process(stream, times, values, at: now)
        self.clerk.perform(&actions)
        let sensor = self.clerk.listeners.hearing.sensing.dueClip(of: stream)
        if let sensor { actions.append(.clip(sensor: sensor)) }
    }

    // MARK: Clips

    /// Puts the clip of a sensor that is due into memory that is lent. Returns whether anything of it is to be kept.
    package mutating func cutClip(of sensor: String, into clip: inout MotionClip) -> Bool {
        self.clerk.listeners.hearing.cutClip(of: sensor, into: &clip)
    }

    /// Leaves what is in the making out of clips: of one user, or of all.
    package mutating func forgetClips(of user: UInt32?) {
        self.clerk.listeners.hearing.forgetMoments { user == nil || $0.user == user }
    }

    // MARK: Apps

    private mutating func register(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ user: UInt32, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        if let known = self.registry[app] {
            guard known.id == id, !known.isConnected else { return }
            self.pass(app, to: user, at: now, &actions)
            self.clerk.listeners.connect(app, entrance, at: now)
        } else {
            try self.enter(app, id, entrance, user, payer: user, at: now, &actions)
        }
        self.clerk.perform(&actions)
    }

    private mutating func enter(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ user: UInt32?, payer: UInt32, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        let id = try self.clerk.listeners.enter(app, id, entrance, user, payer: payer, at: now)
        self.clerk.post.open(app, id, user, keeping: self.clerk.listeners.queueBytes(of: id), at: now, &actions)
    }

    /// An app is another user's than it was, or the first one's whose it is.
    private mutating func pass(
        _ app: AppHandle, to user: UInt32, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard let known = self.registry[app], known.user != user else { return }
        let bytes = self.clerk.listeners.queueBytes(of: known.id)
        self.clerk.post.pass(app, from: known.user, to: user, keeping: bytes, at: now, &actions)
        self.clerk.listeners.pass(app, to: user)
    }

    /// The client left the bus. What is installed of its app stays.
    private mutating func leave(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        guard let known = self.registry[app] else { return }
        if known.isInstalled {
            self.disconnect(app, at: now, &actions)
        } else {
            self.forget(app, at: now, &actions)
        }
        self.clerk.left(known.owner, at: now, &actions)
    }

    private mutating func disconnect(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.clerk.listeners.disconnect(app, at: now)
        // Before anything else is due to it: what it was sent and did not answer goes first.
        self.clerk.post.detach(app, &actions)
        self.clerk.perform(&actions)
        self.clerk.listeners.keepInstalled(of: app, at: now)
        self.dropMail(at: now, &actions)
        self.clerk.wishLaunch(of: app, at: now)
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    /// Forgets an app, whose number may be used again.
    private mutating func forget(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        guard let known = self.registry[app] else { return }
        // First of all, so that what it leaves goes to others while all is still known.
        self.clerk.tell(.leave(app), at: now, &actions)
        // Who has it now is settled: what is left is its own.
        self.clerk.post.close(app, &actions)
        self.clerk.listeners.forget(app)
        self.clerk.wishLaunch(ofAbsent: known.id, at: now)
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    /// - Parameter user: Whose the app is, should it be nobody's yet.
    private mutating func install(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ installation: Installation, _ user: UInt32?,
        at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        let isNew = !self.registry.has(app)
        if isNew {
            var absent = entrance
            absent.isConnected = false
            try self.enter(app, id, absent, user, payer: installation.payer, at: now, &actions)
        }
        do throws(Refusal) {
            try self.clerk.listeners.install(installation, of: app, at: now)
        } catch {
            self.clerk.perform(&actions)
            if isNew { self.forget(app, at: now, &actions) }
            throw error
        }
        self.dropMail(at: now, &actions)
        if let user, self.registry[app]?.user == nil { self.pass(app, to: user, at: now, &actions) }
        if !isNew { self.clerk.listeners.describe(app, entrance, at: now) }
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    /// The file of an app is gone, and with it what that gave, also to one that is on the bus.
    private mutating func uninstall(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        guard let known = self.registry[app] else { return }
        guard known.isConnected else { return self.forget(app, at: now, &actions) }
        self.clerk.listeners.uninstall(app, at: now)
        self.dropMail(at: now, &actions)
        self.clerk.listeners.describe(app, AppEntrance(declared: .none), at: now)
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    // MARK: Detectors

    private mutating func addDetectors(
        _ requests: [DetectorRequest], of app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> [EffectiveDetector] {
        let compiled = try self.clerk.listeners.add(requests, of: app, at: now)
        self.detectorsChanged(at: now, &actions)
        // Who says what it listens to wants to hear it, and what was kept for it first.
        self.clerk.post.change(app, &actions) { $0.listen(at: now, &$1) }
        self.clerk.steer(&actions)
        return compiled.map { self.sensing.effective($0) }
    }

    private mutating func detectorsChanged(at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.dropMail(at: now, &actions)
        self.clerk.perform(&actions)
    }

    /// Throws away what detectors caused that are gone.
    private mutating func dropMail(at now: Timestamp, _ actions: inout [BrokerAction]) {
        for gone in self.clerk.listeners.takeGone() {
            self.clerk.post.remove(detector: gone.detector, of: gone.app, at: now, &actions)
        }
    }

    // MARK: What became of events

    // Beside the one door, as they come with every event and little follows from them.

    /// An event went out, and appends what follows. Returns whose it is.
    @discardableResult
    package mutating func sent(_ app: AppHandle, _ event: Event, _ actions: inout [BrokerAction]) -> AppID? {
        self.clerk.post.sent(app, event, &actions)
        return self.clerk.listeners.registry.id(of: app)
    }

    /// A mark went out.
    package mutating func sent(_ app: AppHandle, _ mark: Mark) { self.clerk.post.sent(app, mark) }

    /// Gives out no epoch up to this one any more: others may have.
    package mutating func skipEpochs(upTo epoch: UInt64) { self.clerk.listeners.hearing.skipEpochs(upTo: epoch) }

    /// Gives back memory that was needed for those who have gone.
    package mutating func shrink() { self.clerk.shrink() }

    // MARK: Questions with every event

    // Mutating so that rooms are looked at where they are: what only reads copies them, as far as it looks.

    /// Whether what would be sent to a client now would only come back.
    package mutating func isHeld(_ app: AppHandle) -> Bool { self.clerk.post.mailboxes.isHeld(app) }

    /// What is to be told before an input: whether tasks wait for a time of the wall clock, and whether the system is awake as
    /// far as was told.
    package mutating func awaited() -> (wallClock: Bool, isAwake: Bool) {
        (self.clerk.work.tasks.pendingCount > 0, !self.clerk.listeners.hearing.outlook.isAsleep)
    }

    /// What is to be seen to after an input.
    package mutating func due() -> DueAfterInput { self.clerk.due() }

    // MARK: Other questions

    // Whoever asks for a room gets a copy of it. (Lent by `_read`, Swift 6.3's optimiser let go of what it had not taken: `Status` ended the
    // broker.)

    package var registry: Registry { self.clerk.listeners.registry }
    package var sensing: Sensing { self.clerk.listeners.hearing.sensing }
    package var arbiter: Arbiter { self.clerk.listeners.hearing.arbiter }
    package var mailboxes: Mailboxes { self.clerk.post.mailboxes }
    package var records: Records { self.clerk.post.records }
    package var work: Work { self.clerk.work }

    /// What there is for all, and who has it, as it is checked.
    package var usage: [LimitUsage] {
        let listeners = self.clerk.listeners
        let single = [
            LimitUsage("sessions", listeners.sessionShares), self.clerk.work.tasks.usage,
            listeners.hearing.arbiter.launches.usage,
        ]
        return listeners.registry.usage + listeners.hearing.sensing.usage + self.clerk.post.mailboxes.usage + single
    }

    // MARK: Questions about one app

    // Lists ask them for each of their rows, and no room is copied for that.

    package func app(_ app: AppHandle) -> App? { self.clerk.listeners.registry[app] }

    /// What became of it.
    package func tally(of app: AppHandle) -> AppTally? { self.clerk.post.tally(of: app) }

    /// Looks of its detectors that their rests let through.
    package func hits(of app: AppHandle) -> UInt64 { self.clerk.listeners.hearing.sensing.hits(of: app) }

    /// What is due to it.
    package func mailbox(of app: AppHandle) -> EventQueue? { self.clerk.post.mailboxes[app] }

    package func facts(of app: AppHandle) -> AppFacts? { self.clerk.listeners.hearing.arbiter.facts(of: app) }

    // MARK: What happened

    /// From now on what the arbiter is given and what it decides is kept, until somebody takes it. Nobody may have registered yet,
    /// or what came before would be missing.
    package mutating func keepSteps() {
        guard self.registry.isEmpty else { return }
        self.clerk.listeners.hearing.keepSteps()
    }

    /// Takes that.
    package mutating func takeSteps() -> [ArbiterStep] { self.clerk.listeners.hearing.takeSteps() }
}
