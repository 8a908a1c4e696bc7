import Arbitration
import Background
import Motion

/// Carries out what the arbiter decides, with the mailboxes, launches and tasks, until nothing more follows.
///
/// What follows may be something that the arbiter has to hear of. So it is the one who owns all rooms, and routes between them.
struct Clerk {
    /// Who listens to what, and what is decided about it.
    var listeners: Listeners
    /// What is due to apps, and what became of them.
    var post: Post
    /// Background work, whether its apps are here or not.
    private(set) var work = Work()

    init(_ limits: BrokerLimits, _ hearing: Hearing, keeper: UInt32) {
        self.listeners = Listeners(limits, hearing, keeper: keeper)
        self.post = Post(limits, keeper: keeper)
    }

    private var now: Timestamp { self.listeners.hearing.outlook.arrivalTime }

    // MARK: Decisions

    /// Gives the arbiter an input, and carries out what it decides.
    mutating func tell(_ input: ArbiterInput, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.listeners.hearing.tell(input, at: arrival)
        self.perform(&actions)
    }

    /// The same for an input that the arbiter answers.
    mutating func ask(
        _ input: ArbiterInput, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        self.listeners.hearing.tell(input, at: arrival)
        let refusal = self.listeners.hearing.refusal
        self.perform(&actions)
        if let refusal { throw .life(refusal) }
    }

    /// Carries out what the arbiter has decided.
    mutating func perform(_ actions: inout [BrokerAction]) {
        // What follows here comes at the same time.
        let now = self.now
        while true {
            // As it comes, and not by a name: that copied what large decisions carry.
            switch self.listeners.hearing.next() {
            case nil:
                self.countLeftOut()
                return self.post.settle(at: now, &actions)
            case .deliver(let delivery)?: self.deliver(delivery, at: now, &actions)
            case .verdict(let verdict)?: self.keep(verdict, at: now, &actions)
            case .repeated(let app, let hit, let epoch, let reason)?:
                self.post.count(reason, of: app, epoch: epoch, at: hit.time)
            case .life(let app, let effect)?:
                actions.append(.life(app, effect))
                if case .changed(let change) = effect { self.follow(change, of: app, at: now, &actions) }
            case .session(let effect)?: actions.append(.session(effect.key.app, effect))
            case .launch(let effect)?: self.follow(effect, at: now, &actions)
            case .assertion?, .activity?: break
            }
        }
    }

    /// Counts hits that were too many to be heard as refused by a quota.
    private mutating func countLeftOut() {
        for leftOut in self.listeners.hearing.takeLeftOut() {
            let epoch = self.listeners.hearing.arbiter.lastEpoch
            self.post.count(.quota, of: leftOut.app, epoch: epoch, at: leftOut.time, times: leftOut.count)
        }
    }

    private mutating func deliver(_ delivery: Delivery, at now: Timestamp, _ actions: inout [BrokerAction]) {
        // A detector that was removed in the meantime makes no events.
        guard let origin = self.listeners.hearing.sensing.origin(of: delivery.hit, heardAt: now),
            let owner = self.listeners.registry.owner(of: delivery.app)
        else { return }
        self.post.deliver(delivery, origin, to: owner, at: now, &actions)
    }

    private mutating func keep(_ verdict: consuming Verdict, at now: Timestamp, _ actions: inout [BrokerAction]) {
        guard let owner = self.listeners.registry.owner(of: verdict.app) else { return }
        self.post.keep(verdict, of: owner, at: now, &actions)
    }

    /// An app that cannot receive keeps what is due to it; one that can again gets it.
    private mutating func reach(
        _ app: AppHandle, in state: AppState, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.post.change(app, &actions) { $0.setReachable(state.canReceive, at: now, &$1) }
        if !state.canReceive { self.wishLaunch(of: app, at: now) }
    }

    /// An app has come, of which it is not told: it may be frozen, or so it is said.
    mutating func arrived(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.perform(&actions)
        guard let state = self.listeners.hearing.arbiter.facts(of: app)?.state else { return }
        self.reach(app, in: state, at: now, &actions)
        self.perform(&actions)
    }

    private mutating func follow(
        _ change: StateChange, of app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.reach(app, in: change.to, at: now, &actions)
        if change.to == .foreground { self.opened(app, at: now, &actions) }
    }

    // MARK: Sensors

    /// Has everybody know if the detectors of a sensor can fire by now, or cannot any more, or look less often.
    mutating func tellNews(of sensor: String, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard self.listeners.hearing.tellNews(of: sensor, at: arrival) else { return }
        self.perform(&actions)
        actions.append(.availability(sensor: sensor))
    }

    /// Claims each sensor at the fastest rate its detectors need, and releases it with the last of them.
    mutating func steer(_ actions: inout [BrokerAction]) {
        var index = 0
        while let next = self.listeners.hearing.steer(from: &index) {
            // What was refused and is not wanted any more is no obstacle.
            self.tellNews(of: next.sensor, at: self.now, &actions)
            switch next.change {
            case .claim(let pace): actions.append(.claim(sensor: next.sensor, pace))
            case .release:
                actions.append(.release(sensor: next.sensor))
                // No sample comes that would end its clip.
                self.cutClips(&actions)
            }
        }
    }

    /// Has the clips kept that are complete.
    func cutClips(_ actions: inout [BrokerAction]) {
        for sensor in self.listeners.hearing.sensing.dueClips { actions.append(.clip(sensor: sensor)) }
    }

    /// The sensor is there, or was described anew.
    mutating func appear(_ sensor: SensorDescription, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        // Told once more: what was refused may be had now.
        guard self.listeners.appear(sensor, at: arrival) else { return self.retryClaim(of: sensor.name, &actions) }
        self.perform(&actions)
        self.steer(&actions)
    }

    /// Tries again what came to nothing of one sensor.
    private mutating func retryClaim(of sensor: String, _ actions: inout [BrokerAction]) {
        self.listeners.hearing.retryClaim(of: sensor)
        self.steer(&actions)
    }

    /// Finds out which sensors have stalled: nothing new comes of them, and it should.
    mutating func checkSilence(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for sensor in self.listeners.hearing.silent(at: arrival) { self.tellNews(of: sensor, at: arrival, &actions) }
    }

    // MARK: Events

    /// Takes an app's answer to an event: it is done with it and with all that it got before. One that it does not have, or not
    /// any more, changes nothing.
    mutating func answer(
        _ event: EventName, _ answer: Answer, of app: AppHandle, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        guard self.listeners.registry.has(app) else { throw .unknownClient }
        var covered: [UInt64] = []
        var offered: [UInt64] = []
        let verdict = self.post.change(app, &actions) { queue, wants in
            let first = wants.count
            let verdict = queue.acknowledge(event, at: arrival, &wants)
            for case .ended(let other, .acknowledged) in wants[first...]
            where other.epoch != event.epoch && !covered.contains(other.epoch) {
                covered.append(other.epoch)
            }
            offered = queue.outgoing.covered
            return verdict
        }
        if verdict == .mismatched { return }
        // What nobody has to acknowledge is kept by no queue: whether it is to be answered still, the order knows.
        for epoch in offered
        where epoch != event.epoch && !covered.contains(epoch)
            && self.listeners.hearing.arbiter.isOffered(epoch, to: app)
        {
            covered.append(epoch)
        }
        // Of what it covers it is as much an answer: nobody waits for another one.
        for epoch in covered { self.listeners.hearing.tell(.answer(app, epoch: epoch, answer), at: arrival) }
        self.tell(.answer(app, epoch: event.epoch, answer), at: arrival, &actions)
    }

    /// Has an app get what is kept for it. That it is done with an event is an answer to that.
    ///
    /// - Returns: how many events are kept for it.
    mutating func subscribe(
        _ app: AppHandle, since: EventName?, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> Int {
        guard self.listeners.registry.has(app) else { throw .unknownClient }
        if let since { try self.answer(since, .consume, of: app, at: arrival, &actions) }
        return self.post.change(app, &actions) { $0.subscribe(at: arrival, &$1) } ?? 0
    }

    /// Puts in what was kept before a restart, in the order of the numbers of each app.
    mutating func restore(_ events: [StoredEvent], at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        let policy = self.listeners.hearing.arbiter.policy
        self.post.restore(events, keeping: { policy.settings(for: $0).queueBytes }, at: arrival, &actions)
        self.wishAllLaunches(at: arrival)
        self.perform(&actions)
        self.post.pump(at: arrival, &actions)
    }

    // MARK: Launches

    /// Has an app that cannot receive launched for what waits for it, if a rule says so.
    mutating func wishLaunch(of app: AppHandle, at arrival: Timestamp) {
        if let wish = self.wish(of: app) { self.listeners.hearing.tell(.launch(wish), at: arrival) }
    }

    /// The same for what is kept for an app that is not there and of which nothing else is known.
    mutating func wishLaunch(ofAbsent id: AppID, at arrival: Timestamp) {
        for wish in self.absentWishes(of: id) { self.listeners.hearing.tell(.launch(wish), at: arrival) }
    }

    /// The same for all, the strongest first: they begin as they are told.
    mutating func wishAllLaunches(at arrival: Timestamp) {
        let wishes = self.listeners.registry.handles.compactMap { self.wish(of: $0) } + self.absentWishes()
        for wish in wishes.enumerated().sorted(by: {
            ($1.element.strength, $0.offset) < ($0.element.strength, $1.offset)
        }) {
            self.listeners.hearing.tell(.launch(wish.element), at: arrival)
        }
    }

    private func wish(of app: AppHandle) -> LaunchRequest? {
        guard let wish = self.post.mailboxes.wish(of: app),
            self.listeners.hearing.arbiter.facts(of: app)?.state.canReceive != true
        else { return nil }
        let kind = wish.first.flatMap { self.listeners.kind(of: $0, for: app) } ?? "motion"
        return LaunchRequest(wish.id, .motion(kind), strength: wish.strength, ends: wish.ends, of: wish.user)
    }

    private func absentWishes(of app: AppID? = nil) -> [LaunchRequest] {
        self.post.mailboxes.absentWishes(of: app).map {
            LaunchRequest($0.id, .motion("motion"), strength: $0.strength, ends: $0.ends, of: $0.user)
        }
    }

    private mutating func follow(_ effect: LaunchEffect, at now: Timestamp, _ actions: inout [BrokerAction]) {
        switch effect {
        case .begin(let launch): self.begin(launch, at: now, &actions)
        case .ended(let launch, let result, _):
            let app = self.listeners.registry.app(named: launch.app, of: launch.user)
            if let app { self.post.launchEnded(launch, of: app, result, at: now) }
            if case .motion = launch.reason {
                self.post.endCall(of: launch.app, launch.user, result, at: now, &actions)
                if result == .done || result == .needless {
                    // What came while it was called, or to be called, or is kept for another user of it, it is called for again.
                    if let app { self.wishLaunch(of: app, at: now) }
                    self.wishLaunch(ofAbsent: launch.app, at: now)
                }
            }
            actions.append(.launchEnded(launch, result))
        case .gaveUp(let request, let failure):
            actions.append(.launchGivenUp(request, failure))
            guard case .task = request.reason else { return }
            self.startFailed(request.app, of: request.user, isUnknown: failure == .unknown, at: now, &actions)
        }
    }

    private mutating func begin(_ launch: Launch, at now: Timestamp, _ actions: inout [BrokerAction]) {
        let app = self.listeners.registry.app(named: launch.app, of: launch.user)
        if let app { self.post.launchBegins(of: app) }
        switch launch.reason {
        case .push:
            let user = app.flatMap { self.listeners.registry[$0]?.user }
            return actions.append(.launch(launch, Handover(to: user)))
        case .task:
            // Whoever comes up, the task is run in its owner's connection only.
            if !self.work.tasks.awaiting(launch.app, of: launch.user).isEmpty {
                return actions.append(.launch(launch, Handover(to: nil)))
            }
        case .motion:
            if let handover = self.post.beginCall(of: launch.app, launch.user, at: now, &actions) {
                return actions.append(.launch(launch, handover))
            }
        }
        self.listeners.hearing.tell(.launched(launch.app, launch.number, .needless), at: now)
    }

    /// An app answered to a launch, and with that to all the events that it was handed.
    mutating func answered(
        _ launch: Launch, _ answer: Answer, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard self.listeners.hearing.arbiter.isCurrent(launch) else { return }
        if let app = self.post.mailboxes.called(launch.app), case .motion = launch.reason {
            for epoch in self.post.mailboxes[app]?.called.map(\.epoch) ?? [] {
                self.listeners.hearing.tell(.answer(app, epoch: epoch, answer), at: arrival)
            }
        }
        self.tell(.launched(launch.app, launch.number, .done), at: arrival, &actions)
    }

    // MARK: Background work

    mutating func task(
        _ input: TaskInput, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        var refusal: TaskRefusal?
        switch input {
        case .came(let app): self.came(app, at: arrival, &actions)
        case .power(let power):
            var device = self.listeners.hearing.arbiter.device
            device.power = power
            self.tell(.device(device), at: arrival, &actions)
        case .submit, .cancel, .done, .force, .kept, .failed, .restored, .terminated, .clock, .idle:
            let owner = input.app.flatMap { self.listeners.registry[$0]?.owner }
            if input.app != nil, owner == nil { throw .unknownClient }
            refusal = self.work.take(input, of: owner, self.terms(at: arrival))
        }
        if case .restored(_, let terminated) = input { self.openAgain(terminated, at: arrival, &actions) }
        self.work.update(self.listeners.hearing.arbiter.device.power, self.terms(at: arrival))
        self.followWork(at: arrival, &actions)
        if let refusal { throw .task(refusal) }
    }

    /// Whose users have their apps before them by now, as the disk tells that they had ended them, has opened those since.
    private mutating func openAgain(
        _ owners: [TaskOwner], at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        for owner in owners {
            guard let app = self.listeners.registry.connected(owner.app, of: owner.user),
                self.listeners.hearing.arbiter.facts(of: app)?.state == .foreground
            else { continue }
            self.opened(app, at: arrival, &actions)
        }
    }

    private func terms(at arrival: Timestamp) -> Work.Terms {
        self.work.terms(at: arrival, self.listeners.hearing.arbiter)
    }

    private mutating func passTasks(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.work.pass(self.terms(at: arrival))
        self.followWork(at: arrival, &actions)
    }

    /// An app came to the bus: a task may be waiting for it to be up.
    private mutating func came(_ app: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard let owner = self.listeners.registry[app]?.owner else { return }
        if self.listeners.hearing.arbiter.facts(of: app)?.state == .foreground {
            self.opened(app, at: arrival, &actions)
        }
        self.work.came(owner, self.terms(at: arrival))
        if self.work.isStarting(owner) { self.begin(owner, in: app, at: arrival, &actions) }
        if let launch = self.listeners.hearing.arbiter.launches.launch(of: owner.app), case .task = launch.reason {
            self.tell(.launched(owner.app, launch.number, .done), at: arrival, &actions)
            // It came for another user than the one whose task it was started for.
            self.startFailed(owner.app, isUnknown: false, at: arrival, &actions)
        }
        self.passTasks(at: arrival, &actions)
    }

    /// An app left the bus.
    mutating func left(_ owner: TaskOwner, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.work.left(owner, self.terms(at: arrival))
        self.followWork(at: arrival, &actions)
    }

    /// The user has an app before him, and wants it to work again.
    private mutating func opened(_ app: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard let owner = self.listeners.registry[app]?.owner else { return }
        self.work.opened(owner, self.terms(at: arrival))
        actions += self.work.takeEffects().map { .task($0) }
    }

    /// Does what follows for tasks, as far as that is ours to do.
    private mutating func followWork(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        for effect in self.work.takeEffects() {
            switch effect {
            case .launch(let owner, let identifier):
                if let app = self.listeners.registry.connected(owner.app, of: owner.user) {
                    self.begin(owner, in: app, at: arrival, &actions)
                } else {
                    let ends = arrival + Self.longestWaitForStart
                    let request = LaunchRequest(owner.app, .task(identifier), ends: ends, of: owner.user)
                    self.tell(.launch(request), at: arrival, &actions)
                }
            case .silent(let owner): self.step(.overrun, owner, at: arrival, &actions)
            case .rests(let owner): self.step(.end, owner, at: arrival, &actions)
            case .keep, .forget, .terminated, .run, .expiring, .ended: actions.append(.task(effect))
            }
        }
    }

    /// How long a start may wait for others.
    private static let longestWaitForStart = TimeSpan.seconds(3_600)

    /// An app could not be started for its tasks: one user's, or all.
    private mutating func startFailed(
        _ app: AppID, of user: UInt32? = nil, isUnknown: Bool, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        for owner in self.work.tasks.awaiting(app, of: user) {
            self.work.startFailed(owner, isUnknown: isUnknown, self.terms(at: arrival))
            self.followWork(at: arrival, &actions)
        }
    }

    private mutating func begin(
        _ owner: TaskOwner, in app: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        self.step(.begin, owner, at: arrival, &actions)
        self.work.begin(owner, self.terms(at: arrival))
        self.followWork(at: arrival, &actions)
    }

    private mutating func step(
        _ step: TaskStep, _ owner: TaskOwner, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard let app = self.listeners.registry.connected(owner.app, of: owner.user) else { return }
        self.tell(.task(app, step), at: arrival, &actions)
    }

    // MARK: Policy and time

    /// Replaces the policy. What is open is decided as it was begun.
    mutating func swap(
        _ policy: Policy, _ prepared: PolicySuccession?, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) {
        let old = self.listeners.hearing.arbiter.policy
        self.listeners.hearing.tell(.policy(policy, prepared: prepared), at: arrival)
        self.listeners.thresholdsChanged(from: old, at: arrival)
        self.post.limit(to: { policy.settings(for: $0).queueBytes }, at: arrival, &actions)
        self.perform(&actions)
        self.work.review(self.terms(at: arrival))
    }

    /// Runs the deadlines that have come although no sample did.
    mutating func tick(at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.listeners.hearing.tick(at: arrival)
        self.perform(&actions)
        for sensor in self.listeners.hearing.sensing.retries(at: arrival) { self.retryClaim(of: sensor, &actions) }
        self.passTasks(at: arrival, &actions)
    }

    /// When `tick` must be called, should no other input come before; `nil` while nothing waits for time alone.
    private mutating func nextTick() -> Timestamp? {
        var earliest = self.listeners.hearing.nextTick()
        let due = self.work.deadline { self.listeners.hearing.arbiter.arrival(of: $0) }
        if let due { earliest = min(earliest ?? due, due) }
        if let deadline = self.post.mailboxes.deadline { earliest = min(earliest ?? deadline, deadline) }
        return earliest
    }

    /// What is to be seen to after an input.
    mutating func due() -> DueAfterInput {
        DueAfterInput(
            tick: self.nextTick(), isCleaning: self.listeners.hearing.sensing.hasLeftovers,
            isShrinking: self.listeners.isShrinkingDue, hasSteps: self.listeners.hearing.hasSteps,
            lastEpoch: self.listeners.hearing.outlook.lastEpoch)
    }

    /// Gives back memory that was needed for those who have gone.
    mutating func shrink() {
        self.listeners.shrink()
        self.post.shrink()
    }
}
