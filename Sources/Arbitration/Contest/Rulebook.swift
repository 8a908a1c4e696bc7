import Motion

/// Says what the policy in force says to hits, as the device is: S0 to S2.
struct Rulebook: Sendable {
    private(set) var policy: Policy
    /// Counts the policies, from 1. Every event and verdict names the one that decided it.
    private(set) var generation: UInt64 = 1
    private(set) var device = DeviceFacts()
    /// Who said what is in front, and by which number apps know it.
    private var testimony: FocusTestimony?
    private var report: UInt32 = 0
    /// Who said of which app that it cannot run, and by which number apps know it.
    private var frozen: [AppID: FocusTestimony] = [:]
    private var frozenReport: UInt32 = 0

    /// What stands for the policy's default when it allows.
    static let defaultRule = Rule(
        name: "", place: Place(file: "", line: 0), effect: .allow, note: "the policy's default")

    init(_ policy: Policy) { self.policy = policy }

    /// Puts another policy in force.
    mutating func adopt(_ policy: Policy) {
        self.policy = policy
        self.generation &+= 1
    }

    mutating func update(_ device: DeviceFacts) { self.device = device }

    mutating func hear(_ testimony: FocusTestimony?, report: UInt32) {
        self.testimony = testimony
        self.report = report
    }

    mutating func hear(frozen: [AppID: FocusTestimony], report: UInt32) {
        self.frozen = frozen
        self.frozenReport = report
    }

    /// What is the case around an app. Who said that it is not in front, or cannot run, is told only where nothing else was said
    /// since: what is told later must be true.
    private func surroundings(of facts: AppFacts, _ id: AppID?, _ device: DeviceFacts) -> Surroundings {
        var testimony: FocusTestimony?
        if facts.report != 0 {
            if facts.report == self.report {
                testimony = self.testimony
            } else if facts.report == self.frozenReport, let id {
                testimony = self.frozen[id]
            }
        }
        return Surroundings(device: device, testimony: testimony)
    }

    /// The index of the group that a rule names.
    func group(of index: Int32) -> Int? {
        let group = self.policy.ruleGroups[Int(index)]
        return group < 0 ? nil : Int(group)
    }

    /// What S0 to S2 say to a hit: what it brings along, if nothing is against it.
    func judge(_ hit: Hit, _ detector: DetectorEntry, _ facts: AppFacts) -> Judgement {
        let index = self.decidingRule(of: detector.rules[...], detector, facts, intensity: hit.peak)
        let rule = index.map { self.policy.rules[Int($0)] }
        let passage = Passage(rule: rule, group: index.flatMap { self.group(of: $0) })
        return Judgement(passage: passage, reason: self.objection(to: passage, facts))
    }

    /// Why a hit gets no further, as its app is; `nil`: it does.
    private func objection(to passage: Passage, _ facts: AppFacts) -> Reason? {
        if !facts.isProvenEnough { return .mismatch }
        let isAllowed = (passage.rule?.effect ?? self.policy.otherwise) == .allow
        if !facts.state.canReceive, !isAllowed || !passage.terms.reach(facts.state) {
            return facts.state == .dead ? .dead : .suspended
        }
        if !isAllowed { return passage.rule == nil ? .noRule : .denied }
        return nil
    }

    /// The first of some rules that matches; `nil` when none does.
    private func decidingRule(
        of rules: ArraySlice<Int32>, _ detector: DetectorEntry, _ facts: AppFacts, intensity: Double
    ) -> Int32? {
        for index in rules {
            let rule = self.policy.rules[Int(index)]
            guard rule.conditions.unmet(facts, self.device).isEmpty else { continue }
            if let condition = rule.conditions.intensity, !condition.holds(for: intensity, detector.facts.dimension) {
                continue
            }
            return index
        }
        return nil
    }

    // MARK: Verdicts

    /// The verdict of a candidate, with the name that its app has now.
    ///
    /// - Parameter generation: The policy that decided, if not the one in force.
    func verdict(
        _ candidate: Candidate, _ reason: Reason, _ id: AppID?, epoch: UInt64, generation: UInt64? = nil,
        _ contest: Contest? = nil, decidedBy: Rank.Key? = nil, mixing: Mixing? = nil, takenBy: AppID? = nil
    ) -> Verdict {
        let first = candidate.first
        return Verdict(
            epoch: epoch, app: candidate.app, id: id ?? AppID(""), detector: first.detector.name,
            preset: first.detector.preset, time: first.hit.time, intensity: candidate.rank.intensity,
            dimension: first.detector.dimension, threshold: first.detector.threshold, reason: reason,
            generation: generation ?? self.generation, facts: candidate.facts.ofVerdict,
            surroundings: self.surroundings(of: candidate.facts, id, first.device), rule: first.rule,
            limits: candidate.limits, contest: contest, rank: candidate.rank, decidedBy: decidedBy, mixing: mixing,
            takenBy: takenBy)
    }

    /// The verdict of a hit that comes to no group.
    ///
    /// - Parameter alongside: The epoch of the group's episode at the time.
    func verdict(
        _ hit: Hit, _ detector: DetectorEntry, _ app: AppEntry, _ passage: Passage, _ reason: Reason, epoch: UInt64,
        alongside: UInt64? = nil
    ) -> Verdict {
        let nearest: NearMiss? =
            switch reason.stage {
            case .alive, .rule: self.nearMiss(hit, detector, app.facts)
            case .identity, .limits, .group, .delivery: nil
            }
        return Verdict(
            epoch: epoch, app: detector.app, id: app.id, detector: detector.facts.name,
            preset: detector.facts.preset, time: hit.time, intensity: hit.peak, dimension: detector.facts.dimension,
            threshold: detector.facts.threshold, reason: reason, generation: self.generation,
            facts: app.facts.ofVerdict, surroundings: self.surroundings(of: app.facts, app.id, self.device),
            rule: passage.rule, limits: passage.limits, nearest: nearest, alongside: alongside)
    }

    /// Of the rules that would have allowed a hit, had they matched, the one that lacked least. Where there is none, the one that
    /// refused, if it would have got no further without that either.
    private func nearMiss(_ hit: Hit, _ detector: DetectorEntry, _ facts: AppFacts) -> NearMiss? {
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
            guard unmet.isEmpty else { continue }
            if nearest == nil, !self.passes(behind: index, hit, detector, facts) {
                nearest = NearMiss(rule: rule, unmet: unmet)
            }
            break
        }
        return nearest
    }

    /// Whether a hit would get further if a rule that matches it, and those before, were not there.
    private func passes(behind index: Int32, _ hit: Hit, _ detector: DetectorEntry, _ facts: AppFacts) -> Bool {
        let rest = detector.rules.drop { $0 != index }.dropFirst()
        let next = self.decidingRule(of: rest, detector, facts, intensity: hit.peak)
        return self.objection(to: Passage(rule: next.map { self.policy.rules[Int($0)] }), facts) == nil
    }

    /// What the stages before the group say to a hit.
    struct Judgement {
        var passage: Passage
        /// Why it gets no further; `nil`: it does.
        var reason: Reason?
    }

    /// What a hit brings along from the rules.
    struct Passage {
        /// `nil`: it is the policy's default that decides.
        var rule: Rule?
        /// `nil`: it competes with nobody.
        var group: Int?
        /// What S3 saw; `nil` before that.
        var limits: LimitsSeen?

        var terms: DeliveryTerms { self.rule?.terms ?? DeliveryTerms() }
    }
}
