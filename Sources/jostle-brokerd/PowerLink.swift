import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Journal
import Loop
import Motion
import Protocol

/// Learns from UPower whether the device runs on its battery, and how full that is. Where there is no UPower, it does not.
final class PowerLink {
    private static let name = "org.freedesktop.UPower"

    /// An object of UPower's that says something of the supply by its properties.
    private struct Source: Sendable {
        let path: ObjectPath
        let interface: String

        var rule: String { "type='signal',sender='\(PowerLink.name)',path='\(self.path.text)'" }
    }

    private static let daemon = Source(path: ObjectPath(literal: "/org/freedesktop/UPower"), interface: PowerLink.name)
    /// Stands for all batteries together.
    private static let battery = Source(
        path: ObjectPath(literal: "/org/freedesktop/UPower/devices/DisplayDevice"),
        interface: "org.freedesktop.UPower.Device")

    private unowned let service: BrokerService
    private let connection: Connection
    /// UPower's unique name; only its signals count.
    private var owner: String?
    private var supply = PowerSupply()
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
            guard let self, let owner = self.owner, message.isFrom(owner), let path = message.path,
                let (interface, changed, _) = try? message.read(String.self, [String: Value].self, [String].self),
                let source = [Self.daemon, Self.battery].first(where: { $0.path.text == path }),
                source.interface == interface
            else { return }
            self.learned(changed)
            self.tell()
        }
        connection.whenInDoubt { [weak self] _ in self?.ask() }
        for source in [Self.daemon, Self.battery] { connection.addMatch(source.rule) }
        _ = names.follow(Self.name, ownRule: true) { [weak self] in self?.ownerChanged($0) }
    }

    private func ownerChanged(_ owner: String?) {
        self.owner = owner
        self.supply = PowerSupply()
        self.patience = RetryPatience()
        guard owner == nil else { return self.ask() }
        // Nobody says that the device runs on its battery.
        self.supply.changed(isOnBattery: false)
        self.setTimer()
        self.tell()
    }

    /// Asks for the charge first, so that it is known when the device is found to run on its battery.
    private func ask() {
        guard let owner else { return }
        self.patience.tried()
        self.setTimer()
        self.ask(Self.battery, of: owner) { [weak self] hasCharge in
            self?.ask(Self.daemon, of: owner) { [weak self] hasSupply in
                guard let self else { return }
                if hasCharge, hasSupply {
                    self.patience = RetryPatience()
                } else {
                    self.patience.failed(at: self.service.now { $1 })
                }
                self.setTimer()
                self.tell()
            }
        }
    }

    /// Takes in what one of its objects says, and goes on with whether it said anything; unless it is gone meanwhile.
    private func ask(_ source: Source, of owner: String, then: @escaping (Bool) -> Void) {
        let properties = CallTarget(Self.name, source.path, "org.freedesktop.DBus.Properties")
        self.connection.call(properties, "GetAll", source.interface, autoStart: false) { [weak self] result in
            guard let self, self.owner == owner else { return }
            let said = try? result.take().read(reply: [String: Value].self)
            self.learned(said ?? [:])
            then(said != nil)
        }
    }

    private func setTimer() {
        self.service.loop.set(&self.timer, at: self.patience.nextTry?.microseconds, on: .boottime) { [weak self] in
            self?.ask()
        }
    }

    /// No two of its objects have properties of one name. What is of another type than ours says nothing.
    private func learned(_ properties: [String: Value]) {
        func flag(_ name: String) -> Bool? {
            guard case .boolean(let isSo) = properties[name] else { return nil }
            return isSo
        }
        self.supply.changed(isOnBattery: flag("OnBattery"))
        var percentage: Double?
        if case .double(let number) = properties["Percentage"] { percentage = number }
        self.supply.changed(hasBattery: flag("IsPresent"), percentage: percentage)
    }

    private func tell() {
        guard let power = self.supply.power else { return }
        self.service.links.history.note(.power, power == .ac ? "ac" : "battery")
        guard power != self.service.core.arbiter.device.power else { return }
        try? self.service.links.tasks.input(.power(power))
    }
}
