import Arbitration
import BrokerCore
import DBus
import Loop
import Motion
import Protocol

/// Tells those who asked for it which apps come, go and change, and what is in the foreground: panels, and tools for people.
///
/// Each is told of what it may see, and of how things are when it reads: what changes twice until then is told once.
final class WatchLink {
    private final class Watcher {
        let name: String
        let peer: PacedSender.Peer
        let identity: CallerIdentity
        var token: NameWatch.Token?
        /// Objects of apps that changed, and the numbers by which the apps are found if they are still there.
        var changed: [ObjectPath: AppHandle] = [:]
        /// More changed than is remembered of somebody who does not read.
        var hasMissed = false
        var isForegroundChanged = false
        /// What it knows of the foreground.
        var foreground: Foreground?

        init(_ name: String, _ peer: PacedSender.Peer, _ identity: CallerIdentity) {
            self.name = name
            self.peer = peer
            self.identity = identity
        }
    }

    /// The foreground as one of them may know it.
    private struct Foreground: Equatable {
        var app: String
        var isReported: Bool
        /// Which of the changes of the sources it may know is the last; `nil`: it may not know them.
        var sources: UInt64?
    }

    private unowned let service: BrokerService
    /// Of our own: whoever watches takes nothing of what events are sent by.
    private let sender: PacedSender
    /// By their unique names.
    private var watchers: [String: Watcher] = [:]
    private var shares = WatchLink.shares
    /// Somebody is to be told when this round is over, or is being told.
    private var isDue = false
    /// Those who are still to be told, and whether something changed since they were counted.
    private var line: [Watcher] = []
    private var isAgain = false

    private static let shares = UserShares(limit: 128, reserve: 64)
    /// How many there may be, as `Limits` shows it.
    static let limits = [
        "watchers": UInt64(WatchLink.shares.limit), "watchers-per-user": UInt64(WatchLink.shares.share),
    ]
    /// So many apps are remembered for one that does not read. Connections without a name never come again under theirs.
    private static let mostChanged = 1_024
    /// So many of them are asked at a time whether they read.
    private static let pings = 8
    /// So many apps are told of in one signal.
    private static let rows = 32
    /// About so many bytes of a signal are taken for each.
    private static let rowBytes = 512
    private static let missed: [String: Value] = ["missed": .boolean(true)]

    init(_ service: BrokerService) {
        self.service = service
        self.sender = PacedSender(on: service.bus, pings: Self.pings)
    }

    /// Who may watch, and who does.
    var usage: LimitUsage { LimitUsage("watchers", self.shares) }

    // MARK: Who watches

    /// Has the caller told from now on, until it leaves the bus.
    func watch(_ call: MethodCall) throws(BusError) {
        guard self.watchers[call.sender] == nil else { return call.reply() }
        self.service.authority.ifKnown(call) { [weak self] identity in self?.add(call, identity) }
    }

    private func add(_ call: MethodCall, _ identity: CallerIdentity) {
        guard self.watchers[call.sender] == nil else { return call.reply() }
        guard self.shares.take(1, for: identity.payer) else {
            return call.fail(.limitsExceeded("too many watch: watchers-per-user is \(self.shares.share)"))
        }
        let name = call.sender
        let watcher = Watcher(name, self.sender.peer(name), identity)
        watcher.peer.setUser(identity.payer)
        watcher.peer.onRoom(for: watcher) { [weak self] _ in self?.tellSoon() }
        watcher.foreground = self.foreground(for: name, identity)
        self.watchers[name] = watcher
        watcher.token = self.service.names.follow(name) { [weak self] owner in
            if owner == nil { self?.unwatch(name) }
        }
        call.reply()
    }

    func unwatch(_ name: String) {
        guard let watcher = self.watchers.removeValue(forKey: name) else { return }
        self.shares.giveBack(1, for: watcher.identity.payer)
        if let token = watcher.token { self.service.names.unfollow(token) }
    }

    func unwatchAll() {
        for name in self.watchers.keys { self.unwatch(name) }
    }

    // MARK: What changed

    /// Notes that an app is new, gone, or otherwise than before.
    func changed(_ client: Client) {
        guard !self.watchers.isEmpty, let path = client.object?.path else { return }
        // Whose the app in front is says who may know of it.
        if client.app == self.service.links.reports.front.first { self.foregroundChanged() }
        for watcher in self.watchers.values where client.isListed(for: watcher.name, watcher.identity) {
            watcher.changed[path] = client.id
            if watcher.changed.count > Self.mostChanged {
                watcher.changed = [:]
                watcher.hasMissed = true
            }
        }
        self.tellSoon()
    }

    /// Notes that something else is in the foreground, as far as anybody said, or that others may know of it.
    func foregroundChanged() {
        for watcher in self.watchers.values { watcher.isForegroundChanged = true }
        self.tellSoon()
    }

    private func tellSoon() {
        guard !self.watchers.isEmpty else { return }
        guard !self.isDue else { return self.isAgain = true }
        self.isDue = true
        self.service.bus.afterRound { [weak self] in self?.begin() }
    }

    /// Has all told in turns, one signal after the other: thousands of apps may change at once, and each concerns all who watch.
    private func begin() {
        self.isAgain = false
        self.line = Array(self.watchers.values)
        self.service.loop.turns.add { [weak self] in self?.tellNext() ?? false }
    }

    /// False: all have been told.
    private func tellNext() -> Bool {
        // Whoever is told of much lets the others have their turns.
        if let watcher = self.line.popLast(), self.tell(watcher) { self.line.insert(watcher, at: 0) }
        if !self.line.isEmpty { return true }
        self.isDue = false
        if self.isAgain { self.tellSoon() }
        return false
    }

    /// Tells somebody a part of what changed. False: that was all, or there is no room for more. Who has none is looked at when there
    /// is some.
    private func tell(_ watcher: Watcher) -> Bool {
        guard self.watchers[watcher.name] === watcher, self.sender.hasRoom(for: watcher.peer) else { return false }
        if watcher.isForegroundChanged { self.tellForeground(watcher) }
        return self.tellApps(watcher)
    }

    /// Tells some apps that changed. False: that were all, or there is no room.
    private func tellApps(_ watcher: Watcher) -> Bool {
        guard !watcher.changed.isEmpty || watcher.hasMissed else { return false }
        let page = watcher.changed.keys.first(Self.rows, by: <)
        var rows: [ListedApp.Wire] = []
        var gone: [ObjectPath] = []
        var size = (page.count + 1) * Self.rowBytes
        for path in page {
            let client = watcher.changed[path].flatMap { self.service.links.clients[$0] }
            // By now it may be another's.
            if let client, client.object?.path == path, client.isListed(for: watcher.name, watcher.identity),
                let row = self.service.links.clients.row(of: client)
            {
                rows.append(row.wire)
                size += row.windows.reduce(0) { $0 + $1.utf8.count }
            } else {
                gone.append(path)
            }
        }
        let isSent = self.sender.signal(
            from: Path.broker, InterfaceName.broker, "AppsChanged", to: watcher.peer,
            size: size
        ) {
            rows.write(to: &$0)
            gone.write(to: &$0)
            (watcher.hasMissed ? Self.missed : noOptions).write(to: &$0)
        }
        // It stays changed, until there is room.
        guard isSent else { return false }
        watcher.hasMissed = false
        for path in page { watcher.changed[path] = nil }
        return !watcher.changed.isEmpty
    }

    private func tellForeground(_ watcher: Watcher) {
        let foreground = self.foreground(for: watcher.name, watcher.identity)
        guard foreground != watcher.foreground else { return watcher.isForegroundChanged = false }
        let values: [String: Value] = [
            "Foreground": .string(foreground.app), "ForegroundReported": .boolean(foreground.isReported),
        ]
        let isSent = self.sender.signal(
            from: Path.broker, "org.freedesktop.DBus.Properties", "PropertiesChanged", to: watcher.peer,
            size: Self.rowBytes
        ) {
            InterfaceName.broker.description.write(to: &$0)
            values.write(to: &$0)
            // They may be many: whoever wants them asks for them.
            (foreground.sources == watcher.foreground?.sources ? [String]() : ["FocusSources"]).write(to: &$0)
        }
        guard isSent else { return }
        watcher.isForegroundChanged = false
        watcher.foreground = foreground
    }

    /// The foreground as a connection may know it.
    private func foreground(for name: String, _ identity: CallerIdentity) -> Foreground {
        let reports = self.service.links.reports
        let app = reports.mayKnowForeground(name, identity) ? reports.front.first?.name : nil
        return Foreground(
            app: app ?? "", isReported: self.service.core.arbiter.foreground != .none,
            sources: reports.mayKnowSources(name, identity) ? reports.sourceChanges : nil)
    }
}
