import Motion

extension Arbiter {
    /// Goes on from a sample time that is earlier than what was seen: a trace that ran ahead of the clock has ended.
    ///
    /// Its motions are over. What would last until a time that only it had reached lasts as long from now on, so that nobody
    /// waits for the clock to catch up.
    mutating func rewind(to now: Timestamp, into actions: inout [ArbiterAction]) {
        var last = self.motionTime
        for group in self.active { last = max(last, self.reached(group)) }
        guard now < last else { return }
        for group in self.active {
            if self.groups[group].episode?.isCollecting == true {
                self.decide(group, at: self.reached(group), isEager: false, into: &actions)
            }
            self.groups[group].endEpisode()
        }
        self.active.removeAll()
        for group in self.groups.indices { self.groups[group].entrusted = nil }
        for index in self.chains.indices { self.chains[index].rewind(to: now) }
        self.motionTime = now
        for group in self.groups.indices where self.groups[group].rests > now {
            let left = max(.zero, self.groups[group].rests - last)
            self.groups[group].rests = now + left
        }
        for index in self.apps.indices { self.apps[index]?.ledger.rewind(from: last, to: now) }
        for id in self.retired.keys { self.retired[id]?.rewind(from: last, to: now) }
        for index in self.detectors.indices {
            if let hit = self.detectors[index]?.lastHit { self.detectors[index]?.lastHit = min(hit, now) }
            self.detectors[index]?.lastRefusal = nil
        }
    }
}
