import Arbitration
import Background
import BrokerCore
import DBus
import Motion
import PolicyFiles

/// The bus's side of an app: one registered connection, or an app that is installed and not on the bus.
///
/// A connection is bound to the caller's unique name, and gone with it or with the name it registered.
final class Client {
    /// That of the app, once the registration is complete.
    var id: AppHandle
    /// Empty for an app that is not on the bus.
    let uniqueName: String
    let app: AppID
    /// `nil` for an app that is not on the bus.
    let peer: PacedSender.Peer?
    /// The user behind the connection, known once the registration is complete; of an app that is not on the bus, who may read
    /// about it.
    var uid: UInt32?
    /// The process that made the connection, as the bus has it.
    var process: UInt32?
    /// Its object on the bus, once the registration is complete.
    var object: ExportedObject?
    var watches: [NameWatch.Token] = []
    /// Calls that wait for the registration to be complete.
    var waiting: [MethodCall] = []
    /// Our ends of what it holds.
    var assertions: [AssertionID: HeldEnd] = [:]
    var activities: [ActivityID: HeldEnd] = [:]
    /// The last number given to one of them.
    var lastNumber: UInt64 = 0
    /// What it says of itself, if it has an app file.
    var file: AppFile?
    /// What it registers is to outlive it.
    var isDurable = false
    unowned let service: BrokerService

    init(_ id: AppHandle, _ uniqueName: String, _ app: AppID, _ peer: PacedSender.Peer?, _ service: BrokerService) {
        self.id = id
        self.uniqueName = uniqueName
        self.app = app
        self.peer = peer
        self.proof = app.isAnonymous ? .uid : .name
        self.service = service
    }

    /// An app's object is there for its owner, whose app it is and root.
    func isShown(to sender: String, _ identity: CallerIdentity) -> Bool {
        sender == self.uniqueName || identity.isRoot || identity.owns(self.app, of: self.uid)
    }

    /// Lists show it besides to our own user, whose journal tells of all apps.
    func isListed(for sender: String, _ identity: CallerIdentity) -> Bool {
        identity.isTrusted || self.isShown(to: sender, identity)
    }

    /// What its app file says that it wants motion for.
    var usage: String { self.file?.usage ?? "" }
    /// What its app file says of background work.
    var declaredTasks: DeclaredTasks { DeclaredTasks(self.file?.tasks ?? [], modes: self.file?.modes ?? .none) }
    /// How well it is proven who it is.
    var proof: IdentityProof
    var isConnected: Bool { self.peer != nil }

    /// Notes that it has other detectors, or that they are in force otherwise.
    func detectorsChanged() {
        self.changed("Detectors")
        self.changedForAll("DetectorCount")
        self.service.links.history.detectorsChanged(of: self)
    }

    /// Notes that a property has a new value. Whoever is not on the bus is not told.
    func changed(_ property: StaticString) {
        if self.isConnected { self.object?.changed(property, of: AppInterface.table) }
    }

    /// The same for one that lists of apps show.
    func changedForAll(_ property: StaticString) {
        self.changed(property)
        self.service.links.clients.watchers.changed(self)
    }
}
