import Motion

/// Carries events to apps, and keeps account of what apps have used up: S3 as far as it is the app's, and S5.
struct Deliveries: Sendable {
    /// What an event is carried for.
    struct Errand {
        var epoch: UInt64
        var generation: UInt64
        var arrival: Timestamp
        /// The app may pass the event on until then.
        var answerBy: Timestamp?
        /// The session that the event counts for.
        var session: SessionKey?
    }

    /// By the index of the app.
    private var ledgers: [Ledger] = []
    /// What named apps that left have used up.
    private var closed = ClosedLedgers()
    /// What follows for others, in order, since it was last carried out.
    private(set) var effects: [ContestEffect] = []

    mutating func forgetEffects() { self.effects.removeAll(keepingCapacity: true) }

    // MARK: Ledgers

    /// What an app has used up.
    func ledger(_ app: AppHandle) -> Ledger {
        let index = Int(app.index)
        return index < self.ledgers.count ? self.ledgers[index] : Ledger()
    }

    /// Opens the ledger of an app that comes: what it had used up when it left is still used up.
    mutating func open(_ app: AppHandle, _ id: AppID, of user: UInt32?, _ settings: AppSettings, at time: Timestamp) {
        while self.ledgers.count <= app.index { self.ledgers.append(Ledger()) }
        guard !id.isAnonymous, let ledger = self.closed.take(id, of: user) else { return }
        self.ledgers[Int(app.index)] = ledger
        self.ledgers[Int(app.index)].adopt(settings, at: time)
    }

    /// Goes by another policy.
    ///
    /// - Parameter apps: With what they were given before.
    mutating func adopt(_ policy: Policy, _ apps: Apps, at time: Timestamp) {
        for index in self.ledgers.indices {
            guard let entry = apps[AppHandle(UInt32(truncatingIfNeeded: index))] else { continue }
            let settings = policy.settings(for: entry.id)
            if settings != entry.settings { self.ledgers[index].adopt(settings, at: time) }
        }
    }

    /// Closes the ledger of an app that leaves, and keeps it for when the app is back.
    mutating func close(_ app: AppHandle, _ entry: AppEntry, at now: Timestamp, arrival: Timestamp, _ policy: Policy) {
        let ledger = self.ledger(app)
        self.ledgers[Int(app.index)] = Ledger()
        if entry.id.isAnonymous || ledger.isSpent(at: now, arrival: arrival, entry.settings) { return }
        self.closed.keep(ledger, of: entry.id, entry.user) {
            $1.isSpent(at: now, arrival: arrival, policy.settings(for: $0))
        }
    }

    /// The assertions that an app began in the last hour.
    func hour(of app: AppHandle) -> HourlyCount { self.ledger(app).hour }

    mutating func setHour(_ hour: HourlyCount, of app: AppHandle) {
        if Int(app.index) < self.ledgers.count { self.ledgers[Int(app.index)].hour = hour }
    }

    /// Why an app may not have an event at a sample time, as far as it has used up what it is given.
    ///
    /// - Parameter promised: What it may get besides, which waits for a decision.
    func limit(
        _ app: AppHandle, _ entry: AppEntry, _ terms: DeliveryTerms, promised: Promised, at time: Timestamp,
        _ seen: inout LimitsSeen
    ) -> Reason? {
        let index = Int(app.index)
        guard index < self.ledgers.count else { return nil }
        return self.ledgers[index].limit(
            entry.settings, entry.facts.state, terms, promised: promised, at: time, &seen)
    }

    /// Takes a launch that no event is the cause of from what an app is given.
    mutating func spendWake(_ app: AppHandle, _ entry: AppEntry, at time: Timestamp) {
        self.ledgers[Int(app.index)].spendWake(entry.settings, at: time)
    }

    /// How long until an app may be launched again; `nil`: now, as far as its quota says.
    ///
    /// - Parameter promised: How many events it may be launched for besides, which wait for a decision.
    func timeToWake(_ app: AppHandle, _ entry: AppEntry, promised: Int, at time: Timestamp) -> TimeSpan? {
        self.ledger(app).timeToWake(entry.settings, promised: promised, at: time)
    }

    /// Goes on from a sample time that is earlier than the last.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        for index in self.ledgers.indices { self.ledgers[index].rewind(from: last, to: now) }
        self.closed.rewind(from: last, to: now)
    }

    mutating func shrink(apps: Int) {
        if self.ledgers.count > apps { self.ledgers.removeLast(self.ledgers.count - apps) }
        self.ledgers.shrink()
        self.effects.shrink()
        self.closed.shrink()
    }

    // MARK: Events

    /// Carries one event to an app, and takes it from the app's quota. Who cannot be launched in time does not get it.
    mutating func deliver(
        _ held: HeldHit, to app: AppHandle, _ errand: Errand, _ apps: Apps, into actions: inout [ArbiterAction]
    ) -> Reason {
        guard let entry = apps[app], held.rule.terms.reach(entry.facts.state) else { return .gone }
        let terms = held.rule.terms
        let route: Delivery.Route
        let reason: Reason
        if entry.facts.state.canReceive {
            (route, reason) = (.live, .sent)
        } else if terms.kind == .wake, !entry.id.isAnonymous {
            (route, reason) = (.wake, .woken)
            let ends = Self.launchEnds(held, errand.arrival, errand.answerBy)
            guard apps.launches.canLaunch(entry.id, of: entry.user, before: ends) else { return .launchFailed }
            let motion = LaunchReason.motion(held.detector.kind)
            self.effects.append(
                .launch(
                    LaunchRequest(entry.id, motion, strength: held.rule.strength, ends: ends, of: entry.user)))
        } else {
            (route, reason) = (.store, .stored)
        }
        self.ledgers[Int(app.index)].spend(entry.settings, isWake: route == .wake, at: held.hit.time)
        if let session = errand.session { self.effects.append(.heard(session, at: held.hit.time)) }
        actions.append(
            .deliver(
                Delivery(
                    app: app, id: entry.id, epoch: errand.epoch, generation: errand.generation, hit: held.hit,
                    detector: held.detector.name, route: route, terms: terms, strength: held.rule.strength,
                    answerBy: errand.answerBy)))
        return reason
    }

    /// Carries all hits of a candidate to it; what became of the first one that could be is the answer, or of the first one at all.
    ///
    /// - Parameter promised: What the app may get besides, which waits for a decision.
    mutating func deliverAll(
        _ candidate: Candidate, _ errand: Errand, promised: Promised, _ apps: Apps, into actions: inout [ArbiterAction]
    ) -> Reason {
        var answer: Reason?
        for held in candidate.hits {
            guard let app = apps[candidate.app] else { break }
            if answer?.isDelivered == true {
                var seen = LimitsSeen()
                if let reason = self.limit(
                    candidate.app, app, held.rule.terms, promised: promised, at: held.hit.time, &seen)
                {
                    actions.append(.repeated(candidate.app, held.hit, epoch: errand.epoch, reason))
                    continue
                }
            }
            guard held.rule.terms.reach(app.facts.state) else { continue }
            let reason = self.deliver(held, to: candidate.app, errand, apps, into: &actions)
            // What it cannot be launched for takes from it nothing that is kept for it.
            if answer == nil || (answer?.isDelivered == false && reason.isDelivered) { answer = reason }
        }
        return answer ?? .gone
    }

    // MARK: Who could be served

    /// Until when it is of use to launch an app for a hit.
    private static func launchEnds(_ held: HeldHit, _ arrival: Timestamp, _ answerBy: Timestamp?) -> Timestamp {
        let ends = arrival + held.rule.terms.lifespan
        return answerBy.map { min($0, ends) } ?? ends
    }

    /// Whether an app would have to be launched for a hit, and cannot be as things are.
    static func isRefused(
        _ held: HeldHit, _ app: AppEntry, at arrival: Timestamp, answerBy: Timestamp? = nil, _ apps: Apps
    ) -> Bool {
        guard !app.facts.state.canReceive, held.rule.terms.kind == .wake, !app.id.isAnonymous else { return false }
        return !apps.launches.canLaunch(app.id, of: app.user, before: Self.launchEnds(held, arrival, answerBy))
    }

    /// Whether a candidate would have to be launched, and cannot be as things are.
    ///
    /// - Parameter answerBy: Until when it would have to answer, where it is asked to.
    func isResting(_ candidate: Candidate, at arrival: Timestamp, answerBy: Timestamp?, _ apps: Apps) -> Bool {
        guard let app = apps[candidate.app], !app.facts.state.canReceive else { return false }
        return candidate.hits.contains { Self.isRefused($0, app, at: arrival, answerBy: answerBy, apps) }
    }

    /// What a candidate comes to that another was put before, whose event comes to `reason`. Where that one cannot be launched,
    /// whoever cannot be either is not next, whatever its rank.
    func loss(of candidate: Candidate, to reason: Reason, at arrival: Timestamp, _ apps: Apps) -> Reason {
        guard reason == .launchFailed, let app = apps[candidate.app] else { return .outranked }
        let isRefused = candidate.hits.allSatisfy { Self.isRefused($0, app, at: arrival, apps) }
        return isRefused ? .launchFailed : .outranked
    }

    /// What a candidate that had lost can have of its hits, while they are fresh, as far as what it is given goes and it can be
    /// launched.
    ///
    /// - Parameter promised: What the app may get besides, which waits for a decision.
    func heir(
        _ candidate: Candidate, promised: Promised, at arrival: Timestamp, _ apps: Apps,
        where isPossible: (HeldHit) -> Bool
    ) -> Candidate? {
        guard let app = apps[candidate.app] else { return nil }
        let hits = candidate.hits.filter { held in
            let terms = held.rule.terms
            var seen = LimitsSeen()
            return isPossible(held) && terms.reach(app.facts.state) && arrival - held.arrival < terms.lifespan
                && !Self.isRefused(held, app, at: arrival, apps)
                && self.limit(candidate.app, app, terms, promised: promised, at: held.hit.time, &seen) == nil
        }
        if hits.isEmpty { return nil }
        var heir = candidate
        heir.hits = hits
        return heir
    }
}

/// What the contest leads to for others than the apps it serves.
enum ContestEffect {
    /// An app is to be launched for its event.
    case launch(LaunchRequest)
    /// A session had an event.
    case heard(SessionKey, at: Timestamp)
}
