package import Motion

/// Why an app got an event or not: what each stage saw, who won by which key, what would have had to differ.
///
/// Made from a stored verdict and nothing else, so that it says what was decided then, whatever the policy says now.
package struct Explanation: Equatable, Sendable {
    /// One stage's line.
    package struct Step: Equatable, Sendable {
        package enum Result: String, Sendable {
            case pass, no
            /// It let the event through, and the app has still to come up and to answer.
            case waits = "wait"
            /// A stage before it said no.
            case skipped = "-"
        }

        package var stage: Reason.Stage
        package var result: Result
        /// What the stage saw.
        package var seen: String
    }

    package var epoch: UInt64
    package var app: AppID
    package var reason: Reason
    package var generation: UInt64
    package var detector: String
    package var preset: String
    package var time: Timestamp
    package var intensity: String
    /// From S0 to S5, one for each stage.
    package var steps: [Step]
    /// What would have had to differ for the app to get the event. Empty when it got it.
    package var otherwise: [String]

    package init(_ verdict: Verdict) {
        self.epoch = verdict.epoch
        self.app = verdict.id
        self.reason = verdict.reason
        self.generation = verdict.generation
        self.detector = verdict.detector
        self.preset = verdict.preset
        self.time = verdict.time
        self.intensity = Self.value(Self.rounded(verdict.intensity), verdict.dimension)
        self.steps = Reason.Stage.allCases.map { stage in
            guard stage <= verdict.reason.stage else { return Step(stage: stage, result: .skipped, seen: "") }
            let isLast = stage == verdict.reason.stage
            return Step(
                stage: stage, result: isLast ? Self.result(verdict.reason) : .pass, seen: Self.seen(stage, verdict))
        }
        self.otherwise = verdict.isDelivered ? [] : Self.otherwise(verdict)
    }

    private static func result(_ reason: Reason) -> Step.Result {
        if reason.isWaiting { return .waits }
        return reason.isDelivered ? .pass : .no
    }

    /// The stage's number and name, as codes begin: `S2 rule`.
    package static func label(_ stage: Reason.Stage) -> String { "S\(stage.rawValue) \(stage.name)" }

    package static func value(_ value: Double, _ dimension: Dimension) -> String {
        self.value(value, unit: dimension.canonicalUnit)
    }

    static func value(_ value: Double, unit: String) -> String { unit.isEmpty ? "\(value)" : "\(value) \(unit)" }

    /// A measured value with as many digits as people read.
    static func rounded(_ value: Double) -> Double {
        let scaled = (value * 1_000).rounded()
        return scaled.magnitude < 1e15 ? scaled / 1_000 : value
    }

    /// The same for an event that is only thought of: how it would be carried is not to be told.
    package var withoutDelivery: Explanation {
        var copy = self
        if self.reason.isDelivered { copy.steps.removeLast() }
        return copy
    }

    // MARK: What a stage saw

    private static func seen(_ stage: Reason.Stage, _ verdict: Verdict) -> String {
        switch stage {
        case .identity:
            return verdict.facts.isProvenEnough
                ? "proven by \(verdict.facts.proof.name)"
                : "proven by \(verdict.facts.proof.name) only; it was once proven better"
        case .alive:
            let lock = verdict.device.isLocked ? "locked" : "unlocked"
            let testimony = verdict.testimony.map { "; \($0)" } ?? ""
            return "\(verdict.facts.state.name), \(lock)" + Self.background(verdict.facts) + testimony
        case .rule:
            return Self.rule(verdict)
        case .limits:
            return verdict.limits.map { Self.limits($0, verdict) } ?? ""
        case .group:
            return Self.group(verdict)
        case .delivery:
            return Self.delivery(verdict)
        }
    }

    private static func background(_ facts: AppFacts) -> String {
        var text = ""
        if !facts.grants.isEmpty {
            text += ", grants \(facts.grants.elements.map(\.name).joined(separator: " "))"
        }
        if !facts.activities.isEmpty {
            text += ", activities \(facts.activities.elements.map(\.name).joined(separator: " "))"
        }
        return text + (facts.hasAssertion ? ", assertion" : "")
    }

    private static func rule(_ verdict: Verdict) -> String {
        guard let rule = verdict.rule, !rule.name.isEmpty else {
            let isAllowed = verdict.reason.stage != .rule
            return "no rule matches; the policy's default is \(isAllowed ? "allow" : "deny")"
        }
        let note = rule.note.isEmpty ? "" : ", \(rule.note)"
        return "\(Self.named(rule)) says \(rule.effect.name)\(note)"
    }

    static func named(_ rule: Rule) -> String {
        "\(rule.place.lineDescription) [Rule \(rule.name)] Priority=\(rule.priority)"
    }

    private static func limits(_ limits: LimitsSeen, _ verdict: Verdict) -> String {
        switch verdict.reason {
        case .quota: return "the quota is used up, 0 of \(limits.burst) left"
        case .wakeQuota where verdict.facts.state.canReceive:
            return "the app went away before that was decided, and the quota of wakes is used up"
        case .wakeQuota: return "the quota of wakes is used up"
        case .appCooldown: return "the app's cooldown is not over"
        case .groupCooldown: return "the group's cooldown is not over"
        default: break
        }
        return limits.tokens.map { "\($0) of \(limits.burst) left" } ?? "no quota"
    }

    private static func group(_ verdict: Verdict) -> String {
        guard let contest = verdict.contest else {
            return verdict.reason == .gone
                ? "the app left or was suspended, or its detector was removed, before the group decided"
                : "competes with nobody"
        }
        let kind = "\(contest.group): \(contest.mode.name)"
        switch contest.mode {
        case .broadcast: return "\(kind), everybody gets it"
        case .mixable: return "\(kind), \(Self.mixing(verdict))"
        case .exclusive, .ordered: break
        }
        let winner = contest.winner.map(Self.shown) ?? "nobody"
        var text = "\(kind), \(contest.candidates == 1 ? "1 candidate" : "\(contest.candidates) candidates"), "
        text += contest.isEager ? "decided as soon as it was certain" : "decided when the window closed"
        if let inherits = contest.inherits { text += ", in place of the owner of \(inherits)" }
        if contest.winner == verdict.id, verdict.reason.stage == .delivery {
            guard let next = contest.next, let own = verdict.rank, let other = contest.nextRank,
                let key = verdict.decidedBy
            else { return "\(text); nobody else" }
            return "\(text); ahead of \(Self.shown(next)) by \(Self.compared(key, own, other, verdict.dimension))"
        }
        switch verdict.reason {
        case .late: return "\(text); \(winner) had it before this app's detector fired"
        case .consumed: return "\(text); \(verdict.takenBy.map(Self.shown) ?? "somebody") consumed it"
        case .budget: return "\(text); the time for the order was up"
        case .launchFailed where contest.mode == .exclusive:
            return "\(text); \(winner), who is first, could not be launched either"
        default: break
        }
        guard let own = verdict.rank, let other = contest.winnerRank, let key = verdict.decidedBy else {
            return "\(text); \(winner) is first"
        }
        return "\(text); \(winner) is first by \(Self.compared(key, other, own, verdict.dimension))"
    }

    /// The class that the app stands for, whom it met, and the cell.
    private static func mixing(_ verdict: Verdict) -> String {
        guard let mixing = verdict.mixing else { return "without a class, which mixes with all" }
        let source = mixing.isSession ? "session" : "rule"
        var text = "class \(mixing.requester) by its \(source)"
        if !mixing.missing.isEmpty {
            text += ", which wants a grant: \(mixing.missing.elements.map(\.name).joined(separator: " or "))"
        }
        if verdict.reason == .silenced { text += ", silent while the screen is locked" }
        guard let meeting = mixing.meeting else {
            return mixing.missing.isEmpty ? "\(text); nobody is in the way" : text
        }
        return "\(text); \(Self.shown(meeting.other)), \(Self.cell(meeting.cell))"
    }

    /// A cell of the matrix with where it comes from.
    package static func cell(_ cell: InteractionMatrix.Cell) -> String {
        var text = "holder \(cell.holder), requester \(cell.requester): \(cell.outcome.name)"
        if let ducking = cell.ducking {
            text += " to \(Self.rounded(ducking.share * 100))%"
            if let events = ducking.events { text += ", \(events.count) events in \(Self.seconds(events.period))" }
        }
        let source = cell.place.map { "[Interaction \(cell.holder) \(cell.requester)] at \($0.lineDescription)" }
        return "\(text), by \(source ?? "the flags of the classes")"
    }

    /// An app as people see it; a client without a name is nobody in particular.
    package static func shown(_ id: AppID) -> String { id.isAnonymous ? "a client without a name" : id.name }

    /// The two values that a key compared, the higher one first.
    private static func compared(
        _ key: Rank.Key, _ winner: Rank, _ other: Rank, _ dimension: Dimension
    ) -> String {
        func value(_ value: Double) -> String { value.isFinite ? Self.value(value, dimension) : "no threshold" }
        switch key {
        case .selected(.strength):
            return "strength, \(Self.strength(winner)) to \(Self.strength(other))"
        case .selected(.specificity): return "specificity, \(value(winner.specificity)) to \(value(other.specificity))"
        case .selected(.intensity): return "intensity, \(value(winner.intensity)) to \(value(other.intensity))"
        case .selected(.state): return "state, \(winner.state.name) to \(other.state.name)"
        case .selected(.recent): return "recent, used later"
        case .selected(.roundRobin):
            return winner.lastWin == 0 ? "round-robin, has not won yet" : "round-robin, has waited longer"
        case .holder: return "holder, \(Self.strength(other)) is not enough against \(Self.strength(winner))"
        case .registration: return "registration, it came earlier"
        }
    }

    private static func strength(_ rank: Rank) -> String {
        rank.bonus == 0 ? "\(rank.strength)" : "\(rank.strength)+\(rank.bonus) for waiting"
    }

    private static func delivery(_ verdict: Verdict) -> String {
        switch verdict.reason {
        case .sent: return "sent"
        case .woken: return "to be handed over when the app is started or resumed for it"
        case .stored: return "stored until the app is back"
        case .taken: return "sent, and consumed"
        case .passed: return "sent, and passed on"
        case .silent:
            return Self.isAway(verdict)
                ? "passed on because the app was not there to answer in time"
                : "sent, and passed on because no answer came in time"
        case .left: return "sent, and passed on because the app went away"
        case .queueFull: return "left out because newer events filled its queue"
        case .expired: return "given up because it grew too old before the app had it, or had acknowledged it"
        case .removed: return "given up because the app or its detector went, or because it is another app's now"
        case .acknowledged: return "sent, and acknowledged"
        case .launchFailed: return "given up because the app could not be started or resumed for it"
        case .unkept: return "given up because the app was away and its user's share of what is kept was used up"
        default: return ""
        }
    }

    // MARK: What would have had to differ

    private static func otherwise(_ verdict: Verdict) -> [String] {
        switch verdict.reason {
        case .mismatch: return ["the app were proven as well as it once was"]
        case .suspended, .dead, .denied, .noRule: return Self.nearest(verdict)
        case .quota, .wakeQuota, .appCooldown, .groupCooldown:
            let stayed = verdict.reason == .wakeQuota && verdict.facts.state.canReceive ? ["it had stayed"] : []
            guard let until = verdict.limits?.until else { return stayed }
            return stayed + ["the motion had come \(Self.seconds(until - verdict.time)) later"]
        case .late: return [Self.inTime(verdict)]
        case .consumed:
            let taker = verdict.takenBy.map(Self.shown) ?? "the app ahead of it"
            // Between who took it and this one others may stand.
            let isNext = verdict.contest?.nextRank == verdict.rank
            return [isNext ? "\(taker) had passed it on" : "\(taker) and whoever stands between them had passed it on"]
        case .budget: return ["those ahead of it had answered sooner"]
        case .gone: return ["it and its detector had stayed as they were"]
        case .queueFull: return [Self.isAway(verdict) ? Self.back : "it had read or acknowledged earlier events"]
        case .expired:
            return [Self.isAway(verdict) ? Self.back : "the event had come to it, or been acknowledged, sooner"]
        case .removed: return ["it had acknowledged it, or it and its detector had stayed"]
        case .launchFailed: return ["it had come up and answered in time"]
        case .unkept: return ["it had acknowledged it before it left", "other apps of its user had left less behind"]
        case .interrupted, .delayed:
            return ["\(verdict.mixing?.meeting.map { Self.shown($0.other) } ?? "the other") had ended its session"]
        case .rejected:
            guard let mixing = verdict.mixing, !mixing.missing.isEmpty else {
                return ["\(verdict.mixing?.meeting.map { Self.shown($0.other) } ?? "the other") had ended its session"]
            }
            return ["it were granted \(mixing.missing.elements.map(\.name).joined(separator: " or "))"]
        case .ducked: return ["its last event were longer ago", "it were not ducked"]
        case .silenced: return ["the screen were unlocked"]
        case .outranked: return Self.outranking(verdict)
        case .sent, .woken, .stored, .taken, .passed, .silent, .left, .acknowledged: return []
        }
    }

    /// What who came late lacked: in time it may have been behind all the same.
    private static func inTime(_ verdict: Verdict) -> String {
        let inTime = "its detector had fired before the group decided"
        if verdict.decidedBy == .holder { return "\(inTime), and \(Self.stronger)" }
        guard let contest = verdict.contest, contest.mode == .exclusive, let own = verdict.rank,
            let winner = contest.winnerRank
        else { return inTime }
        let (isBehind, key) = winner.outranks(own, by: contest.select)
        guard isBehind else { return inTime }
        return "\(inTime), and had not been behind by \(Self.compared(key, winner, own, verdict.dimension))"
    }

    /// What takes a sticky group from who holds it.
    private static let stronger = "its strength exceeded the holder's by the group's Hysteresis"

    /// What an app lacked that was not there to take what was kept for it.
    private static let back = "it had been back sooner"

    private static func isAway(_ verdict: Verdict) -> Bool { !verdict.facts.state.canReceive }

    private static func nearest(_ verdict: Verdict) -> [String] {
        guard let nearest = verdict.nearest, nearest.rule.effect == .allow else { return [Self.without(verdict)] }
        let rule = nearest.rule
        var missing = nearest.unmet.elements.map { key in
            let found = key.found(verdict.facts, verdict.device).map { ": \($0)" } ?? ""
            return "\(rule.conditions.setting(key)) does not hold\(found)"
        }
        if Self.isAway(verdict), rule.terms.kind == .live, !nearest.unmet.contains(.state) {
            missing.append("Deliver=live does not reach it, as wake or store would: \(verdict.facts.state.sentence)")
        }
        return ["\(Self.named(rule)) matched; \(missing.joined(separator: "; "))"]
    }

    /// What would let it through where no rule does that is tried before the one that refused.
    private static func without(_ verdict: Verdict) -> String {
        guard let rule = verdict.rule, rule.effect == .deny else {
            return "a rule allowed it; none for this app and preset does"
        }
        let held = rule.conditions.asked.subtracting([.app, .preset]).elements.map { key in
            let found = key.found(verdict.facts, verdict.device).map { ": \($0)" } ?? ""
            return "\(rule.conditions.setting(key)) holds\(found)"
        }
        // As the rule that lacked least it stands only where it is not alone in the way.
        let others = verdict.nearest == nil ? "" : " and one behind it let it through"
        return "\(Self.named(rule)) did not match\(others)" + (held.isEmpty ? "" : "; \(held.joined(separator: "; "))")
    }

    private static func outranking(_ verdict: Verdict) -> [String] {
        guard let own = verdict.rank, let winner = verdict.contest?.winnerRank, let key = verdict.decidedBy else {
            return []
        }
        let intensity = Self.value(verdict.contest?.winnerRank?.specificity ?? 0, verdict.dimension)
        switch key {
        case .selected(.strength):
            let (missing, _) = winner.effectiveStrength.subtractingReportingOverflow(own.effectiveStrength)
            return ["its strength were more than \(missing) higher"]
        case .selected(.specificity):
            // With a gentler motion the next one has it; not where the winner asked for little, as in free fall.
            let isGentler = verdict.contest?.nextRank == own && winner.intensity > winner.specificity
            return ["it asked for more than \(intensity)"]
                + (isGentler ? ["the motion had stayed at or below \(intensity)"] : [])
        case .selected(.intensity):
            return ["its detector had seen more than \(Self.value(winner.intensity, verdict.dimension))"]
        case .selected(.state): return [Self.inState(own, winner, verdict)]
        case .selected(.recent): return ["the user had used it later"]
        case .selected(.roundRobin): return ["it had waited longer since it last won"]
        case .holder:
            // With nobody who holds it the next one has it.
            let isNext = verdict.contest?.nextRank == own
            let isHeld = !isNext || winner.outranks(own, by: verdict.contest?.select ?? []).outranks
            return [Self.stronger] + (isHeld ? [] : ["that one held the group no more"])
        case .registration: return ["it had registered earlier, or another key told them apart"]
        }
    }

    /// The state that would have brought it before the first. In that one's own another key decides, which may be against it, too.
    private static func inState(_ own: Rank, _ winner: Rank, _ verdict: Verdict) -> String {
        let select = verdict.contest?.select ?? []
        var rank = own
        for state in AppState.allCases.reversed() where state.rawValue <= winner.state.rawValue {
            rank.state = state
            if rank.outranks(winner, by: select).outranks { return "it were \(state.name)" }
        }
        let key = winner.outranks(rank, by: select).key
        let compared = Self.compared(key, winner, rank, verdict.dimension)
        return "it were \(rank.state.name), and had not been behind by \(compared)"
    }

    static func seconds(_ span: TimeSpan) -> String { "\(span.seconds) s" }
}
