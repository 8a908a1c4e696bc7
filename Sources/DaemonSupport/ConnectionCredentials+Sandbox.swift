package import DBus
import Glibc
import Loop
import Processes

extension ConnectionCredentials {
    /// Opens the files of the process that made the connection.
    ///
    /// A handle holds on to it. By its number it could be another that was given the same since: of another user it is not
    /// taken; another of the same user could say anything of itself anyway.
    ///
    /// - Throws: when there is no room to look at them: what cannot be opened then says nothing of the process.
    package func openFiles() throws(BusError) -> ProcessFiles? {
        do throws(SystemError) {
            try ProcessFiles.checkRoom()
        } catch {
            throw .limitsExceeded("no descriptor is left to see who you are: \(error)")
        }
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
    package func findSandbox() throws(BusError) -> CallerIdentity.Sandbox? {
        guard self.user == getuid() else { return nil }
        guard let files = try self.openFiles(), files.user == self.user else { return .unknown }
        guard let file = files.sandbox else { return nil }
        return SandboxFile.app(file).map { .app($0) } ?? .unknown
    }
}
