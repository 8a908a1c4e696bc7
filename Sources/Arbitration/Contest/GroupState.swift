import Motion

/// A group at work: who competes in it, how each fared, and the episode of the motion that is going on.
struct GroupState: Sendable {
    private(set) var configuration: GroupConfiguration
    private var members = Members()
    /// Whom the members before the cursor of the episode cannot outrank, as an index of the candidates.
    private var foreseen: Int?
    /// By app index.
    private var standings: [Standing] = []
    /// The time of the last motion that served somebody, from which the cooldown counts.
    private var served = Timestamp(microseconds: .min)
    private var holder: Holder?
    private var stayers = Stayers()
    private(set) var episode: Episode?
    /// The last motion, which is over while its owner is still launched for it: should that fail, the next best has it.
    private(set) var entrusted: Episode?
    /// What the last decision of the episode was.
    private(set) var contest: Contest?

    /// Whoever keeps a sticky group.
    private struct Holder: Sendable {
        var app: AppHandle
        /// When it won or answered last, in arrival time, from which its lease counts.
        var since: Timestamp
        /// What it won last, until it answers that: one answer renews the lease, and repeating it does not.
        var unanswered: UInt64?

        /// - Parameter lease: `nil`: as long as it lives.
        func holds(at arrival: Timestamp, _ lease: TimeSpan?) -> Bool {
            lease.map { arrival < self.since + $0 } ?? true
        }
    }

    /// How an app fared in the group.
    private struct Standing: Sendable {
        var denials = 0
        var lastWin: UInt64 = 0
        /// Its index among the candidates of the episode, or -1.
        var position: Int32 = -1
    }

    init(_ configuration: GroupConfiguration) {
        self.configuration = configuration
    }

    private subscript(_ app: AppHandle) -> Standing {
        get {
            let index = Int(app.index)
            return index < self.standings.count ? self.standings[index] : Standing()
        }
        set {
            let index = Int(app.index)
            while self.standings.count <= index { self.standings.append(Standing()) }
            self.standings[index] = newValue
        }
    }

    /// Hits before this time open no episode.
    private var rests: Timestamp { self.served + self.configuration.cooldown }

    /// The index of an app among the candidates.
    private func position(of app: AppHandle) -> Int? {
        let position = Int(self[app].position)
        return position < 0 ? nil : position
    }

    /// The app as a candidate of what is not decided yet.
    func waiting(_ app: AppHandle) -> Candidate? {
        guard let position = self.position(of: app), self.episode?.isCollecting == true else { return nil }
        return self.episode?.candidates[position]
    }

    /// The sample time that it has come to: its last hit may be ahead of the motion that has passed for all.
    func reached(_ motion: Timestamp) -> Timestamp { max(motion, self.episode?.lastTrue ?? motion) }

    /// Goes by another policy. How long apps have waited and who holds it stays.
    mutating func adopt(_ configuration: GroupConfiguration) {
        self.configuration = configuration
        self.members.forget()
        if !configuration.isSticky { self.holder = nil }
    }

    /// Gives back memory that is not needed any more.
    mutating func shrink(apps: Int) {
        if self.standings.count > apps { self.standings.removeLast(self.standings.count - apps) }
        self.standings.shrink()
        self.members.shrink()
    }

    // MARK: Hits

    /// Why a hit may not come to it: it rests, and there is no episode for the hit to join.
    func limit(at time: Timestamp, _ seen: inout LimitsSeen) -> Reason? {
        guard self.episode == nil, time < self.rests else { return nil }
        seen.wait(until: self.rests)
        return .groupCooldown
    }

    /// What a hit finds.
    enum Admission {
        /// No episode.
        case nothing
        /// Its app has its part already, and comes to this.
        case closed(Reason)
        /// It is weighed when the window closes. One that is not kept counts for its app's rank only.
        case collected(isKept: Bool)
        /// Its app owns the motion.
        case owner
        /// Nobody owns the motion: each hit is judged by itself. What its app came to before, under which epoch; `nil`: nothing.
        case shared(Reason?, epoch: UInt64)
        /// It was decided without it.
        case late(Candidate)
    }

    /// Opens an episode with its first hit.
    mutating func open(_ epoch: UInt64, generation: UInt64, at time: Timestamp, arrival: Timestamp) {
        let configuration = self.configuration
        var episode = Episode(epoch: epoch, configuration, generation: generation, opened: time)
        if configuration.isSticky, let holder = self.holder, holder.holds(at: arrival, configuration.lease) {
            episode.holder = holder.app
        }
        if !configuration.mode.compares {
            episode.phase = .decided
            self.contest = Contest(
                group: configuration.name, mode: configuration.mode, select: [], candidates: 0, decided: time,
                isEager: false)
        }
        self.episode = episode
        self.entrusted = nil
    }

    /// Takes a hit into the episode.
    mutating func admit(
        _ held: HeldHit, of handle: AppHandle, _ app: AppEntry, _ limits: LimitsSeen
    ) -> Admission {
        guard let phase = self.episode?.phase, let mode = self.episode?.configuration.mode,
            let epoch = self.episode?.epoch
        else { return .nothing }
        let position = self.position(of: handle)
        self.sawTrue(at: held.hit.time, of: position, app)
        self.episode?.watch(held.registration, of: position)
        let known: Reason? =
            if let position { self.episode?.outcomes[position] } else {
                self.episode?.outcome(ofLeft: app.id, order: app.order)
            }
        if mode.compares, let known, position == nil || !known.isDelivered { return .closed(known) }
        switch phase {
        case .collecting:
            guard let position else {
                self.lead(self.append(self.candidate(held, handle, app, limits)))
                return .collected(isKept: true)
            }
            let isKept = self.episode?.add(held, to: position) ?? false
            self.lead(position)
            return .collected(isKept: isKept)
        case .owned(let owner, _) where owner == position: return .owner
        case .decided where !mode.compares:
            if let position { return .shared(known, epoch: self.episode?.candidates[position].epoch ?? epoch) }
            // What it had heard when it left it heard under another registration.
            return .shared(known.map { _ in .gone }, epoch: epoch)
        case .owned, .decided:
            // In a chain that is not through its verdict is still to come.
            if position != nil { return .closed(known ?? .outranked) }
            let candidate = self.candidate(held, handle, app, limits)
            if self.stayers.contains(app, at: held.hit.time) {
                self.episode?.leave(app.id, order: app.order, .late)
            } else {
                _ = self.append(candidate, .late)
            }
            self[handle].denials &+= 1
            return .late(candidate)
        }
    }

    /// Notes what became of the first hit of an app where nobody owns the motion, or of the first that it heard.
    ///
    /// - Parameter epoch: Of its verdict.
    mutating func share(
        _ held: HeldHit, _ handle: AppHandle, _ app: AppEntry, _ limits: LimitsSeen, _ reason: Reason, epoch: UInt64
    ) -> Candidate {
        var candidate = self.candidate(held, handle, app, limits)
        candidate.epoch = epoch
        if let position = self.position(of: handle) {
            self.episode?.replace(at: position, candidate, reason)
        } else {
            _ = self.append(candidate, reason)
        }
        if reason.isDelivered { self.served = max(self.served, held.hit.time) }
        return candidate
    }

    /// Notes that a condition was true, of a candidate or of nobody who is one: the motion goes on, unless it is another's and this
    /// is of who stays.
    mutating func sawTrue(at time: Timestamp, of candidate: Int?, _ app: AppEntry) {
        let goesOn = !self.isOthers(candidate) || !self.stayers.contains(app, at: time)
        self.episode?.sawTrue(at: time, of: candidate, goesOn: goesOn)
    }

    /// Whether it is decided that others have the motion.
    private func isOthers(_ candidate: Int?) -> Bool {
        guard self.episode?.phase.isDecided == true, self.episode?.configuration.mode.compares == true else {
            return false
        }
        return candidate == nil || self.episode?.owner.map { $0 != candidate } ?? false
    }

    private func candidate(
        _ held: HeldHit, _ handle: AppHandle, _ app: AppEntry, _ limits: LimitsSeen
    ) -> Candidate {
        var rank = self.rank(handle, app)
        rank.clearHits()
        rank.raise(by: held)
        return Candidate(
            app: handle, first: held, rank: rank, facts: app.facts, limits: limits, lastTrue: held.hit.time)
    }

    /// What an app has to show without any hit.
    private func rank(_ handle: AppHandle, _ app: AppEntry) -> Rank {
        let standing = self[handle]
        let aging = self.episode?.configuration.aging
        return Rank(
            strength: .min, bonus: aging?.bonus(after: standing.denials) ?? 0, specificity: -.infinity,
            intensity: -.infinity, state: app.facts.state, lastUsed: app.facts.lastUsed,
            lastWin: max(standing.lastWin, app.since), order: app.order)
    }

    private mutating func append(_ candidate: Candidate, _ outcome: Reason? = nil) -> Int {
        let position = self.episode?.candidates.count ?? 0
        self.episode?.append(candidate, outcome)
        self[candidate.app].position = Int32(truncatingIfNeeded: position)
        return position
    }

    /// Puts a candidate in the lead if it ranks higher than whoever leads.
    private mutating func lead(_ position: Int) {
        guard let episode = self.episode, position != episode.leader else { return }
        let leader = episode.candidates[episode.leader].rank
        let isHigher = episode.candidates[position].rank.outranks(leader, by: episode.configuration.select).outranks
        guard isHigher else { return }
        self.episode?.leader = position
        // The old leader's other detectors were passed over.
        self.episode?.cursor = 0
    }

    // MARK: Deciding

    /// Who comes first, and what that says of the others.
    struct Decision {
        let episode: Episode
        /// As indices of the candidates.
        let winner: Int
        let next: Int?
        /// Whoever holds a sticky group, if it is among them.
        let holder: Int?
        let contest: Contest

        /// What put the winner before another: its hold on a sticky group, or the first key that says so. From its holder
        /// only strength takes the group, whatever else is compared.
        func key(over other: Int) -> Rank.Key {
            if self.winner == self.holder { return .holder }
            if other == self.holder { return .selected(.strength) }
            let rank = self.episode.candidates[self.winner].rank
            return rank.key(over: self.episode.candidates[other].rank, self.episode.configuration.select)
        }
    }

    /// Finds who comes first as things are; `nil` without candidates.
    func decision(at time: Timestamp, isEager: Bool, _ apps: Apps) -> Decision? {
        guard let episode = self.episode, !episode.candidates.isEmpty else { return nil }
        let winner = self.pick(episode)
        let configuration = episode.configuration
        var next: Int?
        for index in episode.candidates.indices where index != winner {
            if let known = next,
                !episode.candidates[index].rank.outranks(
                    episode.candidates[known].rank, by: configuration.select
                ).outranks
            {
                continue
            }
            next = index
        }
        func named(_ index: Int) -> (AppID, Rank)? {
            let candidate = episode.candidates[index]
            return apps.id(of: candidate.app).map { ($0, candidate.rank) }
        }
        let contest = Contest(
            group: configuration.name, mode: configuration.mode, select: configuration.select,
            candidates: episode.candidates.count, decided: time, isEager: isEager, winner: named(winner),
            next: next.flatMap { named($0) }, inherits: episode.inherits)
        return Decision(
            episode: episode, winner: winner, next: next, holder: self.holder(of: episode), contest: contest)
    }

    /// Gives the episode to the winner of a decision, with what the event to it came to.
    mutating func give(_ decision: Decision, _ reason: Reason) {
        for index in decision.episode.candidates.indices {
            self.episode?.outcomes[index] = index == decision.winner ? reason : .outranked
            // A motion that an owner did not live to finish was counted already.
            if index != decision.winner, decision.episode.inherits == nil {
                self[decision.episode.candidates[index].app].denials &+= 1
            }
        }
        self.episode?.phase = .owned(by: decision.winner, isAnswered: false)
        self.contest = decision.contest
    }

    /// Lets a chain find who owns the episode.
    mutating func startOrder(_ decision: Decision) {
        let first = decision.episode.candidates[decision.winner].first.hit.time
        self.episode?.phase = .decided
        self.contest = decision.contest
        self.served = max(self.served, first)
    }

    /// Who of the candidates is first: the best, or the holder of a sticky group if nobody exceeds it by enough.
    private func pick(_ episode: Episode) -> Int {
        guard let holder = self.holder(of: episode) else { return episode.leader }
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
    private func holder(of episode: Episode) -> Int? { episode.holder.flatMap { self.position(of: $0) } }

    /// Whether a rank is enough to take a sticky group from its holder.
    private func takes(_ rank: Rank, from holder: Int, _ episode: Episode) -> Bool {
        let held = episode.candidates[holder].rank.effectiveStrength
        let (needed, overflow) = held.addingReportingOverflow(episode.configuration.hysteresis)
        return !overflow && rank.effectiveStrength >= needed && rank.effectiveStrength > held
    }

    /// Whether who has the motion holds the group, and a rank is not enough to take it.
    func isHeld(against rank: Rank) -> Bool {
        guard let episode = self.episode, let holder = self.holder(of: episode) else { return false }
        return holder == episode.owner && !self.takes(rank, from: holder, episode)
    }

    /// Notes that an app was served.
    ///
    /// - Parameter candidates: Whom it was chosen from. Who came late was not beaten.
    mutating func won(
        _ app: AppHandle, among candidates: [AppHandle], epoch: UInt64, at time: Timestamp, arrival: Timestamp
    ) {
        self.wasOffered(app, epoch: epoch)
        self.served = max(self.served, time)
        guard self.configuration.isSticky else { return }
        // A holder that did not fire keeps its hold.
        let others = self.holder.map { $0.app != app && $0.holds(at: arrival, self.configuration.lease) } ?? false
        let isBeaten = self.holder.map { old in candidates.contains(old.app) } ?? false
        if others, !isBeaten { return }
        self.holder = Holder(app: app, since: arrival, unanswered: epoch)
    }

    /// Notes that an app has the event for now: it need not wait any longer.
    mutating func wasOffered(_ app: AppHandle, epoch: UInt64) {
        self[app].denials = 0
        self[app].lastWin = epoch
    }

    /// Notes that an app had nothing of a motion.
    mutating func wasDenied(_ app: AppHandle) { self[app].denials &+= 1 }

    /// Renews the lease of a holder that answers to its last event, once.
    mutating func renewLease(of app: AppHandle, epoch: UInt64, arrival: Timestamp) {
        guard let holder = self.holder, holder.app == app, holder.unanswered == epoch,
            holder.holds(at: arrival, self.configuration.lease)
        else { return }
        self.holder = Holder(app: app, since: arrival)
    }

    // MARK: Waiting

    /// Looks at all members again: who could still fire may be another now.
    mutating func startOver() { self.episode?.cursor = 0 }

    /// Adds a detector to those that compete, behind those that were looked at.
    mutating func add(_ member: DetectorID) { self.members.add(member) }

    /// Some members may be gone.
    mutating func loseMembers() { self.members.lose() }

    /// Whether a hit that may still come before the window closes could change who gets the event.
    ///
    /// - Parameters:
    ///   - group: Its index in the policy.
    ///   - episode: The one that it collects hits for.
    mutating func canChange(_ group: Int, _ episode: Episode, _ foresight: Foresight, _ apps: Apps) -> Bool {
        let rules = foresight.rules.policy.rules
        let isSorted = self.members.sort(
            for: episode.epoch, of: group, self.configuration.select, foresight.detectors, rules)
        let winner = self.pick(episode)
        // A holder can win without being in the lead.
        if isSorted || winner != self.foreseen { self.startOver() }
        self.foreseen = winner
        let members = self.members.detectors
        var cursor = self.episode?.cursor ?? 0
        while cursor < members.count {
            if foresight.couldWin(members[cursor], group, self, episode, over: winner, apps) { break }
            cursor += 1
        }
        self.episode?.cursor = cursor
        return cursor < members.count
    }

    /// Whether an app is this one of the candidates.
    func isCandidate(_ app: AppHandle, _ index: Int) -> Bool { self.position(of: app) == index }

    /// Whether a hit of a detector, at its best, would bring its app before the winner.
    ///
    /// - Parameter strength: The most that it can have.
    func couldBeat(
        _ winner: Int, _ episode: Episode, _ detector: DetectorEntry, _ app: AppEntry, strength: Int
    ) -> Bool {
        let position = self.position(of: detector.app)
        var rank = position.map { episode.candidates[$0].rank } ?? self.rank(detector.app, app)
        rank.strength = max(rank.strength, strength)
        rank.specificity = max(rank.specificity, detector.facts.threshold ?? -.infinity)
        rank.intensity = .infinity
        if let holder = self.holder(of: episode), holder == winner { return self.takes(rank, from: holder, episode) }
        if episode.holder == detector.app { return true }
        return rank.outranks(episode.candidates[winner].rank, by: episode.configuration.select).outranks
    }

    // MARK: After the decision

    /// Notes the verdict of an app in the order of an episode, if that is still the one.
    mutating func close(_ app: AppHandle, _ reason: Reason, epoch: UInt64) {
        guard self.episode?.epoch == epoch, let position = self.position(of: app) else { return }
        self.episode?.outcomes[position] = reason
    }

    /// Gives the episode of an order to the app that consumed its event.
    mutating func consumed(by app: AppHandle, epoch: UInt64) {
        guard self.episode?.epoch == epoch, let position = self.position(of: app) else { return }
        self.episode?.phase = .owned(by: position, isAnswered: true)
    }

    /// Whether the episode is an app's own.
    func isOwned(by app: AppHandle) -> Bool {
        guard let owner = self.episode?.owner else { return false }
        return self.episode?.candidates[owner].app == app
    }

    /// Takes in that an app answers. Returns false when the episode is another's, who owns it.
    mutating func answer(_ app: AppHandle, epoch: UInt64) -> Bool {
        guard self.episode?.epoch == epoch, let owner = self.episode?.owner else { return true }
        guard self.isOwned(by: app) else { return false }
        self.episode?.phase = .owned(by: owner, isAnswered: true)
        return true
    }

    // MARK: Motions without end

    /// Whether a hit of an app ends the motion: whoever has it has stayed since the app did.
    func isOver(for app: AppEntry, at time: Timestamp, _ apps: Apps) -> Bool {
        guard !self.stayers.isEmpty, let episode = self.episode, episode.configuration.mode.compares,
            episode.phase.isDecided,
            // What comes so soon is of the same motion, and who gave it away could never show that it does not stay.
            time >= max(episode.closes, self.rests, episode.opened + episode.silence)
        else { return false }
        // Asked with each hit, of thousands of candidates: one that is not behind is enough.
        var isAny = false
        for index in episode.owner.map({ $0..<$0 + 1 }) ?? episode.candidates.indices {
            guard let candidate = self.candidateInTime(index, episode, apps) else { continue }
            guard self.stayers.isBehind(candidate, app, at: time) else { return false }
            isAny = true
        }
        return isAny
    }

    /// Notes who stays, and who does not any more, when the motion has ended by itself.
    mutating func noteStayers(_ apps: Apps) {
        guard let episode = self.episode, episode.configuration.mode.compares else { return }
        for index in episode.candidates.indices {
            guard let app = self.candidateInTime(index, episode, apps) else { continue }
            if episode.stays(index) {
                self.stayers.add(app, at: episode.ends)
            } else {
                self.stayers.remove(app)
            }
        }
    }

    /// The app of a candidate that came in time, if it is still there.
    private func candidateInTime(_ index: Int, _ episode: Episode, _ apps: Apps) -> AppEntry? {
        let app = episode.candidates[index].app
        return episode.isInTime(index) && self.isCandidate(app, index) ? apps[app] : nil
    }

    // MARK: Its end

    /// Ends the episode, whatever it came to.
    mutating func endEpisode() {
        for (index, candidate) in (self.episode?.candidates ?? []).enumerated()
        where self[candidate.app].position == Int32(truncatingIfNeeded: index) {
            self[candidate.app].position = -1
        }
        self.episode = nil
        self.contest = nil
    }

    /// Ends the episode, whose owner may still be launched for it.
    mutating func endEpisode(isEntrusted: Bool) {
        self.entrusted = isEntrusted ? self.episode : nil
        self.endEpisode()
    }

    /// Nothing of what is over is anybody's to lose any more.
    mutating func forgetEntrusted() { self.entrusted = nil }

    /// Takes up what is over again, because its owner is to lose it.
    mutating func takeUpEntrusted() {
        self.episode = self.entrusted
        self.entrusted = nil
    }

    /// Goes on with an episode in place of one whose owner is gone, or of what it was with more hits.
    mutating func inherit(_ episode: Episode) {
        self.episode = episode
        for (index, heir) in episode.candidates.enumerated() {
            self[heir.app].position = Int32(truncatingIfNeeded: index)
        }
    }

    // MARK: Leaving

    /// Drops hits of an app that wait. Returns the candidate if it has none left, and why.
    mutating func drop(
        _ app: AppHandle, _ entry: AppEntry?, _ objection: Candidate.Objection
    ) -> (Candidate, Reason)? {
        guard let position = self.position(of: app), self.episode?.isCollecting == true else { return nil }
        let held = self.episode?.candidates[position].hits.count
        let reason = self.episode?.lose(objection, of: position)
        guard let reason, let candidate = self.episode?.candidates[position] else {
            if self.episode?.candidates[position].hits.count != held { self.episode?.findLeader() }
            return nil
        }
        self.episode?.remove(at: position)
        self[app].position = -1
        if let entry { self.episode?.leave(entry.id, order: entry.order, reason) }
        self.renumber(from: position)
        if self.episode?.candidates.isEmpty ?? true {
            self.endEpisode()
        } else {
            self.episode?.findLeader()
        }
        return (candidate, reason)
    }

    private mutating func renumber(from start: Int) {
        guard let candidates = self.episode?.candidates else { return }
        for index in candidates.indices.dropFirst(start) {
            self[candidates[index].app].position = Int32(truncatingIfNeeded: index)
        }
    }

    /// Forgets an app, whose handle may be used again.
    mutating func forget(_ app: AppHandle, _ entry: AppEntry) {
        if let position = self.position(of: app), let outcome = self.episode?.outcomes[position] {
            self.episode?.leave(entry.id, order: entry.order, outcome)
        }
        if Int(app.index) < self.standings.count { self[app] = Standing() }
        self.loseHold(app)
    }

    /// Forgets how an app fared, which is another user's from now on. What the old one won waits for that one; this one neither has it nor loses it.
    mutating func forgetStanding(of app: AppHandle) {
        guard Int(app.index) < self.standings.count else { return }
        (self[app].denials, self[app].lastWin) = (0, 0)
        if let owner = self.episode?.owner, self.isOwned(by: app) {
            self.episode?.phase = .owned(by: owner, isAnswered: true)
        }
        self.loseHold(app)
    }

    /// Whoever dies holds nothing.
    mutating func loseHold(_ app: AppHandle) {
        if self.holder?.app == app { self.holder = nil }
        guard self.episode?.holder == app else { return }
        self.episode?.holder = nil
        self.startOver()
    }

    /// Goes on from a sample time that is earlier: the motion is over, and a rest lasts as long from now on.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        self.entrusted = nil
        self.stayers.removeAll()
        if self.rests > now { self.served = now + max(.zero, self.rests - last) - self.configuration.cooldown }
    }
}
