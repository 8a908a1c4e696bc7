import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Journal
import Loop
import Motion
import Protocol

/// Learns from UPower whether the device runs on its battery. Where there is no UPower, it does not.
final class PowerLink {
    private static let name = "org.freedesktop.UPower"
    private static let path = ObjectPath(literal: "/org/freedesktop/UPower")
    private static let properties = CallTarget(PowerLink.name, PowerLink.path, "org.freedesktop.DBus.Properties")
    private static let rule = "type='signal',sender='\(PowerLink.name)',path='/org/freedesktop/UPower'"

    private unowned let service: BrokerService
    private let connection: Connection
    /// UPower's unique name; only its signals count.
    private var owner: String?
    private var patience = RetryPatience()
    /// Runs when UPower is to be asked again that did not answer.
    private var timer: EventLoop.TimerID?

    /// - Parameters:
    ///   - connection: to UPower's bus, which somebody else opens.
    ///   - names: who owns what there.
    init(_ service: BrokerService, on connection: Connection, _ names: NameWatch) {
        self.service = service
        self.connection = connection
        connection.onSignal("org.freedesktop.DBus.Properties", "PropertiesChanged") { [weak self] message in
            guard let self, let owner = self.owner, message.isFrom(owner),
                let (_, changed, _) = try? message.read(String.self, [String: Value].self, [String].self),
                case .boolean(let isOnBattery) = changed["OnBattery"]
            else { return }
            self.learned(isOnBattery)
        }
        connection.addMatch(Self.rule)
        _ = names.follow(Self.name, ownRule: true) { [weak self] in self?.ownerChanged($0) }
    }

    private func ownerChanged(_ owner: String?) {
        self.owner = owner
        self.patience = RetryPatience()
        guard owner == nil else { return self.ask() }
        self.learned(false)
    }

    private func ask() {
        guard let owner else { return }
        self.patience.tried()
        self.setTimer()
        self.connection.call(
            Self.properties, "Get", Self.name, "OnBattery", autoStart: false
        ) { [weak self] result in
            guard let self, self.owner == owner else { return }
            if let value = try? result.take().read(reply: Value.self) { return self.learned(value == .boolean(true)) }
            self.patience.failed(at: self.service.now { $1 })
            self.setTimer()
        }
    }

    private func setTimer() {
        self.service.loop.set(&self.timer, at: self.patience.nextTry?.microseconds, on: .boottime) { [weak self] in
            self?.ask()
        }
    }

    private func learned(_ isOnBattery: Bool) {
        self.patience = RetryPatience()
        self.setTimer()
        self.service.links.history.note(.power, isOnBattery ? "battery" : "ac")
        try? self.service.links.tasks.input(.power(isOnBattery ? .battery(nil) : .ac))
    }
}
