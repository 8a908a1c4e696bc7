import Motion

extension Arbiter {
    // MARK: Arrival time

    /// Takes in an input's arrival stamp, and runs what fell due by then: in the order of time, lives before answers.
    ///
    /// Whoever had an event and did not answer has passed it on.
    mutating func arrive(_ arrival: Timestamp, into actions: inout [ArbiterAction]) {
        self.arrivalTime = max(self.arrivalTime, arrival)
        var hasLived = false
        while true {
            let chain = self.chains.indices.min { a, b in
                (self.chains[a].answerBy, self.chains[a].epoch) < (self.chains[b].answerBy, self.chains[b].epoch)
            }
            let answerBy = chain.map { self.chains[$0].answerBy } ?? Timestamp(microseconds: .max)
            if let life = self.lives.due(by: self.arrivalTime), life.time <= answerBy {
                self.live(life.app, at: life.time, into: &actions) { $0.pass(to: $2, $1) }
                hasLived = true
            } else if let chain, answerBy <= self.arrivalTime {
                self.pass(chain, .silent, into: &actions)
            } else {
                break
            }
        }
        if hasLived { self.factsChanged(into: &actions) }
    }

    // MARK: Ordered

    /// Starts an event on its way down the order.
    mutating func startChain(
        _ group: Int, _ episode: Episode, first: Int, at time: Timestamp, _ isEager: Bool,
        into actions: inout [ArbiterAction]
    ) {
        let configuration = episode.configuration
        let ranks = episode.candidates.map(\.rank)
        var order = ranks.indices.filter { $0 != first }
        order.sort { ranks[$0].outranks(ranks[$1], by: configuration.select).outranks }
        order.insert(first, at: 0)
        let contest = Contest(
            group: configuration.name, mode: .ordered, select: configuration.select, candidates: order.count,
            decided: time, isEager: isEager, winner: self.named(episode.candidates[first]),
            next: order.dropFirst().first.flatMap { self.named(episode.candidates[$0]) },
            inherits: episode.inherits)
        self.groups[group].episode?.phase = .decided
        self.groups[group].contest = contest
        self.groups[group].rests = max(
            self.groups[group].rests, episode.candidates[first].first.hit.time + configuration.cooldown)
        let ends = self.arrivalTime + configuration.orderBudget
        self.chains.append(
            Chain(
                epoch: episode.epoch, group: configuration.name, generation: episode.generation,
                configuration: configuration, contest: contest, candidates: episode.candidates, order: order,
                answerBy: ends, ends: ends))
        self.offer(self.chains.count - 1, into: &actions)
    }

    /// Offers the event to whoever's turn it is; the chain is gone when nobody is left.
    private mutating func offer(_ index: Int, into actions: inout [ArbiterAction]) {
        while let candidate = self.chains[index].current {
            let chain = self.chains[index]
            if chain.ends <= self.arrivalTime {
                self.finish(index, from: chain.offered, .budget, into: &actions)
                return
            }
            let answerBy = min(self.arrivalTime + chain.configuration.ackTimeout, chain.ends)
            let reason = self.deliverAll(
                candidate, epoch: chain.epoch, generation: chain.generation, answerBy: answerBy, into: &actions)
            if reason.isDelivered {
                self.chains[index].answerBy = answerBy
                if let group = self.group(of: chain) {
                    self.groups[group][candidate.app].denials = 0
                    self.groups[group][candidate.app].lastWin = chain.epoch
                }
                return
            }
            self.close(candidate, reason, chain, into: &actions)
            self.chains[index].offered += 1
        }
        self.chains.remove(at: index)
    }

    /// The one who has the event leaves it to the next.
    private mutating func pass(_ index: Int, _ reason: Reason, into actions: inout [ArbiterAction]) {
        let chain = self.chains[index]
        if let candidate = chain.current { self.close(candidate, reason, chain, into: &actions) }
        self.chains[index].offered += 1
        self.offer(index, into: &actions)
    }

    /// Ends a chain; whoever's turn did not come gets `reason`.
    private mutating func finish(
        _ index: Int, from start: Int, _ reason: Reason, takenBy: AppID? = nil, into actions: inout [ArbiterAction]
    ) {
        let chain = self.chains.remove(at: index)
        let group = self.group(of: chain)
        for position in chain.order.dropFirst(start) {
            let candidate = chain.candidates[position]
            self.close(candidate, reason, chain, takenBy: takenBy, into: &actions)
            if let group { self.groups[group][candidate.app].denials &+= 1 }
        }
    }

    /// Gives a candidate of a chain its verdict.
    private mutating func close(
        _ candidate: Candidate, _ reason: Reason, _ chain: Chain, takenBy: AppID? = nil,
        into actions: inout [ArbiterAction]
    ) {
        var verdict = self.verdict(
            candidate, reason, epoch: chain.epoch, generation: chain.generation, chain.contest)
        verdict.takenBy = takenBy
        if let winner = chain.contest.winnerRank, winner != candidate.rank {
            verdict.decidedBy = Self.key(winner, over: candidate.rank, chain.configuration.select)
        } else if let next = chain.contest.nextRank {
            verdict.decidedBy = Self.key(candidate.rank, over: next, chain.configuration.select)
        }
        actions.append(.verdict(verdict))
        guard let group = self.group(of: chain), self.groups[group].episode?.epoch == chain.epoch else { return }
        let position = Int(self.groups[group][candidate.app].position)
        if position >= 0 { self.groups[group].episode?.outcomes[position] = reason }
    }

    private func group(of chain: Chain) -> Int? {
        self.groups.firstIndex { $0.configuration.name == chain.group }
    }

    /// Drops hits of an app whose turn has not come.
    mutating func dropFromChains(
        _ app: AppHandle, into actions: inout [ArbiterAction], keeping isKept: (HeldHit) -> Bool
    ) {
        for index in self.chains.indices {
            let chain = self.chains[index]
            for turn in chain.order.indices.dropFirst(chain.offered + 1).reversed()
            where chain.candidates[chain.order[turn]].app == app {
                let candidate = chain.candidates[chain.order[turn]]
                let hits = candidate.hits.filter(isKept)
                if hits.isEmpty {
                    self.close(candidate, .gone, chain, into: &actions)
                    self.chains[index].order.remove(at: turn)
                } else {
                    self.chains[index].candidates[chain.order[turn]].hits = hits
                }
            }
        }
    }

    /// Moves on every event that an app has and can no longer answer.
    mutating func leaveChains(_ app: AppHandle, isGone: Bool, into actions: inout [ArbiterAction]) {
        guard isGone else { return }
        for epoch in self.chains.map({ $0.epoch }) {
            guard let index = self.chains.firstIndex(where: { $0.epoch == epoch }),
                self.chains[index].current?.app == app
            else { continue }
            self.pass(index, .left, into: &actions)
        }
    }

    // MARK: Answers

    /// Takes an app's answer to an event. An epoch that the app does not own, or not any more, changes nothing.
    mutating func answer(
        _ app: AppHandle, _ epoch: UInt64, _ answer: Answer, into actions: inout [ArbiterAction]
    ) {
        guard self.entry(app) != nil, epoch <= self.lastEpoch else {
            self.staleAnswers &+= 1
            return
        }
        if let index = self.chains.firstIndex(where: { $0.epoch == epoch }) {
            let chain = self.chains[index]
            guard chain.current?.app == app else {
                self.staleAnswers &+= 1
                return
            }
            switch answer {
            case .pass: self.pass(index, .passed, into: &actions)
            case .consume: self.consume(index, app, into: &actions)
            }
            return
        }
        for group in self.groups.indices where self.groups[group].entrusted?.epoch == epoch {
            self.groups[group].entrusted = nil
        }
        let owned = self.active.first { self.groups[$0].episode?.epoch == epoch }
        if let group = owned, case .owned(let owner, _) = self.groups[group].episode?.phase {
            guard self.groups[group].episode?.candidates[owner].app == app else {
                self.staleAnswers &+= 1
                return
            }
            self.groups[group].episode?.phase = .owned(by: owner, isAnswered: true)
        }
        self.renewLease(app, epoch: epoch)
    }

    private mutating func consume(_ index: Int, _ app: AppHandle, into actions: inout [ArbiterAction]) {
        let chain = self.chains[index]
        guard let candidate = chain.current else { return }
        self.close(candidate, .taken, chain, into: &actions)
        self.finish(index, from: chain.offered + 1, .consumed, takenBy: self.entry(app)?.id, into: &actions)
        guard let group = self.group(of: chain) else { return }
        self.won(
            group, app, among: chain.order.map { chain.candidates[$0].app }, epoch: chain.epoch,
            at: candidate.first.hit.time)
        let position = Int(self.groups[group][app].position)
        if self.groups[group].episode?.epoch == chain.epoch, position >= 0 {
            self.groups[group].episode?.phase = .owned(by: position, isAnswered: true)
        }
    }

    /// An answer to the holder's last event renews its lease.
    private mutating func renewLease(_ app: AppHandle, epoch: UInt64) {
        for group in self.groups.indices {
            guard let holder = self.groups[group].holder, holder.app == app, holder.holds(at: self.arrivalTime),
                self.groups[group][app].lastWin == epoch, let lease = self.groups[group].configuration.lease
            else { continue }
            self.groups[group].holder?.ends = self.arrivalTime + lease
        }
    }

    // MARK: Owners

    /// The owner of an episode died, or cannot be launched. If it had not answered, the next best gets the event, under an
    /// epoch of its own.
    mutating func replaceOwner(of group: Int, into actions: inout [ArbiterAction]) {
        guard let old = self.groups[group].episode, case .owned(let owner, let isAnswered) = old.phase else { return }
        self.groups[group].endEpisode()
        if isAnswered { return }
        let heirs = self.heirs(of: old, owner)
        if heirs.isEmpty { return }
        var episode = Episode(
            epoch: self.nextEpoch(), old.configuration, generation: old.generation, opened: old.opened)
        episode.lastTrue = old.lastTrue
        episode.inherits = old.epoch
        episode.holder = old.holder
        for heir in heirs { episode.append(heir) }
        episode.findLeader()
        for (index, heir) in heirs.enumerated() {
            self.groups[group][heir.app].position = Int32(truncatingIfNeeded: index)
        }
        self.groups[group].episode = episode
        self.decide(group, at: self.reached(group), isEager: false, into: &actions)
    }

    /// Who may have the event of an episode in place of its owner, while it is fresh.
    private func heirs(of episode: Episode, _ owner: Int) -> [Candidate] {
        episode.candidates.indices.compactMap { index in
            var candidate = episode.candidates[index]
            guard index != owner, let app = self.entry(candidate.app) else { return nil }
            let hits = candidate.hits.filter { self.isRegistered($0) && self.canHave($0, app) }
            if hits.isEmpty { return nil }
            candidate.hits = hits
            return candidate
        }
    }

    private func canHave(_ held: HeldHit, _ app: AppEntry) -> Bool {
        let terms = held.rule.terms
        guard terms.reach(app.facts.state), self.arrivalTime - held.arrival < terms.lifespan else { return false }
        guard let quota = app.settings.wakeQuota, terms.kind == .wake, !app.facts.state.canReceive else { return true }
        return app.ledger.wakes.tokens(of: quota, at: held.hit.time) > 0
    }

    // MARK: Launches that failed

    /// An app could not be launched: what it was to have goes to whoever is next, if somebody is. Otherwise it waits for the
    /// next try.
    mutating func handOn(from id: AppID, into actions: inout [ArbiterAction]) {
        for epoch in self.chains.map({ $0.epoch }) {
            guard let index = self.chains.firstIndex(where: { $0.epoch == epoch }),
                let app = self.chains[index].current?.app, self.isOutOfReach(app, id)
            else { continue }
            self.pass(index, .launchFailed, into: &actions)
        }
        for group in self.groups.indices {
            let isOver = self.groups[group].episode == nil
            guard let episode = self.groups[group].episode ?? self.groups[group].entrusted,
                case .owned(let owner, isAnswered: false) = episode.phase, episode.outcomes[owner] == .woken,
                self.isOutOfReach(episode.candidates[owner].app, id),
                !self.heirs(of: episode, owner).isEmpty
            else { continue }
            if isOver {
                self.groups[group].entrusted = nil
                self.groups[group].episode = episode
                self.active.append(group)
            }
            self.replaceOwner(of: group, into: &actions)
        }
        self.active.removeAll { self.groups[$0].episode == nil }
    }

    /// Whether an app has this name and nothing can be sent to it.
    private func isOutOfReach(_ app: AppHandle, _ id: AppID) -> Bool {
        guard let entry = self.entry(app), entry.id == id else { return false }
        return !entry.facts.state.canReceive
    }

    /// Whether the owner of an episode is launched for its event, and has not answered.
    func isEntrusted(_ episode: Episode) -> Bool {
        guard case .owned(let owner, isAnswered: false) = episode.phase, episode.outcomes[owner] == .woken,
            let id = self.entry(episode.candidates[owner].app)?.id
        else { return false }
        return self.launches.launch(of: id) != nil || self.launches.isWaiting(id)
    }

    /// Nothing of what is over is an app's to lose any more.
    mutating func forgetEntrusted(_ id: AppID) {
        for group in self.groups.indices {
            guard let episode = self.groups[group].entrusted, case .owned(let owner, _) = episode.phase,
                self.entry(episode.candidates[owner].app).map({ $0.id == id }) ?? true
            else { continue }
            self.groups[group].entrusted = nil
        }
    }
}
