import Arbitration
import BrokerCore
import DBus
import Glibc
import Motion
import Protocol

/// Tells those who asked for it which apps come, go and change, and what is in the foreground: panels, and tools for people.
///
/// Each is told of what it may see, and of how things are when it reads: what changes twice until then is told once.
final class WatchLink {
    private final class Watcher {
        let peer: PacedSender.Peer
        let uid: UInt32
        var token: NameWatch.Token?
        /// Objects of apps that changed, and the numbers by which the apps are found if they are still there.
        var changed: [ObjectPath: AppHandle] = [:]
        var isForegroundChanged = false

        init(_ peer: PacedSender.Peer, _ uid: UInt32) {
            self.peer = peer
            self.uid = uid
        }
    }

    private unowned let service: BrokerService
    /// By their unique names.
    private var watchers: [String: Watcher] = [:]
    private var shares = WatchLink.shares
    /// Somebody is to be told when this round is over.
    private var isDue = false

    private static let shares = UserShares(limit: 128, reserve: 64)
    /// How many there may be, as `Limits` shows it.
    static let limits = [
        "watchers": UInt64(WatchLink.shares.limit), "watchers-per-user": UInt64(WatchLink.shares.share),
    ]
    /// So many apps are told of in one signal.
    private static let rows = 32
    /// About so many bytes of a signal are taken for each.
    private static let rowBytes = 512

    init(_ service: BrokerService) { self.service = service }

    // MARK: Who watches

    /// Has the caller told from now on, until it leaves the bus.
    func watch(_ call: MethodCall) throws(BusError) {
        guard self.watchers[call.sender] == nil else { return call.reply() }
        self.service.authority.ifKnown(call) { [weak self] uid in self?.add(call, uid) }
    }

    private func add(_ call: MethodCall, _ uid: UInt32) {
        guard self.watchers[call.sender] == nil else { return call.reply() }
        guard self.shares.take(1, for: uid) else {
            return call.fail(.limitsExceeded("too many watch: watchers-per-user is \(self.shares.share)"))
        }
        let name = call.sender
        let watcher = Watcher(self.service.outbox.peer(name), uid)
        watcher.peer.onRoom = { [weak self] _ in self?.tellSoon() }
        self.watchers[name] = watcher
        watcher.token = self.service.names.follow(name) { [weak self] owner in
            if owner == nil { self?.unwatch(name) }
        }
        call.reply()
    }

    func unwatch(_ name: String) {
        guard let watcher = self.watchers.removeValue(forKey: name) else { return }
        self.shares.giveBack(1, for: watcher.uid)
        if let token = watcher.token { self.service.names.unfollow(token) }
    }

    func unwatchAll() {
        for name in self.watchers.keys { self.unwatch(name) }
    }

    // MARK: What changed

    /// Notes that an app is new, gone, or otherwise than before.
    func changed(_ client: Client) {
        guard !self.watchers.isEmpty, let path = client.object?.path else { return }
        for watcher in self.watchers.values where ClientLink.isListed(client, for: watcher.uid) {
            watcher.changed[path] = client.id
        }
        self.tellSoon()
    }

    /// Notes that something else is in the foreground, as far as anybody said.
    func foregroundChanged() {
        for watcher in self.watchers.values where self.mayKnowForeground(watcher.uid) {
            watcher.isForegroundChanged = true
        }
        self.tellSoon()
    }

    /// Which app somebody uses is the business of that user, of the broker's own and of root.
    private func mayKnowForeground(_ uid: UInt32) -> Bool {
        if uid == 0 || uid == getuid() { return true }
        return self.service.core.arbiter.foreground.app.flatMap { self.service.links.clients[$0]?.uid } == uid
    }

    private func tellSoon() {
        guard !self.isDue, !self.watchers.isEmpty else { return }
        self.isDue = true
        self.service.bus.afterRound { [weak self] in self?.tell() }
    }

    private func tell() {
        self.isDue = false
        for watcher in self.watchers.values {
            self.tellForeground(watcher)
            self.tellApps(watcher)
        }
    }

    private func tellApps(_ watcher: Watcher) {
        let paths = watcher.changed.keys.sorted()
        var rest = paths[...]
        while !rest.isEmpty {
            let page = rest.prefix(Self.rows)
            var rows: [ListedApp.Wire] = []
            var gone: [ObjectPath] = []
            for path in page {
                let client = watcher.changed[path].flatMap { self.service.links.clients[$0] }
                if let client, client.object?.path == path, let row = self.service.links.clients.row(of: client) {
                    rows.append(row.wire)
                } else {
                    gone.append(path)
                }
            }
            let isSent = self.service.outbox.send(
                from: Path.broker, InterfaceName.broker, "AppsChanged", to: watcher.peer,
                size: page.count * Self.rowBytes
            ) {
                rows.write(to: &$0)
                gone.write(to: &$0)
                noOptions.write(to: &$0)
            }
            // It stays changed, until there is room.
            guard isSent else { return }
            for path in page { watcher.changed[path] = nil }
            rest = rest.dropFirst(Self.rows)
        }
    }

    private func tellForeground(_ watcher: Watcher) {
        guard watcher.isForegroundChanged else { return }
        let values: [String: Value] = [
            "Foreground": .string(self.service.core.arbiter.foreground.app?.name ?? ""),
            "ForegroundReported": .boolean(self.service.core.arbiter.foreground != .none),
        ]
        let isSent = self.service.outbox.send(
            from: Path.broker, "org.freedesktop.DBus.Properties", "PropertiesChanged", to: watcher.peer,
            size: Self.rowBytes
        ) {
            InterfaceName.broker.description.write(to: &$0)
            values.write(to: &$0)
            [String]().write(to: &$0)
        }
        if isSent { watcher.isForegroundChanged = false }
    }
}
