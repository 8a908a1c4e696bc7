import DBus
import Motion
import Protocol

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

    private static let action = PolkitAction.claim

    let standing: Standing

    var remarks: [Remark] {
        switch self.standing {
        case .isRoot: []
        case .noPolkit:
            [
                .wrong(
                    .rights, "polkit is not there, so nobody but root may claim sensors of the system",
                    mend: [.run("apt", "install", "polkitd")])
            ]
        case .unknownAction:
            [
                .wrong(
                    .rights, "polkit does not know \(Self.action), so nobody but root may claim sensors of the system",
                    look: [.run("ls", "/usr/share/polkit-1/actions")])
            ]
        case .allowed: [.good(.rights, "polkit lets this program claim sensors")]
        case .refused(let challenge):
            [
                .note(
                    .rights,
                    "polkit does not let this program claim sensors\(challenge ? " without a password, for which nobody is asked" : ""); what it says of the broker's process may differ, and stands at the sensors",
                    look: [
                        .run("loginctl", "list-sessions"), .run("pkaction", "--verbose", "--action-id", Self.action),
                    ]
                )
            ]
        case .silent(let problem):
            [.wrong(.rights, "polkit cannot be asked: \(problem)", look: [.run("systemctl", "status", "polkit")])]
        }
    }
}

extension RightsExam {
    private static let service = "org.freedesktop.PolicyKit1"
    private static let authority = CallTarget(
        RightsExam.service, ObjectPath(literal: "/org/freedesktop/PolicyKit1/Authority"),
        "org.freedesktop.PolicyKit1.Authority")

    /// Asks polkit about ourselves, on the bus of the reader: it is another connection, and may be of another session, than the
    /// broker's, whose claims are what counts.
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
