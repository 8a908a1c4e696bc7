import Arbitration
import BrokerCore
import DBus
import DaemonSupport
import Motion

extension ConnectionCredentials {
    /// How well it is proven that whoever made the connection, and owns the app's name, is the app.
    func proof(of app: AppID) -> IdentityProof {
        if app.isAnonymous { return .uid }
        guard let files = self.files else { return .name }
        return ProcessEvidence(sandbox: files.sandbox, groups: files.groups).proof(of: app)
    }

    /// The files of the process that made the connection.
    ///
    /// A handle holds on to it. By its number it could be another that was given the same since: of another user it is not
    /// taken; another of the same user could say anything of itself anyway.
    private var files: ProcessFiles? {
        if let handle {
            guard let descriptor = handle.take() else { return nil }
            return ProcessFiles.of(descriptor)
        }
        guard let process, let files = try? ProcessFiles(of: process), files.user == self.user else { return nil }
        return files
    }
}
