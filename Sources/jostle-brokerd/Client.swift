import Arbitration
import BrokerCore
import DBus
import Motion

/// One registered connection: the bus's side of an app.
///
/// Bound to the caller's unique name, and gone with it or with the name it registered.
final class Client {
    let id: ClientID
    let uniqueName: String
    let app: AppID
    let peer: PacedSender.Peer
    /// The user behind the connection; known once the registration is complete.
    var uid: UInt32?
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
    /// What its app file says that it wants motion for.
    var usage = ""
    unowned let service: BrokerService

    init(_ id: ClientID, _ uniqueName: String, _ app: AppID, _ peer: PacedSender.Peer, _ service: BrokerService) {
        self.id = id
        self.uniqueName = uniqueName
        self.app = app
        self.peer = peer
        self.service = service
    }
}
