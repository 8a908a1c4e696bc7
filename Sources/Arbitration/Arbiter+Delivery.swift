import Motion

extension Arbiter {
    /// S5: carries one event to an app, and takes it from the app's quota. Who cannot be launched in time does not get it.
    mutating func deliver(
        _ held: HeldHit, to app: AppHandle, epoch: UInt64, generation: UInt64, answerBy: Timestamp? = nil,
        into actions: inout [ArbiterAction]
    ) -> Reason {
        guard let entry = self.entry(app), held.rule.terms.reach(entry.facts.state) else { return .gone }
        let terms = held.rule.terms
        let route: Delivery.Route
        let reason: Reason
        if entry.facts.state.canReceive {
            (route, reason) = (.live, .sent)
        } else if terms.kind == .wake, !entry.id.isAnonymous {
            (route, reason) = (.wake, .woken)
            let ends = self.launchEnds(held, answerBy)
            guard self.launches.canLaunch(entry.id, before: ends) else { return .launchFailed }
            self.launches.add(
                LaunchRequest(entry.id, .motion(held.detector.kind), strength: held.rule.strength, ends: ends))
        } else {
            (route, reason) = (.store, .stored)
        }
        let index = Int(app.index)
        if let quota = entry.settings.quota { self.apps[index]?.ledger.events.spend(quota, at: held.hit.time) }
        if route == .wake, let quota = entry.settings.wakeQuota {
            self.apps[index]?.ledger.wakes.spend(quota, at: held.hit.time)
        }
        self.apps[index]?.ledger.lastEvent = max(entry.ledger.lastEvent ?? held.hit.time, held.hit.time)
        actions.append(
            .deliver(
                Delivery(
                    app: app, id: entry.id, epoch: epoch, generation: generation, hit: held.hit,
                    detector: held.detector.name, route: route, terms: terms, strength: held.rule.strength,
                    answerBy: answerBy)))
        return reason
    }

    /// Until when it is of use to launch an app for a hit.
    private func launchEnds(_ held: HeldHit, _ answerBy: Timestamp?) -> Timestamp {
        let ends = self.arrivalTime + held.rule.terms.lifespan
        return answerBy.map { min($0, ends) } ?? ends
    }

    /// Whether a candidate would have to be launched, and cannot be as things are.
    func isResting(_ candidate: Candidate, _ episode: Episode) -> Bool {
        guard let app = self.entry(candidate.app), !app.facts.state.canReceive else { return false }
        let answerBy =
            episode.configuration.mode == .ordered ? self.arrivalTime + episode.configuration.ackTimeout : nil
        return candidate.hits.contains { held in
            held.rule.terms.kind == .wake && !self.launches.canLaunch(app.id, before: self.launchEnds(held, answerBy))
        }
    }

    /// Carries all hits of a candidate to it; what became of the first one that could be is the answer.
    mutating func deliverAll(
        _ candidate: Candidate, epoch: UInt64, generation: UInt64, answerBy: Timestamp?,
        into actions: inout [ArbiterAction]
    ) -> Reason {
        var answer: Reason?
        for held in candidate.hits {
            guard let app = self.entry(candidate.app) else { break }
            if answer != nil {
                var seen = LimitsSeen()
                if let reason = self.limits(app, held.rule.terms, nil, at: held.hit.time, &seen) {
                    actions.append(.repeated(candidate.app, held.hit, epoch: epoch, reason))
                    continue
                }
            }
            guard held.rule.terms.reach(app.facts.state) else { continue }
            let reason = self.deliver(
                held, to: candidate.app, epoch: epoch, generation: generation, answerBy: answerBy, into: &actions)
            if answer == nil { answer = reason }
        }
        return answer ?? .gone
    }

    /// Carries a further hit to the app that owns the episode.
    mutating func deliverMore(
        _ held: HeldHit, _ app: AppHandle, _ entry: AppEntry, epoch: UInt64, into actions: inout [ArbiterAction]
    ) {
        let reason = self.deliver(held, to: app, epoch: epoch, generation: self.generation, into: &actions)
        if !reason.isDelivered { actions.append(.repeated(app, held.hit, epoch: epoch, reason)) }
    }

    /// The verdict of a candidate.
    func verdict(
        _ candidate: Candidate, _ reason: Reason, epoch: UInt64, generation: UInt64, _ contest: Contest? = nil
    ) -> Verdict {
        let first = candidate.first
        return Verdict(
            epoch: epoch, app: candidate.app, id: self.entry(candidate.app)?.id ?? AppID(""),
            detector: first.detector.name, preset: first.detector.preset, time: first.hit.time,
            intensity: candidate.rank.intensity, dimension: first.detector.dimension,
            threshold: first.detector.threshold, reason: reason, generation: generation, facts: candidate.facts,
            device: self.device, rule: first.rule,
            limits: candidate.limits, contest: contest, rank: candidate.rank)
    }
}
