import DaemonSupport
import FleetCore
import Loop
import Motion
import Signatures

/// `apply`: has a group of devices do what stands in a directory; some first, and the others when it went well with these.
enum ApplyCommand {
    static let group = CommandOption.value("group", "NAME", "the group of devices")
    private static let canary = TypedOption(
        "canary", "SHARE", "so many devices first, such as 5% or 3; the others when all is well with these",
        expected: "a share, such as 5%, or a number"
    ) { Share($0) }
    private static let first = CommandOption.flag("first", "also to a group of which the server knows nothing yet")
    static let without = CommandOption.value(
        "without", "NAME", "leave out of account who only says to be of the group; may be given several times",
        repeats: true)
    static let wait = CommandOption.flag(
        "wait", "return when all devices that are there, or were when it was sent, have it")
    static let signKey = CommandOption.value(
        "sign-key", "FILE", "the private key (ed25519) by which it is signed", naming: .file)
    private static let watch = TypedOption.time(
        "watch", "TIME", "with --canary: for how long all must be well (default: 60s)", expected: "a time, such as 60s")
    static let patience = TypedOption.time(
        "patience", "TIME", "how long it may take until all have it (default: 5min)", expected: "a time, such as 5min")
    private static let confirm = TypedOption.time(
        "confirm-within", "TIME",
        "when a device goes back by itself, if it lost the server (default: what it is told itself)",
        expected: "a time from 2s to 24h", in: DesiredMachine.confirmRange)
    private static let pause = TypedOption.word(
        "pause", "yes|no", "besides, switch motion off, or on", oneOf: ["yes", "no"], expected: "yes or no")

    static let syntax = CommandSyntax(
        "apply", "have a group of devices do what stands in a directory",
        options: [group, first, without, canary, watch, wait, patience, confirm, pause, signKey, ServerOption.json],
        arguments: [
            CommandArgument(
                "DIR", "has policy.d, apps.d, thresholds; what it does not have is left as it is", naming: .directory)
        ],
        exits: ServerOption.exits
    ) { arguments in
        let group = try groupName(arguments, "apply")
        var state = try DesiredFolder.read(arguments.positionals[0])
        state.isPaused = try arguments.value(of: pause).map { $0 == "yes" }
        guard !state.changes.isEmpty else {
            throw FleetFailure(.usage, "\(arguments.positionals[0]) has neither policy.d nor apps.d nor thresholds")
        }
        var terms = Canary.Terms()
        terms.watch = try arguments.value(of: watch) ?? terms.watch
        terms.patience = try arguments.value(of: patience) ?? terms.patience
        let share = try arguments.value(of: canary)
        if share == nil, arguments.has(watch.option) { throw UsageProblem("apply: --watch goes with --canary") }
        let session = try FleetSession(arguments, signingWith: try signingKey(arguments))
        try session.look()
        guard session.book.knows(group: group) || arguments.has(first) else {
            throw FleetFailure(
                .no, "the server knows nothing of a group \(group); --first says that this is so; nothing was sent")
        }
        let old = session.book.groups[group]
        state.version = try session.nextVersion()
        state = state.over(old ?? .none)
        state.confirmWithin = try arguments.value(of: confirm)
        let rollout = Rollout(
            session, group, without: arguments.values(of: without), Progress(isJSON: arguments.has(ServerOption.json)))
        try rollout.check(state)
        if let share { try rollout.tryFirst(state, on: share, terms) }
        let there = try rollout.publish(state, behind: old)
        if arguments.has(wait) { try rollout.waitForAll(state.version, and: there, atMost: terms.patience) }
    }

    static func groupName(_ arguments: Arguments, _ command: String) throws(UsageProblem) -> String {
        guard let group = arguments.value(of: self.group) else { throw UsageProblem("\(command): say the --group") }
        guard FleetTopics.isName(group) else {
            throw UsageProblem("\(command): '\(printable(group))' is no name of a group")
        }
        return group
    }

    static func signingKey(_ arguments: Arguments) throws -> SigningKey? {
        do throws(KeyProblem) {
            return try arguments.value(of: self.signKey).map { path throws(KeyProblem) in try SigningKey(file: path) }
        } catch {
            throw FleetFailure(.usage, "\(error)")
        }
    }
}
