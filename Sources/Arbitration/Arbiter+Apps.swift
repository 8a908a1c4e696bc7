import Motion

extension Arbiter {
    // MARK: Apps

    /// Adds an app. The handle must be free.
    mutating func add(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, into actions: inout [ArbiterAction]
    ) {
        precondition(app.index < Self.mostHandles, "app handles are small numbers, used again when free")
        while self.apps.count <= app.index { self.apps.append(nil) }
        self.lastOrder &+= 1
        let settings = self.settings(for: id, declared: entrance.declared)
        let facts = AppFacts(
            state: .dead, proof: entrance.proof, isProvenEnough: entrance.isProvenEnough, grants: settings.grants)
        var entry = AppEntry(
            id: id, order: self.lastOrder, declared: entrance.declared, isConnected: entrance.isConnected, facts: facts,
            settings: settings)
        if !id.isAnonymous, let ledger = self.retired.removeValue(forKey: id) { entry.ledger = ledger }
        self.apps[Int(app.index)] = entry
        self.lives[app] = AppLife(at: self.arrivalTime)
        if let state = entrance.told { self.lives.tell(app, state) }
        // Who comes because it was launched has that to do.
        if let answerBy = self.launches.answerBy(id) {
            self.live(app, into: &actions) { $0.launch(until: answerBy, at: $2, $1) }
        }
        self.place(app, .came, into: &actions)
    }

    /// Lets an app that exists come to the bus. One that is there already is only known better.
    mutating func admit(_ app: AppHandle, _ entrance: AppEntrance, into actions: inout [ArbiterAction]) {
        guard var entry = self.entry(app) else { return }
        entry.declared = entrance.declared
        entry.settings = self.settings(for: entry.id, declared: entrance.declared)
        entry.isConnected = entrance.isConnected
        entry.facts.proof = entrance.proof
        entry.facts.isProvenEnough = entrance.isProvenEnough
        entry.facts.grants = entry.settings.grants
        self.apps[Int(app.index)] = entry
        if let state = entrance.told { self.lives.tell(app, state) }
        self.place(app, .came, into: &actions)
        self.live(app, into: &actions) { $0.review(at: $2, $1) }
        self.factsChanged(into: &actions)
    }

    /// Lets an app leave the bus and go on existing: it is dead, and its detectors stay.
    mutating func dismiss(_ app: AppHandle, into actions: inout [ArbiterAction]) {
        guard self.entry(app)?.isConnected == true else { return }
        self.apps[Int(app.index)]?.isConnected = false
        self.lives.tell(app, nil)
        self.place(app, .left, into: &actions)
        self.factsChanged(into: &actions)
    }

    /// Forgets an app and its detectors. What it used of its quota is kept for when it comes back.
    mutating func remove(_ app: AppHandle, into actions: inout [ArbiterAction]) {
        guard let entry = self.entry(app) else { return }
        let now = self.now
        let effects = self.lives[app]?.move(to: .gone, .left, at: now, entry.settings) ?? []
        for effect in effects where !effect.isOwnDoing { actions.append(.life(app, effect)) }
        self.lives.forget(app)
        self.endSessions(of: app, except: [], into: &actions)
        self.noteForLaunches(entry.id, from: entry.facts.state, to: .dead)
        self.apps[Int(app.index)]?.facts.state = .dead
        self.withdraw(app, isGone: true, into: &actions)
        while let first = self.apps[Int(app.index)]?.firstDetector, first >= 0 {
            self.detach(DetectorID(UInt32(truncatingIfNeeded: first)))
        }
        for index in self.groups.indices { self.groups[index].forget(app, entry) }
        self.apps[Int(app.index)] = nil
        if !entry.id.isAnonymous,
            !entry.ledger.isSpent(at: self.motionTime, arrival: self.arrivalTime, entry.settings)
        {
            self.retire(entry)
        }
        self.factsChanged(into: &actions)
    }

    private mutating func retire(_ entry: AppEntry) {
        if self.retired.count >= Self.mostRetired {
            let now = self.motionTime
            let (policy, arrival) = (self.policy, self.arrivalTime)
            self.retired = self.retired.filter {
                !$0.value.isSpent(at: now, arrival: arrival, policy.settings(for: $0.key))
            }
        }
        self.retired[entry.id] = entry.ledger
    }

    // MARK: Detectors

    /// Adds a detector to an app, or replaces the one with the same handle.
    mutating func add(_ detector: DetectorID, to app: AppHandle, _ facts: DetectorFacts, at time: Timestamp) {
        precondition(detector.index < Self.mostHandles, "detector handles are small numbers, used again when free")
        guard let entry = self.entry(app) else { return }
        self.detach(detector)
        while self.detectors.count <= detector.index { self.detectors.append(nil) }
        var (rules, groups) = self.policy.rulesAndGroups(for: entry.id, facts)
        // Most apps have the same rules: one list for all of them.
        if detector.index > 0, let neighbour = self.entry(DetectorID(detector.index - 1)) {
            if neighbour.rules == rules { rules = neighbour.rules }
            if neighbour.groups == groups { groups = neighbour.groups }
        }
        self.lastOrder &+= 1
        self.detectors[Int(detector.index)] = DetectorEntry(
            app: app, order: self.lastOrder, facts: facts, rules: rules, groups: groups, registered: time)
        self.link(detector, to: app)
        for group in groups {
            self.groups[Int(group)].members.append(detector)
            if self.groups[Int(group)].order == .sorted { self.groups[Int(group)].order = .unsorted }
            self.groups[Int(group)].episode?.cursor = 0
        }
    }

    /// Removes a detector, with its hits that are not decided.
    mutating func remove(_ detector: DetectorID, into actions: inout [ArbiterAction]) {
        guard let entry = self.entry(detector) else { return }
        self.detach(detector)
        self.dropHits(of: entry.app, into: &actions) { $0.hit.detector != detector }
        self.factsChanged(into: &actions)
    }

    /// Whether its sensor is there.
    mutating func setAvailable(
        _ detector: DetectorID, _ isAvailable: Bool, into actions: inout [ArbiterAction]
    ) {
        guard let old = self.entry(detector)?.facts.isAvailable, old != isAvailable else { return }
        self.detectors[Int(detector.index)]?.facts.isAvailable = isAvailable
        self.factsChanged(into: &actions)
    }

    private mutating func detach(_ detector: DetectorID) {
        guard let entry = self.entry(detector) else { return }
        for group in entry.groups { self.groups[Int(group)].order = .stale }
        self.unlink(entry)
        self.detectors[Int(detector.index)] = nil
    }

    private mutating func link(_ detector: DetectorID, to app: AppHandle) {
        let own = Int32(truncatingIfNeeded: detector.index)
        let next = self.apps[Int(app.index)]?.firstDetector ?? -1
        self.detectors[Int(own)]?.next = next
        if next >= 0 { self.detectors[Int(next)]?.previous = own }
        self.apps[Int(app.index)]?.firstDetector = own
    }

    private mutating func unlink(_ entry: DetectorEntry) {
        if entry.next >= 0 { self.detectors[Int(entry.next)]?.previous = entry.previous }
        if entry.previous >= 0 {
            self.detectors[Int(entry.previous)]?.next = entry.next
        } else {
            self.apps[Int(entry.app.index)]?.firstDetector = entry.next
        }
    }

    // MARK: Memory

    /// Gives back memory that was needed for apps and detectors that are gone.
    package mutating func shrink() {
        while let last = self.apps.last, last == nil { self.apps.removeLast() }
        self.apps.shrink()
        while let last = self.detectors.last, last == nil { self.detectors.removeLast() }
        self.detectors.shrink()
        self.lives.shrink()
        for index in self.groups.indices { self.groups[index].shrink(apps: self.apps.count) }
        self.retired.shrink()
        self.launches.shrink()
    }

    // MARK: Leaving

    /// Takes an app that cannot receive any more out of what is open.
    mutating func withdraw(_ app: AppHandle, isGone: Bool, into actions: inout [ArbiterAction]) {
        let state = self.entry(app)?.facts.state ?? .dead
        self.dropHits(of: app, into: &actions) { !isGone && $0.rule.terms.reach(state) }
        for group in self.active {
            guard case .owned(let owner, _) = self.groups[group].episode?.phase,
                self.groups[group].episode?.candidates[owner].app == app, state == .dead
            else { continue }
            self.replaceOwner(of: group, into: &actions)
        }
        self.active.removeAll { self.groups[$0].episode == nil }
        if state == .dead {
            for group in self.groups.indices { self.groups[group].loseHold(app) }
        }
        self.leaveChains(app, isGone: isGone || state == .dead, into: &actions)
    }

    /// Drops hits of an app that wait and do not pass the test; without any left the app is out.
    private mutating func dropHits(
        of app: AppHandle, into actions: inout [ArbiterAction], keeping isKept: (HeldHit) -> Bool
    ) {
        for group in self.active {
            let position = Int(self.groups[group][app].position)
            guard position >= 0, self.groups[group].episode?.isCollecting == true,
                let candidate = self.groups[group].episode?.candidates[position]
            else { continue }
            let hits = candidate.hits.filter(isKept)
            if hits.isEmpty {
                let epoch = self.groups[group].episode?.epoch ?? 0
                let generation = self.groups[group].episode?.generation ?? self.generation
                self.groups[group].episode?.remove(at: position)
                self.groups[group][app].position = -1
                if let entry = self.entry(app) {
                    self.groups[group].episode?.leave(entry.id, order: entry.order, .gone)
                }
                self.renumber(group, from: position)
                actions.append(.verdict(self.verdict(candidate, .gone, epoch: epoch, generation: generation)))
            } else if hits.count < candidate.hits.count {
                self.groups[group].episode?.setHits(hits, of: position)
            }
            if self.groups[group].episode?.candidates.isEmpty ?? true {
                self.groups[group].endEpisode()
            } else {
                self.groups[group].episode?.findLeader()
            }
        }
        self.active.removeAll { self.groups[$0].episode == nil }
        self.dropFromChains(app, into: &actions, keeping: isKept)
    }

    private mutating func renumber(_ group: Int, from start: Int) {
        guard let candidates = self.groups[group].episode?.candidates else { return }
        for index in candidates.indices.dropFirst(start) {
            self.groups[group][candidates[index].app].position = Int32(truncatingIfNeeded: index)
        }
    }
}
