import Motion

/// Decides who gets the events of motions: hits in, verdicts and deliveries out.
///
/// What it leads to for others than the apps it serves waits in `effects`. Apps are only looked at.
struct Contests: Sendable {
    private(set) var rules: Rulebook
    private(set) var motionTime = Timestamp(microseconds: .min)
    private(set) var arrivalTime = Timestamp(microseconds: .min)
    private(set) var epochs: Epochs
    /// Answers to events that the app did not have, or not any more.
    private(set) var staleAnswers: UInt64 = 0
    private(set) var detectors = Detectors()
    private(set) var groups: Groups
    private var chains = Chains()
    private var deliveries = Deliveries()

    /// - Parameter epoch: The last epoch that may have been given out before.
    init(_ policy: Policy, epoch: UInt64) {
        self.rules = Rulebook(policy)
        self.epochs = Epochs(after: epoch)
        self.groups = Groups(policy.groups)
    }

    // MARK: What there is to see

    /// What follows for others, in order, since it was last carried out.
    var effects: [ContestEffect] { self.deliveries.effects }
    /// The next sample time at which something happens without a hit.
    var nextMotionDeadline: Timestamp? { self.groups.nextDeadline }
    /// When the time of whoever has an event of an order is up.
    var nextAnswerDeadline: Timestamp? { self.chains.next?.answerBy }
    /// Groups whose motion is not over, as indices into those of the policy.
    var openGroups: [Int] { self.groups.active }

    /// Whether an epoch is still to be decided, for one of its candidates at least.
    func isOpen(_ epoch: UInt64) -> Bool { self.chains.contains(epoch) || self.groups.isCollecting(epoch) }

    /// Whether an app has the event of an order, and may pass it on.
    func isOffered(_ epoch: UInt64, to app: AppHandle) -> Bool { self.chains[epoch]?.current?.app == app }

    // MARK: Time

    mutating func forgetEffects() { self.deliveries.forgetEffects() }

    mutating func arrive(_ arrival: Timestamp) { self.arrivalTime = max(self.arrivalTime, arrival) }

    /// Lets motion pass to a sample time. What fell due by then has run.
    mutating func advance(to time: Timestamp) { self.motionTime = max(self.motionTime, time) }

    /// Gives out none up to this one any more: others may have.
    mutating func skipEpochs(upTo epoch: UInt64) { self.epochs.skip(upTo: epoch) }

    /// Runs what falls due first, if that is at or before a sample time. Returns whether something did.
    mutating func runNext(
        to time: Timestamp, _ lastTrue: Arbiter.LastTrue, _ apps: Apps, into actions: inout [ArbiterAction]
    ) -> Bool {
        guard let due = self.groups.due(by: time) else { return false }
        self.advance(to: due.deadline)
        if self.groups[due.group].episode?.isCollecting == true {
            self.decide(due.group, at: due.deadline, isEager: false, apps, into: &actions)
        } else if !self.groups.prolong(due.group, lastTrue, self.detectors, apps) {
            self.groups.end(due.group, apps)
        }
        return true
    }

    // MARK: Apps and detectors

    /// Takes in that an app came, or is another user's than it was. What it had used up when it left is still used up.
    mutating func come(_ app: AppHandle, _ id: AppID, of user: UInt32?, was old: AppEntry? = nil) {
        if let old {
            self.deliveries.close(app, old, at: self.motionTime, arrival: self.arrivalTime, self.rules.policy)
            self.groups.forgetStanding(of: app)
        }
        self.deliveries.open(app, id, of: user, self.rules.policy.settings(for: id), at: self.motionTime)
    }

    /// Takes out an app that left, and its detectors.
    mutating func leave(_ app: AppHandle, _ apps: Apps, into actions: inout [ArbiterAction]) {
        self.withdraw(app, isGone: true, apps, into: &actions)
        while let detector = self.detectors.first(of: app) {
            self.groups.loseMembers(of: self.detectors.remove(detector))
        }
        guard let entry = apps[app] else { return }
        self.groups.forget(app, entry)
        self.deliveries.close(app, entry, at: self.motionTime, arrival: self.arrivalTime, self.rules.policy)
    }

    /// Adds a detector to an app, or replaces the one with the same handle.
    mutating func add(
        _ detector: DetectorID, to app: AppHandle, _ entry: AppEntry, _ facts: DetectorFacts, order: UInt64
    ) {
        let (rules, groups) = self.rules.policy.rulesAndGroups(for: entry.id, facts)
        let new = DetectorEntry(
            app: app, order: order, facts: facts, rules: rules, groups: groups, registered: self.arrivalTime)
        self.groups.loseMembers(of: self.detectors.put(detector, new))
        self.groups.add(detector, to: groups)
    }

    /// Removes a detector, with its hits that are not decided.
    mutating func remove(_ detector: DetectorID, _ apps: Apps, into actions: inout [ArbiterAction]) {
        guard let entry = self.detectors[detector] else { return }
        self.groups.loseMembers(of: self.detectors.remove(detector))
        self.dropHits(of: entry.app, apps, into: &actions) { held, _, _ in held.hit.detector == detector ? .gone : nil }
        // Nobody can fire who could not before. One call may remove thousands, and for each only the next one is looked at.
        self.settleAll(apps, into: &actions)
    }

    /// Takes in whether the sensor of a detector is there.
    mutating func setAvailable(
        _ detector: DetectorID, _ isAvailable: Bool, _ apps: Apps, into actions: inout [ArbiterAction]
    ) {
        guard self.detectors.setAvailable(detector, isAvailable) else { return }
        // As above; and who can fire by now is a reason to wait, none to decide.
        if isAvailable { self.startOver() } else { self.settleAll(apps, into: &actions) }
    }

    /// Takes in what the device is like. Who could still fire is looked at apart.
    mutating func update(_ device: DeviceFacts) { self.rules.update(device) }

    /// Takes in who says what is in front, and by which number apps know it.
    mutating func hear(_ testimony: FocusTestimony?, report: UInt32) { self.rules.hear(testimony, report: report) }

    /// The same of who says that an app cannot run.
    mutating func hear(frozen: [AppID: FocusTestimony], report: UInt32) {
        self.rules.hear(frozen: frozen, report: report)
    }

    /// Who could still fire may be another now.
    mutating func review(_ apps: Apps, into actions: inout [ArbiterAction]) {
        self.startOver()
        self.settleAll(apps, into: &actions)
    }

    /// Has all who could still fire be looked at again, when that is asked next.
    mutating func startOver() { self.groups.startOver() }

    private mutating func settleAll(_ apps: Apps, into actions: inout [ArbiterAction]) {
        for group in self.groups.active {
            self.settle(group, at: self.groups[group].reached(self.motionTime), apps, into: &actions)
        }
    }

    /// Takes an app that cannot receive any more out of what is open.
    mutating func withdraw(_ app: AppHandle, isGone: Bool, _ apps: Apps, into actions: inout [ArbiterAction]) {
        let (state, ledger) = (apps[app]?.facts.state ?? .dead, self.deliveries.ledger(app))
        self.dropHits(of: app, apps, into: &actions) { held, others, seen in
            let terms = held.rule.terms
            guard let entry = apps[app], !isGone, terms.reach(state) else { return .gone }
            // S3 anew: while it was there, it needed no launch.
            return ledger.wakeLimit(entry.settings, state, terms, promised: others, at: held.hit.time, &seen)
        }
        guard state == .dead else { return }
        // What it is launched for may be over, and is to be the next one's all the same.
        self.groups.takeUp(from: app)
        for group in self.groups.active where self.groups[group].isOwned(by: app) {
            self.replaceOwner(of: group, apps, into: &actions)
        }
        self.groups.sweep()
        self.groups.loseHolds(of: app)
        // It can no longer answer to what it has.
        for epoch in self.chains.epochs where self.isOffered(epoch, to: app) {
            self.pass(epoch, .left, apps, into: &actions)
        }
    }

    /// Drops hits of an app that wait; where it has none left, it is out.
    private mutating func dropHits(
        of app: AppHandle, _ apps: Apps, into actions: inout [ArbiterAction], _ objection: WaitingObjection
    ) {
        var others = 0
        for out in self.groups.drop(app, apps[app], &others, objection) {
            let verdict = self.rules.verdict(
                out.candidate, out.reason, apps.id(of: app), epoch: out.epoch, generation: out.generation)
            actions.append(.verdict(verdict))
        }
        for out in self.chains.drop(app, &others, objection) {
            self.close(out.candidate, out.reason, out.chain, apps, into: &actions)
        }
    }

    /// The assertions that an app began in the last hour.
    func hour(of app: AppHandle) -> HourlyCount { self.deliveries.hour(of: app) }
    mutating func setHour(_ hour: HourlyCount, of app: AppHandle) { self.deliveries.setHour(hour, of: app) }

    /// Quotas go by the time of samples, and no sample need have come.
    private func quotaTime(at arrival: Timestamp) -> Timestamp { max(self.motionTime, arrival) }

    /// Takes a launch for a push from what an app is given.
    mutating func spendWake(_ app: AppHandle, _ entry: AppEntry) {
        self.deliveries.spendWake(app, entry, at: self.quotaTime(at: self.arrivalTime))
    }

    /// When an app may be launched by a push again; `nil`: now, as far as its quota says.
    func wakeQuotaReturns(to app: AppHandle, _ entry: AppEntry, at arrival: Timestamp) -> Timestamp? {
        let promised = self.promised(to: app, entry, outside: nil).count
        let wait = self.deliveries.timeToWake(app, entry, promised: promised, at: self.quotaTime(at: arrival))
        return wait.map { arrival + $0 }
    }

    // MARK: Hits

    /// Takes one hit through the stages; returns the group it has come to, if that has to be settled.
    mutating func take(_ hit: Hit, _ apps: Apps, into actions: inout [ArbiterAction]) -> Int? {
        guard let detector = self.detectors[hit.detector], let app = apps[detector.app] else { return nil }
        self.detectors.fired(hit.detector, at: hit.time)
        let judgement = self.judge(hit, detector, app)
        let passage = judgement.passage
        guard let reason = judgement.reason else {
            self.detectors.passed(hit.detector)
            return self.admit(hit, detector, app, passage, apps, into: &actions)
        }
        let report = app.facts.report
        if let epoch = self.detectors.refusesAgain(hit, reason, passage.rule, report: report) {
            actions.append(.repeated(detector.app, hit, epoch: epoch, reason))
        } else {
            let epoch = self.epochs.next()
            self.detectors.refused(hit, reason, passage.rule, report: report, epoch: epoch)
            actions.append(.verdict(self.refusal(of: hit, detector, app, passage, reason, epoch: epoch)))
        }
        return nil
    }

    /// Takes one hit through the stages, but does not keep that it came. Returns the verdict if it is refused.
    mutating func rehearse(_ hit: Hit, _ apps: Apps, into actions: inout [ArbiterAction]) -> Verdict? {
        guard let detector = self.detectors[hit.detector], let app = apps[detector.app] else { return nil }
        let judgement = self.judge(hit, detector, app)
        if let reason = judgement.reason {
            return self.refusal(of: hit, detector, app, judgement.passage, reason, epoch: self.epochs.next())
        }
        if let group = self.admit(hit, detector, app, judgement.passage, apps, into: &actions) {
            self.settle(group, at: hit.time, apps, into: &actions)
        }
        return nil
    }

    /// S0 to S3: what they say to a hit, without doing anything about it.
    private func judge(_ hit: Hit, _ detector: DetectorEntry, _ app: AppEntry) -> Rulebook.Judgement {
        var judgement = self.rules.judge(hit, detector, app.facts)
        guard judgement.reason == nil else { return judgement }
        var seen = LimitsSeen()
        let promised = self.promised(to: detector.app, app, outside: judgement.passage.group)
        let ofApp = self.deliveries.limit(
            detector.app, app, judgement.passage.terms, promised: promised, at: hit.time, &seen)
        // Asked in any case: when the hit would have passed is when both are over.
        let ofGroup = judgement.passage.group.flatMap { self.groups[$0].limit(at: hit.time, &seen) }
        judgement.reason = ofApp ?? ofGroup
        judgement.passage.limits = seen
        return judgement
    }

    /// What an app may get of what is not decided yet. Of one group it is none that it would get anew.
    private func promised(to app: AppHandle, _ entry: AppEntry?, outside group: Int?) -> Promised {
        // Nobody else counts them.
        guard let settings = entry?.settings, settings.isLimited else { return Promised() }
        var promised = Promised(for: settings)
        self.chains.addPromised(to: app, &promised)
        self.groups.addPromised(to: app, outside: group, &promised)
        return promised
    }

    /// The verdict of a hit that does not come to a group.
    private func refusal(
        of hit: Hit, _ detector: DetectorEntry, _ app: AppEntry, _ passage: Rulebook.Passage, _ reason: Reason,
        epoch: UInt64
    ) -> Verdict {
        let alongside = passage.group.flatMap { self.groups[$0].episode?.epoch }
        return self.rules.verdict(hit, detector, app, passage, reason, epoch: epoch, alongside: alongside)
    }

    /// S4 and S5 for a hit that passed the others; returns the group it has come to, if that has to be settled.
    private mutating func admit(
        _ hit: Hit, _ detector: DetectorEntry, _ app: AppEntry, _ passage: Rulebook.Passage, _ apps: Apps,
        into actions: inout [ArbiterAction]
    ) -> Int? {
        let held = HeldHit(
            hit: hit, order: detector.order, detector: detector.facts,
            rule: passage.rule ?? Rulebook.defaultRule, arrival: self.arrivalTime, device: self.rules.device)
        if let group = passage.group {
            return self.join(
                group, held, detector, app, passage.limits ?? LimitsSeen(), apps, into: &actions)
        }
        // It competes with nobody.
        let epoch = self.epochs.next()
        let reason = self.deliveries.deliver(held, to: detector.app, self.errand(epoch), apps, into: &actions)
        actions.append(.verdict(self.rules.verdict(hit, detector, app, passage, reason, epoch: epoch)))
        return nil
    }

    /// S4 for one hit; returns the group if its episode has to be settled after the sample's last hit.
    private mutating func join(
        _ group: Int, _ held: HeldHit, _ detector: DetectorEntry, _ app: AppEntry, _ limits: LimitsSeen,
        _ apps: Apps, into actions: inout [ArbiterAction]
    ) -> Int? {
        let epoch = self.groups.open(
            group, held, of: app, generation: self.rules.generation, &self.epochs, apps)
        switch self.groups[group].admit(held, of: detector.app, app, limits) {
        case .nothing: break
        case .collected(let isKept):
            if !isKept { actions.append(.repeated(detector.app, held.hit, epoch: epoch, .quota)) }
            return group
        case .closed(let reason) where !self.isOffered(epoch, to: detector.app):
            actions.append(.repeated(detector.app, held.hit, epoch: epoch, reason))
        // Who has the event of an order owns the motion for now.
        case .owner, .closed:
            let errand = self.errand(epoch, answerBy: self.chains[epoch]?.answerBy)
            let reason = self.deliveries.deliver(held, to: detector.app, errand, apps, into: &actions)
            if !reason.isDelivered { actions.append(.repeated(detector.app, held.hit, epoch: epoch, reason)) }
        case .shared(let last, let epoch):
            self.share(group, held, detector, app, limits, after: last, of: epoch, apps, into: &actions)
        case .late(let candidate):
            let key: Rank.Key? = self.groups[group].isHeld(against: candidate.rank) ? .holder : nil
            let contest = self.groups[group].contest
            actions.append(
                .verdict(self.rules.verdict(candidate, .late, app.id, epoch: epoch, contest, decidedBy: key)))
        }
        return nil
    }

    /// Carries a hit to its app where nobody owns the motion. Who was refused before, and hears now, is told so apart.
    private mutating func share(
        _ group: Int, _ held: HeldHit, _ detector: DetectorEntry, _ app: AppEntry, _ limits: LimitsSeen,
        after last: Reason?, of told: UInt64, _ apps: Apps, into actions: inout [ArbiterAction]
    ) {
        let isMixable = self.groups[group].episode?.configuration.mode == .mixable
        let mixing = isMixable ? apps.mixing(of: detector.app, app, held) : nil
        let isApart = last?.isDelivered == false && mixing?.refusal == nil
        let epoch = isApart ? self.epochs.next() : told
        let reason =
            mixing?.refusal
            ?? self.deliveries.deliver(
                held, to: detector.app, self.errand(epoch, session: mixing?.session), apps, into: &actions)
        if last == nil || isApart && reason.isDelivered {
            let candidate = self.groups[group].share(held, detector.app, app, limits, reason, epoch: epoch)
            let contest = self.groups[group].contest
            let verdict = self.rules.verdict(
                candidate, reason, app.id, epoch: epoch, contest, mixing: mixing?.seen)
            actions.append(.verdict(verdict))
        } else if !reason.isDelivered {
            actions.append(.repeated(detector.app, held.hit, epoch: told, reason))
        }
    }

    /// What an event is carried for; by the policy in force, unless it was begun under another.
    private func errand(
        _ epoch: UInt64, generation: UInt64? = nil, answerBy: Timestamp? = nil, session: SessionKey? = nil
    ) -> Deliveries.Errand {
        Deliveries.Errand(
            epoch: epoch, generation: generation ?? self.rules.generation, arrival: self.arrivalTime,
            answerBy: answerBy, session: session)
    }

    // MARK: Deciding

    /// Decides an episode if its time is up, or if waiting cannot change the answer.
    mutating func settle(_ group: Int, at time: Timestamp, _ apps: Apps, into actions: inout [ArbiterAction]) {
        guard let episode = self.groups[group].episode, episode.isCollecting, !episode.candidates.isEmpty else {
            return
        }
        if episode.closes <= time {
            self.decide(group, at: time, isEager: false, apps, into: &actions)
            return
        }
        guard episode.configuration.commitsEagerly, !self.canChange(group, episode, apps) else { return }
        let answerBy =
            episode.configuration.mode == .ordered ? self.arrivalTime + episode.configuration.ackTimeout : nil
        for candidate in episode.candidates {
            // By the time the window closes an app may be launched again that cannot be now.
            if self.deliveries.isResting(candidate, at: self.arrivalTime, answerBy: answerBy, apps) { return }
        }
        self.decide(group, at: time, isEager: true, apps, into: &actions)
    }

    /// Whether a hit that may still come before the window closes could change who gets the event.
    private mutating func canChange(_ group: Int, _ episode: Episode, _ apps: Apps) -> Bool {
        // Gone before anything is decided: what it shares would be copied then.
        let foresight = Foresight(
            rules: self.rules, detectors: self.detectors, deliveries: self.deliveries, motionTime: self.motionTime)
        return self.groups[group].canChange(group, episode, foresight, apps)
    }

    /// Decides an episode: somebody gets the event, and every candidate its verdict.
    private mutating func decide(
        _ group: Int, at time: Timestamp, isEager: Bool, _ apps: Apps, into actions: inout [ArbiterAction]
    ) {
        let found = self.groups.decision(of: group, at: time, isEager: isEager, arrival: self.arrivalTime, apps)
        guard let decision = found else { return }
        let episode = decision.episode
        if episode.configuration.mode == .ordered {
            self.groups[group].startOrder(decision)
            self.chains.add(Chain(decision, at: self.arrivalTime))
            self.offer(episode.epoch, apps, into: &actions)
            return
        }
        let best = episode.candidates[decision.winner]
        let errand = self.errand(episode.epoch, generation: episode.generation)
        let promised = self.promised(to: best.app, apps[best.app], outside: group)
        let reason = self.deliveries.deliverAll(best, errand, promised: promised, apps, into: &actions)
        self.groups[group].give(decision, reason)
        for index in episode.candidates.indices {
            let isWinner = index == decision.winner
            let candidate = episode.candidates[index]
            let loss = self.deliveries.loss(of: candidate, to: reason, at: self.arrivalTime, apps)
            let verdict = self.rules.verdict(
                candidate, isWinner ? reason : loss, apps.id(of: candidate.app), epoch: episode.epoch,
                generation: episode.generation, decision.contest,
                decidedBy: (isWinner ? decision.next : index).map { decision.key(over: $0) })
            actions.append(.verdict(verdict))
        }
        // Who is known not to come keeps it from nobody. An heir can come, so that this is not done twice.
        if reason == .launchFailed {
            self.replaceOwner(of: group, apps, into: &actions)
            self.groups.sweep()
            return
        }
        self.groups[group].won(
            best.app, among: episode.candidates.map(\.app), epoch: episode.epoch, at: best.first.hit.time,
            arrival: self.arrivalTime)
    }

    // MARK: Orders

    /// Offers the event to whoever's turn it is; the chain is gone when nobody is left.
    private mutating func offer(_ epoch: UInt64, _ apps: Apps, into actions: inout [ArbiterAction]) {
        while let chain = self.chains[epoch], let candidate = chain.current {
            if chain.ends <= self.arrivalTime {
                self.finish(chain, chain.rest, .budget, apps, into: &actions)
                return
            }
            let answerBy = chain.answerBy(at: self.arrivalTime)
            let errand = self.errand(epoch, generation: chain.generation, answerBy: answerBy)
            let promised = self.promised(to: candidate.app, apps[candidate.app], outside: nil)
            let reason = self.deliveries.deliverAll(candidate, errand, promised: promised, apps, into: &actions)
            if reason.isDelivered {
                self.chains.wait(epoch, until: answerBy)
                self.groups.offered(chain, to: candidate.app)
                return
            }
            self.close(candidate, reason, chain, apps, into: &actions)
            self.chains.advance(epoch)
        }
        self.chains.remove(epoch)
    }

    /// Takes the event on from whoever has not answered in time.
    mutating func passSilent(_ apps: Apps, into actions: inout [ArbiterAction]) {
        if let next = self.chains.next { self.pass(next.epoch, .silent, apps, into: &actions) }
    }

    /// The one who has the event leaves it to the next.
    private mutating func pass(
        _ epoch: UInt64, _ reason: Reason, _ apps: Apps, into actions: inout [ArbiterAction]
    ) {
        if let chain = self.chains[epoch], let candidate = chain.current {
            self.close(candidate, reason, chain, apps, into: &actions)
        }
        self.chains.advance(epoch)
        self.offer(epoch, apps, into: &actions)
    }

    /// Ends a chain; whoever's turn did not come gets `reason`.
    private mutating func finish(
        _ chain: Chain, _ rest: some Sequence<Candidate>, _ reason: Reason, takenBy: AppID? = nil, _ apps: Apps,
        into actions: inout [ArbiterAction]
    ) {
        self.chains.remove(chain.epoch)
        for candidate in rest {
            self.close(candidate, reason, chain, takenBy: takenBy, apps, into: &actions)
            self.groups.denied(chain, to: candidate.app)
        }
    }

    /// Gives a candidate of a chain its verdict.
    private mutating func close(
        _ candidate: Candidate, _ reason: Reason, _ chain: Chain, takenBy: AppID? = nil, _ apps: Apps,
        into actions: inout [ArbiterAction]
    ) {
        let verdict = self.rules.verdict(
            candidate, reason, apps.id(of: candidate.app), epoch: chain.epoch, generation: chain.generation,
            chain.contest, decidedBy: chain.key(of: candidate), takenBy: takenBy)
        actions.append(.verdict(verdict))
        self.groups.close(chain, for: candidate.app, reason)
    }

    // MARK: Answers

    /// Takes an app's answer to an event. An epoch that the app does not own, or not any more, changes nothing.
    mutating func answer(
        _ app: AppHandle, _ epoch: UInt64, _ answer: Answer, _ apps: Apps, into actions: inout [ArbiterAction]
    ) {
        guard let id = apps.id(of: app), epoch <= self.epochs.last else {
            self.staleAnswers &+= 1
            return
        }
        guard let chain = self.chains[epoch] else {
            if !self.groups.answer(app, epoch: epoch, arrival: self.arrivalTime, apps) { self.staleAnswers &+= 1 }
            return
        }
        guard let candidate = chain.current, candidate.app == app else {
            self.staleAnswers &+= 1
            return
        }
        guard answer == .consume else { return self.pass(epoch, .passed, apps, into: &actions) }
        self.close(candidate, .taken, chain, apps, into: &actions)
        self.finish(chain, chain.rest.dropFirst(), .consumed, takenBy: id, apps, into: &actions)
        self.groups.consumed(chain, by: candidate, arrival: self.arrivalTime)
    }

    // MARK: Owners

    /// The owner of an episode died, or cannot be launched. If it had not answered, the next best gets the event, under an
    /// epoch of its own.
    private mutating func replaceOwner(of group: Int, _ apps: Apps, into actions: inout [ArbiterAction]) {
        guard let old = self.groups[group].episode, case .owned(let owner, let isAnswered) = old.phase else { return }
        self.groups[group].endEpisode()
        if isAnswered { return }
        let heirs = self.heirs(of: old, owner, apps)
        if heirs.isEmpty { return }
        self.groups[group].inherit(Episode(old, epoch: self.epochs.next(), heirs))
        self.decide(group, at: self.groups[group].reached(self.motionTime), isEager: false, apps, into: &actions)
    }

    /// Who may have the event of an episode in place of its owner, while it is fresh.
    private func heirs(of episode: Episode, _ owner: Int, _ apps: Apps) -> [Candidate] {
        episode.candidates.indices.compactMap { index in
            let candidate = episode.candidates[index]
            guard index != owner else { return nil }
            let promised = self.promised(to: candidate.app, apps[candidate.app], outside: nil)
            return self.deliveries.heir(
                candidate, promised: promised, at: self.arrivalTime, apps, where: self.detectors.isRegistered)
        }
    }

    /// An app could not be launched: what it was to have goes to whoever is next, if somebody is. Otherwise it waits for the
    /// next try.
    mutating func handOn(from launch: Launch, _ apps: Apps, into actions: inout [ArbiterAction]) {
        for epoch in self.chains.epochs {
            guard let app = self.chains[epoch]?.current?.app, apps.isOutOfReach(app, of: launch) else { continue }
            self.pass(epoch, .launchFailed, apps, into: &actions)
        }
        for group in self.groups.indices {
            guard let episode = self.groups[group].episode ?? self.groups[group].entrusted,
                let owner = episode.awaited, apps.isOutOfReach(episode.candidates[owner].app, of: launch),
                !self.heirs(of: episode, owner, apps).isEmpty
            else { continue }
            self.groups.takeUp(group)
            self.replaceOwner(of: group, apps, into: &actions)
        }
        self.groups.sweep()
    }

    /// Nothing of what is over is an app's to lose any more.
    mutating func forgetEntrusted(_ app: AppEntry, _ apps: Apps) { self.groups.forgetEntrusted(app, apps) }

    // MARK: All of it

    /// Decides what is open in groups that another policy does not have. The rest is decided as it was begun.
    mutating func decideGroups(missingIn policy: Policy, _ apps: Apps, into actions: inout [ArbiterAction]) {
        let kept = Set(policy.groups.map(\.name))
        for group in self.groups.active where !kept.contains(self.groups[group].configuration.name) {
            self.decideNow(group, apps, into: &actions)
        }
    }

    /// Decides an episode that nothing is waited for any more.
    private mutating func decideNow(_ group: Int, _ apps: Apps, into actions: inout [ArbiterAction]) {
        guard self.groups[group].episode?.isCollecting == true else { return }
        self.decide(group, at: self.groups[group].reached(self.motionTime), isEager: false, apps, into: &actions)
    }

    /// Goes by another policy.
    ///
    /// - Parameter prepared: What was looked up for it before.
    mutating func adopt(_ policy: Policy, _ prepared: PolicySuccession?, _ apps: Apps) {
        self.rules.adopt(policy)
        self.deliveries.adopt(policy, apps, at: self.motionTime)
        self.groups.adopt(policy)
        self.detectors.adopt(policy, prepared, apps)
    }

    /// Goes on from a sample time that is earlier than what was seen: a trace that ran ahead of the clock has ended.
    ///
    /// Its motions are over. What would last until a time that only it had reached lasts as long from now on, so that nobody
    /// waits for the clock to catch up. Returns the time that was reached; `nil`: it is not later, and nothing changed.
    mutating func rewind(to now: Timestamp, _ apps: Apps, into actions: inout [ArbiterAction]) -> Timestamp? {
        let last = self.groups.reached(self.motionTime)
        guard now < last else { return nil }
        for group in self.groups.active { self.decideNow(group, apps, into: &actions) }
        self.groups.rewind(from: last, to: now)
        self.chains.rewind(to: now)
        self.motionTime = now
        self.deliveries.rewind(from: last, to: now)
        self.detectors.rewind(to: now)
        return last
    }

    /// Gives back memory that was needed for apps and detectors that are gone.
    mutating func shrink(apps: Int) {
        self.detectors.shrink(apps: apps)
        self.groups.shrink(apps: apps)
        self.deliveries.shrink(apps: apps)
    }
}
