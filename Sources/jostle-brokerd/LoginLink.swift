import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Glibc
import Loop
import Motion
import Protocol

/// Learns from logind when the screen is locked, when nobody uses the device and when the system sleeps. Where there is no logind,
/// nothing is learned.
///
/// The sessions that count are those at a seat in which somebody works: of our own user, or all of them for a broker on the system bus.
/// The screen is locked when there are such sessions and each that is seen says so; the device is idle when each says that it is, or
/// there is none.
final class LoginLink {
    private static let name = "org.freedesktop.login1"
    private static let manager = CallTarget(
        LoginLink.name, ObjectPath(literal: "/org/freedesktop/login1"), "org.freedesktop.login1.Manager")
    private static let rule = "type='signal',sender='\(LoginLink.name)',path_namespace='/org/freedesktop/login1'"

    private unowned let service: BrokerService
    private let connection: Connection
    /// Who owns what on logind's bus.
    let names: NameWatch
    private let isOwn: Bool
    /// logind's unique name; only its signals count.
    private var owner: String?
    private var sessions = LoginSessions()
    /// What we told last. The same again is not told, so that it does not undo what others said meanwhile.
    private var told: Bool?
    /// Runs when the list is to be asked for again.
    private var timer: EventLoop.TimerID?

    /// - Parameter connection: to logind's bus; the broker's own if it is the same.
    init(_ service: BrokerService, on connection: Connection) {
        self.service = service
        self.connection = connection
        self.isOwn = connection !== service.bus
        self.names = self.isOwn ? NameWatch(on: connection) : service.names
        connection.onSignal("org.freedesktop.login1.Manager", "PrepareForSleep") { [weak self] message in
            guard let self, self.isOurs(message), let begins = try? message.read(Bool.self) else { return }
            self.service.sleep(begins)
        }
        for member: StaticString in ["SessionNew", "SessionRemoved"] {
            connection.onSignal("org.freedesktop.login1.Manager", member) { [weak self] message in
                if let self, self.isOurs(message) { self.findSessions() }
            }
        }
        connection.onSignal("org.freedesktop.DBus.Properties", "PropertiesChanged") { [weak self] message in
            guard let self, self.isOurs(message), let path = message.path, self.sessions.contains(path),
                let (_, changed, _) = try? message.read(String.self, [String: Value].self, [String].self)
            else { return }
            let word = Self.word(changed)
            self.sessions.changed(path, word)
            // What leaves the front may have ended, and logind tells of that only who asks.
            if word.isSeen != nil { self.findSessions() }
            self.tell()
        }
        connection.whenInDoubt { [weak self] _ in self?.askAnew() }
        connection.addMatch(Self.rule)
        _ = self.names.follow(Self.name, ownRule: true) { [weak self] in self?.ownerChanged($0) }
    }

    /// Connects, if the connection is our own. A bus that is not there has no logind, and is not waited for.
    func open() {
        guard self.isOwn else { return }
        self.connection.onReady = { [unowned self] in self.names.refresh() }
        self.connection.onLost = { [unowned self] in self.names.forgetAll() }
        do throws(BusError) {
            try self.connection.openIfThere()
        } catch {
            self.service.log.debug("no logind: \(error)")
        }
    }

    private func isOurs(_ message: borrowing Message) -> Bool {
        guard let owner = self.owner else { return false }
        return message.isFrom(owner)
    }

    /// What logind said may have been lost.
    private func askAnew() {
        guard self.owner != nil else { return }
        self.findSessions()
        let properties = CallTarget(Self.name, Self.manager.path, "org.freedesktop.DBus.Properties")
        self.connection.call(properties, "Get", Self.manager.interface, "PreparingForSleep", autoStart: false) {
            [weak self] result in
            guard let self, self.owner != nil, case .boolean(let begins) = try? result.take().read(reply: Value.self),
                begins != self.service.core.arbiter.isAsleep
            else { return }
            self.service.sleep(begins)
        }
    }

    private func ownerChanged(_ owner: String?) {
        self.owner = owner
        if owner != nil { return self.findSessions() }
        // Nobody will say that the system is back.
        self.sessions.forget()
        self.setTimer()
        if !self.service.core.work.isIdle { try? self.service.links.tasks.input(.idle(true)) }
        if self.service.core.arbiter.isAsleep { self.service.sleep(false) }
    }

    private func findSessions() {
        let question = self.sessions.ask()
        self.setTimer()
        self.connection.call(Self.manager, "ListSessions", autoStart: false) { [weak self] result in
            typealias Row = Structure<String, UInt32, String, String, ObjectPath>
            guard let self else { return }
            let rows = try? result.take().read(reply: [Row].self)
            let isForAll = self.service.bus.address == .system
            let found = rows?.filter { row in
                let (_, user, _, seat, _) = row.fields
                return !seat.isEmpty && (isForAll || user == getuid())
            }.map { $0.fields.4 }
            let now = self.service.now { $1 }
            if let round = self.sessions.listed(found?.map(\.text), asked: question, at: now) {
                for session in found ?? [] { self.ask(session, round) }
            }
            self.setTimer()
            self.tell()
        }
    }

    private func setTimer() {
        let deadline = self.sessions.nextTry?.microseconds
        self.service.loop.set(&self.timer, at: deadline, on: .boottime) { [weak self] in
            self?.findSessions()
        }
    }

    private func ask(_ session: ObjectPath, _ round: UInt64) {
        let properties = CallTarget(Self.name, session, "org.freedesktop.DBus.Properties")
        self.connection.call(
            properties, "GetAll", "org.freedesktop.login1.Session", autoStart: false
        ) { [weak self] result in
            guard let self else { return }
            let now = self.service.now { $1 }
            if let properties = try? result.take().read(reply: [String: Value].self) {
                self.sessions.answered(session.text, in: round, Self.word(properties), at: now)
            } else {
                self.sessions.failed(session.text, in: round, at: now)
            }
            self.setTimer()
            self.tell()
        }
    }

    /// What a session says of itself, as far as it is said.
    private static func word(_ properties: [String: Value]) -> LoginSessions.Word {
        func flag(_ name: String) -> Bool? {
            guard case .boolean(let isSo) = properties[name] else { return nil }
            return isSo
        }
        func text(_ name: String) -> String? {
            guard case .string(let text) = properties[name] else { return nil }
            return text
        }
        let isUnused = text("State") == "closing" || text("Class") == "greeter" || text("Class") == "lock-screen"
        return LoginSessions.Word(
            isLocked: flag("LockedHint"), isIdle: flag("IdleHint"), isSeen: flag("Active"),
            isUsed: isUnused ? false : nil)
    }

    private func tell() {
        // A late answer of a logind that is gone unlocks nothing.
        guard self.owner != nil, self.sessions.isKnown else { return }
        let isIdle = self.sessions.isIdle
        if isIdle != self.service.core.work.isIdle { try? self.service.links.tasks.input(.idle(isIdle)) }
        let isLocked = self.sessions.isLocked
        // Before somebody has locked anything there is nothing to take back.
        guard isLocked != self.told ?? false else { return }
        self.told = isLocked
        self.service.links.reports.lock(isLocked)
    }
}
