package import Arbitration
import Background
package import Detection
package import Motion

/// What jostle-brokerd does, as a value: inputs in, actions out. No I/O, no clock.
///
/// It only says whose an input is. Who comes and goes, the `Reception` sees to; who listens to what, `Listeners` know; what is
/// due to whom, `Post`; and what follows from a step, the `Clerk` carries out.
package struct Broker: ~Copyable {
    package let limits: BrokerLimits
    private var reception: Reception

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
        self.reception = Reception(Clerk(limits, hearing, keeper: keeper))
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
        self.reception.clerk.post.now = now
        switch input {
        case .register(let app, let id, let entrance, let user):
            try self.reception.register(app, id, entrance, user, at: now, &actions)
        case .leave(let app): self.reception.leave(app, at: now, &actions)
        case .install(let app, let id, let entrance, let installation, let user):
            try self.reception.install(app, id, entrance, installation, user, at: now, &actions)
        case .uninstall(let app): self.reception.uninstall(app, at: now, &actions)
        case .addDetectors(let app, let requests):
            let compiled = try self.reception.add(requests, of: app, at: now, &actions)
            answer.effective = compiled.map { self.sensing.effective($0) }
        case .removeDetectors(let app, let names):
            try self.reception.remove(names, of: app, at: now, &actions)
        case .clean: if self.reception.clerk.listeners.clean() { self.reception.clerk.steer(&actions) }
        case .sensorAppeared(let sensor): self.reception.clerk.appear(sensor, at: now, &actions)
        case .sensorsLost:
            self.reception.clerk.listeners.hearing.disappear(at: now)
            self.reception.clerk.perform(&actions)
            self.reception.clerk.cutClips(&actions)
        case .claim(let sensor, let news):
            self.reception.clerk.listeners.hearing.take(news, of: sensor, at: now)
            self.reception.clerk.tellNews(of: sensor, at: now, &actions)
        case .silence: self.reception.clerk.checkSilence(at: now, &actions)
        case .paceChanged(let sensor, let pace, let resting):
            self.reception.clerk.listeners.hearing.paceChanged(sensor, pace, resting, at: now)
            self.reception.clerk.tellNews(of: sensor, at: now, &actions)
        case .samples(let sensor, let first, let block):
            self.samples(sensor, first: first, times: block.times.span, values: block.values.span, at: now, &actions)
        case .mute(let span): try self.reception.clerk.listeners.mute(for: span, at: now)
        case .pause(let isPaused):
            guard isPaused != self.sensing.isPaused else { break }
            self.reception.clerk.listeners.hearing.pause(isPaused)
            self.reception.clerk.steer(&actions)
            self.reception.clerk.cutClips(&actions)
        case .policy(let policy, let prepared): self.reception.clerk.swap(policy, prepared, at: now, &actions)
        case .life(let input):
            guard let input = try self.reception.clerk.listeners.check(input) else { break }
            try self.reception.clerk.ask(input, at: now, &actions)
        case .task(let input): try self.reception.clerk.task(input, at: now, &actions)
        case .push(let app):
            let wish = try self.reception.clerk.listeners.checkPush(to: app, at: now)
            self.reception.clerk.tell(.launch(wish), at: now, &actions)
            answer.wish = wish
        case .answered(let launch, let answer): self.reception.clerk.answered(launch, answer, at: now, &actions)
        case .failed(let launch, let failure):
            self.reception.clerk.tell(.launched(launch.app, launch.number, .failed(failure)), at: now, &actions)
        case .needless(let launch):
            self.reception.clerk.tell(.launched(launch.app, launch.number, .needless), at: now, &actions)
        case .postponed(let launch):
            self.reception.clerk.tell(.launched(launch.app, launch.number, .postponed), at: now, &actions)
        case .answer(let app, let event, let answer):
            try self.reception.clerk.answer(event, answer, of: app, at: now, &actions)
        case .subscribe(let app, let since):
            answer.kept = try self.reception.clerk.subscribe(app, since: since, at: now, &actions)
        case .unsent(let app, let event):
            self.reception.clerk.post.change(app, &actions) { $0.takeBack(event, at: now, &$1) }
        case .unsentMark(let app, let mark):
            self.reception.clerk.post.change(app, &actions) { queue, _ in queue.takeBack(mark) }
        case .room(let app, let bytes):
            self.reception.clerk.post.change(app, &actions) { $0.resume(at: now, room: bytes, &$1) }
        case .persisted(let event): self.reception.clerk.post.persisted(event)
        case .restored(let events): self.reception.clerk.restore(events, at: now, &actions)
        case .tick: self.reception.clerk.tick(at: now, &actions)
        }
        return answer
    }

    /// Samples arrived; the columns are lent, so that the hot path copies nothing.
    package mutating func samples(
        _ sensor: String, first: UInt64, times: Span<Int64>, values: Span<Double>, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        self.reception.clerk.post.now = now
        let begun = self.reception.clerk.listeners.hearing.begin(sensor, first: first, times, at: now)
        guard let (stream, isHeardAgain) = begun else { return }
        if isHeardAgain { self.reception.clerk.tellNews(of: sensor, at: now, &actions) }
        self.reception.clerk.listeners.hearing.process(stream, times, values, at: now)
        self.reception.clerk.perform(&actions)
        let sensor = self.reception.clerk.listeners.hearing.sensing.dueClip(of: stream)
        if let sensor { actions.append(.clip(sensor: sensor)) }
    }

    // MARK: Clips

    /// Puts the clip of a sensor that is due into memory that is lent. Returns whether anything of it is to be kept.
    package mutating func cutClip(of sensor: String, into clip: inout MotionClip) -> Bool {
        self.reception.clerk.listeners.hearing.cutClip(of: sensor, into: &clip)
    }

    /// Leaves what is in the making out of clips: of one user, or of all.
    package mutating func forgetClips(of user: UInt32?) {
        self.reception.clerk.listeners.hearing.forgetMoments { user == nil || $0.user == user }
    }

    // MARK: What became of events

    // Beside the one door, as they come with every event and little follows from them.

    /// An event went out, and appends what follows. Returns whose it is.
    @discardableResult
    package mutating func sent(_ app: AppHandle, _ event: Event, _ actions: inout [BrokerAction]) -> AppID? {
        self.reception.clerk.post.sent(app, event, &actions)
        return self.reception.clerk.listeners.registry.id(of: app)
    }

    /// A mark went out.
    package mutating func sent(_ app: AppHandle, _ mark: Mark) { self.reception.clerk.post.sent(app, mark) }

    /// Somebody is called with what an app is launched for; or nobody has been until now, as while its program is being started, and
    /// nobody is going to be where the launch fails then. What is not said to wait may have been seen.
    package mutating func setCalled(_ launch: Launch, _ isCalled: Bool) {
        guard case .motion = launch.reason, self.reception.clerk.listeners.hearing.arbiter.isCurrent(launch) else {
            return
        }
        self.reception.clerk.post.setCalled(launch.app, isCalled)
    }

    /// Somebody is about to be called with what an app is launched for, of which something may be another app's by now. Returns what is
    /// left of it; `nil`: nothing, and then nobody need be called.
    package mutating func handOver(_ handover: Handover, of launch: Launch) -> Handover? {
        guard case .motion = launch.reason, self.reception.clerk.listeners.hearing.arbiter.isCurrent(launch) else {
            return handover
        }
        return self.reception.clerk.post.handOver(handover, to: launch.app)
    }

    /// Gives out no epoch up to this one any more: others may have.
    package mutating func skipEpochs(upTo epoch: UInt64) {
        self.reception.clerk.listeners.hearing.skipEpochs(upTo: epoch)
    }

    /// Gives back memory that was needed for those who have gone.
    package mutating func shrink() { self.reception.clerk.shrink() }

    // MARK: Questions with every event

    // Mutating so that rooms are looked at where they are: what only reads copies them, as far as it looks.

    /// Whether what would be sent to a client now would only come back.
    package mutating func isHeld(_ app: AppHandle) -> Bool { self.reception.clerk.post.mailboxes.isHeld(app) }

    /// What is to be told before an input: whether tasks wait for a time of the wall clock, and whether the system is awake as
    /// far as was told.
    package mutating func awaited() -> (wallClock: Bool, isAwake: Bool) {
        (self.reception.clerk.work.tasks.pendingCount > 0, !self.reception.clerk.listeners.hearing.outlook.isAsleep)
    }

    /// What is to be seen to after an input.
    package mutating func due() -> DueAfterInput { self.reception.clerk.due() }

    // MARK: Other questions

    // Whoever asks for a room gets a copy of it. (Lent by `_read`, Swift 6.3's optimiser let go of what it had not taken: `Status` ended the
    // broker.)

    package var registry: Registry { self.reception.clerk.listeners.registry }
    package var sensing: Sensing { self.reception.clerk.listeners.hearing.sensing }
    package var arbiter: Arbiter { self.reception.clerk.listeners.hearing.arbiter }
    package var mailboxes: Mailboxes { self.reception.clerk.post.mailboxes }
    package var records: Records { self.reception.clerk.post.records }
    package var work: Work { self.reception.clerk.work }

    /// What there is for all, and who has it, as it is checked.
    package var usage: [LimitUsage] {
        let listeners = self.reception.clerk.listeners
        let single = [
            LimitUsage("sessions", listeners.sessionShares), self.reception.clerk.work.tasks.usage,
            listeners.hearing.arbiter.launches.usage,
        ]
        return listeners.registry.usage + listeners.hearing.sensing.usage + self.reception.clerk.post.mailboxes.usage
            + single
    }

    // MARK: Questions about one app

    // Lists ask them for each of their rows, and no room is copied for that.

    package func app(_ app: AppHandle) -> App? { self.reception.clerk.listeners.registry[app] }

    /// What became of it.
    package func tally(of app: AppHandle) -> AppTally? { self.reception.clerk.post.tally(of: app) }

    /// Looks of its detectors that their rests let through.
    package func hits(of app: AppHandle) -> UInt64 { self.reception.clerk.listeners.hearing.sensing.hits(of: app) }

    /// What is due to it.
    package func mailbox(of app: AppHandle) -> EventQueue? { self.reception.clerk.post.mailboxes[app] }

    package func facts(of app: AppHandle) -> AppFacts? { self.reception.clerk.listeners.hearing.arbiter.facts(of: app) }

    // MARK: What happened

    /// From now on what the arbiter is given and what it decides is kept, until somebody takes it. Nobody may have registered yet,
    /// or what came before would be missing.
    package mutating func keepSteps() {
        guard self.registry.isEmpty else { return }
        self.reception.clerk.listeners.hearing.keepSteps()
    }

    /// Takes that.
    package mutating func takeSteps() -> [ArbiterStep] { self.reception.clerk.listeners.hearing.takeSteps() }
}
