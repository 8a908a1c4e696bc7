import DBus
import Motion

/// What `jostle doctor` finds of the right to claim sensors of the system's reader, which is polkit's to give.
struct RightsExam: Equatable {
    enum Standing: Equatable {
        /// Root is not asked.
        case isRoot
        case noPolkit
        /// polkit does not know the action: its file is not installed.
        case unknownAction
        case allowed
        /// Somebody would have to type a password, which nobody is asked for.
        case refused(challenge: Bool)
        case silent(String)
    }

    static let action = "org.jostle.sensors.claim"

    let standing: Standing

    var remarks: [Remark] {
        switch self.standing {
        case .isRoot: []
        case .noPolkit:
            [
                .wrong(
                    .rights, "polkit is not there, so nobody but root may claim sensors of the system",
                    mend: "apt install polkitd")
            ]
        case .unknownAction:
            [
                .wrong(
                    .rights, "polkit does not know \(Self.action): its file is not among those of polkit-1/actions",
                    mend: "ls /usr/share/polkit-1/actions")
            ]
        case .allowed: [.good(.rights, "polkit lets you claim sensors")]
        case .refused:
            [
                .wrong(
                    .rights,
                    "polkit does not let you claim sensors: your session is not the one in front, or is a remote one",
                    mend: "loginctl list-sessions", "pkcheck --action-id \(Self.action) --process $$")
            ]
        case .silent(let problem):
            [.wrong(.rights, "polkit cannot be asked: \(problem)", mend: "systemctl status polkit")]
        }
    }
}

extension RightsExam {
    private static let service = "org.freedesktop.PolicyKit1"
    private static let authority = CallTarget(
        RightsExam.service, ObjectPath(literal: "/org/freedesktop/PolicyKit1/Authority"),
        "org.freedesktop.PolicyKit1.Authority")

    /// Asks polkit about ourselves, on the bus of the reader.
    init(on bus: AskedBus, isRoot: Bool) {
        if isRoot {
            self.standing = .isRoot
        } else if bus.owner(of: Self.service) == nil, !bus.starts(Self.service) {
            self.standing = .noPolkit
        } else {
            self.standing = Self.ask(bus)
        }
    }

    private static func ask(_ bus: AskedBus) -> Standing {
        let subject = Structure("system-bus-name", ["name": Value.string(bus.ownName)])
        do throws(BusError) {
            let answer = try bus.ask(
                Self.authority, "CheckAuthorization", subject, Self.action, [String: String](), UInt32(0), "",
                starts: true)
            let (isAllowed, isChallenge, _) = try answer.read(reply: Structure<Bool, Bool, [String: String]>.self)
                .fields
            return isAllowed ? .allowed : .refused(challenge: isChallenge)
        } catch {
            // What polkit says of an action that no file of its own names.
            return error.message.contains(Self.action) ? .unknownAction : .silent(error.message)
        }
    }
}
