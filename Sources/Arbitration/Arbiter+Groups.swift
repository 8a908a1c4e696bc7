import Motion

extension Arbiter {
    // MARK: Joining

    /// S4 for one hit; returns the group if its episode has to be settled after the sample's last hit.
    mutating func join(
        _ group: Int, _ held: HeldHit, _ detector: DetectorEntry, _ app: AppEntry, _ limits: LimitsSeen,
        into actions: inout [ArbiterAction]
    ) -> Int? {
        if self.groups[group].episode == nil { self.open(group, at: held.hit.time) }
        guard let phase = self.groups[group].episode?.phase, let epoch = self.groups[group].episode?.epoch,
            let configuration = self.groups[group].episode?.configuration
        else { return nil }
        if let lastTrue = self.groups[group].episode?.lastTrue {
            self.groups[group].episode?.lastTrue = max(lastTrue, held.hit.time)
        }
        let position = Int(self.groups[group][detector.app].position)
        let known: Reason? =
            position >= 0
            ? self.groups[group].episode?.outcomes[position]
            : self.groups[group].episode?.outcome(ofLeft: app.id, order: app.order)
        if let known, position < 0 || !known.isDelivered {
            actions.append(.repeated(detector.app, held.hit, epoch: epoch, known))
            return nil
        }
        switch phase {
        case .collecting:
            if position >= 0 {
                self.groups[group].episode?.add(held, to: position)
                self.lead(group, position)
            } else {
                let candidate = self.candidate(held, detector.app, app, limits, in: group)
                self.lead(group, self.append(candidate, to: group))
            }
            return group
        case .owned(let owner, _) where owner == position:
            self.deliverMore(held, detector.app, app, epoch: epoch, into: &actions)
        case .decided where !configuration.mode.compares:
            let mixing = configuration.mode == .mixable ? self.mixing(of: detector.app, app, held) : nil
            let reason =
                mixing?.refusal
                ?? self.deliver(held, to: detector.app, epoch: epoch, generation: self.generation, into: &actions)
            if let session = mixing?.session, reason.isDelivered { self.sessions.spend(session, at: held.hit.time) }
            if known == nil {
                let candidate = self.candidate(held, detector.app, app, limits, in: group)
                _ = self.append(candidate, reason, to: group)
                if reason.isDelivered { self.groups[group].rests = held.hit.time + configuration.cooldown }
                var verdict = self.verdict(
                    candidate, reason, epoch: epoch, generation: self.generation, self.groups[group].contest)
                verdict.mixing = mixing?.seen
                actions.append(.verdict(verdict))
            } else if !reason.isDelivered {
                actions.append(.repeated(detector.app, held.hit, epoch: epoch, reason))
            }
        case .owned, .decided:
            if position >= 0 {
                // In a chain that is not through: its verdict is still to come.
                actions.append(.repeated(detector.app, held.hit, epoch: epoch, known ?? .outranked))
                return nil
            }
            let candidate = self.candidate(held, detector.app, app, limits, in: group)
            _ = self.append(candidate, .late, to: group)
            self.groups[group][detector.app].denials &+= 1
            actions.append(
                .verdict(
                    self.verdict(
                        candidate, .late, epoch: epoch, generation: self.generation, self.groups[group].contest)))
        }
        return nil
    }

    /// Opens an episode with its first hit.
    private mutating func open(_ group: Int, at time: Timestamp) {
        let configuration = self.groups[group].configuration
        var episode = Episode(
            epoch: self.nextEpoch(), configuration, generation: self.generation, opened: time)
        if configuration.isSticky, let holder = self.groups[group].holder, holder.holds(at: self.arrivalTime) {
            episode.holder = holder.app
        }
        if !configuration.mode.compares {
            episode.phase = .decided
            self.groups[group].contest = Contest(
                group: configuration.name, mode: configuration.mode, select: [], candidates: 0, decided: time,
                isEager: false)
        }
        self.groups[group].episode = episode
        self.groups[group].entrusted = nil
        self.active.append(group)
    }

    private func candidate(
        _ held: HeldHit, _ handle: AppHandle, _ app: AppEntry, _ limits: LimitsSeen, in group: Int
    ) -> Candidate {
        var rank = self.rank(handle, app, in: group)
        rank.clearHits()
        rank.raise(by: held)
        return Candidate(app: handle, first: held, rank: rank, facts: app.facts, limits: limits)
    }

    /// What an app has to show without any hit.
    private func rank(_ handle: AppHandle, _ app: AppEntry, in group: Int) -> Rank {
        let standing = self.groups[group][handle]
        let aging = self.groups[group].episode?.configuration.aging
        return Rank(
            strength: .min, bonus: aging?.bonus(after: standing.denials) ?? 0, specificity: -.infinity,
            intensity: -.infinity, state: app.facts.state, lastUsed: app.facts.lastUsed, lastWin: standing.lastWin,
            order: app.order)
    }

    private mutating func append(_ candidate: Candidate, _ outcome: Reason? = nil, to group: Int) -> Int {
        let position = self.groups[group].episode?.candidates.count ?? 0
        self.groups[group].episode?.append(candidate, outcome)
        self.groups[group][candidate.app].position = Int32(truncatingIfNeeded: position)
        return position
    }

    /// Puts a candidate in the lead if it ranks higher than whoever leads.
    private mutating func lead(_ group: Int, _ position: Int) {
        guard let episode = self.groups[group].episode, position != episode.leader else { return }
        let leader = episode.candidates[episode.leader].rank
        let isHigher = episode.candidates[position].rank.outranks(leader, by: episode.configuration.select).outranks
        guard isHigher else { return }
        self.groups[group].episode?.leader = position
        // The old leader's other detectors were passed over.
        self.groups[group].episode?.cursor = 0
    }

    // MARK: Deciding

    /// Decides an episode if its time is up, or if waiting cannot change the answer.
    mutating func settle(_ group: Int, at time: Timestamp, into actions: inout [ArbiterAction]) {
        switch self.readiness(group, at: time) {
        case .waits: break
        case .isDue: self.decide(group, at: time, isEager: false, into: &actions)
        case .isCertain: self.decide(group, at: time, isEager: true, into: &actions)
        }
    }

    private enum Readiness {
        case waits
        case isDue
        case isCertain
    }

    private mutating func readiness(_ group: Int, at time: Timestamp) -> Readiness {
        guard let episode = self.groups[group].episode, episode.isCollecting, !episode.candidates.isEmpty else {
            return .waits
        }
        if episode.closes <= time { return .isDue }
        guard episode.configuration.commitsEagerly, !self.canChange(group, episode) else { return .waits }
        // By the time the window closes an app may be launched again that cannot be now.
        return episode.candidates.contains { self.isResting($0, episode) } ? .waits : .isCertain
    }

    /// Who of the candidates is first: the best, or the holder of a sticky group if nobody exceeds it by enough.
    private func pick(_ group: Int, _ episode: Episode) -> Int {
        guard let holder = self.holder(of: group, episode) else { return episode.leader }
        var best: Int?
        for index in episode.candidates.indices where self.takes(episode.candidates[index].rank, from: holder, episode)
        {
            if let known = best,
                !episode.candidates[index].rank.outranks(
                    episode.candidates[known].rank, by: episode.configuration.select
                ).outranks
            {
                continue
            }
            best = index
        }
        return best ?? holder
    }

    /// The candidate that holds a sticky group.
    private func holder(of group: Int, _ episode: Episode) -> Int? {
        guard let holder = episode.holder else { return nil }
        let position = Int(self.groups[group][holder].position)
        return position >= 0 ? position : nil
    }

    /// Whether a rank is enough to take a sticky group from its holder.
    private func takes(_ rank: Rank, from holder: Int, _ episode: Episode) -> Bool {
        let held = episode.candidates[holder].rank.effectiveStrength
        let (needed, overflow) = held.addingReportingOverflow(episode.configuration.hysteresis)
        return !overflow && rank.effectiveStrength >= needed && rank.effectiveStrength > held
    }

    /// Decides an episode: somebody gets the event, and every candidate its verdict.
    mutating func decide(
        _ group: Int, at time: Timestamp, isEager: Bool, into actions: inout [ArbiterAction]
    ) {
        guard let episode = self.groups[group].episode, !episode.candidates.isEmpty else { return }
        let winner = self.pick(group, episode)
        let configuration = episode.configuration
        if configuration.mode == .ordered {
            self.startChain(group, episode, first: winner, at: time, isEager, into: &actions)
            return
        }
        let select = configuration.select
        let best = episode.candidates[winner]
        var next: Int?
        for index in episode.candidates.indices where index != winner {
            if let known = next,
                !episode.candidates[index].rank.outranks(episode.candidates[known].rank, by: select).outranks
            {
                continue
            }
            next = index
        }
        let contest = Contest(
            group: configuration.name, mode: configuration.mode, select: select,
            candidates: episode.candidates.count, decided: time, isEager: isEager,
            winner: self.named(best), next: next.flatMap { self.named(episode.candidates[$0]) },
            inherits: episode.inherits)
        let reason = self.deliverAll(
            best, epoch: episode.epoch, generation: episode.generation, answerBy: nil, into: &actions)
        actions.reserveCapacity(actions.count + episode.candidates.count)
        for index in episode.candidates.indices {
            let outcome = index == winner ? reason : .outranked
            self.groups[group].episode?.outcomes[index] = outcome
            var verdict = self.verdict(
                episode.candidates[index], outcome, epoch: episode.epoch, generation: episode.generation, contest)
            if index != winner {
                verdict.decidedBy = Self.key(best.rank, over: episode.candidates[index].rank, select)
                // A motion that an owner did not live to finish was counted already.
                if episode.inherits == nil { self.groups[group][episode.candidates[index].app].denials &+= 1 }
            } else if let next {
                verdict.decidedBy = Self.key(best.rank, over: episode.candidates[next].rank, select)
            }
            actions.append(.verdict(verdict))
        }
        self.groups[group].episode?.phase = .owned(by: winner, isAnswered: false)
        self.groups[group].contest = contest
        // Who is known not to come keeps it from nobody.
        if reason == .launchFailed {
            self.replaceOwner(of: group, into: &actions)
            self.active.removeAll { self.groups[$0].episode == nil }
            return
        }
        self.won(
            group, best.app, among: episode.candidates.map(\.app), epoch: episode.epoch, at: best.first.hit.time)
    }

    /// What put one rank before another: the first key that says so, or its hold on a sticky group.
    static func key(_ winner: Rank, over other: Rank, _ select: [SelectKey]) -> Rank.Key {
        let (outranks, key) = winner.outranks(other, by: select)
        if outranks { return key }
        return winner.effectiveStrength > other.effectiveStrength ? .selected(.strength) : .holder
    }

    /// Notes that an app was served by a group.
    ///
    /// - Parameter candidates: Whom it was chosen from. Who came late was not beaten.
    mutating func won(
        _ group: Int, _ app: AppHandle, among candidates: [AppHandle], epoch: UInt64, at time: Timestamp
    ) {
        let configuration = self.groups[group].configuration
        self.groups[group][app].denials = 0
        self.groups[group][app].lastWin = epoch
        self.groups[group].rests = max(self.groups[group].rests, time + configuration.cooldown)
        guard configuration.isSticky else { return }
        // A holder that did not fire keeps its hold.
        let others = self.groups[group].holder.map { $0.app != app && $0.holds(at: self.arrivalTime) } ?? false
        let isBeaten = self.groups[group].holder.map { old in candidates.contains(old.app) } ?? false
        if others, !isBeaten { return }
        self.groups[group].holder = GroupState.Holder(
            app: app, ends: configuration.lease.map { self.arrivalTime + $0 })
    }

    func named(_ candidate: Candidate) -> (AppID, Rank)? {
        self.entry(candidate.app).map { ($0.id, candidate.rank) }
    }

    // MARK: Waiting

    /// Whether a hit that may still come before the window closes could change who gets the event.
    ///
    /// May say yes too often, never no.
    private mutating func canChange(_ group: Int, _ episode: Episode) -> Bool {
        self.sortMembers(group)
        let winner = self.pick(group, episode)
        var cursor = episode.cursor
        if episode.holder != nil { cursor = 0 }
        let members = self.groups[group].members
        while cursor < members.count {
            if self.couldWin(members[cursor], group, episode, over: winner) { break }
            cursor += 1
        }
        self.groups[group].episode?.cursor = cursor
        return cursor < members.count
    }

    /// Whether a detector can fire before the window closes and, at its best, bring its app before the winner.
    private func couldWin(_ member: DetectorID, _ group: Int, _ episode: Episode, over winner: Int) -> Bool {
        guard let detector = self.entry(member), let app = self.entry(detector.app) else { return false }
        let isOrdered = episode.configuration.mode == .ordered
        let position = Int(self.groups[group][detector.app].position)
        if position == winner, !isOrdered { return false }
        guard detector.facts.isAvailable, detector.earliestHit < episode.closes else { return false }
        guard let strength = self.bestStrength(detector, app, group, before: episode.closes) else { return false }
        // Who comes at all is part of the answer where the event is passed on.
        if isOrdered { return true }
        var rank = position >= 0 ? episode.candidates[position].rank : self.rank(detector.app, app, in: group)
        rank.strength = max(rank.strength, strength)
        rank.specificity = max(rank.specificity, detector.facts.threshold ?? -.infinity)
        rank.intensity = .infinity
        if let holder = self.holder(of: group, episode), holder == winner {
            return self.takes(rank, from: holder, episode)
        }
        if episode.holder == detector.app { return true }
        return rank.outranks(episode.candidates[winner].rank, by: episode.configuration.select).outranks
    }

    /// The most strength a hit of a detector could have in a group; `nil` when none of its hits would come there.
    private func bestStrength(
        _ detector: DetectorEntry, _ app: AppEntry, _ group: Int, before end: Timestamp
    ) -> Int? {
        guard app.facts.isProvenEnough else { return nil }
        var best: Int?
        for index in detector.rules {
            let rule = self.policy.rules[Int(index)]
            guard rule.conditions.unmet(app.facts, self.device).isEmpty else { continue }
            if let condition = rule.conditions.intensity, !condition.canHold(detector.facts.dimension) { continue }
            if rule.effect == .allow, Int(self.policy.ruleGroups[Int(index)]) == group,
                rule.terms.reach(app.facts.state), rule.strength > best ?? .min
            {
                // The cooldown of the group is over, or there would be no episode.
                var seen = LimitsSeen()
                let reason = self.limits(app, rule.terms, nil, at: self.motionTime, &seen)
                if reason == nil || seen.until ?? end < end { best = rule.strength }
            }
            // How strong the motion is decides whether this rule or a later one is it.
            if rule.conditions.intensity == nil { break }
        }
        return best
    }

    /// Brings the members of a group up to date, the most promising first.
    private mutating func sortMembers(_ group: Int) {
        switch self.groups[group].order {
        case .sorted: return
        case .unsorted: break
        case .stale:
            let handle = Int32(truncatingIfNeeded: group)
            var members: [DetectorID] = []
            for index in self.detectors.indices where self.detectors[index]?.groups.contains(handle) == true {
                members.append(DetectorID(UInt32(truncatingIfNeeded: index)))
            }
            self.groups[group].members = members
        }
        let promise = self.groups[group].members.map { member in
            let detector = self.entry(member)
            let strengths = (detector?.rules ?? []).map { self.policy.rules[Int($0)].strength }
            return (strength: strengths.max() ?? .min, threshold: detector?.facts.threshold ?? -.infinity, member)
        }
        let isStrengthFirst = self.groups[group].configuration.select.first == .strength
        self.groups[group].members = promise.sorted { a, b in
            if isStrengthFirst, a.strength != b.strength { return a.strength > b.strength }
            if a.threshold != b.threshold { return a.threshold > b.threshold }
            return a.2 < b.2
        }.map { $0.2 }
        self.groups[group].order = .sorted
        self.groups[group].episode?.cursor = 0
    }
}
