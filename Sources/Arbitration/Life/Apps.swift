import Motion

/// Keeps the apps: who is there, what rules see of each, and how it lives, sounds and is launched.
///
/// Lives, sessions and launches are rooms of their own; what one of them says is carried to the others here. Handles are used
/// again, so what happens to all apps happens in the order in which they came.
struct Apps: Sendable {
    /// What a step in an app's life means for the events it competes for.
    enum Reach {
        /// It can receive again, and nothing launches it any more.
        case regained
        /// It cannot receive any more.
        case lost
    }

    /// By the index of the app.
    private var entries: [AppEntry?] = []
    private var names = AppNames()
    private var lives = Lives()
    private(set) var sessions = Sessions()
    private(set) var launches = Launches()
    /// What comes of sessions of different classes.
    private var matrix: InteractionMatrix

    init(_ matrix: InteractionMatrix) { self.matrix = matrix }

    // MARK: Who is there

    subscript(_ app: AppHandle) -> AppEntry? {
        let index = Int(app.index)
        return index < self.entries.count ? self.entries[index] : nil
    }

    func id(of app: AppHandle) -> AppID? {
        let index = Int(app.index)
        return index < self.entries.count ? self.entries[index]?.id : nil
    }

    /// In the order in which they came.
    var inOrder: [AppHandle] {
        let apps = self.entries.indices.compactMap { index in
            self.entries[index].map { (app: AppHandle(UInt32(truncatingIfNeeded: index)), order: $0.order) }
        }
        return apps.sorted { $0.order < $1.order }.map(\.app)
    }

    func handles(of id: AppID, _ user: UInt32?) -> [AppHandle] {
        self.names[id].filter { self[$0]?.isApp(id, of: user) ?? false }
    }

    /// Whether an app is the one that a launch is for, and nothing can be sent to it.
    func isOutOfReach(_ app: AppHandle, of launch: Launch) -> Bool {
        guard let entry = self[app], entry.isApp(launch.app, of: launch.user) else { return false }
        return !entry.facts.state.canReceive
    }

    /// Whether an app is launched, or waits for that.
    func isLaunching(_ app: AppHandle) -> Bool {
        guard let entry = self[app] else { return false }
        return self.launches.launch(of: entry.id, for: entry.user) != nil
            || self.launches.isWaiting(entry.id, of: entry.user)
    }

    /// So many numbers are in use, at most.
    var count: Int { self.entries.count }

    /// Adds an app. The handle must be free.
    ///
    /// - Parameters:
    ///   - since: The epoch of what had been decided last; 0: nothing.
    ///   - settings: What policy gives an app of this name.
    mutating func add(
        _ app: AppHandle, _ id: AppID, order: UInt64, since: UInt64, _ entrance: AppEntrance, _ settings: AppSettings,
        at arrival: Timestamp, into actions: inout [ArbiterAction]
    ) -> Reach? {
        while self.entries.count <= app.index { self.entries.append(nil) }
        self.entries[Int(app.index)] = AppEntry(id, order: order, since: since, entrance, settings)
        self.names.insert(app, id)
        self.lives[app] = AppLife(at: arrival)
        if let state = entrance.told { self.lives.tell(app, state) }
        // Who comes because it was launched has that to do. It is nowhere yet, so its state stays what it is.
        if let answerBy = self.launches.answerBy(id, of: entrance.user) {
            _ = self.live(app, at: arrival, into: &actions) { $0.launch(until: answerBy, at: $2, $1) }
        }
        return self.place(app, .came, at: arrival, into: &actions)
    }

    /// Takes in what is known now of an app that exists.
    mutating func admit(_ app: AppHandle, _ entrance: AppEntrance, _ settings: AppSettings) {
        self.entries[Int(app.index)]?.admit(entrance, settings)
        if let state = entrance.told { self.lives.tell(app, state) }
    }

    /// An app becomes another user's, who is not to know what it did before.
    ///
    /// - Parameters:
    ///   - user: Whose it is from now on.
    ///   - since: The epoch of what had been decided last; 0: nothing.
    mutating func forgetPast(of app: AppHandle, for user: UInt32?, since: UInt64) {
        let answerBy = self.id(of: app).flatMap { self.launches.answerBy($0, of: user) }
        self.lives[app]?.forgetPast(launchedUntil: answerBy)
        self.entries[Int(app.index)]?.forgetPast(since: since)
        self.sessions.forget(app)
    }

    /// Lets an app leave the bus and go on existing.
    mutating func disconnect(_ app: AppHandle) {
        self.entries[Int(app.index)]?.disconnect()
        self.lives.tell(app, nil)
    }

    /// Ends the life of an app that leaves. It is dead, and known until it is forgotten.
    mutating func end(_ app: AppHandle, at arrival: Timestamp, into actions: inout [ArbiterAction]) {
        guard let entry = self[app] else { return }
        let now = self.lives.clock.moment(at: arrival)
        let effects = self.lives[app]?.move(to: .gone, .left, at: now, entry.settings) ?? []
        for effect in effects where !effect.isOwnDoing { actions.append(.life(app, effect)) }
        self.lives.forget(app)
        self.endSessions(of: app, except: [], into: &actions)
        _ = self.noteForLaunches(entry, to: .dead)
        self.entries[Int(app.index)]?.die()
    }

    /// Forgets an app, whose number may be used again.
    mutating func forget(_ app: AppHandle) {
        if let id = self.id(of: app) { self.names.remove(app, id) }
        self.entries[Int(app.index)] = nil
        self.sessions.forget(app)
    }

    /// Takes in what policy gives an app of this name. Returns whether it has something else now.
    mutating func grant(_ settings: AppSettings, to app: AppHandle) -> Bool {
        self.entries[Int(app.index)]?.grant(settings) ?? false
    }

    mutating func shrink() {
        while let last = self.entries.last, last == nil { self.entries.removeLast() }
        self.entries.shrink()
        self.names.shrink()
        self.lives.shrink()
        self.launches.shrink()
    }

    // MARK: What is said of them

    /// What was said of the foreground.
    var foreground: ForegroundReport { self.lives.report }
    /// The numbers of what was said last.
    var reports: Lives.Reports { self.lives.reports }
    var clock: AwakeClock { self.lives.clock }

    /// Takes in what is said of the foreground, and by whom. Returns whether that is new.
    mutating func report(_ foreground: ForegroundReport, _ testimony: FocusTestimony?) -> Bool {
        self.lives.report(foreground, testimony)
    }

    /// Takes in which apps cannot run now. Returns whether that is new.
    mutating func freeze(_ frozen: [AppID: FocusTestimony]) -> Bool { self.lives.freeze(frozen) }

    /// Takes in whose players play. Returns whether that is new.
    mutating func play(_ playing: Set<AppID>) -> Bool { self.lives.play(playing) }

    /// Takes in what is said of this app alone.
    mutating func tell(_ app: AppHandle, _ state: AppState?) { self.lives.tell(app, state) }

    /// Takes in whether the screen is locked, as far as it says where apps are.
    mutating func lock(_ isLocked: Bool) { self.lives.lock(isLocked) }

    /// The same for what is heard of sessions.
    mutating func lockSessions(_ isLocked: Bool, into actions: inout [ArbiterAction]) {
        actions += self.sessions.lock(isLocked, self.matrix).map { .session($0) }
    }

    mutating func sleep(_ begins: Bool, at arrival: Timestamp) {
        guard self.lives.sleep(begins, at: arrival) else { return }
        for app in self.inOrder {
            if let entry = self[app] { self.lives.schedule(app, entry, notBefore: arrival) }
        }
    }

    // MARK: Lives

    func life(of app: AppHandle) -> AppLife? { self.lives[app] }

    /// The next arrival time at which something happens without an input.
    var nextDeadline: Timestamp? {
        guard let launch = self.launches.nextDeadline else { return self.lives.nextDeadline }
        return self.lives.nextDeadline.map { min($0, launch) } ?? launch
    }

    /// Whose life has something due, and since when.
    func due(by arrival: Timestamp) -> (app: AppHandle, time: Timestamp)? { self.lives.due(by: arrival) }

    /// Lets something happen in the life of an app, now or when it fell due, and takes in what follows for its sessions and
    /// launches.
    mutating func live(
        _ app: AppHandle, at arrival: Timestamp, into actions: inout [ArbiterAction],
        _ body: (inout AppLife, AppSettings, Moment) -> [LifeEffect]
    ) -> Reach? {
        guard var life = self.lives[app], let entry = self[app] else { return nil }
        let isAtPlay = life.isAtPlay
        let effects = body(&life, entry.settings, self.lives.clock.moment(at: arrival))
        self.lives[app] = life
        self.lives.schedule(app, entry, notBefore: arrival)
        self.entries[Int(app.index)]?.show(life, report: self.lives.report(behind: life.place), at: arrival)
        let (old, new) = (entry.facts.state, life.appState)
        let isReached = self.noteForLaunches(entry, to: new)
        for effect in effects where !effect.isOwnDoing { actions.append(.life(app, effect)) }
        if life.isAtPlay != isAtPlay { actions.append(.life(app, .player(isAtPlay: life.isAtPlay))) }
        self.endSessions(of: app, except: life.activities, into: &actions)
        if old != new, !new.canReceive { return .lost }
        return isReached ? .regained : nil
    }

    /// Brings an app to where it is said to be.
    mutating func place(
        _ app: AppHandle, _ cause: StateCause, at arrival: Timestamp, into actions: inout [ArbiterAction]
    ) -> Reach? {
        guard let entry = self[app] else { return nil }
        let place = entry.isConnected ? self.lives.place(of: app, entry.id) : .gone
        let isPlaying = entry.isConnected && entry.isAtWorkWhilePlaying && self.lives.isPlaying(entry.id)
        return self.live(app, at: arrival, into: &actions) {
            $0.move(to: place, cause, at: $2, $1) + $0.play(isPlaying, at: $2, $1)
        }
    }

    /// How long an app can go on as things are; `nil`: nothing ends it.
    func remaining(of app: AppHandle, at arrival: Timestamp) -> TimeSpan? {
        guard let life = self.lives[app], let entry = self[app] else { return .zero }
        return life.remaining(at: self.lives.clock.moment(at: arrival), entry.settings)
    }

    /// How long an assertion lasts; `nil`: nothing of its budget is used while the app is where it is.
    func remaining(of assertion: AssertionID, _ app: AppHandle, at arrival: Timestamp) -> TimeSpan? {
        guard let life = self.lives[app], let entry = self[app] else { return nil }
        return life.remaining(of: assertion, at: self.lives.clock.moment(at: arrival), entry.settings)
    }

    // MARK: What they do

    /// Begins an assertion, or says why not.
    ///
    /// - Parameter hour: How many the app began, whatever connection it had then.
    mutating func begin(
        _ request: AssertionRequest, of app: AppHandle, _ hour: inout HourlyCount, at arrival: Timestamp,
        into actions: inout [ArbiterAction]
    ) {
        var refusal = self.whyNotAtWork(app)
        if refusal == nil {
            // Who begins something is where it was.
            _ = self.live(app, at: arrival, into: &actions) { life, settings, now in
                refusal = life.begin(request, &hour, at: now, settings)
                return []
            }
        }
        let remaining = self.remaining(of: request.id, app, at: arrival)
        actions.append(.assertion(app, request, refusal, remaining: remaining))
    }

    /// Begins an activity, with its session if it has one, or says why not.
    mutating func begin(
        _ activity: ActivityID, _ mode: BackgroundMode, _ request: SessionRequest?, of app: AppHandle,
        at arrival: Timestamp, into actions: inout [ArbiterAction]
    ) {
        let standard = mode == .audio ? self.matrix.standard.map { SessionRequest($0.name) } : nil
        let session = request ?? standard
        var refusal = self.whyNotAtWork(app) ?? self.refusal(of: app, mode, request, session)
        if refusal == nil {
            // As above.
            _ = self.live(app, at: arrival, into: &actions) { life, settings, now in
                refusal = life.begin(activity, mode, needsGrant: request == nil, at: now, settings)
                return []
            }
        }
        actions.append(.activity(app, mode, refusal))
        guard refusal == nil, let session, let entry = self[app] else { return }
        let effects = self.sessions.begin(SessionKey(app, activity), entry.id, session, self.matrix)
        actions += effects.map { .session($0) }
    }

    /// Why an app may do nothing in the background at all.
    private func whyNotAtWork(_ app: AppHandle) -> LifeRefusal? {
        guard let entry = self[app] else { return .unknown }
        return entry.id.isAnonymous ? .anonymous : nil
    }

    /// Why an app may not begin an activity, whatever its life says.
    private func refusal(
        of app: AppHandle, _ mode: BackgroundMode, _ request: SessionRequest?, _ session: SessionRequest?
    ) -> LifeRefusal? {
        guard let entry = self[app] else { return .unknown }
        if request == nil, !entry.declared.contains(mode) { return .undeclared(mode) }
        guard let session else { return nil }
        // The class of who names none requires no less of it.
        if let refusal = self.matrix.refusal(session, entry) { return refusal }
        guard self.sessions.count < Sessions.most else { return .tooMany(limit: Sessions.most) }
        let obstacle = self.sessions.obstacle(to: session, of: app, self.matrix)
        guard let obstacle, obstacle.cell.outcome == .reject else { return nil }
        return .rejected(obstacle)
    }

    // MARK: Sessions

    /// Looks at all sessions anew, for another matrix.
    mutating func reviewSessions(into actions: inout [ArbiterAction]) {
        actions += self.sessions.review(self.matrix).map { .session($0) }
    }

    /// Takes in what comes of sessions from now on.
    mutating func setMatrix(_ matrix: InteractionMatrix) { self.matrix = matrix }

    /// Ends the sessions of activities that are over.
    private mutating func endSessions(
        of app: AppHandle, except running: [Activity], into actions: inout [ArbiterAction]
    ) {
        guard !self.sessions.isEmpty else { return }
        let effects = self.sessions.end(app, except: running.map(\.id), self.matrix)
        actions += effects.map { .session($0) }
    }

    /// What the classes say to a hit of an app: by its session, or else by the class that the rule gives it.
    func mixing(of app: AppHandle, _ entry: AppEntry, _ held: HeldHit) -> MixingJudgement {
        self.sessions.judge(
            app, grants: entry.facts.grants, class: held.rule.sessionClass, at: held.hit.time, self.matrix)
    }

    /// Counts an event for a session that is ducked.
    mutating func spend(_ session: SessionKey, at time: Timestamp) { self.sessions.spend(session, at: time) }

    /// Goes on from a sample time that is earlier than the last.
    mutating func rewind(from last: Timestamp, to now: Timestamp) { self.sessions.rewind(from: last, to: now) }

    // MARK: Launches

    /// Takes in that something is due to an app that it is to be launched for.
    mutating func wish(_ request: LaunchRequest) { self.launches.add(request) }

    /// Takes in word on a launch.
    mutating func finish(
        _ app: AppID, _ number: UInt64, _ result: LaunchResult, at arrival: Timestamp
    ) -> [LaunchEffect] {
        var effects: [LaunchEffect] = []
        self.launches.finish(app, number, result, at: arrival, &effects)
        return effects
    }

    /// Launches whoever may be, and ends what did not come in time.
    mutating func runLaunches(at arrival: Timestamp, _ policy: Policy, isPatient: Bool) -> [LaunchEffect] {
        var effects: [LaunchEffect] = []
        self.launches.run(
            to: arrival, timeout: { policy.settings(for: $0).wakeTimeout }, isPatient: isPatient, &effects)
        return effects
    }

    /// A launch failed, or was put off: an app that has come by itself meanwhile, and can receive, is sent what there is, and not
    /// called again.
    mutating func leaveAlone(_ launch: Launch) {
        for app in self.handles(of: launch.app, launch.user) {
            guard let entry = self[app], entry.facts.state.canReceive else { continue }
            self.launches.withdraw(entry.id, of: entry.user) { if case .motion = $0 { true } else { false } }
        }
    }

    /// Whoever is on the bus need not be started for its tasks, and whoever can receive need not be launched for motion.
    ///
    /// Returns whether it can receive again, and nothing launches it any more.
    private mutating func noteForLaunches(_ app: AppEntry, to new: AppState) -> Bool {
        let (id, user, old) = (app.id, app.user, app.facts.state)
        guard old != new, !id.isAnonymous else { return false }
        self.launches.setRunning(id, of: user, new != .dead)
        if old == .dead { self.launches.withdraw(id, of: user) { if case .task = $0 { true } else { false } } }
        guard new.canReceive, !old.canReceive else { return false }
        self.launches.withdraw(id, of: user) { if case .motion = $0 { true } else { false } }
        return self.launches.launch(of: id, for: user) == nil
    }
}

extension InteractionMatrix {
    /// Why an app may not have a session of a class, whoever else has one.
    fileprivate func refusal(_ request: SessionRequest, _ app: AppEntry) -> LifeRefusal? {
        guard let wanted = self[request.name] else { return .unknownClass(request.name) }
        guard let first = wanted.requiredGrants.elements.first else { return nil }
        if wanted.requiredGrants.isDisjoint(with: app.declared) { return .undeclared(first) }
        return wanted.requiredGrants.isDisjoint(with: app.settings.grants) ? .ungranted(first) : nil
    }
}
