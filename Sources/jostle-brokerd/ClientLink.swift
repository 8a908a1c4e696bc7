import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Loop
import Motion
import PolicyFiles
import Protocol

/// Shows apps on the bus, those that are connected and those that are only installed, and cleans up after them.
final class ClientLink {
    private unowned let service: BrokerService
    private var table = ClientTable()
    /// Those who are told of apps that come, go and change.
    let watchers: WatchLink
    /// Makes what stands for assertions and activities.
    let held: HeldEnds
    /// Those of whom the bus says that they are gone.
    private var departures: Departures?
    /// Those of whom it is still to be noted that their detectors are in force otherwise, as sensors came or went.
    private var listeners: [Client] = []

    init(_ service: BrokerService) {
        self.service = service
        self.watchers = WatchLink(service)
        self.held = HeldEnds(on: service.loop, service.core.limits)
        self.departures = Departures(of: service.bus, on: service.loop) { [unowned self] client, error in
            self.leave(client, error)
        }
    }

    // MARK: Who is there

    /// How many are on the bus, completely registered or not.
    var count: Int { self.table.connections.count }

    /// `nil` when it is gone.
    subscript(handle: AppHandle) -> Client? { self.table[handle] }
    /// An app, on the bus or not.
    subscript(app: AppID) -> Client? { self.table[app] }
    /// A connection, completely registered or not.
    subscript(uniqueName: String) -> Client? { self.table[uniqueName] }

    /// Whether a connection is there yet.
    func has(_ client: Client) -> Bool { self.table[client.uniqueName] === client }

    /// The app of a connection; `nil` while it is not completely registered.
    func registered(_ uniqueName: String) -> Client? {
        self.table[uniqueName].flatMap { $0.object == nil ? nil : $0 }
    }

    /// The app of this id, or with this unique name.
    func registered(app name: String) -> Client? {
        self.registered(name) ?? self.table[AppID(name)].flatMap { $0.isConnected ? $0 : nil }
    }

    /// An app that is here, on the bus or not.
    func find(_ app: AppReference) -> Client? {
        func isMeant(_ client: Client) -> Bool {
            guard client.object != nil, let own = client.appState else { return false }
            return app.registration.map { $0 == own.registration }
                ?? (own.id == app.id && (app.user.map { $0 == own.reader } ?? true))
        }
        if !app.id.isAnonymous { return self.table[app.id].flatMap { isMeant($0) ? $0 : nil } }
        return self.table.connections.first { isMeant($0) }
    }

    /// All numbers of apps are below this.
    var handles: UInt32 { self.table.handles }

    // MARK: Coming

    /// Takes in a connection, which is not shown before it is completely registered.
    func connect(_ uniqueName: String, _ app: AppID) -> Client {
        let client = Client(
            self.table.takeHandle(), uniqueName, app, self.service.outbox.peer(uniqueName), self.service)
        self.table.add(client)
        return client
    }

    /// Gives a connection the number of its app, if that exists without it.
    func takeOver(_ client: Client) {
        guard let known = self.table.takeOver(client), let object = known.object else { return }
        // Whose it was is told that it is gone, if it is another's now.
        self.watchers.changed(known)
        self.service.bus.unexport(object)
    }

    /// Shows an app on the bus.
    func export(_ client: Client) {
        let path = Path.app(client.app.isAnonymous ? client.uniqueName : client.app.name)
        let object = ExportedObject(
            path, [(AppInterface.table, client)], audience: client.peer.map(self.service.outbox.audience),
            guardian: { [weak service = self.service, weak client] call, answer in
                guard let service, let client else { return answer(.noObject(at: path.text)) }
                service.authority.admit(call, to: client, answer)
            },
            visibility: { [weak client] sender, identity in client?.isShown(to: sender, identity) ?? false })
        client.object = object
        self.table.show(client)
        self.service.bus.export(object)
        self.watchers.changed(client)
        self.service.links.history.shown(client)
    }

    // MARK: Without a connection

    /// A number for an app that is to be installed.
    func takeHandle() -> AppHandle { self.table.takeHandle() }

    /// Takes back such a number.
    func free(_ handle: AppHandle) { self.table.free(handle) }

    /// Shows an app that is not on the bus.
    func exportInstalled(_ id: AppHandle, _ app: AppID, _ file: AppFile?) {
        let client = Client(id, "", app, nil, self.service)
        client.uid = client.appState?.reader
        client.file = file
        self.table.add(client)
        self.export(client)
    }

    /// Forgets an app that is not on the bus.
    func forgetInstalled(_ client: Client) {
        self.watchers.changed(client)
        self.service.links.history.note(client, isGone: true)
        if let object = client.object { self.service.bus.unexport(object) }
        self.table.hide(client)
        self.table.free(client.id)
    }

    // MARK: Leaving

    static let left = BusError.disconnected("the client left")

    /// Has a client leave of whom the bus says that its connection or its name is gone: at once, if few go.
    func depart(_ client: Client, _ error: BusError = ClientLink.left) { self.departures?.add(client, error) }

    /// Has a connection leave at once that was about to: it speaks again.
    func settle(_ uniqueName: String) {
        if let client = self.table[uniqueName] { self.departures?.settle(client) }
    }

    /// Cleans up after a client, at once and whole.
    func leave(_ client: Client, _ error: BusError = ClientLink.left) {
        guard self.has(client) else { return }
        self.table.disconnect(client)
        for token in client.watches { self.service.names.unfollow(token) }
        for call in client.waiting { call.fail(error) }
        client.waiting = []
        if let object = client.object { self.service.bus.unexport(object) }
        client.assertions = [:]
        client.activities = [:]
        self.watchers.changed(client)
        self.service.happened(.leave(client.id))
        self.table.hide(client)
        if client.appState != nil, client.object != nil {
            self.exportInstalled(client.id, client.app, client.file)
        } else {
            self.service.links.history.note(client, isGone: true)
            self.table.free(client.id)
        }
        client.object = nil
    }

    /// Has somebody leave who has an app's name and is not taken for it. Who may be somebody else is for the keeper to know.
    func turnAway(_ client: Client, _ mismatch: BusError) {
        self.service.log.warning(
            "\(client.uniqueName) of user \(client.uid ?? 0) is not let in: \(mismatch.message)", as: .appRefused,
            about: [.app: client.app.name, .user: client.uid.map(String.init) ?? "", .reason: mismatch.message])
        self.leave(client, mismatch)
    }

    /// The bus went away, and every client with it.
    func leaveAll() {
        for client in self.table.connections { self.leave(client) }
    }

    /// Has those leave whose apps are somebody else's, as the disk has said since they came.
    func leaveMismatched() {
        for app in self.table.apps where app.isConnected {
            if let mismatch = self.service.links.durable.mismatch(of: app) { self.turnAway(app, mismatch) }
        }
    }

    /// Gives back memory that was needed for clients that are gone.
    func shrink() { self.table.shrink() }

    // MARK: What changes for all

    /// A sensor came or went, and detectors with it. That is noted of some clients at a time, and once for all sensors that come together: there
    /// may be thousands who listen, and each concerns all who watch.
    func availabilityChanged() {
        self.service.links.changed("Sensors")
        let isUnderWay = !self.listeners.isEmpty
        self.listeners = Array(self.table.connections)
        guard !isUnderWay, !self.listeners.isEmpty else { return }
        self.service.loop.turns.add { [weak self] in self?.noteListeners() ?? false }
    }

    /// False: it is noted of all.
    private func noteListeners() -> Bool {
        for client in self.listeners.suffix(Self.notedAtOnce)
        where self.has(client) && client.appState?.detectors.isEmpty == false {
            client.detectorsChanged()
        }
        self.listeners.removeLast(min(Self.notedAtOnce, self.listeners.count))
        return !self.listeners.isEmpty
    }

    private static let notedAtOnce = 16

    /// Policy says how much the bus may hold for each client, and what each is granted. Anybody may have it read again, and who is granted
    /// what he was is not woken for it.
    func policyChanged(from old: Policy) {
        let new = self.service.core.arbiter.policy
        for client in self.table.connections {
            client.peer?.setLimit(client.busShare)
            if old.settings(for: client.app).grants != new.settings(for: client.app).grants { client.changed("Grants") }
        }
    }

    // MARK: What there is to see

    /// Answers with the apps that the caller may see: as many as one list may have, from the first on or behind an object.
    func list(after path: ObjectPath? = nil, _ call: MethodCall) {
        self.page(after: path, call) { link, page in call.reply(page.compactMap { link.row(of: $0)?.wire }) }
    }

    /// The same with what became of their motion.
    func listCounters(after path: ObjectPath? = nil, _ call: MethodCall) {
        self.page(after: path, call) { _, page in call.reply(page.compactMap { $0.counters?.wire }) }
    }

    /// Finds the apps of one page of a list for a caller, in the order of their objects.
    private func page(
        after path: ObjectPath?, _ call: MethodCall, _ answer: @escaping (ClientLink, [Client]) -> Void
    ) {
        self.service.authority.ifKnown(call) { [weak self] identity in
            guard let self else { return }
            let all = [
                self.table.connections.lazy.filter { _ in true }, self.table.apps.lazy.filter { !$0.isConnected },
            ]
            let page = all.lazy.joined().filter { client in
                guard let own = client.object?.path, client.isListed(for: call.sender, identity) else { return false }
                return path.map { $0.text < own.text } ?? true
            }.first(self.service.core.limits.listRows) {
                ($0.object?.path.text ?? "") < ($1.object?.path.text ?? "")
            }
            answer(self, Array(page))
        }
    }

    /// An app as lists show it.
    func row(of client: Client) -> ListedApp? {
        guard let object = client.object, let app = client.appState, let tally = client.tally else { return nil }
        return ListedApp(
            object.path, app: client.app.name, state: client.stateName,
            detectors: UInt32(clamping: app.detectors.count),
            hits: client.hits, delivered: tally.delivered, denied: tally.denied, dropped: client.mailbox?.dropped ?? 0,
            activities: client.activityList, user: client.uid, process: client.process,
            windows: client.file?.windows.map(\.text) ?? [], isOfFlatpak: client.file?.isOfFlatpak ?? false)
    }
}

extension Client {
    /// What became of its motion, as lists show it; `nil` while it is not completely registered.
    fileprivate var counters: ListedCounters? {
        guard let object = self.object, let tally = self.tally else { return nil }
        var row = ListedCounters(
            object.path, app: self.app.isAnonymous ? self.uniqueName : self.app.name, state: self.stateName)
        row.hits = self.hits
        row.delivered = tally.delivered
        row.denied = tally.denied
        row.dropped = self.mailbox?.dropped ?? 0
        row.queuedBytes = UInt64(self.mailbox?.bytes ?? 0)
        row.launches = tally.launches.begun
        row.launchFailures = tally.launches.failed
        row.lastRefusal = tally.lastDenial?.name ?? ""
        return row
    }
}
