import DBus
import DaemonSupport
import Glibc
import Loop

/// Where the journal is that a command reads.
enum JournalPlace {
    static let option = CommandOption.value(
        "state-dir", "DIR", "where the journal is (default: where the broker of the bus keeps it)", naming: .directory)

    /// - Parameter bus: whose broker's it is, unless a directory is given.
    static func directory(
        _ arguments: Arguments, on bus: BusAddress, for command: String
    ) throws(UsageProblem) -> String {
        let given = arguments.value(of: self.option)
        if given != nil, arguments.has(CommonOption.bus) {
            throw UsageProblem("\(command): --bus has no effect beside --state-dir: it says whose journal is read")
        }
        guard let directory = given ?? StateDirectory.standard(for: bus) else {
            throw UsageProblem("\(command): there is no HOME with a journal in it: give --state-dir")
        }
        return directory
    }

    /// Whether a broker may be at work there: one that keeps a journal holds the lock beside it. Where nobody can tell, one may be.
    ///
    /// The corresponding C function is `flock`.
    static func isInUse(_ directory: String) -> Bool {
        do throws(SystemError) {
            let lock = try OwnedDescriptor(opening: "\(directory)/lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let raw = lock.raw
            // It is shared with others who look, and given back at once.
            _ = try systemCall("flock") { flock(raw, LOCK_SH | LOCK_NB) }
            return false
        } catch {
            return error.code != ENOENT
        }
    }
}
