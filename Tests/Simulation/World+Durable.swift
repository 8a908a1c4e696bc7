import Arbitration
import BrokerCore
import Journal
import Motion

/// What an app registers for good: what `DurableLink` does. Only the last app asks for that.
extension World {
    static let durableClient = Setup.clients - 1

    private var hasDurableFile: Bool {
        let app = Setup.apps[Self.durableClient]
        return Setup.files.indices.contains { Setup.files[$0].app == app && self.files[$0] > 0 }
    }

    /// A client wants what it registers to last (1), or no more (0); or its user has it forgotten (2).
    mutating func last(_ client: Int, _ wish: Int) {
        guard client == Self.durableClient else { return }
        if wish == 2 { return self.forgetDurable(Setup.apps[client]) }
        self.clients[client].wantsToLast = wish == 1
        if wish == 1 { self.say(client, .register) }
    }

    mutating func forgetDurable(_ app: AppID) {
        self.process?.promises.forgets(app)
        self.setDurable(app, nil)
    }

    /// A client has registered: it is noted if that is to last, or did.
    mutating func bind(_ client: Int) {
        guard client == Self.durableClient, self.hasDurableFile, let process = self.process else { return }
        let app = Setup.apps[client]
        let known = process.durable[app]
        guard self.clients[client].wantsToLast || known != nil else { return }
        process.promises.registers(app)
        let claimant = IdentityBinding(user: Setup.user(of: client), proof: .name)
        self.setDurable(
            app,
            DurableApp(
                app, known?.binding.strengthened(by: claimant) ?? claimant, usage: "", modes: .none,
                detectors: known?.detectors ?? []))
    }

    /// A client has added detectors.
    mutating func last(_ numbers: [Int], of client: Int) {
        guard client == Self.durableClient, self.clients[client].wantsToLast, let process = self.process else { return }
        let app = Setup.apps[client]
        process.promises.adds(numbers, to: app)
        guard var known = process.durable[app] else { return }
        known.add(numbers.map(Setup.detector))
        self.setDurable(app, known)
    }

    /// A client has removed one.
    mutating func lastNoMore(_ number: Int, of client: Int) {
        guard let process = self.process else { return }
        process.promises.removes(number, from: Setup.apps[client])
        guard let left = process.durable.withdraw(["d\(number)"], from: Setup.apps[client]) else { return }
        self.setDurable(Setup.apps[client], left)
    }

    private mutating func setDurable(_ id: AppID, _ app: DurableApp?) {
        guard let process = self.process, process.durable.set(id, to: app) else { return }
        process.store.set(id, to: app)
        if self.hasDurableFile { self.readFile(of: id) }
    }

    /// The disk says what was registered for good before. What has changed since counts.
    mutating func restoreDurable(_ apps: [DurableApp]) {
        guard let process = self.process else { return }
        process.promises.restores(apps)
        for app in process.durable.restore(apps) { self.setDurable(app.id, app) }
        process.store.appsAreJoined()
        for app in apps where process.durable[app.id] == app {
            if self.hasDurableFile { self.readFile(of: app.id) }
        }
    }

    mutating func storeDurableAgain() {
        guard let process = self.process else { return }
        for (id, app) in process.durable.all { process.store.set(id, to: app) }
    }

    /// Whoever registered for good has that, whether it said so before the disk spoke or after; and is there with it, as long as its
    /// file is.
    func checkDurable() -> String? {
        guard let process = self.process else { return nil }
        if let wrong = process.promises.check(process.durable) { return wrong }
        guard self.hasDurableFile else { return nil }
        for (id, app) in process.durable.all {
            guard let handle = process.installed[id], let known = process.core.registry[handle] else {
                return "\(id) registered for good, and is not there"
            }
            for request in app.detectors where known.detectors[request.name] == nil {
                return "\(id) registered \(request.name) for good, and does not have it"
            }
        }
        return nil
    }
}

/// What apps were told that they have for good, as who only watches notes it.
struct DurablePromises {
    /// The names of the detectors of each.
    private var apps: [AppID: Set<String>] = [:]
    /// What was removed and who was forgotten before the disk said what it had; `nil`: it has said so.
    private var removed: [AppID: Set<String>]? = [:]
    private var forgotten: Set<AppID> = []

    mutating func registers(_ app: AppID) { self.apps[app] = self.apps[app] ?? [] }

    mutating func adds(_ numbers: [Int], to app: AppID) { self.apps[app]?.formUnion(numbers.map { "d\($0)" }) }

    mutating func removes(_ number: Int, from app: AppID) {
        guard self.apps[app] != nil else { return }
        self.apps[app]?.remove("d\(number)")
        self.removed?[app, default: []].insert("d\(number)")
    }

    mutating func forgets(_ app: AppID) {
        if self.apps.removeValue(forKey: app) != nil, self.removed != nil { self.forgotten.insert(app) }
    }

    /// The disk says what it had.
    mutating func restores(_ apps: [DurableApp]) {
        for app in apps where !self.forgotten.contains(app.id) {
            let old = Set(app.detectors.map(\.name)).subtracting(self.removed?[app.id] ?? [])
            self.apps[app.id, default: []].formUnion(old)
        }
        self.removed = nil
    }

    // MARK: What must hold

    func check(_ durable: DurableApps) -> String? {
        if self.apps.count != durable.all.count {
            return "\(self.apps.count) apps registered for good, and \(durable.all.count) are known"
        }
        for (id, names) in self.apps {
            let detectors = durable[id]?.detectors ?? []
            if detectors.count != names.count || !detectors.allSatisfy({ names.contains($0.name) }) {
                return "\(id) registered \(names.sorted()) for good, and has \(detectors.map(\.name))"
            }
        }
        return nil
    }
}
