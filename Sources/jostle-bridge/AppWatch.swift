import Arbitration
import DBus
import DaemonSupport
import FleetCore
import Loop
import Protocol

/// Follows the states of apps, as the broker shows them to the bridge's user: by a connection that is no app itself.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class AppWatch {
    /// The message of an app's state.
    var onMessage: (Outgoing) -> Void = { _ in }

    private let names: NameList
    private let topics: FleetTopics
    private let bus: Connection
    private let owners: NameWatch
    private var broker: String?
    /// What is known, by the object.
    private var apps: [String: ListedApp] = [:]

    init(_ names: NameList, _ topics: FleetTopics, on address: BusAddress, _ loop: EventLoop) {
        self.names = names
        self.topics = topics
        self.bus = Connection(to: address, on: loop, retry: .upTo(microseconds: Daemon.longestRetry))
        self.owners = NameWatch(on: self.bus)
        self.bus.onReady = { [unowned self] in self.owners.refresh() }
        self.bus.onLost = { [unowned self] in self.owners.forgetAll() }
        self.bus.onSignal(InterfaceName.broker, "AppsChanged") { [unowned self] in self.hear($0) }
        _ = self.owners.follow(BusName.broker, ownRule: true) { [unowned self] in self.brokerChanged($0) }
        _ = self.bus.openOrRetry()
    }

    /// All that is known, for a server that has just taken us.
    func tellAll() { for app in self.apps.values { self.onMessage(self.message(app)) } }

    private func brokerChanged(_ owner: String?) {
        guard owner != self.broker else { return }
        self.broker = owner
        self.forget(Array(self.apps.keys))
        guard let owner else { return }
        let root = CallTarget(owner, Path.broker, InterfaceName.broker.description)
        // Before it is asked, so that nothing falls between the answer and the first change.
        self.bus.call(root, "Watch", noOptions, autoStart: false) { [weak self] _ in self?.list(of: owner, after: nil) }
    }

    private func list(of owner: String, after: ObjectPath?) {
        let root = CallTarget(owner, Path.broker, InterfaceName.broker.description)
        let options: [String: Value] = after.map { ["after": .objectPath($0)] } ?? [:]
        self.bus.call(root, "ListApps", options, autoStart: false) { [weak self] result in
            guard let self, self.broker == owner,
                let rows = try? result.take().read(reply: [ListedApp.Wire].self), let last = rows.last
            else { return }
            self.take(rows)
            // Each page is behind the one before; a broker that sends others would keep us for ever.
            guard after.map({ $0.text < last.fields.0.text }) ?? true else { return }
            self.list(of: owner, after: last.fields.0)
        }
    }

    /// Anybody can send such a signal: the broker's counts.
    private func hear(_ message: borrowing Message) {
        guard let broker, message.isFrom(broker),
            let (rows, gone, details) = try? message.read(
                [ListedApp.Wire].self, [ObjectPath].self, [String: Value].self)
        else { return }
        self.take(rows)
        self.forget(gone.map(\.text))
        if details["missed"] == .boolean(true) { self.list(of: broker, after: nil) }
    }

    private func take(_ rows: [ListedApp.Wire]) {
        for row in rows {
            let app = ListedApp(row)
            guard !app.app.isEmpty, app.app != BrokerApp.name, self.names.matches(app.app) else { continue }
            self.apps[app.object.text] = app
            self.onMessage(self.message(app))
        }
    }

    private func forget(_ objects: [String]) {
        for object in objects {
            guard let app = self.apps.removeValue(forKey: object) else { continue }
            self.onMessage(Outgoing(self.topics.state(of: app.app), nil, isRetained: true))
        }
    }

    private func message(_ app: ListedApp) -> Outgoing {
        let value = DataValue.fields([
            "state": .text(app.state), "detectors": .count(app.detectors), "hits": .count(app.hits),
            "delivered": .count(app.delivered), "denied": .count(app.denied), "dropped": .count(app.dropped),
        ])
        return Outgoing(self.topics.state(of: app.app), value, isRetained: true)
    }
}

@available(*, unavailable)
extension AppWatch: Sendable {}
