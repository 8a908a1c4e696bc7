import DaemonSupport
import FleetCore

/// `diff`: what `apply` would change.
enum DiffCommand {
    static let syntax = CommandSyntax(
        "diff", "show what 'apply' would change, and which devices have what is wanted now",
        options: [ApplyCommand.group, ServerOption.json],
        arguments: [CommandArgument("DIR", "has policy.d, apps.d, thresholds", naming: .directory)],
        exits: [
            ExitStatus(.done, "there is no difference"), ExitStatus(.no, "there is one, or it did not work out"),
            ExitStatus(.usage), ExitStatus(.noService, "the server cannot be reached"), ExitStatus(.refused),
        ]
    ) { arguments in
        let group = try ApplyCommand.groupName(arguments, "diff")
        let state = try DesiredFolder.read(arguments.positionals[0])
        let session = try FleetSession(arguments)
        try session.look()
        let old = session.book.groups[group]
        let lines = state.difference(from: old)
        let behind = session.book.devices(in: group).filter {
            session.book.devices[$0]?.report?.inForce != (old?.version ?? 0)
        }
        if arguments.has(ServerOption.json) {
            try say(
                JSONCoding.text(
                    .fields([
                        "group": .text(group), "version": .count(old?.version ?? 0),
                        "difference": .list(lines.map { .text($0) }), "behind": .list(behind.map { .text($0) }),
                    ])))
        } else {
            try say("group \(group) has version \(old?.version ?? 0)")
            for line in lines { try say(line) }
            if !behind.isEmpty { try say("not in force on: \(behind.joined(separator: ", "))") }
        }
        if !lines.isEmpty { ExitCode.no.exit() }
    }
}
