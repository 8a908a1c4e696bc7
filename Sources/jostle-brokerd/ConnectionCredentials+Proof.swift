import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Motion

extension ConnectionCredentials {
    /// How well it is proven that whoever made the connection, and owns the app's name, is the app.
    func proof(of app: AppID) throws(BusError) -> IdentityProof {
        if app.isAnonymous { return .uid }
        guard let files = try self.openFiles() else { return .name }
        return ProcessEvidence(sandbox: files.sandbox, groups: files.groups).proof(of: app)
    }
}
