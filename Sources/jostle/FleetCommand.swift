import DaemonSupport
import Glibc
import Loop

/// `jostle fleet`: carried out by `jostle-fleet`, which needs libraries that nothing else here does.
enum FleetCommand {
    static let name = "fleet"
    /// What that program is called by us, and calls itself then.
    private static let title = "jostle fleet"

    static let syntax = CommandSyntax(
        name, "see and steer many devices from one place, with the program jostle-fleet", reaching: .server,
        arguments: [CommandArgument("WORD", "what it is to do, such as list", .list)],
        action: { _ in throw CommandFailure(.no, "jostle-fleet is not installed; it is in the package jostle-fleet") })

    /// Becomes that program, if the words are meant for it: it knows its own options. Returns when they are not, or it is not there.
    static func becomeIfMeant(_ arguments: [String]) {
        var words = Array(arguments.dropFirst())
        let isAsked = words.first == "--complete" && words.count > 2
        if isAsked { words.removeFirst() }
        guard words.first == self.name, let path = siblingProgram("jostle-fleet") else { return }
        words.removeFirst()
        // SAFETY: the copies are NUL-terminated, the list ends with NULL, and all of it is left to the program that comes.
        var copies = unsafe ([self.title] + (isAsked ? ["--complete"] : []) + words).map { unsafe strdup($0) } + [nil]
        unsafe execv(path, &copies)
        complain("\(path): \(SystemError.last("execv"))")
        ExitCode.no.exit()
    }
}
