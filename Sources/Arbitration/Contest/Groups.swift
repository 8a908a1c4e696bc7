import Motion

/// Keeps the groups of the policy, and which of them have a motion that is not over.
struct Groups: Sendable {
    /// By the index of the group in the policy.
    private var states: [GroupState]
    /// Those with an episode.
    private(set) var active: [Int] = []

    init(_ configurations: [GroupConfiguration]) {
        self.states = configurations.map { GroupState($0) }
    }

    var indices: Range<Int> { self.states.indices }

    subscript(_ group: Int) -> GroupState {
        // For one to look at, not to copy.
        _read { yield self.states[group] }
        _modify { yield &self.states[group] }
    }

    // MARK: Episodes

    /// The next sample time at which something happens without a hit.
    var nextDeadline: Timestamp? {
        // Asked with every sample: a loop allocates nothing.
        var earliest: Timestamp?
        for group in self.active {
            guard let deadline = self.states[group].episode?.deadline else { continue }
            earliest = min(earliest ?? deadline, deadline)
        }
        return earliest
    }

    /// Which group's episode falls due first, by a sample time, and when; in the order of time and epoch.
    func due(by time: Timestamp) -> (group: Int, deadline: Timestamp)? {
        var due: (deadline: Timestamp, epoch: UInt64, group: Int)?
        for group in self.active {
            guard let deadline = self.states[group].episode?.deadline, deadline <= time,
                let epoch = self.states[group].episode?.epoch
            else { continue }
            if let best = due, (best.deadline, best.epoch) < (deadline, epoch) { continue }
            due = (deadline, epoch, group)
        }
        return due.map { ($0.group, $0.deadline) }
    }

    /// Whether an episode of this epoch waits for its decision.
    func isCollecting(_ epoch: UInt64) -> Bool {
        self.active.contains {
            self.states[$0].episode?.epoch == epoch && self.states[$0].episode?.isCollecting == true
        }
    }

    /// Adds what an app may get of groups but one.
    func addPromised(to app: AppHandle, outside group: Int?, _ promised: inout Promised) {
        // A loop looks at the groups, and copies none.
        for index in self.active where index != group {
            if let candidate = self.states[index].waiting(app) { promised.add(candidate) }
        }
    }

    /// Opens an episode of a group with its first hit, if none is open for it. Returns the epoch of the one that is.
    mutating func open(
        _ group: Int, _ first: HeldHit, of app: AppEntry, generation: UInt64, _ epochs: inout Epochs, _ apps: Apps
    ) -> UInt64 {
        if self.states[group].isOver(for: app, at: first.hit.time, apps) { self.close(group, apps) }
        if let open = self.states[group].episode?.epoch { return open }
        let epoch = epochs.next()
        self.states[group].open(epoch, generation: generation, at: first.hit.time, arrival: first.arrival)
        self.active.append(group)
        return epoch
    }

    /// Whether a condition has been true since, so that the episode of a group goes on.
    mutating func prolong(
        _ group: Int, _ lastTrue: Arbiter.LastTrue, _ detectors: Detectors, _ apps: Apps
    ) -> Bool {
        guard let before = self.states[group].episode?.ends,
            let indices = self.states[group].episode?.candidates.indices
        else { return false }
        for index in indices {
            // The episode changes meanwhile: for a second one all candidates would be copied.
            let registrations = self.states[group].episode?.candidates[index].registrations ?? []
            guard let app = self.states[group].episode.flatMap({ apps[$0.candidates[index].app] }) else { continue }
            for registration in registrations where detectors.isCurrent(registration) {
                if let time = lastTrue(registration.detector) {
                    self.states[group].sawTrue(at: time, of: index, app)
                }
            }
        }
        return self.states[group].episode.map { $0.ends > before } ?? false
    }

    /// Ends the episode of a group, whose time is up.
    mutating func end(_ group: Int, _ apps: Apps) {
        self.states[group].noteStayers(apps)
        self.close(group, apps)
    }

    /// Ends the episode of a group. While its owner is still launched for it, should that fail, the next best has it.
    private mutating func close(_ group: Int, _ apps: Apps) {
        self.states[group].endEpisode(isEntrusted: self.isLaunching(group, apps))
        self.active.removeAll { $0 == group }
    }

    /// Whether the owner of an episode is launched for its event, and has not answered.
    private func isLaunching(_ group: Int, _ apps: Apps) -> Bool {
        guard let episode = self.states[group].episode, let owner = episode.awaited else { return false }
        return apps.isLaunching(episode.candidates[owner].app)
    }

    /// Forgets which groups had an episode that has ended.
    mutating func sweep() { self.active.removeAll { self.states[$0].episode == nil } }

    /// Takes up a motion again, if it is over, because its owner is to lose it.
    mutating func takeUp(_ group: Int) {
        guard self.states[group].episode == nil, self.states[group].entrusted != nil else { return }
        self.states[group].takeUpEntrusted()
        self.active.append(group)
    }

    /// The same with all that an app is launched for.
    mutating func takeUp(from app: AppHandle) {
        for group in self.states.indices where self.isEntrusted(group, to: app) { self.takeUp(group) }
    }

    /// Whether an app owns a motion of a group that is over, and is launched for it.
    private func isEntrusted(_ group: Int, to app: AppHandle) -> Bool {
        guard let episode = self.states[group].entrusted, let owner = episode.owner else { return false }
        return episode.candidates[owner].app == app
    }

    /// Nothing of what is over is an app's to lose any more: all of it, or that of one epoch.
    mutating func forgetEntrusted(_ app: AppEntry, epoch: UInt64? = nil, _ apps: Apps) {
        for group in self.states.indices {
            guard let episode = self.states[group].entrusted, let owner = episode.owner,
                epoch == nil || epoch == episode.epoch,
                apps[episode.candidates[owner].app].map({ $0.isApp(app.id, of: app.user) }) ?? true
            else { continue }
            self.states[group].forgetEntrusted()
        }
    }

    /// Has all who could still fire be looked at again.
    mutating func startOver() { for group in self.active { self.states[group].startOver() } }

    /// Finds who of a group comes first as things are. Where it cannot be launched for some of its hits, these count no more for it: what else it
    /// hit is not lost with them, and brings it as far as it does.
    mutating func decision(
        of group: Int, at time: Timestamp, isEager: Bool, arrival: Timestamp, _ apps: Apps
    ) -> GroupState.Decision? {
        var rounds = 0
        while let decision = self.states[group].decision(at: time, isEager: isEager, apps) {
            let (best, configuration) = (decision.episode.candidates[decision.winner], decision.episode.configuration)
            guard let app = apps[best.app] else { return decision }
            let answerBy = configuration.mode == .ordered ? arrival + configuration.ackTimeout : nil
            func isRefused(_ held: HeldHit, _ app: AppEntry) -> Bool {
                Deliveries.isRefused(held, app, at: arrival, answerBy: answerBy, apps)
            }
            let refused = best.hits.count { isRefused($0, app) }
            if refused == 0 || refused == best.hits.count { return decision }
            guard rounds < Self.mostRounds else {
                self.dropFromAll(of: group, apps, isRefused)
                continue
            }
            rounds += 1
            _ = self.states[group].drop(best.app, app) { held, _ in isRefused(held, app) ? .launchFailed : nil }
        }
        return nil
    }

    /// So often the best is looked for one after the other, each time among all. There may be thousands who cannot be launched.
    private static let mostRounds = 8

    /// Drops such hits of all candidates of a group that have others.
    private mutating func dropFromAll(of group: Int, _ apps: Apps, _ isRefused: (HeldHit, AppEntry) -> Bool) {
        guard var episode = self.states[group].episode else { return }
        for index in episode.candidates.indices {
            guard let app = apps[episode.candidates[index].app] else { continue }
            _ = episode.lose({ held, _ in isRefused(held, app) ? .launchFailed : nil }, of: index)
        }
        episode.findLeader()
        self.states[group].inherit(episode)
    }

    // MARK: Orders

    /// An app has the event of an order for now.
    mutating func offered(_ chain: Chain, to app: AppHandle) {
        if let group = self.index(of: chain) { self.states[group].wasOffered(app, epoch: chain.epoch) }
    }

    /// An app had nothing of an order.
    mutating func denied(_ chain: Chain, to app: AppHandle) {
        if let group = self.index(of: chain) { self.states[group].wasDenied(app) }
    }

    /// An app has its verdict in an order.
    mutating func close(_ chain: Chain, for app: AppHandle, _ reason: Reason) {
        if let group = self.index(of: chain) { self.states[group].close(app, reason, epoch: chain.epoch) }
    }

    /// An app took the event of an order.
    mutating func consumed(_ chain: Chain, by candidate: Candidate, arrival: Timestamp) {
        guard let group = self.index(of: chain) else { return }
        self.states[group].won(
            candidate.app, among: chain.apps, epoch: chain.epoch, at: candidate.first.hit.time, arrival: arrival)
        self.states[group].consumed(by: candidate.app, epoch: chain.epoch)
    }

    /// The group that an order is of, which another policy may not have.
    private func index(of chain: Chain) -> Int? {
        self.states.firstIndex { $0.configuration.name == chain.configuration.name }
    }

    // MARK: Apps and detectors

    /// Takes in an app's answer to an event that is not in an order. Returns whether the motion is its own, or nobody's.
    mutating func answer(_ app: AppHandle, epoch: UInt64, arrival: Timestamp, _ apps: Apps) -> Bool {
        if let entry = apps[app] { self.forgetEntrusted(entry, epoch: epoch, apps) }
        // Whoever else answers takes nothing from those who are next.
        if self.states.indices.contains(where: { self.states[$0].entrusted?.epoch == epoch }) { return false }
        if let group = self.active.first(where: { self.states[$0].episode?.epoch == epoch }),
            !self.states[group].answer(app, epoch: epoch)
        {
            return false
        }
        for group in self.states.indices { self.states[group].renewLease(of: app, epoch: epoch, arrival: arrival) }
        return true
    }

    /// Whoever dies holds nothing.
    mutating func loseHolds(of app: AppHandle) {
        for group in self.states.indices { self.states[group].loseHold(app) }
    }

    /// Forgets how an app fared, which is another user's from now on: nor can that one lose what the old one is launched for.
    mutating func forgetStanding(of app: AppHandle) {
        for group in self.states.indices {
            if self.isEntrusted(group, to: app) { self.states[group].forgetEntrusted() }
            self.states[group].forgetStanding(of: app)
        }
    }

    /// Drops hits of an app that wait. Returns where it has none left, and why.
    ///
    /// - Parameter others: Of how many decisions the app waits for it still may get something.
    mutating func drop(
        _ app: AppHandle, _ entry: AppEntry?, _ others: inout Int, _ objection: WaitingObjection
    ) -> [(candidate: Candidate, reason: Reason, epoch: UInt64, generation: UInt64)] {
        var dropped: [(candidate: Candidate, reason: Reason, epoch: UInt64, generation: UInt64)] = []
        for group in self.active {
            guard let epoch = self.states[group].episode?.epoch,
                let generation = self.states[group].episode?.generation
            else { continue }
            if let (candidate, reason) = self.states[group].drop(app, entry, { objection($0, others, &$1) }) {
                dropped.append((candidate, reason, epoch, generation))
            } else if self.states[group].waiting(app) != nil {
                others += 1
            }
        }
        self.sweep()
        return dropped
    }

    /// Forgets an app, whose handle may be used again.
    mutating func forget(_ app: AppHandle, _ entry: AppEntry) {
        for group in self.states.indices { self.states[group].forget(app, entry) }
    }

    mutating func add(_ detector: DetectorID, to groups: [Int32]) {
        for group in groups { self.states[Int(group)].add(detector) }
    }

    /// Some detector of these groups is gone.
    mutating func loseMembers(of groups: [Int32]) {
        for group in groups { self.states[Int(group)].loseMembers() }
    }

    // MARK: All of them

    /// Goes by another policy. What is open goes on in the group of the same name, as it was begun.
    mutating func adopt(_ policy: Policy) {
        var byName: [String: GroupState] = [:]
        for state in self.states { byName[state.configuration.name] = state }
        self.states = policy.groups.map { configuration in
            var state = byName[configuration.name] ?? GroupState(configuration)
            state.adopt(configuration)
            return state
        }
        self.active = self.states.indices.filter { self.states[$0].episode != nil }
    }

    /// The sample time that the last of the groups has come to.
    func reached(_ motion: Timestamp) -> Timestamp {
        var last = motion
        for group in self.active { last = max(last, self.states[group].reached(motion)) }
        return last
    }

    /// Goes on from a sample time that is earlier: all motions are over, and rests last as long from now on.
    mutating func rewind(from last: Timestamp, to now: Timestamp) {
        for group in self.active { self.states[group].endEpisode() }
        self.active.removeAll()
        for group in self.states.indices { self.states[group].rewind(from: last, to: now) }
    }

    mutating func shrink(apps: Int) {
        for group in self.states.indices { self.states[group].shrink(apps: apps) }
    }
}
