package import Motion

/// Decides who gets the events of motions: hits in, verdicts and deliveries out.
///
/// A value without clock or I/O. There are two times. Sample time comes with hits and motion; windows, quiet,
/// cooldowns and quotas go by it. Arrival time comes with every input and never decreases; acks and leases go by it. All goes
/// in through `take`, which appends what has to be done to `actions`, in order.
///
/// It is two rooms, and carries from one to the other what concerns both: contests look at apps and change nothing of them, and
/// apps know nothing of contests.
package struct Arbiter: Sendable {
    /// When a condition was last seen true, as far as the detection engine knows.
    package typealias LastTrue = (DetectorID) -> Timestamp?

    private(set) var apps: Apps
    private(set) var contests: Contests
    /// Numbers apps and detectors in the order in which they come.
    private var lastOrder: UInt64 = 0
    /// Answers may have come that are still to be read: whoever has not answered in time is waited for.
    var isPatient = false

    /// Handles beyond this are no small numbers any more.
    private static let mostHandles: UInt32 = 1 << 24

    /// - Parameter epoch: The last epoch that may have been given out before; the first one given out now is the next.
    package init(policy: Policy, epoch: UInt64) {
        self.apps = Apps(policy.matrix)
        self.contests = Contests(policy, epoch: epoch)
    }

    // MARK: What there is to see of motions

    package var policy: Policy { self.contests.rules.policy }
    /// Apps compete with each other.
    package var hasGroups: Bool { !self.contests.rules.policy.groups.isEmpty }
    /// Counts the policies, from 1. Every event and verdict names the one that decided it.
    package var generation: UInt64 { self.contests.rules.generation }
    package var device: DeviceFacts { self.contests.rules.device }
    package var motionTime: Timestamp { self.contests.motionTime }
    package var arrivalTime: Timestamp { self.contests.arrivalTime }
    /// Answers to events that the app did not have, or not any more.
    package var staleAnswers: UInt64 { self.contests.staleAnswers }
    /// The last epoch given out.
    package var lastEpoch: UInt64 { self.contests.epochs.last }
    /// Groups whose motion is not over, as indices into those of the policy.
    package var openGroups: [Int] { self.contests.openGroups }
    /// The groups that hits of a detector can come to.
    package func groups(of detector: DetectorID) -> [Int32] { self.contests.detectors[detector]?.groups ?? [] }
    /// Whether an epoch is still to be decided, for one of its candidates at least.
    package func isOpen(_ epoch: UInt64) -> Bool { self.contests.isOpen(epoch) }
    /// Whether an app has the event of an order, and may pass it on.
    package func isOffered(_ epoch: UInt64, to app: AppHandle) -> Bool { self.contests.isOffered(epoch, to: app) }

    /// The next sample time at which something happens without a hit.
    package var nextMotionDeadline: Timestamp? { self.contests.nextMotionDeadline }

    /// The next arrival time at which something happens without an input.
    package var nextArrivalDeadline: Timestamp? {
        guard let answer = self.contests.nextAnswerDeadline else { return self.apps.nextDeadline }
        return self.apps.nextDeadline.map { min($0, answer) } ?? answer
    }

    /// Whether somebody's time to answer is up by then, who has an event or is launched.
    ///
    /// Mutating so that it is looked at where it is, as `outlook` is.
    package mutating func isReplyDue(by arrival: Timestamp) -> Bool {
        self.contests.nextAnswerDeadline.map { $0 <= arrival } ?? false || self.apps.launches.isReplyDue(by: arrival)
    }

    /// Whether nothing would come of an arrival and of motion up to a time but that time has passed.
    package func isIdle(until time: Timestamp, at arrival: Timestamp) -> Bool {
        (self.nextMotionDeadline.map { time < $0 } ?? true) && (self.nextArrivalDeadline.map { arrival < $0 } ?? true)
    }

    // MARK: What there is to see of apps

    package var sessions: Sessions { self.apps.sessions }
    package var launches: Launches { self.apps.launches }
    package var isAsleep: Bool { self.apps.clock.isAsleep }
    /// What was said of the foreground.
    package var foreground: ForegroundReport { self.apps.foreground }
    /// What rules see of an app; `nil` when there is no such app.
    package func facts(of app: AppHandle) -> AppFacts? { self.apps[app]?.facts }
    /// What policy gives an app, as far as its app file asks for it.
    package func settings(of app: AppHandle) -> AppSettings? { self.apps[app]?.settings }
    package func life(of app: AppHandle) -> AppLife? { self.apps.life(of: app) }
    /// How a session stands; `nil` when the activity has none.
    package func session(_ key: SessionKey) -> SessionStanding? { self.apps.sessions.standing(of: key) }
    /// Whether a launch is the one that is under way.
    package func isCurrent(_ launch: Launch) -> Bool { self.apps.launches.launch(of: launch.app) == launch }

    /// How long an app can go on as things are; `nil`: nothing ends it.
    package func remaining(of app: AppHandle, at arrival: Timestamp) -> TimeSpan? {
        self.apps.remaining(of: app, at: arrival)
    }

    /// How long an assertion lasts; `nil`: nothing of its budget is used while the app is where it is.
    package func remaining(of assertion: AssertionID, _ app: AppHandle, at arrival: Timestamp) -> TimeSpan? {
        self.apps.remaining(of: assertion, app, at: arrival)
    }

    /// Both times of the moment at which something arrives.
    package func moment(at arrival: Timestamp) -> Moment { self.apps.clock.moment(at: arrival) }
    /// When a time comes that stands still in the sleep of the system; `nil`: not before it is awake again.
    package func arrival(of time: AwakeTime) -> Timestamp? { self.apps.clock.arrival(of: time) }

    /// When an app may be launched by a push again; `nil`: now, as far as its quota says.
    package func wakeQuotaReturns(to app: AppHandle, at arrival: Timestamp) -> Timestamp? {
        guard let entry = self.apps[app], !entry.facts.state.canReceive,
            !self.apps.launches.isWaiting(entry.id, of: entry.user, for: .push)
        else { return nil }
        return self.contests.wakeQuotaReturns(to: app, entry, at: arrival)
    }

    // MARK: What is no input

    /// Gives out no epochs up to this one any more: others may have.
    package mutating func skipEpochs(upTo epoch: UInt64) { self.contests.skipEpochs(upTo: epoch) }

    /// Gives back memory that was needed for apps and detectors that are gone.
    package mutating func shrink() {
        self.apps.shrink()
        self.contests.shrink(apps: self.apps.count)
    }

    // MARK: Inputs

    /// Takes an input and decides what follows from it.
    ///
    /// - Parameters:
    ///   - arrival: When the input came. Never decreases.
    ///   - lastTrue: Asked when an episode would end: a condition that is still true keeps it open.
    package mutating func take(
        _ input: ArbiterInput, at arrival: Timestamp, lastTrue: LastTrue = { _ in nil },
        into actions: inout [ArbiterAction]
    ) {
        self.arrive(arrival, into: &actions)
        switch input {
        case .app(let app, let id, let entrance): self.add(app, id, entrance, into: &actions)
        case .back(let app, let entrance): self.admit(app, entrance, into: &actions)
        case .away(let app): self.dismiss(app, into: &actions)
        case .told(let app, let state): self.hear(state, of: app, into: &actions)
        case .foreground(let report, let testimony): self.report(report, testimony, into: &actions)
        case .frozen(let apps): self.freeze(apps, into: &actions)
        case .playing(let apps): self.play(apps, into: &actions)
        case .sleep(let begins): self.apps.sleep(begins, at: self.arrivalTime)
        case .beginAssertion(let app, let request): self.begin(request, of: app, into: &actions)
        case .endAssertion(let app, let id): self.live(app, into: &actions) { $0.end(id, at: $2, $1) }
        case .beginActivity(let app, let id, let mode, let session):
            self.apps.begin(id, mode, session, of: app, at: self.arrivalTime, into: &actions)
            self.contests.startOver()
        case .endActivity(let app, let id): self.live(app, into: &actions) { $0.end(id, at: $2, $1) }
        case .task(let app, let step): self.live(app, into: &actions) { $0.task(step, at: $2, $1) }
        case .leave(let app): self.remove(app, into: &actions)
        case .detector(let detector, let app, let facts): self.add(detector, to: app, facts)
        case .removeDetector(let detector): self.contests.remove(detector, self.apps, into: &actions)
        case .available(let detector, let isAvailable):
            self.contests.setAvailable(detector, isAvailable, self.apps, into: &actions)
        case .device(let device): self.update(device, into: &actions)
        case .hits(let hits): self.decide(hits, lastTrue, into: &actions)
        case .motion(let time): self.runMotion(to: time, lastTrue, into: &actions)
        case .rewind(let time):
            guard let last = self.contests.rewind(to: time, self.apps, into: &actions) else { break }
            // What was decided in the end belongs to the time before.
            self.carry()
            self.apps.rewind(from: last, to: time)
        case .patience(let begins):
            self.isPatient = begins
            if !begins { self.arrive(arrival, into: &actions) }
        case .answer(let app, let epoch, let answer):
            self.contests.answer(app, epoch, answer, self.apps, into: &actions)
        case .launch(let request): self.wish(request)
        case .launched(let app, let number, let result):
            self.follow(self.apps.finish(app, number, result, at: self.arrivalTime), into: &actions)
        case .policy(let policy, let prepared): self.swap(policy, prepared, into: &actions)
        }
        self.carry()
        // Launches whoever may be after an input, and ends what did not come in time.
        guard self.apps.launches.isDue(by: self.arrivalTime, isPatient: self.isPatient) else { return }
        self.follow(
            self.apps.runLaunches(at: self.arrivalTime, self.policy, isPatient: self.isPatient), into: &actions)
    }

    /// Takes in an input's arrival stamp, and runs what fell due by then: in the order of time, lives before answers.
    ///
    /// Whoever had an event and did not answer has passed it on.
    private mutating func arrive(_ arrival: Timestamp, into actions: inout [ArbiterAction]) {
        self.contests.arrive(arrival)
        var hasLived = false
        while true {
            let answerBy = self.isPatient ? nil : self.contests.nextAnswerDeadline
            if let life = self.apps.due(by: self.arrivalTime), answerBy.map({ life.time <= $0 }) ?? true {
                self.live(life.app, at: life.time, into: &actions) { $0.pass(to: $2, $1) }
                hasLived = true
            } else if let answerBy, answerBy <= self.arrivalTime {
                self.contests.passSilent(self.apps, into: &actions)
                self.carry()
            } else {
                break
            }
        }
        if hasLived { self.review(into: &actions) }
    }

    // MARK: From apps to contests

    /// Lets something happen in the life of an app, now or when it fell due, and takes in what follows.
    private mutating func live(
        _ app: AppHandle, at time: Timestamp? = nil, into actions: inout [ArbiterAction],
        _ body: (inout AppLife, AppSettings, Moment) -> [LifeEffect]
    ) {
        let reach = self.apps.live(app, at: time ?? self.arrivalTime, into: &actions, body)
        self.follow(reach, of: app, into: &actions)
    }

    /// Brings an app to where it is said to be.
    private mutating func place(_ app: AppHandle, _ cause: StateCause, into actions: inout [ArbiterAction]) {
        let reach = self.apps.place(app, cause, at: self.arrivalTime, into: &actions)
        self.follow(reach, of: app, into: &actions)
    }

    private mutating func placeAll(_ cause: StateCause, into actions: inout [ArbiterAction]) {
        for app in self.apps.inOrder { self.place(app, cause, into: &actions) }
        self.review(into: &actions)
    }

    private mutating func follow(_ reach: Apps.Reach?, of app: AppHandle, into actions: inout [ArbiterAction]) {
        // What it can still win may be more now.
        self.contests.startOver()
        switch reach {
        case nil: break
        // What it was to be launched for it is sent.
        case .regained: if let entry = self.apps[app] { self.contests.forgetEntrusted(entry, self.apps) }
        case .lost:
            self.contests.withdraw(app, isGone: false, self.apps, into: &actions)
            self.carry()
        }
    }

    private mutating func follow(_ effects: [LaunchEffect], into actions: inout [ArbiterAction]) {
        for effect in effects {
            // What is carried is settled before the app's state is another.
            actions.append(.launch(effect))
            switch effect {
            case .begin(let launch):
                self.setLaunched(launch, until: self.arrivalTime + launch.timeout, into: &actions)
            case .ended(let launch, let result, _):
                self.setLaunched(launch, until: nil, into: &actions)
                switch result {
                case .done, .needless: break
                case .postponed: self.apps.leaveAlone(launch)
                case .failed:
                    self.apps.leaveAlone(launch)
                    self.contests.handOn(from: launch, self.apps, into: &actions)
                    self.carry()
                }
            case .gaveUp: break
            }
        }
        if !effects.isEmpty { self.review(into: &actions) }
    }

    private mutating func setLaunched(
        _ launch: Launch, until answerBy: Timestamp?, into actions: inout [ArbiterAction]
    ) {
        for app in self.apps.handles(of: launch.app, launch.user) {
            self.live(app, into: &actions) { $0.launch(until: answerBy, at: $2, $1) }
        }
    }

    /// Who could still fire may be another now.
    private mutating func review(into actions: inout [ArbiterAction]) {
        self.contests.review(self.apps, into: &actions)
        self.carry()
    }

    // MARK: From contests to apps

    /// Carries out what the contests led to for others than the apps they serve.
    private mutating func carry() {
        if self.contests.effects.isEmpty { return }
        for effect in self.contests.effects {
            switch effect {
            case .launch(let request): self.apps.wish(request)
            case .heard(let session, let time): self.apps.spend(session, at: time)
            }
        }
        self.contests.forgetEffects()
    }

    /// Takes in hits, those of one sample together.
    ///
    /// What falls due before one of them runs first. That motion has passed is not said with it: another sensor, which is
    /// slower, may have hits of earlier times still.
    private mutating func decide(_ hits: [Hit], _ lastTrue: LastTrue, into actions: inout [ArbiterAction]) {
        var index = 0
        while index < hits.count {
            let time = hits[index].time
            self.runDue(to: time, lastTrue, into: &actions)
            var touched: [Int] = []
            while index < hits.count, hits[index].time == time {
                let group = self.contests.take(hits[index], self.apps, into: &actions)
                if let group, !touched.contains(group) { touched.append(group) }
                self.carry()
                index += 1
            }
            for group in touched {
                self.contests.settle(group, at: time, self.apps, into: &actions)
                self.carry()
            }
        }
    }

    /// Lets motion pass to a sample time.
    private mutating func runMotion(to time: Timestamp, _ lastTrue: LastTrue, into actions: inout [ArbiterAction]) {
        self.runDue(to: time, lastTrue, into: &actions)
        self.contests.advance(to: time)
    }

    /// Runs what falls due at or before a sample time. Who is launched for one motion is known when the next is over.
    private mutating func runDue(to time: Timestamp, _ lastTrue: LastTrue, into actions: inout [ArbiterAction]) {
        while self.contests.runNext(to: time, lastTrue, self.apps, into: &actions) { self.carry() }
    }

    /// Takes one hit through the stages, but does not keep that it came. Returns the verdict if it is refused.
    mutating func rehearse(_ hit: Hit, into actions: inout [ArbiterAction]) -> Verdict? {
        defer { self.carry() }
        return self.contests.rehearse(hit, self.apps, into: &actions)
    }

    // MARK: Apps and detectors

    /// Adds an app. The handle must be free.
    private mutating func add(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, into actions: inout [ArbiterAction]
    ) {
        precondition(app.index < Self.mostHandles, "app handles are small numbers, used again when free")
        self.contests.come(app, id, of: entrance.user)
        let reach = self.apps.add(
            app, id, order: self.nextOrder(), since: self.contests.epochs.lastDecision, entrance,
            self.policy.settings(for: id), at: self.arrivalTime, into: &actions)
        self.follow(reach, of: app, into: &actions)
    }

    /// Lets an app that exists come to the bus. One that is there already is only known better.
    private mutating func admit(_ app: AppHandle, _ entrance: AppEntrance, into actions: inout [ArbiterAction]) {
        guard let id = self.apps.id(of: app) else { return }
        if let old = self.apps[app], let owner = old.user, owner != entrance.user {
            self.contests.come(app, id, of: entrance.user, was: old)
            self.apps.forgetPast(of: app, for: entrance.user, since: self.contests.epochs.lastDecision)
        }
        self.apps.admit(app, entrance, self.policy.settings(for: id))
        self.place(app, .came, into: &actions)
        self.live(app, into: &actions) { $0.review(at: $2, $1) }
        self.review(into: &actions)
    }

    /// Lets an app leave the bus and go on existing: it is dead, and its detectors stay.
    private mutating func dismiss(_ app: AppHandle, into actions: inout [ArbiterAction]) {
        guard self.apps[app]?.isConnected == true else { return }
        self.apps.disconnect(app)
        self.place(app, .left, into: &actions)
        self.review(into: &actions)
    }

    /// Forgets an app and its detectors. What it used of its quota is kept for when it comes back.
    private mutating func remove(_ app: AppHandle, into actions: inout [ArbiterAction]) {
        guard self.apps[app] != nil else { return }
        self.apps.end(app, at: self.arrivalTime, into: &actions)
        self.contests.leave(app, self.apps, into: &actions)
        self.apps.forget(app)
        self.carry()
        self.review(into: &actions)
    }

    /// Adds a detector to an app, or replaces the one with the same handle.
    private mutating func add(_ detector: DetectorID, to app: AppHandle, _ facts: DetectorFacts) {
        precondition(detector.index < Self.mostHandles, "detector handles are small numbers, used again when free")
        guard let entry = self.apps[app] else { return }
        self.contests.add(detector, to: app, entry, facts, order: self.nextOrder())
    }

    private mutating func nextOrder() -> UInt64 {
        self.lastOrder &+= 1
        return self.lastOrder
    }

    /// Takes in what state an app is said to be in, whatever else is the case.
    private mutating func hear(_ state: AppState?, of app: AppHandle, into actions: inout [ArbiterAction]) {
        guard self.apps[app] != nil else { return }
        self.apps.tell(app, state)
        self.place(app, .told, into: &actions)
        self.review(into: &actions)
    }

    private mutating func report(
        _ foreground: ForegroundReport, _ testimony: FocusTestimony?, into actions: inout [ArbiterAction]
    ) {
        guard self.apps.report(foreground, testimony) else { return }
        self.contests.hear(testimony, report: self.apps.reports.foreground)
        self.placeAll(.foreground, into: &actions)
    }

    /// Takes in which apps cannot run now. Their place is another until that is over.
    private mutating func freeze(_ frozen: [AppID: FocusTestimony], into actions: inout [ArbiterAction]) {
        guard self.apps.freeze(frozen) else { return }
        self.contests.hear(frozen: frozen, report: self.apps.reports.frozen)
        self.placeAll(.frozen, into: &actions)
    }

    /// Takes in whose players play. That moves nobody, but those whom it concerns are at work, or no more.
    private mutating func play(_ playing: Set<AppID>, into actions: inout [ArbiterAction]) {
        guard self.apps.play(playing) else { return }
        self.placeAll(.player, into: &actions)
    }

    private mutating func begin(
        _ request: AssertionRequest, of app: AppHandle, into actions: inout [ArbiterAction]
    ) {
        var hour = self.contests.hour(of: app)
        self.apps.begin(request, of: app, &hour, at: self.arrivalTime, into: &actions)
        // What it does may count for it.
        self.contests.startOver()
        self.contests.setHour(hour, of: app)
    }

    /// Takes in a wish that an app be launched. What events cost of its quota they did when they were delivered; a push costs
    /// as much as an event, unless it joins one that waits.
    private mutating func wish(_ request: LaunchRequest) {
        if request.reason == .push, !self.apps.launches.isWaiting(request.app, of: request.user, for: .push) {
            for app in self.apps.handles(of: request.app, request.user) {
                guard let entry = self.apps[app], !entry.facts.state.canReceive else { continue }
                self.contests.spendWake(app, entry)
            }
        }
        self.apps.wish(request)
    }

    // MARK: Device and policy

    private mutating func update(_ device: DeviceFacts, into actions: inout [ArbiterAction]) {
        let isLockTurned = device.isLocked != self.device.isLocked
        self.contests.update(device)
        guard isLockTurned else { return self.review(into: &actions) }
        self.apps.lock(device.isLocked)
        self.placeAll(.lock, into: &actions)
        self.apps.lockSessions(device.isLocked, into: &actions)
    }

    /// Replaces the policy.
    ///
    /// What is open is decided as it was begun. How long apps have waited and who holds a sticky group stays with groups of
    /// the same name; an open episode of a group that is gone is decided at once.
    private mutating func swap(
        _ policy: Policy, _ prepared: PolicySuccession?, into actions: inout [ArbiterAction]
    ) {
        self.contests.decideGroups(missingIn: policy, self.apps, into: &actions)
        self.carry()
        self.contests.adopt(policy, prepared, self.apps)
        self.apps.setMatrix(policy.matrix)
        for app in self.apps.inOrder {
            // For whom nothing changes there is nothing to review.
            guard let id = self.apps.id(of: app), self.apps.grant(policy.settings(for: id), to: app) else { continue }
            self.live(app, into: &actions) { $0.review(at: $2, $1) }
            // What its player does may count now, or no more.
            self.place(app, .player, into: &actions)
        }
        self.apps.reviewSessions(into: &actions)
        self.review(into: &actions)
    }
}
