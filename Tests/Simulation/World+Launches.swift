import Arbitration
import BrokerCore
import Journal
import Motion

/// Apps that are installed, and those that are launched: what `AppFileLink` and `LaunchLink` do.
extension World {
    /// Whose what is due to an app is.
    func box(of app: AppHandle) -> EventWatch.Box? {
        self.process?.core.registry[app].map { EventWatch.Box(app: $0.id, user: $0.user) }
    }

    /// A number that no app has.
    var freeHandle: AppHandle? {
        let used = Set(
            (self.process?.handles.all.map(\.app) ?? []) + (self.process?.installed.values.map { $0 } ?? []))
        return (0..<UInt32(64)).lazy.map { AppHandle($0) }.first { !used.contains($0) }
    }

    /// The connection that has a name, if any does.
    func owner(of app: AppID) -> Int? {
        guard !app.isAnonymous else { return nil }
        return self.clients.indices.lazy.filter { Setup.apps[$0] == app }.compactMap { self.clients[$0].connection }
            .first
    }

    // MARK: App files

    mutating func setFile(_ index: Int, version: Int) {
        guard index >= 0, index < self.files.count, version != self.files[index] else { return }
        self.files[index] = max(0, min(version, 2))
        self.readFile(of: Setup.files[index].app)
    }

    mutating func installFiles() {
        for file in Setup.files { self.readFile(of: file.app) }
    }

    /// Has an app exist as its file says, if it has one.
    mutating func readFile(of app: AppID) {
        guard let index = Setup.files.firstIndex(where: { $0.app == app }), self.process != nil else { return }
        let version = self.files[index]
        if version > 0 {
            self.install(app, version, isOfUser: Setup.files[index].isOfUser)
        } else {
            self.uninstall(app)
        }
    }

    private mutating func install(_ app: AppID, _ version: Int, isOfUser: Bool) {
        let known = self.process?.installed[app] ?? self.handle(named: app)
        guard let handle = known ?? self.freeHandle else { return }
        let owner = isOfUser ? Setup.user(of: 0) : nil
        let lasting = self.process?.durable[app]?.detectors ?? []
        let filed = Setup.detectors(ofFile: version).map(Setup.detector).filter { file in
            !lasting.contains { $0.name == file.name }
        }
        let part = Installation.Part(filed, payer: owner ?? UserShares.root)
        // Only an app of the broker's own user has any.
        let registered = Installation.Part(lasting, payer: part.payer)
        let before = known == nil ? self.process?.core.mailboxes.durableEvents ?? [] : []
        self.usage.installed(
            handle, filed.map(Setup.number), registered: lasting.map(Setup.number), payer: part.payer)
        self.events.handsOn()
        let installation = Installation(part, registered: registered)
        guard self.input(.install(handle, app, AppEntrance(), installation, user: owner)) != nil else {
            return self.find("\(app) may not be installed")
        }
        self.process?.installed[app] = handle
        guard known == nil, let box = self.box(of: handle), let mailboxes = self.process?.core.mailboxes else { return }
        self.events.handedOn(before, to: box, mailboxes.durableEvents)
        self.events.begin(box, last: mailboxes[handle]?.lastSequence ?? 0)
    }

    private mutating func uninstall(_ app: AppID) {
        guard let handle = self.process?.installed.removeValue(forKey: app) else { return }
        self.usage.uninstalled(handle)
        self.input(.uninstall(handle))
        self.input(.clean)
    }

    /// An app that is on the bus.
    private func handle(named app: AppID) -> AppHandle? {
        self.process?.handles.all.first { Setup.apps[self.connections[$0.connection].client] == app }?.app
    }

    // MARK: Launches

    mutating func launch(_ launch: Launch, _ handover: Handover) {
        let there = self.process?.handles.all.first { registered in
            let client = self.connections[registered.connection].client
            return Setup.apps[client] == launch.app && (launch.user == nil || launch.user == Setup.user(of: client))
        }
        let canReceive = there.flatMap { self.states[$0.app] }?.canReceive ?? false
        self.launches.begin(launch, isThere: there != nil, canReceive: canReceive, at: self.now)
        let called = EventWatch.Box(app: launch.app, user: handover.user)
        self.events.called(launch, handover, called, at: self.now)
        self.process?.core.setCalled(launch, false)
        let start = SimulatedStart(launch: launch, handover: handover)
        if case .task = launch.reason { self.process?.starts.append(start); return }
        // Whose connection a registered one is, the bus has said.
        if let connection = self.process?.handles.all.first(where: {
            Setup.apps[self.connections[$0.connection].client] == launch.app
        })?.connection {
            return self.call(start, connection)
        }
        if let connection = self.owner(of: launch.app) { return self.call(start, connection) }
        self.process?.starts.append(start)
    }

    private mutating func fail(_ launch: Launch, _ failure: LaunchFailure) { self.follow(.failed(launch, failure)) }

    /// What follows from a call is performed after what is being performed.
    private mutating func follow(_ input: BrokerInput) {
        _ = try? self.process?.core.apply(input, at: self.now, &self.returned)
    }

    private mutating func call(_ start: SimulatedStart, _ connection: Int) {
        guard self.process?.core.arbiter.isCurrent(start.launch) == true else { return }
        let user = Setup.user(of: self.connections[connection].client)
        guard self.connections[connection].isOpen else { return self.fail(start.launch, .left) }
        let left = self.process?.core.handOver(start.handover, of: start.launch)
        self.events.settles(start.launch, with: left, at: self.now)
        guard let handover = left else { return self.follow(.needless(start.launch)) }
        guard handover.user == nil || handover.user == user else { return self.fail(start.launch, .refused) }
        self.process?.core.setCalled(start.launch, true)
        self.events.isMade(start.launch)
        self.launches.isMade(start.launch)
        self.connections[connection].hear(.call(start.launch, handover.events, process: self.processes))
    }

    /// What was to be started for a client does what its program does.
    mutating func rise(_ client: Int) {
        let app = Setup.apps[client]
        guard let index = self.process?.starts.firstIndex(where: { $0.launch.app == app }),
            let start = self.process?.starts.remove(at: index)
        else { return }
        switch self.clients[client].program {
        case 1: self.input(.failed(start.launch, .unknown))
        case 2: self.input(.failed(start.launch, .notStarted))
        case 4: self.input(.postponed(start.launch))
        // It runs, and never takes its name.
        case 3: break
        default:
            // The bus says so when it has its name, which it takes before it registers.
            let isNew = self.connect(client)
            guard let connection = self.owner(of: app) else { return }
            self.connections[connection].say(.started(start))
            if isNew { self.say(client, .register) }
        }
    }

    /// The bus says that a program has its name.
    mutating func started(_ start: SimulatedStart, _ connection: Int) {
        // Its task waits until it registers.
        if case .task = start.launch.reason { return }
        self.call(start, connection)
        self.performReturned()
    }
}
