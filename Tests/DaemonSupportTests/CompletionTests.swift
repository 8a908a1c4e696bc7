import Testing

@testable import DaemonSupport

private let bus = TypedOption.bus("bus", "the bus")
private let json = CommandOption.flag("json", "print JSON lines")
private let traces = CommandOption.list("positive", "FILE", "traces", naming: .file)
private let policy = CommandOption.value("policy", "DIR", "policies", naming: .directory, repeats: true)
private let app = CommandOption.value("app", "ID", "this app", naming: .app)
private let axis = TypedOption.word("axis", "AXIS", "where to", oneOf: ["x", "y"], expected: "x or y")

private let tool = CommandSyntax(
    "tool", "Does things.", options: [bus],
    commands: [
        CommandSyntax(
            "on", "run a command", options: [json], arguments: [.init("PRESET", "which", .list, naming: .preset)],
            trailing: .init("COMMAND", "a command line", .nonEmptyList, naming: .program)),
        CommandSyntax(
            "tune", "tune it", options: [traces, policy, app, axis],
            arguments: [.init("APP", "whose", naming: .app), .init("STATE", "which", naming: .oneOf(["up", "down"]))]),
        CommandSyntax("policies", "policies", commands: [CommandSyntax("check", "check it", refusing: [bus])]),
        CommandSyntax("long", String(repeating: "word ", count: 30)),
    ])

private func completion(_ words: [String]) -> String {
    tool.completion(of: words) { word, start, arguments in
        switch word {
        case .app: ["org.example.App", "org.other.App", "$(reboot)", "a b", "'", "x;y", "", "-~"].map { Candidate($0) }
        case .preset: [Candidate("shake", "of \(start), \(arguments.positionals.joined(separator: " "))")]
        default: []
        }
    }
}

/// What a shell is told that asks what a word can be.
@Suite struct CompletionTests {
    @Test(arguments: [
        // Commands, and those of `help`.
        ("t", ["tune"]), ("policies ", ["check"]), ("help po", ["policies"]), ("help policies ", ["check"]),
        ("nothing ", []), ("on extra check ", ["shake"]),
        // Options: once, unless they repeat, and only those that mean something.
        ("on --j", ["--json"]), ("on --json --j", []), ("tune --policy a --pol", ["--policy"]), ("on --b", ["--bus"]),
        ("policies check --b", []), ("--bus=session on --b", []), ("--v", ["--version"]),
        ("on --help ", []), ("on --unknown x ", []),
        // Values, joined or not; a flag has none.
        ("--bus ", ["session", "system"]), ("--bus sy", ["system"]), ("--bus=sy", ["--bus=system"]),
        ("tune --axis ", ["x", "y"]), ("tune --axis=", ["--axis=x", "--axis=y"]), ("on --json=", []),
        ("tune --app org.o", ["org.other.App"]), ("tune --app=org.o", ["--app=org.other.App"]),
        // Arguments, by their place.
        ("tune org.e", ["org.example.App"]), ("tune a ", ["up", "down"]), ("tune a u", ["up"]), ("tune a up ", []),
        ("on a b ", ["shake"]),
    ])
    func candidatesAreThoseThatTheParserWouldTake(_ line: String, _ words: [String]) {
        let split = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let lines = completion(split).split(separator: "\n").map(String.init)
        #expect(lines.first == "word")
        #expect(lines.dropFirst().map { String($0.prefix { $0 != "\t" }) } == words)
    }

    @Test(arguments: [
        ("tune --positive ", "file"), ("tune --positive a ", "file"), ("tune --positive=", "file"),
        ("tune --policy ", "directory"), ("tune --policy=a", "directory"), ("on shake -- ", "program"),
        ("on -- --j", "program"), ("on shake -- ls ", "file"), ("on shake -- ls --json", "file"),
    ])
    func aShellLooksForFilesItself(_ line: String, _ kind: String) {
        let split = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        #expect(completion(split) == "\(kind)\n")
    }

    /// Others may give names, and a shell may put them into the line as they are.
    @Test func aNameThatIsMoreThanAWordIsLeftOut() {
        #expect(completion(["tune", ""]) == "word\norg.example.App\norg.other.App\n")
    }

    @Test func helpGoesAlongInOneLine() {
        #expect(completion(["on", "a", "sh"]) == "word\nshake\tof sh, a\n")
        let long = completion(["lo"]).split(separator: "\n").last.map(String.init) ?? ""
        #expect(long.count == "long\t".count + 72 && long.hasSuffix("..."))
    }
}
