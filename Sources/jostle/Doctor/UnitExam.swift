import DBus
import Protocol

/// What `jostle doctor` finds of one of systemd's units: what became of it.
struct UnitExam: Equatable {
    let name: String
    /// Of the user's manager, not the system's.
    let isUsers: Bool
    /// `loaded`, `masked`, `not-found`, …
    var load = ""
    /// `active`, `failed`, …
    var state = ""
    /// Why it failed: `exit-code`, `watchdog`, …
    var result = ""
    /// How often systemd started it anew.
    var restarts: UInt32 = 0

    /// Whether there is such a unit, which systemd can start and end.
    var isLoaded: Bool { self.load == "loaded" }

    /// Has its manager do something with it.
    func command(_ verb: String) -> TypedCommand {
        self.isUsers ? .run("systemctl", "--user", verb, self.name) : .run("systemctl", verb, self.name)
    }

    var log: TypedCommand {
        self.isUsers
            ? .run("journalctl", "--user", "-u", self.name, "-n", "50")
            : .run("journalctl", "-u", self.name, "-n", "50")
    }
    private var title: String { "\(self.isUsers ? "the user's" : "the system's") \(self.name)" }

    var remarks: [Remark] {
        switch (self.load, self.state) {
        // Whoever has no such unit starts the service otherwise, and hears of that where the service is looked at.
        case ("", _), ("not-found", _): []
        case ("masked", _):
            [
                .wrong(
                    .units, "\(self.title) is masked, so that nothing can start it", mend: [self.command("unmask")])
            ]
        case ("loaded", "failed"):
            [
                .wrong(
                    .units, "\(self.title) has failed (\(self.result))", mend: [self.command("restart")],
                    look: [self.log])
            ]
        case ("loaded", _) where self.restarts > 0:
            [.note(.units, "\(self.title) was started anew \(self.restarts) times by systemd", look: [self.log])]
        case ("loaded", _): [.good(.units, "\(self.title) is \(self.state)")]
        default:
            [
                .wrong(
                    .units, "\(self.title) cannot be loaded (\(self.load))", look: [self.command("status")])
            ]
        }
    }
}

extension UnitExam {
    private static let service = "org.freedesktop.systemd1"
    private static let interface = "org.freedesktop.systemd1"

    /// Asks a manager for a unit; it is loaded for the question, and not started. `nil`: there is no manager here.
    init?(_ name: String, isUsers: Bool, on bus: AskedBus) {
        guard bus.owner(of: Self.service) != nil else { return nil }
        (self.name, self.isUsers) = (name, isUsers)
        let manager = CallTarget(
            Self.service, ObjectPath(literal: "/org/freedesktop/systemd1"), "\(Self.interface).Manager")
        guard let path = try? bus.ask(manager, "LoadUnit", name).read(reply: ObjectPath.self),
            let unit = try? bus.properties(Self.service, path, "\(Self.interface).Unit")
        else { return }
        (self.load, self.state) = (unit.text("LoadState"), unit.text("ActiveState"))
        guard let own = try? bus.properties(Self.service, path, "\(Self.interface).Service") else { return }
        self.result = own.text("Result")
        if case .uint32(let count) = own["NRestarts"] { self.restarts = count }
    }
}
