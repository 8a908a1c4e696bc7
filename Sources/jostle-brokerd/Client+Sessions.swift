import Arbitration
import BrokerCore
import DBus
import Protocol

/// How the app's sessions stand beside those of others.
extension Client {
    /// Tells the app how one of its sessions stands now. Whose sake it is for is none of its business.
    func perform(_ effect: SessionEffect) {
        var details: [String: Value] = [HeldKey.number: .uint64(effect.key.activity.number)]
        if case .resumed(let hint) = effect.change { details[HeldKey.resume] = .boolean(hint) }
        if let meeting = effect.change.meeting {
            details[HeldKey.cell] = .string(Explanation.cell(meeting.cell))
            if let ducking = meeting.cell.ducking { details[HeldKey.share] = .double(ducking.share) }
        }
        self.changed("Sessions")
        let subject = NewsSubject(effect.key.activity.number, effect.change.side)
        self.object?.tell(InterfaceName.app, "SessionChanged", about: subject) {
            [effect.request.name, effect.change.name, details]
        }
    }

    /// Class, how it stands, how loud it may be, and whether it is silenced.
    var sessionList: [[String: Value]] {
        self.service.core.arbiter.sessions.sessions(of: self.id).map { session in
            let state =
                switch session.standing.state {
                case .playing: "playing"
                case .interrupted: "interrupted"
                case .waiting: "waiting"
                }
            return [
                HeldKey.sessionClass: .string(session.request.name), HeldKey.state: .string(state),
                HeldKey.share: .double(session.standing.share),
                HeldKey.isSilenced: .boolean(session.standing.isSilenced),
                HeldKey.number: .uint64(session.key.activity.number),
            ]
        }
    }
}

extension SessionEffect.Change {
    /// Which side of how a session stands it is about: what is newer of one says nothing of the others.
    fileprivate var side: String {
        switch self {
        case .began, .waits: "beginning"
        case .interrupted, .resumed: "interruption"
        case .ducked, .restored: "loudness"
        case .silenced, .audible: "silence"
        }
    }
}

extension SessionRequest {
    /// The session that options ask for; `nil` when they name no class.
    init?(_ options: [String: Value]) throws(BusError) {
        let reader = try OptionReader(options, of: "activity", known: [HeldKey.sessionClass, HeldKey.mixes])
        let mixes = try reader.flag(HeldKey.mixes)
        guard let name = try reader.text(HeldKey.sessionClass) else {
            if mixes != nil { throw .invalidConfiguration("activity: only a class mixes with others") }
            return nil
        }
        self.init(name, mixes: mixes ?? false)
    }
}
