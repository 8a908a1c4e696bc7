import DaemonSupport
import FleetCore
import Motion

/// `rollback`: gives a group back what it had before the last `apply`.
enum RollbackCommand {
    static let syntax = CommandSyntax(
        "rollback", "give a group of devices back what it had before the last 'apply' or 'rollback'",
        options: [
            ApplyCommand.group, ApplyCommand.without, ApplyCommand.wait, ApplyCommand.patience, ApplyCommand.signKey,
            ServerOption.json,
        ], exits: ServerOption.exits
    ) { arguments in
        let group = try ApplyCommand.groupName(arguments, "rollback")
        let session = try FleetSession(arguments, signingWith: try ApplyCommand.signingKey(arguments))
        try session.look()
        guard var state = session.book.previous[group] else {
            throw FleetFailure(.no, "nothing is known of what group \(group) had before")
        }
        state.version = try session.nextVersion()
        let rollout = Rollout(
            session, group, without: arguments.values(of: ApplyCommand.without),
            Progress(isJSON: arguments.has(ServerOption.json)))
        let there = try rollout.publish(state, behind: session.book.groups[group])
        if arguments.has(ApplyCommand.wait) {
            try rollout.waitForAll(
                state.version, and: there, atMost: try arguments.value(of: ApplyCommand.patience) ?? .seconds(300))
        }
    }
}
