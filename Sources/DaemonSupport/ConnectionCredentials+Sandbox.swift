package import DBus
import Glibc
import Processes

extension ConnectionCredentials {
    /// Opens the files of the process that made the connection.
    ///
    /// A handle holds on to it. By its number it could be another that was given the same since: of another user it is not
    /// taken; another of the same user could say anything of itself anyway.
    package func openFiles() -> ProcessFiles? {
        if let handle {
            guard let descriptor = handle.take() else { return nil }
            return ProcessFiles.of(descriptor)
        }
        guard let process, let files = try? ProcessFiles(of: process), files.user == self.user else { return nil }
        return files
    }

    /// Finds out in which sandbox whoever made the connection runs; `nil`: in none.
    ///
    /// Only of our own user's processes it is to be seen. One of them that does not show it may well hide it.
    package func findSandbox() -> CallerIdentity.Sandbox? {
        guard self.user == getuid() else { return nil }
        guard let files = self.openFiles(), files.user == self.user else { return .unknown }
        guard let file = files.sandbox else { return nil }
        return SandboxFile.app(file).map { .app($0) } ?? .unknown
    }
}
