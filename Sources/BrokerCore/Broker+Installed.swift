package import Arbitration
package import Motion

/// Apps that exist also while they are not on the bus: they are dead, and their detectors are at work.
extension Broker {
    /// Has these detectors of an app exist whether it is on the bus or not, in place of those that did before.
    ///
    /// While the app is on the bus, what it registered itself under the same name counts.
    ///
    /// - Parameters:
    ///   - client: The app's number, or a free one.
    ///   - user: Whose the app is taken to be until it comes to the bus.
    package mutating func install(
        _ client: AppHandle, _ app: AppID, _ entrance: AppEntrance, _ requests: [DetectorRequest], user: UInt32,
        at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        let isNew = self.app(client) == nil
        if isNew {
            var entrance = entrance
            entrance.isConnected = false
            // What is installed is nobody's in particular: whoever looks after the system put it there.
            try self.makeApp(client, app, entrance, user, payer: UserShares.root, at: arrival)
        }
        do throws(Refusal) {
            try self.setInstalled(requests, of: client, at: arrival, &actions)
        } catch {
            self.perform(&actions)
            if isNew, let app = self.app(client) { self.forget(client, app, at: arrival, &actions) }
            throw error
        }
        if self.app(client)?.wasSeen == false {
            self.pass(client, to: user, &actions)
        }
        if !isNew { self.tell(.back(client, self.entrance(entrance, of: client)), at: arrival) }
        self.perform(&actions)
        self.steer(&actions)
    }

    /// What is said of an app now does not bring it to the bus, and proves nothing.
    private func entrance(_ entrance: AppEntrance, of client: AppHandle) -> AppEntrance {
        var known = entrance
        known.isConnected = self.app(client)?.isConnected ?? false
        if known.isConnected { known.proof = self.app(client)?.proof ?? entrance.proof }
        known.isProvenEnough = self.facts(client)?.isProvenEnough ?? entrance.isProvenEnough
        return known
    }

    private mutating func setInstalled(
        _ requests: [DetectorRequest], of client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]
    ) throws(Refusal) {
        let old = self.app(client)?.installed ?? []
        let own = Set((self.app(client)?.detectors ?? [:]).filter(\.value.isOwn).keys)
        _ = try self.add(
            own.isEmpty ? requests : requests.filter { !own.contains($0.name) }, to: client, isOwn: false, at: arrival,
            &actions)
        if !old.isEmpty {
            let new = Set(requests.map(\.name))
            for name in old.map(\.name).sorted() where !new.contains(name) && !own.contains(name) {
                self.removeDetector(name, of: client, at: arrival, &actions)
            }
        }
        self.registry.setInstalled(requests, of: client)
    }

    /// Leaves nothing of an app but what it registered itself, while it is on the bus.
    package mutating func uninstall(_ client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        guard let app = self.app(client), app.installed != nil else { return }
        guard app.isConnected else { return self.forget(client, app, at: arrival, &actions) }
        for name in app.detectors.keys.sorted() where app.detectors[name]?.isOwn == false {
            self.removeDetector(name, of: client, at: arrival, &actions)
        }
        self.registry.setInstalled(nil, of: client)
        self.perform(&actions)
        self.steer(&actions)
    }

    /// An installed app comes to the bus, and takes its detectors and what was kept for it over.
    mutating func connect(
        _ client: AppHandle, _ entrance: AppEntrance, _ user: UInt32, at arrival: Timestamp,
        _ actions: inout [BrokerAction]
    ) {
        self.pass(client, to: user, &actions)
        self.registry.connect(client, entrance, at: arrival)
        self.tell(.back(client, entrance), at: arrival)
        self.perform(&actions)
    }

    /// An app is another user's than it was.
    private mutating func pass(_ app: AppHandle, to user: UInt32, _ actions: inout [BrokerAction]) {
        guard let id = self.registry[app]?.id, let wasSeen = self.registry[app]?.wasSeen else { return }
        self.mailboxes.pass(app, to: user, wasSeen: wasSeen, keeping: self.queueBytes(of: id), &self.mail)
        self.registry.pass(app, to: user)
        self.carry(&actions)
    }

    /// An installed app leaves the bus: of its detectors those stay that are installed, as they were installed.
    mutating func disconnect(_ client: AppHandle, at arrival: Timestamp, _ actions: inout [BrokerAction]) {
        self.registry.disconnect(client)
        // First of all, so that what it leaves goes to others while all is still known.
        self.tell(.away(client), at: arrival)
        self.perform(&actions)
        let installed = self.app(client)?.installed ?? []
        let names = Set(installed.map(\.name))
        for (name, detector) in (self.app(client)?.detectors ?? [:]).sorted(by: { $0.key < $1.key }) {
            if detector.isOwn { self.registry.own(detector, false, of: client) }
            if !names.contains(name) { self.removeDetector(name, of: client, at: arrival, &actions) }
        }
        self.mailboxes.detach(client, &self.mail)
        self.carry(&actions)
        // They were at work before; what is too much now is not there until the app is.
        _ = try? self.add(
            installed.sorted { $0.name < $1.name }, to: client, isOwn: false, at: arrival, &actions)
        self.launchForMail(of: client, at: arrival)
        self.perform(&actions)
        self.steer(&actions)
    }
}
