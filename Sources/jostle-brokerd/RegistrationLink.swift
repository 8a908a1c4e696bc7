import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Loop
import Motion
import Protocol

/// Registers callers: learns whose connection each is, and waits until the disk has said whose apps are.
final class RegistrationLink {
    private unowned let service: BrokerService
    private unowned let clients: ClientLink
    private let focusStart: FocusStart
    /// Who waits for the disk to say whose apps are; `nil`: it has, or it fails.
    private var parked: [(client: Client, user: UInt32)]?

    /// How long registrations wait for the disk, in µs.
    static let diskPatience: Int64 = 1_000_000

    /// - Parameter waits: there is a disk that may know of apps.
    init(_ service: BrokerService, _ clients: ClientLink, waits: Bool) {
        self.service = service
        self.clients = clients
        self.focusStart = FocusStart(on: service.bus)
        self.parked = waits ? [] : nil
    }

    /// Waits for a disk that has not answered yet, and no longer than it may take.
    func begin() {
        guard self.parked != nil else { return }
        self.service.loop.once(after: Self.diskPatience) { [weak self] in self?.admitParked() }
    }

    /// Registers the caller under an app id that it owns, or without a name. Answers when the bus has confirmed both.
    ///
    /// - Parameter isDurable: What it registers is to outlive it.
    func register(_ name: String, isDurable: Bool, _ call: MethodCall) throws(BusError) {
        // It may have lost its name, and have it again.
        self.clients.settle(call.sender)
        if let client = self.clients[call.sender] {
            guard client.app.name == name else {
                throw .invalidConfiguration("already registered as '\(client.app)'; one connection is one app")
            }
            if client.object != nil, isDurable, let obstacle = self.service.links.durable.obstacle(to: client) {
                throw obstacle
            }
            client.isDurable = client.isDurable || isDurable
            client.waiting.append(call)
            if client.object != nil { self.answerRegistrations(of: client) }
            return
        }
        guard name.isEmpty || AppID.isValid(name) else {
            throw .invalidConfiguration("'\(printable(name))' is no app id: give a well-known bus name, or nothing")
        }
        guard self.clients.count < self.service.core.limits.apps else {
            throw .limitsExceeded("apps: \(self.service.core.limits.apps) are registered")
        }
        let client = self.clients.connect(call.sender, AppID(name))
        client.isDurable = isDurable
        client.waiting.append(call)
        // The watch comes before the question who owns the name, so that nobody can slip away in between.
        client.watches.append(
            self.service.names.follow(client.uniqueName) { [weak self, weak client] owner in
                if let self, let client, owner == nil { self.clients.depart(client) }
            })
        if client.app.isAnonymous { return self.identify(client) }
        client.watches.append(
            self.service.names.follow(name) { [weak self, weak client] owner in
                guard let self, let client else { return }
                if owner == client.uniqueName { return self.identify(client) }
                let problem = "you do not own the name '\(name)': request it before you register"
                self.clients.depart(client, .identityMismatch(problem))
            })
    }

    /// Learns who is behind the client, which is what remains to be known.
    private func identify(_ client: Client) {
        self.service.bus.credentials(of: client.uniqueName) { [weak self, weak client] told in
            guard let self, let client, self.clients.has(client), client.uid == nil else { return }
            do throws(BusError) {
                let credentials = try told.get()
                guard let uid = credentials.user else { throw .unknownCaller }
                client.proof = try credentials.proof(of: client.app)
                client.uid = uid
                client.peer?.setUser(uid)
                client.process = credentials.process.flatMap { UInt32(exactly: $0) }
                self.complete(client, of: uid)
            } catch {
                self.clients.leave(client, error)
            }
        }
    }

    private func complete(_ client: Client, of user: UInt32) {
        if self.parked != nil, !client.app.isAnonymous {
            self.parked?.append((client, user))
            return
        }
        self.service.links.appFiles.look(at: client.app) { [weak self, weak client] told in
            guard let self, let client else { return }
            // It may have lost its name meanwhile, and be about to leave with many others.
            self.clients.settle(client.uniqueName)
            guard self.clients.has(client), client.object == nil else { return }
            self.admit(client, of: user, told)
        }
    }

    private func admit(_ client: Client, of user: UInt32, _ told: AppFileLink.Told?) {
        // Whoever had the name before us has lost it; the bus's word on that may still be under way.
        if let other = self.clients[client.app], other.isConnected { self.clients.leave(other) }
        if let mismatch = self.service.links.durable.mismatch(of: client) {
            return self.clients.turnAway(client, mismatch)
        }
        let entrance = self.service.links.appFiles.entrance(of: client, told)
        if client.isDurable, let obstacle = self.service.links.durable.obstacle(to: client) {
            return self.clients.leave(client, obstacle)
        }
        if !client.app.isAnonymous { self.clients.takeOver(client) }
        do throws(BusError) {
            try self.service.request(.register(client.id, client.app, entrance, user: user))
        } catch {
            return self.clients.leave(client, error)
        }
        self.clients.export(client)
        client.peer?.setLimit(client.busShare)
        client.peer?.onRoom(for: client) { [weak self, weak client] bytes in
            guard let self, let client, client.object != nil else { return }
            self.service.happened(.room(client.id, bytes))
        }
        self.service.log.debug("\(client.app.isAnonymous ? client.uniqueName : client.app.name) registered")
        self.answerRegistrations(of: client)
        if !client.app.isAnonymous {
            self.focusStart.appCame(isReported: self.service.core.arbiter.foreground != .none)
        }
        try? self.service.links.tasks.input(.came(client.id))
    }

    /// Answers when what is to outlive the app is on the disk.
    private func answerRegistrations(of client: Client) {
        guard let object = client.object else { return }
        let calls = client.waiting
        client.waiting = []
        self.service.links.durable.bind(client) { error in
            let results: [String: Value] = [
                "identity": .string(client.proof.name), "durable": .boolean(client.isDurable),
            ]
            for call in calls {
                if let error { call.fail(error) } else { call.reply(object.path, results) }
            }
        }
    }

    /// Completes the registrations that waited for the disk.
    func admitParked() {
        guard let waiting = self.parked else { return }
        self.parked = nil
        for (client, user) in waiting where self.clients.has(client) && client.object == nil {
            self.complete(client, of: user)
        }
    }
}
