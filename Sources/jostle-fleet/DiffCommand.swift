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

extension DesiredState {
    /// How it differs from what is wanted now, in lines: `-` what goes, `+` what comes.
    func difference(from old: DesiredState?) -> [String] {
        var lines: [String] = []
        func compare(_ kind: String, _ new: [(String, String)]?, _ old: [(String, String)]?) {
            guard let new else { return }
            let before = Dictionary(old ?? []) { first, _ in first }
            let after = Dictionary(new) { first, _ in first }
            for name in Set(before.keys).union(after.keys).sorted() where before[name] != after[name] {
                lines.append("\(kind)/\(name)")
                lines += Self.difference(Self.lines(before[name]), Self.lines(after[name]))
            }
        }
        compare("policy.d", self.policy?.map { ($0.name, $0.text) }, old?.policy?.map { ($0.name, $0.text) })
        compare("apps.d", self.apps?.map { ($0.name, $0.text) }, old?.apps?.map { ($0.name, $0.text) })
        compare(
            "thresholds", self.thresholds?.map { ($0.detector, $0.threshold) },
            old?.thresholds?.map { ($0.detector, $0.threshold) })
        if let isPaused, isPaused != old?.isPaused { lines.append("+ pause: \(isPaused)") }
        return lines
    }

    /// In so many lines it is looked for what stays among what goes and comes: that takes as long as their number times itself.
    private static let mostCompared = 4_000

    /// What goes and what comes, where it stands.
    private static func difference(_ old: [String], _ new: [String]) -> [String] {
        let start = zip(old, new).prefix { $0 == $1 }.count
        let (before, after) = (old[start...], new[start...])
        let end = zip(before.reversed(), after.reversed()).prefix { $0 == $1 }.count
        let (gone, come) = (Array(before.dropLast(end)), Array(after.dropLast(end)))
        guard gone.count + come.count > Self.mostCompared else { return self.lineByLine(gone, come) }
        return gone.map { "- \($0)" } + come.map { "+ \($0)" }
    }

    private static func lineByLine(_ old: [String], _ new: [String]) -> [String] {
        let changes = new.difference(from: old)
        var (gone, come): (Set<Int>, Set<Int>) = ([], [])
        for change in changes {
            switch change {
            case .remove(let offset, _, _): gone.insert(offset)
            case .insert(let offset, _, _): come.insert(offset)
            }
        }
        var lines: [String] = []
        var (before, after) = (0, 0)
        while before < old.count || after < new.count {
            if gone.contains(before) {
                lines.append("- \(old[before])")
                before += 1
            } else if come.contains(after) {
                lines.append("+ \(new[after])")
                after += 1
            } else {
                (before, after) = (before + 1, after + 1)
            }
        }
        return lines
    }

    private static func lines(_ text: String?) -> [String] {
        text?.split(separator: "\n", omittingEmptySubsequences: true).map(String.init) ?? []
    }
}
