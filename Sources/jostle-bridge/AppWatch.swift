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
    private let loop: EventLoop
    /// What is known, by the object.
    private var apps: [String: Known] = [:]
    /// What is counted is to be asked for.
    private var timer: EventLoop.TimerID?
    private var lastList: Int64 = 0
    /// How often a list was begun.
    private var lists: UInt64 = 0
    private var retry: EventLoop.TimerID?
    /// There is a broker that has neither told all that there is nor refused to.
    private(set) var isAsked = false

    /// An app, and what had been counted of it when it was seen first.
    private struct Known {
        var app: ListedApp
        var message: DataValue
        let since: Int64
        let hits: UInt64
        let denied: UInt64
        /// The latest list that had been begun when it was told of last: it is gone if all of a later one has come without it.
        var seen: UInt64 = 0
    }

    /// How often what is counted is asked for at most, and after how long a broker is asked again that did not answer, in µs.
    private static let pause: Int64 = 2_000_000

    init(_ names: NameList, _ topics: FleetTopics, on address: BusAddress, _ loop: EventLoop) {
        self.names = names
        self.topics = topics
        self.loop = loop
        self.bus = Connection(to: address, on: loop, retry: .upTo(microseconds: Daemon.longestRetry))
        self.owners = NameWatch(on: self.bus)
        self.bus.onReady = { [unowned self] in self.owners.refresh() }
        self.bus.onLost = { [unowned self] in self.owners.forgetAll() }
        self.bus.onSignal(InterfaceName.broker, "AppsChanged") { [unowned self] in self.hear($0) }
        self.bus.whenInDoubt { [unowned self] _ in self.ask() }
        _ = self.owners.follow(BusName.broker, ownRule: true) { [unowned self] in self.brokerChanged($0) }
        _ = self.bus.openOrRetry()
    }

    /// All that is known, for a server that has just taken us.
    func tellAll() { for app in self.apps.values { self.tell(app) } }

    /// Something was decided: the broker does not tell what it counts, and is asked, but not for each.
    func countsChanged() {
        guard self.timer == nil, self.broker != nil else { return }
        let due = max(0, self.lastList + Self.pause - Clock.monotonic.now())
        self.timer = self.loop.schedule(after: due) { [unowned self] in
            self.loop.cancel(&self.timer)
            if let broker { self.list(of: broker) }
        }
    }

    private func brokerChanged(_ owner: String?) {
        guard owner != self.broker else { return }
        self.broker = owner
        self.loop.cancel(&self.retry)
        self.isAsked = owner != nil
        self.forget(Array(self.apps.keys))
        self.ask()
    }

    /// Asks the broker, if there is one, to tell, and what there is.
    private func ask() {
        guard let owner = self.broker else { return }
        let root = CallTarget(owner, Path.broker, InterfaceName.broker.description)
        // Before it is asked, so that nothing falls between the answer and the first change.
        self.bus.call(root, "Watch", noOptions, autoStart: false) { [weak self] result in
            guard let self, self.broker == owner else { return }
            do throws(BusError) {
                _ = try result.take()
            } catch {
                // Who may not watch is shown the list all the same.
                if self.isAskedAgain(after: error) { return }
            }
            self.list(of: owner)
        }
    }

    private func list(of owner: String) {
        self.lists += 1
        self.list(of: owner, after: nil, as: self.lists)
    }

    private func list(of owner: String, after: ObjectPath?, as number: UInt64) {
        let root = CallTarget(owner, Path.broker, InterfaceName.broker.description)
        self.lastList = Clock.monotonic.now()
        let options: [String: Value] = after.map { ["after": .objectPath($0)] } ?? [:]
        self.bus.call(root, "ListApps", options, autoStart: false) { [weak self] result in
            guard let self, self.broker == owner else { return }
            let rows: [ListedApp.Wire]
            do throws(BusError) {
                rows = try result.take().read(reply: [ListedApp.Wire].self)
            } catch {
                self.isAsked = self.isAskedAgain(after: error)
                return
            }
            self.take(rows)
            guard let last = rows.last else {
                self.isAsked = false
                // That it left may have been missed.
                return self.forget(self.apps.filter { $0.value.seen < number }.map(\.key))
            }
            // Each page is behind the one before; a broker that sends others would keep us for ever.
            guard after.map({ $0.text < last.fields.0.text }) ?? true else {
                self.isAsked = false
                return
            }
            self.list(of: owner, after: last.fields.0, as: number)
        }
    }

    /// Whether a broker that has not answered, and so has not refused, is asked again after a while.
    private func isAskedAgain(after error: BusError) -> Bool {
        guard error.isForTheMoment else { return false }
        self.loop.set(&self.retry, after: Self.pause) { [unowned self] in self.ask() }
        return true
    }

    /// Anybody can send such a signal: the broker's counts.
    private func hear(_ message: borrowing Message) {
        guard let broker, message.isFrom(broker),
            let (rows, gone, details) = try? message.read(
                [ListedApp.Wire].self, [ObjectPath].self, [String: Value].self)
        else { return }
        self.take(rows)
        self.forget(gone.map(\.text))
        if details["missed"] == .boolean(true) { self.list(of: broker) }
    }

    private func take(_ rows: [ListedApp.Wire]) {
        for row in rows {
            let app = ListedApp(row)
            guard !app.app.isEmpty, app.app != BrokerApp.name, self.names.matches(app.app) else { continue }
            self.note(app)
        }
    }

    private func note(_ app: ListedApp) {
        // Who registers anew is counted from nothing, and an object may be another's by now.
        let old = self.apps[app.object.text].flatMap { old in
            old.app.app == app.app && old.app.hits <= app.hits && old.app.denied <= app.denied ? old : nil
        }
        var known =
            old
            ?? Known(
                app: app, message: .null, since: Clock.wallClock(), hits: app.hits, denied: app.denied)
        known.app = app
        known.seen = self.lists
        known.message = Self.message(known)
        self.apps[app.object.text] = known
        if known.message != old?.message { self.tell(known) }
    }

    private func forget(_ objects: [String]) {
        for object in objects {
            guard let known = self.apps.removeValue(forKey: object) else { continue }
            self.onMessage(Outgoing(self.topics.state(of: known.app.app), nil, isRetained: true))
        }
    }

    private func tell(_ known: Known) {
        self.onMessage(Outgoing(self.topics.state(of: known.app.app), known.message, isRetained: true))
    }

    private static func message(_ known: Known) -> DataValue {
        let app = known.app
        return .fields([
            "state": .text(app.state), "detectors": .count(app.detectors), "hits": .count(app.hits),
            "delivered": .count(app.delivered), "denied": .count(app.denied), "dropped": .count(app.dropped),
            "since_us": .integer(known.since), "hits_then": known.hits == 0 ? nil : .count(known.hits),
            "denied_then": known.denied == 0 ? nil : .count(known.denied),
        ])
    }
}

@available(*, unavailable)
extension AppWatch: Sendable {}
