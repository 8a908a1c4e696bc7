import DBus
import DaemonSupport

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
}
