import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Journal
import Motion
import PolicyFiles
import Protocol

/// Knows what apps registered for good: it outlives their connections and us.
final class DurableLink {
    private unowned let service: BrokerService
    private let store: Store?
    private var apps = DurableApps()
    /// Who waits for which change to be on the disk, in order.
    private var commits: [(number: UInt64, done: (BusError?) -> Void)] = []
    /// The last change of each app that the disk did not say that it has.
    private var pending: [AppID: UInt64] = [:]
    /// Whose apps were forgotten that the disk may still have.
    private var leaving: [AppID: IdentityBinding] = [:]

    /// - Parameter store: `nil` when nothing is kept on the disk.
    init(_ service: BrokerService, _ store: Store?) {
        self.service = service
        self.store = store
    }

    /// What an app registered for good.
    subscript(app: AppID) -> DurableApp? { self.apps[app] }

    /// Who registered anything for good.
    var ids: [AppID] { Array(self.apps.all.keys) }

    // MARK: Whose it is

    /// Why a client that has an app's name is not taken for the app; `nil`: it is.
    func mismatch(of client: Client) -> BusError? {
        client.uid.flatMap { self.mismatch(of: client.app, IdentityBinding(user: $0, proof: client.proof)) }
    }

    /// The same of whoever has the name, registered or not.
    func mismatch(of app: AppID, _ claimant: IdentityBinding) -> BusError? {
        switch self.apps[app]?.binding.mismatch(of: claimant) {
        case nil: nil
        case .user: .identityMismatch("'\(app)' is another user's; 'jostle forget' gives it free")
        case .proof(let proof):
            .identityMismatch(
                "'\(app)' was once proven by its \(proof.name), and you are not; 'jostle forget' gives it free")
        }
    }

    /// Why an app can register nothing for good; `nil`: it can.
    func obstacle(to client: Client) -> BusError? {
        if client.app.isAnonymous { return .invalidConfiguration("Register: only an app with a name can be durable") }
        guard self.store != nil else {
            return .notSupported("nothing outlives this broker: it was started with --no-journal")
        }
        guard client.file?.usage.isEmpty == false else {
            if client.file == nil, self.service.links.appFiles.isUnread(client.app) {
                return .failed("the app file of \(client.app) is not read yet: its file system has not answered")
            }
            return .accessDenied("durable is for apps with an app file: Usage in apps.d/\(client.app).conf says why")
        }
        return nil
    }

    // MARK: What it is

    /// Notes how well an app is proven, and that it registers for good if it wants to. Done when it is on the disk.
    func bind(_ client: Client, then done: @escaping (BusError?) -> Void) {
        guard let uid = client.uid, let file = client.file else { return done(nil) }
        let claimant = IdentityBinding(user: uid, proof: client.proof)
        let known = self.apps[client.app]
        guard client.isDurable || known != nil else { return done(nil) }
        let app = DurableApp(
            client.app, known?.binding.strengthened(by: claimant) ?? claimant, usage: file.usage, modes: file.modes,
            detectors: known?.detectors ?? [])
        if client.isDurable { return self.set(client.app, to: app, then: done) }
        // Who asks for nothing to last need not wait for the disk.
        self.set(client.app, to: app) { _ in }
        done(nil)
    }

    /// Has an app's detectors be there also without it. Done when it is on the disk.
    func add(_ requests: [DetectorRequest], of client: Client, then done: @escaping (BusError?) -> Void) {
        guard client.isDurable, var app = self.apps[client.app] else { return done(nil) }
        app.add(requests)
        self.set(client.app, to: app, then: done)
    }

    func remove(_ names: [String], of client: Client, then done: @escaping (BusError?) -> Void) {
        guard let app = self.apps.withdraw(names, from: client.app) else { return done(nil) }
        self.set(client.app, to: app, then: done)
    }

    /// Whether a client removes once more what is gone here, and was told that it may not be gone from the disk.
    func isSaidAgain(_ names: [String], by client: Client) -> Bool {
        guard self.pending[client.app] != nil, names.count <= self.service.core.limits.durableDetectors else {
            return false
        }
        let detectors = client.appState?.detectors ?? [:]
        return names.allSatisfy { detectors[$0] == nil }
    }

    /// How many detectors an app would have for good.
    func check(_ requests: [DetectorRequest], of client: Client) throws(BusError) {
        guard client.isDurable else { return }
        let old = self.apps[client.app]?.detectors.map(\.name) ?? []
        let limit = self.service.core.limits.durableDetectors
        guard Set(old + requests.map(\.name)).count <= limit else {
            throw .limitsExceeded("too many detectors for good: durable-detectors is \(limit)")
        }
    }

    /// Forgets what an app registered for good, for whose it is and root.
    func forget(_ name: String, _ call: MethodCall) {
        let app = AppID(name)
        let nothing = BusError.notFound("nothing of '\(printable(name))' is durable")
        // Also of what is not there: how long an answer takes is to say nothing.
        self.service.authority.ifKnown(call) { [weak self] identity in
            guard let self else { return }
            guard let binding = self.apps[app]?.binding ?? self.leaving[app],
                identity.isRoot || identity.owns(app, of: binding.user)
            else {
                // Whether it is is nobody else's to know.
                return call.fail(nothing)
            }
            self.service.links.clients[app]?.isDurable = false
            self.leaving[app] = binding
            self.set(app, to: nil) { error in
                if let error { call.fail(error) } else { call.reply() }
            }
        }
    }

    // MARK: The disk

    /// Has what an app registered for good be this from now on; says so when it is on the disk.
    private func set(_ id: AppID, to app: DurableApp?, then done: @escaping (BusError?) -> Void) {
        guard let store = self.store else { return done(nil) }
        let old = self.apps[id]
        if self.apps.set(id, to: app) {
            if let file = self.service.links.clients[id]?.file, old?.detectors != app?.detectors {
                self.service.links.appFiles.install(file)
            }
        } else if self.pending[id] == nil {
            return done(nil)
        }
        // The same as before may not be on the disk yet, also when somebody was told so.
        let number = store.set(id, to: app)
        self.pending[id] = number
        self.commits.append((number, done))
    }

    /// Brings all to the disk again, which has lost it.
    func storeAgain() {
        guard let store = self.store else { return }
        for app in self.apps.all.values { self.pending[app.id] = store.set(app.id, to: app) }
    }

    /// Changes up to this one are on the disk.
    func committed(upTo number: UInt64) {
        self.pending = self.pending.filter { $0.value > number }
        self.leaving = self.leaving.filter { self.pending[$0.key] != nil }
        let ready = self.commits.prefix { $0.number <= number }
        self.commits.removeFirst(ready.count)
        for commit in ready { commit.done(nil) }
    }

    /// The disk fails: whoever waits for it is told.
    func notCommitted(_ why: String) {
        let waiting = self.commits
        self.commits = []
        for commit in waiting { commit.done(.failed("this is not on the disk yet: \(why)")) }
    }

    /// Takes in what was registered for good before us. What has changed since counts; but whoever came while it was not known whose
    /// a name is gets it only if it is his.
    func restore(_ apps: [DurableApp]) {
        if !apps.isEmpty { self.service.log.info("\(apps.count) apps are durable") }
        for app in self.apps.restore(apps) { self.set(app.id, to: app) { _ in } }
        self.store?.appsAreJoined()
    }
}
