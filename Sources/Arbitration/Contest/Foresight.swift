import Motion

/// Sees whether a hit that may still come could change who gets the event of an episode.
///
/// May say yes too often, never no.
struct Foresight {
    let rules: Rulebook
    let detectors: Detectors
    let deliveries: Deliveries
    let motionTime: Timestamp

    /// Whether a detector can fire before the window of an episode closes and, at its best, bring its app before the winner.
    ///
    /// - Parameter group: The index of the group in the policy.
    func couldWin(
        _ member: DetectorID, _ group: Int, _ state: GroupState, _ episode: Episode, over winner: Int, _ apps: Apps
    ) -> Bool {
        guard let detector = self.detectors[member], let app = apps[detector.app] else { return false }
        // Who comes at all is part of the answer where the event is passed on.
        let isOrdered = episode.configuration.mode == .ordered
        if !isOrdered, state.isCandidate(detector.app, winner) { return false }
        guard detector.facts.isAvailable, detector.earliestHit < episode.closes,
            let strength = self.bestStrength(detector, app, group, before: episode.closes)
        else { return false }
        return isOrdered || state.couldBeat(winner, episode, detector, app, strength: strength)
    }

    /// The most strength a hit of a detector could have in a group; `nil` when none of its hits would come there.
    private func bestStrength(
        _ detector: DetectorEntry, _ app: AppEntry, _ group: Int, before end: Timestamp
    ) -> Int? {
        guard app.facts.isProvenEnough else { return nil }
        var best: Int?
        for index in detector.rules {
            let rule = self.rules.policy.rules[Int(index)]
            guard rule.conditions.unmet(app.facts, self.rules.device).isEmpty else { continue }
            if let condition = rule.conditions.intensity, !condition.canHold(detector.facts.dimension) { continue }
            if rule.effect == .allow, self.rules.group(of: index) == group, rule.terms.reach(app.facts.state),
                rule.strength > best ?? .min
            {
                // The cooldown of the group is over, or there would be no episode.
                var seen = LimitsSeen()
                let reason = self.deliveries.limit(
                    detector.app, app, rule.terms, promised: Promised(), at: self.motionTime, &seen)
                if reason == nil || seen.until ?? end < end { best = rule.strength }
            }
            // How strong the motion is decides whether this rule or a later one is it.
            if rule.conditions.intensity == nil { break }
        }
        return best
    }
}
