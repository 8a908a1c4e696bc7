import Motion

/// What the classes say to a hit in a mixable group: S4 there.
struct MixingJudgement {
    /// Why it comes to nothing; `nil`: it does not.
    private(set) var refusal: Reason?
    /// The session that it counts for.
    private(set) var session: SessionKey?
    /// `nil` for an app that stands for no class.
    private(set) var seen: Mixing?

    /// An app without session or class mixes with everybody.
    init() {}

    /// What a session says.
    ///
    /// - Parameter mayHear: It may have one more event, ducked or not.
    init(_ key: SessionKey, _ request: SessionRequest, _ standing: SessionStanding, mayHear: Bool) {
        self.session = key
        var seen = Mixing(requester: request.name, isSession: true)
        switch standing.state {
        case .interrupted(let meeting):
            self.refusal = .interrupted
            seen.meeting = meeting
        case .waiting(let meeting):
            self.refusal = meeting.cell.outcome == .reject ? .rejected : .delayed
            seen.meeting = meeting
        case .playing:
            if standing.isSilenced {
                self.refusal = .silenced
            } else {
                seen.meeting = standing.ducked
                if !mayHear { self.refusal = .ducked }
            }
        }
        self.seen = seen
    }

    /// What the class of a rule says, to an app that has none of the grants it wants.
    init(_ name: String, missing: WordSet<BackgroundMode>) {
        self.refusal = .rejected
        self.seen = Mixing(requester: name, isSession: false, missing: missing)
    }

    /// What the class of a rule says that is silent now.
    init(silent name: String) {
        self.refusal = .silenced
        self.seen = Mixing(requester: name, isSession: false)
    }

    /// What the class of a rule says to an app that met this session.
    ///
    /// A hit is over as soon as it begins: nobody is interrupted or made soft for it.
    init(_ name: String, _ meeting: SessionMeeting?) {
        self.seen = Mixing(requester: name, isSession: false, meeting: meeting)
        switch meeting?.cell.outcome {
        case nil, .concurrent, .duck, .interrupt: break
        case .delay: self.refusal = .delayed
        case .reject: self.refusal = .rejected
        }
    }
}
