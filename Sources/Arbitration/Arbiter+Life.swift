package import Motion

extension Arbiter {
    // MARK: What is said of apps

    mutating func report(_ foreground: ForegroundReport, into actions: inout [ArbiterAction]) {
        guard foreground != self.lives.report else { return }
        self.lives.report = foreground
        self.placeAll(.foreground, into: &actions)
    }

    mutating func tell(_ app: AppHandle, _ state: AppState?, into actions: inout [ArbiterAction]) {
        guard self.entry(app) != nil else { return }
        self.lives.tell(app, state)
        self.place(app, .told, into: &actions)
        self.factsChanged(into: &actions)
    }

    mutating func sleep(_ begins: Bool) {
        guard self.lives.clock.sleep(begins, at: self.arrivalTime) else { return }
        for (app, entry) in self.appsInOrder { self.lives.schedule(app, entry, notBefore: self.arrivalTime) }
    }

    // MARK: What apps do

    mutating func begin(_ request: AssertionRequest, of app: AppHandle, into actions: inout [ArbiterAction]) {
        let refusal = self.begun(app, into: &actions) { life, entry, now in
            if entry.id.isAnonymous { return .anonymous }
            return life.begin(request, &entry.ledger.assertions, at: now, entry.settings)
        }
        let remaining = self.remaining(of: request.id, app, at: self.arrivalTime)
        actions.append(.assertion(app, request, refusal, remaining: remaining))
    }

    mutating func begin(
        _ activity: ActivityID, _ mode: BackgroundMode, _ request: SessionRequest?, of app: AppHandle,
        into actions: inout [ArbiterAction]
    ) {
        let (sessions, matrix) = (self.sessions, self.policy.matrix)
        let standard = mode == .audio ? matrix.standard.map { SessionRequest($0.name) } : nil
        let session = request ?? standard
        let refusal = self.begun(app, into: &actions) { life, entry, now in
            if entry.id.isAnonymous { return .anonymous }
            if let request {
                if let refusal = matrix.refusal(request, entry) { return refusal }
            } else if !entry.declared.contains(mode) {
                return .undeclared(mode)
            }
            if let session {
                guard sessions.count < Sessions.most else { return .tooMany(limit: Sessions.most) }
                let obstacle = sessions.obstacle(to: session, of: app, matrix)
                if let obstacle, obstacle.cell.outcome == .reject { return .rejected(obstacle) }
            }
            return life.begin(activity, mode, needsGrant: request == nil, at: now, entry.settings)
        }
        actions.append(.activity(app, mode, refusal))
        guard refusal == nil, let session, let entry = self.entry(app) else { return }
        let effects = self.sessions.begin(SessionKey(app, activity), entry.id, session, matrix)
        actions += effects.map { .session($0) }
    }

    // MARK: What there is to see

    package var isAsleep: Bool { self.lives.clock.isAsleep }
    package func life(of app: AppHandle) -> AppLife? { self.lives[app] }
    /// What was said of the foreground.
    package var foreground: ForegroundReport { self.lives.report }
    /// What policy gives an app, as far as its app file asks for it.
    package func settings(of app: AppHandle) -> AppSettings? { self.entry(app)?.settings }

    /// How long an app can go on as things are; `nil`: nothing ends it.
    package func remaining(of app: AppHandle, at arrival: Timestamp) -> TimeSpan? {
        guard let life = self.lives[app], let entry = self.entry(app) else { return .zero }
        return life.remaining(at: self.lives.clock.moment(at: arrival), entry.settings)
    }

    /// How long an assertion lasts; `nil`: nothing of its budget is used while the app is where it is.
    package func remaining(of assertion: AssertionID, _ app: AppHandle, at arrival: Timestamp) -> TimeSpan? {
        guard let life = self.lives[app], let entry = self.entry(app) else { return nil }
        return life.remaining(of: assertion, at: self.lives.clock.moment(at: arrival), entry.settings)
    }

    /// Both times of the moment at which something arrives.
    package func moment(at arrival: Timestamp) -> Moment { self.lives.clock.moment(at: arrival) }
    /// When a time comes that stands still in the sleep of the system; `nil`: not before it is awake again.
    package func arrival(of time: AwakeTime) -> Timestamp? { self.lives.clock.arrival(of: time) }

    // MARK: Inside

    var now: Moment { self.lives.clock.moment(at: self.arrivalTime) }

    /// In the order in which they came: handles are used again, and what happens must not depend on them.
    var appsInOrder: [(app: AppHandle, entry: AppEntry)] {
        let apps = self.apps.indices.compactMap { index in
            self.apps[index].map { (AppHandle(UInt32(truncatingIfNeeded: index)), $0) }
        }
        return apps.sorted { $0.1.order < $1.1.order }
    }

    /// What policy gives an app, as far as it asks for it.
    func settings(for id: AppID, declared: WordSet<BackgroundMode>) -> AppSettings {
        var settings = self.policy.settings(for: id)
        settings.grants = settings.grants.intersection(declared)
        return settings
    }

    /// Brings an app to where it is said to be.
    mutating func place(_ app: AppHandle, _ cause: StateCause, into actions: inout [ArbiterAction]) {
        guard let entry = self.entry(app) else { return }
        let place =
            entry.isConnected ? self.lives.place(of: app, entry.id, isLocked: self.device.isLocked) : .gone
        self.live(app, into: &actions) { $0.move(to: place, cause, at: $2, $1) }
    }

    mutating func placeAll(_ cause: StateCause, into actions: inout [ArbiterAction]) {
        for (app, _) in self.appsInOrder { self.place(app, cause, into: &actions) }
        self.factsChanged(into: &actions)
    }

    private mutating func begun(
        _ app: AppHandle, into actions: inout [ArbiterAction],
        _ body: (inout AppLife, inout AppEntry, Moment) -> LifeRefusal?
    ) -> LifeRefusal? {
        guard var entry = self.entry(app) else { return .unknown }
        var refusal: LifeRefusal? = .unknown
        self.live(app, into: &actions) { life, _, now in
            refusal = body(&life, &entry, now)
            return []
        }
        self.apps[Int(app.index)]?.ledger = entry.ledger
        return refusal
    }

    /// Lets something happen in the life of an app, now or when it fell due, and takes in what follows.
    mutating func live(
        _ app: AppHandle, at time: Timestamp? = nil, into actions: inout [ArbiterAction],
        _ body: (inout AppLife, AppSettings, Moment) -> [LifeEffect]
    ) {
        guard var life = self.lives[app], let entry = self.entry(app) else { return }
        let moment = time.map { self.lives.clock.moment(at: $0) } ?? self.now
        let effects = body(&life, entry.settings, moment)
        self.lives[app] = life
        self.lives.schedule(app, entry, notBefore: moment.arrival)
        let index = Int(app.index)
        self.apps[index]?.facts.state = life.appState
        self.apps[index]?.facts.activities = life.modes
        self.apps[index]?.facts.hasAssertion = life.hasAssertion
        let old = entry.facts.state
        self.noteForLaunches(entry.id, from: old, to: life.appState)
        if life.appState == .foreground, old != .foreground { self.apps[index]?.facts.lastUsed = self.arrivalTime }
        for effect in effects where !effect.isOwnDoing { actions.append(.life(app, effect)) }
        self.endSessions(of: app, except: life.activities, into: &actions)
        if !life.appState.canReceive, old != life.appState { self.withdraw(app, isGone: false, into: &actions) }
    }
}
