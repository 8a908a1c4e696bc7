import Motion

extension Arbiter {
    /// How a session stands; `nil` when the activity has none.
    package func session(_ key: SessionKey) -> SessionStanding? { self.sessions.standing(of: key) }

    /// Ends the sessions of activities that are over.
    mutating func endSessions(
        of app: AppHandle, except running: [Activity], into actions: inout [ArbiterAction]
    ) {
        guard !self.sessions.isEmpty else { return }
        let effects = self.sessions.end(app, except: running.map(\.id), self.policy.matrix)
        actions += effects.map { .session($0) }
    }

    /// S4 of a mixable group: what the classes say to a hit.
    struct MixingJudgement {
        /// Why it comes to nothing; `nil`: it does not.
        var refusal: Reason?
        /// The session that it counts for.
        var session: SessionKey?
        /// `nil` for an app that stands for no class.
        var seen: Mixing?
    }

    /// What the classes say to a hit of an app: by its session, or else by the class that the rule gives it.
    ///
    /// An app without either mixes with everybody. Of several sessions the one that is best off speaks for it.
    func mixing(of handle: AppHandle, _ app: AppEntry, _ held: HeldHit) -> MixingJudgement {
        var best: MixingJudgement?
        for session in self.sessions.sessions(of: handle) {
            let judgement = self.judge(session.key, session.request, session.standing, at: held.hit.time)
            if judgement.refusal == nil { return judgement }
            if best == nil { best = judgement }
        }
        if let best { return best }
        guard let name = held.rule.sessionClass, let own = self.policy.matrix[name] else { return MixingJudgement() }
        var judgement = MixingJudgement(seen: Mixing(requester: name, isSession: false))
        if !own.requiredGrants.isEmpty, own.requiredGrants.isDisjoint(with: app.facts.grants) {
            judgement.refusal = .rejected
            judgement.seen?.missing = own.requiredGrants
            return judgement
        }
        if self.device.isLocked, own.whenLocked == .silence {
            judgement.refusal = .silenced
            return judgement
        }
        // A hit is over as soon as it begins: nobody is interrupted or made soft for it.
        if let meeting = self.sessions.worst(SessionRequest(name), handle, self.policy.matrix) {
            judgement.seen?.meeting = meeting
            switch meeting.cell.outcome {
            case .concurrent, .duck, .interrupt: break
            case .delay: judgement.refusal = .delayed
            case .reject: judgement.refusal = .rejected
            }
        }
        return judgement
    }

    private func judge(
        _ key: SessionKey, _ request: SessionRequest, _ standing: SessionStanding, at time: Timestamp
    ) -> MixingJudgement {
        var judgement = MixingJudgement(session: key, seen: Mixing(requester: request.name, isSession: true))
        switch standing.state {
        case .interrupted(let meeting):
            judgement.refusal = .interrupted
            judgement.seen?.meeting = meeting
        case .waiting(let meeting):
            judgement.refusal = meeting.cell.outcome == .reject ? .rejected : .delayed
            judgement.seen?.meeting = meeting
        case .playing:
            judgement.seen?.meeting = standing.ducked
            if standing.isSilenced {
                judgement.refusal = .silenced
                judgement.seen?.meeting = nil
            } else if !self.sessions.mayHear(key, at: time) {
                judgement.refusal = .ducked
            }
        }
        return judgement
    }
}

extension InteractionMatrix {
    /// Why an app may not have a session of a class, whoever else has one.
    func refusal(_ request: SessionRequest, _ app: AppEntry) -> LifeRefusal? {
        guard let wanted = self[request.name] else { return .unknownClass(request.name) }
        guard let first = wanted.requiredGrants.elements.first else { return nil }
        if wanted.requiredGrants.isDisjoint(with: app.declared) { return .undeclared(first) }
        return wanted.requiredGrants.isDisjoint(with: app.settings.grants) ? .ungranted(first) : nil
    }
}
