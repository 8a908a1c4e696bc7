import Motion

extension Arbiter {
    /// Takes in hits, those of one sample together.
    ///
    /// What falls due before one of them runs first. That motion has passed is not said with it: another sensor, which is
    /// slower, may have hits of earlier times still.
    mutating func hits(_ hits: [Hit], _ lastTrue: LastTrue, into actions: inout [ArbiterAction]) {
        var index = 0
        while index < hits.count {
            let time = hits[index].time
            self.runDue(to: time, lastTrue, into: &actions)
            var touched: [Int] = []
            while index < hits.count, hits[index].time == time {
                if let group = self.take(hits[index], into: &actions), !touched.contains(group) {
                    touched.append(group)
                }
                index += 1
            }
            for group in touched { self.settle(group, at: time, into: &actions) }
        }
    }

    /// Lets motion pass to a sample time.
    mutating func runMotion(to time: Timestamp, _ lastTrue: LastTrue, into actions: inout [ArbiterAction]) {
        self.runDue(to: time, lastTrue, into: &actions)
        self.motionTime = max(self.motionTime, time)
    }

    /// Runs what falls due at or before a sample time, in the order of time and epoch.
    private mutating func runDue(to time: Timestamp, _ lastTrue: LastTrue, into actions: inout [ArbiterAction]) {
        while true {
            var due: (deadline: Timestamp, epoch: UInt64, group: Int)?
            for group in self.active {
                guard let episode = self.groups[group].episode, episode.deadline <= time else { continue }
                if let best = due, (best.deadline, best.epoch) < (episode.deadline, episode.epoch) { continue }
                due = (episode.deadline, episode.epoch, group)
            }
            guard let due else { break }
            self.motionTime = max(self.motionTime, due.deadline)
            if self.groups[due.group].episode?.isCollecting == true {
                self.decide(due.group, at: due.deadline, isEager: false, into: &actions)
            } else if !self.prolong(due.group, lastTrue) {
                let episode = self.groups[due.group].episode
                self.groups[due.group].entrusted = episode.flatMap { self.isEntrusted($0) ? $0 : nil }
                self.groups[due.group].endEpisode()
                self.active.removeAll { $0 == due.group }
            }
        }
    }

    /// Whether a condition has been true since, so that the episode goes on.
    private mutating func prolong(_ group: Int, _ lastTrue: LastTrue) -> Bool {
        guard var episode = self.groups[group].episode else { return false }
        let ends = episode.ends
        for candidate in episode.candidates {
            for held in candidate.hits where self.isRegistered(held) {
                if let time = lastTrue(held.hit.detector) { episode.lastTrue = max(episode.lastTrue, time) }
            }
        }
        self.groups[group].episode?.lastTrue = episode.lastTrue
        return episode.ends > ends
    }

    /// Whether the detector of a hit is still the one that fired.
    func isRegistered(_ held: HeldHit) -> Bool { self.entry(held.hit.detector)?.order == held.order }

    // MARK: The stages

    /// Takes one hit through the stages; returns the group it has come to, if that has to be settled.
    private mutating func take(_ hit: Hit, into actions: inout [ArbiterAction]) -> Int? {
        guard let detector = self.entry(hit.detector), let app = self.entry(detector.app) else { return nil }
        self.detectors[Int(hit.detector.index)]?.lastHit = hit.time
        switch self.judge(hit, detector, app) {
        case .refused(let refusal):
            self.refuse(hit, detector, app, refusal, into: &actions)
            return nil
        case .passed(let passage):
            self.detectors[Int(hit.detector.index)]?.lastRefusal = nil
            return self.admit(hit, detector, app, passage, into: &actions)
        }
    }

    /// S0 to S3: what they say to a hit, without doing anything about it.
    func judge(_ hit: Hit, _ detector: DetectorEntry, _ app: AppEntry) -> Judgement {
        let index = self.decidingRule(detector, app.facts, intensity: hit.peak)
        let rule = index.map { self.policy.rules[Int($0)] }
        let terms = rule?.terms ?? DeliveryTerms()
        let isAllowed = (rule?.effect ?? self.policy.otherwise) == .allow
        let group = index.map { Int(self.policy.ruleGroups[Int($0)]) }.flatMap { $0 < 0 ? nil : $0 }
        func refuse(_ reason: Reason, _ limits: LimitsSeen? = nil) -> Judgement {
            .refused(Refusal(reason: reason, rule: rule, limits: limits, group: group))
        }
        if !app.facts.isProvenEnough { return refuse(.mismatch) }
        if !app.facts.state.canReceive, !isAllowed || !terms.reach(app.facts.state) {
            return refuse(app.facts.state == .dead ? .dead : .suspended)
        }
        if !isAllowed { return refuse(rule == nil ? .noRule : .denied) }
        var seen = LimitsSeen()
        if let reason = self.limits(app, terms, group, at: hit.time, &seen) { return refuse(reason, seen) }
        return .passed(Passage(rule: rule ?? Self.defaultRule, group: group, limits: seen))
    }

    /// S4 and S5 for a hit that passed the others; returns the group it has come to, if that has to be settled.
    mutating func admit(
        _ hit: Hit, _ detector: DetectorEntry, _ app: AppEntry, _ passage: Passage,
        into actions: inout [ArbiterAction]
    ) -> Int? {
        let held = HeldHit(
            hit: hit, order: detector.order, detector: detector.facts, rule: passage.rule, arrival: self.arrivalTime)
        guard let group = passage.group else {
            self.deliverAlone(held, detector, app, passage.limits, into: &actions)
            return nil
        }
        return self.join(group, held, detector, app, passage.limits, into: &actions)
    }

    /// What S0 to S3 say to a hit.
    enum Judgement {
        case refused(Refusal)
        case passed(Passage)
    }

    /// What a hit brings along from S3 to S4.
    struct Passage {
        var rule: Rule
        /// `nil`: it competes with nobody.
        var group: Int?
        var limits: LimitsSeen
    }

    /// What stands for the policy's default when it allows.
    static let defaultRule = Rule(
        name: "", place: Place(file: "", line: 0), effect: .allow, note: "the policy's default")

    struct Refusal {
        var reason: Reason
        var rule: Rule?
        var limits: LimitsSeen?
        var group: Int?
    }

    /// The first rule that matches; `nil` when none does.
    private func decidingRule(_ detector: DetectorEntry, _ facts: AppFacts, intensity: Double) -> Int32? {
        for index in detector.rules {
            let conditions = self.policy.rules[Int(index)].conditions
            guard conditions.unmet(facts, self.device).isEmpty else { continue }
            if let condition = conditions.intensity, !condition.holds(for: intensity, detector.facts.dimension) {
                continue
            }
            return index
        }
        return nil
    }

    /// S3: what the app and the group have used up.
    func limits(
        _ app: AppEntry, _ terms: DeliveryTerms, _ group: Int?, at time: Timestamp, _ seen: inout LimitsSeen
    ) -> Reason? {
        if let quota = app.settings.quota {
            seen.burst = quota.burst
            let tokens = app.ledger.events.tokens(of: quota, at: time)
            seen.tokens = tokens
            guard tokens > 0 else {
                seen.until = app.ledger.events.nextToken(of: quota, at: time)
                return .quota
            }
        }
        if let quota = app.settings.wakeQuota, terms.kind == .wake, !app.facts.state.canReceive {
            guard app.ledger.wakes.tokens(of: quota, at: time) > 0 else {
                seen.until = app.ledger.wakes.nextToken(of: quota, at: time)
                return .wakeQuota
            }
        }
        if let last = app.ledger.lastEvent, time < last + app.settings.cooldown {
            seen.until = last + app.settings.cooldown
            return .appCooldown
        }
        if let group, self.groups[group].episode == nil, time < self.groups[group].rests {
            seen.until = self.groups[group].rests
            return .groupCooldown
        }
        return nil
    }

    /// Ends the way of a hit before it came to a group.
    private mutating func refuse(
        _ hit: Hit, _ detector: DetectorEntry, _ app: AppEntry, _ refusal: Refusal,
        into actions: inout [ArbiterAction]
    ) {
        if var last = detector.lastRefusal, last.reason == refusal.reason, last.rule === refusal.rule,
            hit.time - last.time < Self.refusalQuiet
        {
            last.time = hit.time
            self.detectors[Int(hit.detector.index)]?.lastRefusal = last
            actions.append(.repeated(detector.app, hit, epoch: last.epoch, refusal.reason))
            return
        }
        let epoch = self.nextEpoch()
        self.detectors[Int(hit.detector.index)]?.lastRefusal = DetectorEntry.Refused(
            reason: refusal.reason, rule: refusal.rule, time: hit.time, epoch: epoch)
        actions.append(.verdict(self.verdict(hit, detector, app, refusal, epoch: epoch)))
    }

    /// The verdict of a hit that did not come to a group.
    func verdict(
        _ hit: Hit, _ detector: DetectorEntry, _ app: AppEntry, _ refusal: Refusal, epoch: UInt64
    ) -> Verdict {
        var verdict = Verdict(
            epoch: epoch, app: detector.app, id: app.id, detector: detector.facts.name,
            preset: detector.facts.preset, time: hit.time, intensity: hit.peak, dimension: detector.facts.dimension,
            threshold: detector.facts.threshold, reason: refusal.reason, generation: self.generation,
            facts: app.facts, device: self.device, rule: refusal.rule, limits: refusal.limits)
        verdict.alongside = refusal.group.flatMap { self.groups[$0].episode?.epoch }
        switch refusal.reason.stage {
        case .alive, .rule: verdict.nearest = self.nearMiss(detector, app.facts, hit)
        case .identity, .limits, .group, .delivery: break
        }
        return verdict
    }

    /// Of the rules that would have allowed a hit, had they matched, the one that lacked least.
    private func nearMiss(_ detector: DetectorEntry, _ facts: AppFacts, _ hit: Hit) -> NearMiss? {
        var nearest: NearMiss?
        for index in detector.rules {
            let rule = self.policy.rules[Int(index)]
            var unmet = rule.conditions.unmet(facts, self.device)
            if let condition = rule.conditions.intensity,
                !condition.holds(for: hit.peak, detector.facts.dimension)
            {
                unmet.insert(.intensity)
            }
            if rule.effect == .allow, nearest.map({ unmet.count < $0.unmet.count }) ?? true {
                nearest = NearMiss(rule: rule, unmet: unmet)
            }
            // What comes after the rule that decided would not have been asked.
            if unmet.isEmpty { break }
        }
        return nearest
    }

    /// Delivers a hit whose rule names no group: it competes with nobody.
    private mutating func deliverAlone(
        _ held: HeldHit, _ detector: DetectorEntry, _ app: AppEntry, _ seen: LimitsSeen,
        into actions: inout [ArbiterAction]
    ) {
        let epoch = self.nextEpoch()
        let reason = self.deliver(held, to: detector.app, epoch: epoch, generation: self.generation, into: &actions)
        actions.append(
            .verdict(
                Verdict(
                    epoch: epoch, app: detector.app, id: app.id, detector: detector.facts.name,
                    preset: detector.facts.preset, time: held.hit.time, intensity: held.hit.peak,
                    dimension: detector.facts.dimension, threshold: detector.facts.threshold, reason: reason,
                    generation: self.generation, facts: app.facts, device: self.device,
                    rule: held.rule === Self.defaultRule ? nil : held.rule, limits: seen)))
    }
}
