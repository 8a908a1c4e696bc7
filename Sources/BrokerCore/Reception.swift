import Arbitration
import Detection
import Motion

/// Has apps come and go, with their detectors, and with all that this changes for others.
///
/// What listens, what is due and what is decided change one after the other here; the order is what matters.
struct Reception {
    /// What follows from it, and from all else.
    var clerk: Clerk

    init(_ clerk: Clerk) { self.clerk = clerk }

    // MARK: Apps

    /// An app comes to the bus, anew or to what is installed of it.
    mutating func register(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ user: UInt32, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        if let known = self.clerk.listeners.registry[app] {
            guard known.id == id, !known.isConnected else { return }
            self.pass(app, to: user, at: now, &actions)
            self.clerk.listeners.connect(app, entrance, at: now)
        } else {
            try self.enter(app, id, entrance, user, payer: user, at: now, &actions)
        }
        self.clerk.arrived(app, at: now, &actions)
    }

    private mutating func enter(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ user: UInt32?, payer: UInt32, at now: Timestamp,
        _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        let id = try self.clerk.listeners.enter(app, id, entrance, user, payer: payer, at: now)
        self.clerk.post.open(app, id, user, keeping: self.clerk.listeners.queueBytes(of: id), at: now, &actions)
    }

    /// An app is another user's than it was, or the first one's whose it is.
    private mutating func pass(
        _ app: AppHandle, to user: UInt32, at now: Timestamp, _ actions: inout [BrokerAction]
    ) {
        guard let known = self.clerk.listeners.registry[app], known.user != user else { return }
        let bytes = self.clerk.listeners.queueBytes(of: known.id)
        self.clerk.post.pass(app, from: known.user, to: user, keeping: bytes, at: now, &actions)
        self.clerk.listeners.pass(app, to: user)
    }

    /// The client left the bus. What is installed of its app stays.
    mutating func leave(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        guard let known = self.clerk.listeners.registry[app] else { return }
        if known.isInstalled {
            self.disconnect(app, at: now, &actions)
        } else {
            self.forget(app, at: now, &actions)
        }
        self.clerk.left(known.owner, at: now, &actions)
    }

    private mutating func disconnect(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        self.clerk.listeners.disconnect(app, at: now)
        // Before anything else is due to it: what it was sent and did not answer goes first.
        self.clerk.post.detach(app, &actions)
        self.clerk.perform(&actions)
        self.clerk.listeners.keepInstalled(of: app, at: now)
        self.clerk.wishLaunch(of: app, at: now)
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    /// Forgets an app, whose number may be used again.
    private mutating func forget(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        guard let known = self.clerk.listeners.registry[app] else { return }
        // First of all, so that what it leaves goes to others while all is still known.
        self.clerk.tell(.leave(app), at: now, &actions)
        // Who has it now is settled: what is left is its own.
        self.clerk.post.close(app, &actions)
        self.clerk.listeners.forget(app)
        self.clerk.wishLaunch(ofAbsent: known.id, at: now)
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    /// Takes up what the file of an app says, whether the app is on the bus or not.
    ///
    /// - Parameter user: Whose the app is, should it be nobody's yet.
    mutating func install(
        _ app: AppHandle, _ id: AppID, _ entrance: AppEntrance, _ installation: Installation, _ user: UInt32?,
        at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        let isNew = !self.clerk.listeners.registry.has(app)
        if isNew {
            var absent = entrance
            absent.isConnected = false
            try self.enter(app, id, absent, user, payer: installation.payer, at: now, &actions)
        }
        do throws(Refusal) {
            try self.clerk.listeners.install(installation, of: app, at: now)
        } catch {
            self.clerk.perform(&actions)
            if isNew { self.forget(app, at: now, &actions) }
            throw error
        }
        self.dropMail(at: now, &actions)
        if let user, self.clerk.listeners.registry[app]?.user == nil { self.pass(app, to: user, at: now, &actions) }
        if !isNew { self.clerk.listeners.describe(app, entrance, at: now) }
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    /// The file of an app is gone, and with it what that gave, also to one that is on the bus.
    mutating func uninstall(_ app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]) {
        guard let known = self.clerk.listeners.registry[app] else { return }
        guard known.isConnected else { return self.forget(app, at: now, &actions) }
        self.clerk.listeners.uninstall(app, at: now)
        self.dropMail(at: now, &actions)
        self.clerk.listeners.describe(app, AppEntrance(declared: .none), at: now)
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    // MARK: Detectors

    /// Adds detectors that an app asks for itself.
    mutating func add(
        _ requests: [DetectorRequest], of app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) -> [CompiledDetector] {
        let compiled = try self.clerk.listeners.add(requests, of: app, at: now)
        self.dropMail(at: now, &actions)
        self.clerk.perform(&actions)
        // Who says what it listens to wants to hear it, and what was kept for it first.
        self.clerk.post.change(app, &actions) { $0.listen(at: now, &$1) }
        self.clerk.steer(&actions)
        return compiled
    }

    /// Takes away detectors of an app, by their names.
    mutating func remove(
        _ names: [String], of app: AppHandle, at now: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        try self.clerk.listeners.remove(names, of: app, at: now)
        self.dropMail(at: now, &actions)
        self.clerk.perform(&actions)
        self.clerk.steer(&actions)
    }

    /// Throws away what detectors caused that are gone.
    private mutating func dropMail(at now: Timestamp, _ actions: inout [BrokerAction]) {
        for gone in self.clerk.listeners.takeGone() {
            self.clerk.post.remove(detector: gone.detector, of: gone.app, at: now, &actions)
        }
    }
}
