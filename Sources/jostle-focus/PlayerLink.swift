import DBus
import DaemonSupport
import FocusCore
import Loop
import Motion

/// Hears the media players of the bus (MPRIS), and tells the broker whose play. Nothing is asked of one that does not change.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class PlayerLink {
    private let bus: Connection
    private let log: Log
    private var players = Players()
    private let roll: RollLink
    private var leftOut: UInt64 = 0
    /// Names that were listed, whose owners are to be asked for.
    private var listed: [String] = []
    /// Which list counts: there may be another one since, or no bus any more.
    private var round: UInt64 = 0

    /// So many owners are asked for at a time, so that other questions to the bus do not wait behind those of one who has thousands of names.
    private static let askedAtOnce = 16
    private static let path = ObjectPath(literal: "/org/mpris/MediaPlayer2")
    private static let properties: StaticString = "org.freedesktop.DBus.Properties"
    private static let player = "org.mpris.MediaPlayer2.Player"
    private static let status = "PlaybackStatus"
    private static let namesRule =
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
        + "member='NameOwnerChanged',arg0namespace='\(Players.prefix)'"

    init(on bus: Connection, _ loop: EventLoop, _ naming: Naming, _ reporter: Reporter<AppList>, log: Log) {
        self.bus = bus
        self.log = log
        self.roll = RollLink(on: loop, reporter, pace: Players.pace)
        self.roll.apps = { [weak self] in self?.players.playing { naming.app(of: $0) } ?? [] }
        naming.onChange { [weak self] in self?.roll.change() }
        bus.onSignal("org.freedesktop.DBus", "NameOwnerChanged") { [weak self] message in
            guard message.sender == "org.freedesktop.DBus",
                let (name, _, owner) = try? message.read(String.self, String.self, String.self)
            else { return }
            self?.put(name, owner.isEmpty ? nil : owner)
        }
        bus.onSignal(Self.properties, "PropertiesChanged") { [weak self] in self?.hear($0) }
        bus.addMatch(Self.namesRule)
    }

    /// Looks who is there. Whoever has thousands of names hides nobody: all are asked after.
    func refresh() {
        let round = self.beginRound()
        self.bus.callBus("ListNames") { [weak self] result in
            guard let self, round == self.round else { return }
            let prefix = Players.prefix + "."
            let names = (try? result.take().read(reply: BusNameList.self))?.names ?? []
            self.listed = names.filter { $0.hasPrefix(prefix) }
            for _ in 0..<Self.askedAtOnce { self.askForOwner(in: round) }
        }
    }

    private func beginRound() -> UInt64 {
        self.round &+= 1
        self.listed = []
        return self.round
    }

    /// Asks who has the next name, and then on.
    private func askForOwner(in round: UInt64) {
        guard round == self.round, let name = self.listed.popLast() else { return }
        self.bus.callBus("GetNameOwner", name) { [weak self] result in
            guard let self, round == self.round else { return }
            // One that left meanwhile was heard to leave.
            if let owner = try? result.take().read(reply: String.self) { self.put(name, owner) }
            self.askForOwner(in: round)
        }
    }

    /// The bus is gone.
    func forget() {
        _ = self.beginRound()
        self.perform(self.players.clear())
    }

    private func put(_ name: String, _ owner: String?) {
        self.perform(self.players.put(name, owner: owner))
        guard self.players.leftOut > self.leftOut else { return }
        if self.leftOut == 0 {
            self.log.warning("there are more media players than \(Players.most): some are not heard")
        }
        self.leftOut = self.players.leftOut
    }

    private func perform(_ changes: [Players.Change]) {
        for change in changes {
            switch change {
            case .come(let owner):
                // Before it is asked, so that nothing falls between the answer and the first signal.
                self.bus.addMatch(Self.rule(owner))
                self.describe(owner)
                self.ask(owner)
            case .leave(let owner):
                self.bus.removeMatch(Self.rule(owner))
                self.roll.change()
            }
        }
    }

    private static func rule(_ owner: String) -> String {
        "type='signal',sender='\(owner)',interface='\(self.properties)',member='PropertiesChanged',"
            + "path='\(self.path.text)',arg0='\(self.player)'"
    }

    // MARK: Asking

    /// Finds out whose player it is.
    private func describe(_ owner: String) {
        self.bus.callBus("GetConnectionUnixProcessID", owner) { [weak self] result in
            self?.players.identify(owner, process: try? result.take().read(reply: UInt32.self))
            self?.get(Players.prefix, "DesktopEntry", of: owner) { [weak self] entry in
                self?.players.describe(owner, entry: entry)
                self?.roll.change()
            }
        }
    }

    /// Asks how it is, once at a time.
    private func ask(_ owner: String) {
        guard let question = self.players.ask(owner) else { return }
        self.get(Self.player, Self.status, of: owner) { [weak self] status in
            guard let self, self.players.answer(owner, to: question, status: status) else { return }
            self.roll.change()
        }
    }

    private func get(_ interface: String, _ property: String, of owner: String, then: @escaping (String?) -> Void) {
        let target = CallTarget(owner, Self.path, Self.properties.description)
        self.bus.call(target, "Get", interface, property, autoStart: false) { result in
            guard case .string(let text) = try? result.take().read(reply: Value.self) else { return then(nil) }
            then(text)
        }
    }

    /// Anybody can send such a signal; that of a player counts.
    private func hear(_ message: borrowing Message) {
        guard let owner = message.sender, self.players.contains(owner), message.path == Self.path.text,
            let (interface, changed, invalid) = try? message.read(String.self, [String: Value].self, [String].self),
            interface == Self.player
        else { return }
        if case .string(let status) = changed[Self.status] {
            self.players.hear(owner, status: status)
            self.roll.change()
        } else if invalid.contains(Self.status) {
            self.ask(owner)
        }
    }
}
