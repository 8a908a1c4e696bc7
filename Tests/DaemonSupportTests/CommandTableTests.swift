import DaemonSupport
import Motion
import Testing

private let traces = CommandOption.list("positive", "FILE", "traces", naming: .file)
private let json = CommandOption.flag("json", "print JSON lines")
private let bus = TypedOption.bus("bus", "the bus")
private let count = TypedOption.number("count", "N", "so often", in: 1...9, expected: "a number from 1 to 9")
private let rate = TypedOption.quantity("rate", "HZ", "so fast", .frequency, expected: "a rate")
private let span = TypedOption.time(
    "for", "TIME", "so long", expected: "a time up to 1min", in: .zero ... .seconds(60))
private let axis = TypedOption.word("axis", "AXIS", "where to", oneOf: ["x", "y"], expected: "x or y")

/// What a command says when it is performed.
private struct Performed: Swift.Error, Equatable { let words: [String] }

private let tool = CommandSyntax(
    "tool", "Does things.", options: [bus],
    commands: [
        CommandSyntax(
            "on", "run a command", options: [json], arguments: [.init("PRESET", "which", .list)],
            trailing: .init("COMMAND", "a command line", .nonEmptyList, naming: .program)
        ) { throw Performed(words: ["on"] + $0.trailing) },
        CommandSyntax(
            "tune", "tune", options: [traces, json, count, rate, span, axis], arguments: [.init("F", "which", .list)]),
        CommandSyntax(
            "policy", "policies",
            commands: [CommandSyntax("check", "check") { throw Performed(words: $0.command) }]),
    ])

private func parsed(_ words: String...) throws -> Arguments {
    guard case .run(let arguments) = try tool.parse(words) else { throw UsageProblem("not to run") }
    return arguments
}

@Suite struct CommandTableTests {
    // MARK: A command line after `--`

    @Test(arguments: [
        (["on", "shake", "--", "ls", "--json", "--", "-l"], ["shake"], ["ls", "--json", "--", "-l"]),
        (["on", "--", "--help"], [], ["--help"]),
        (["on", "shake", "--"], ["shake"], []),
        (["on", "shake"], ["shake"], []),
        // These end the options only: it is another's, and the options have ended before.
        (["tune", "on", "--", "--json"], ["on", "--json"], []),
        (["--", "on", "a", "--", "b"], ["a", "--", "b"], []),
    ])
    func whatFollowsIsTheCommandsOwn(_ words: [String], _ positionals: [String], _ trailing: [String]) throws {
        guard case .run(let arguments) = try tool.parse(words) else { throw UsageProblem("not to run") }
        #expect(arguments.positionals == positionals)
        #expect(arguments.trailing == trailing)
    }

    @Test func noOptionTakesAWordOfWhatFollows() {
        #expect(throws: UsageProblem("option '--bus BUS' needs a value")) { try parsed("on", "--bus", "--", "ls") }
    }

    // MARK: Options with several words

    @Test(arguments: [
        (["--positive", "a", "b", "--json", "c"], ["a", "b"], ["c"]),
        (["--positive", "a", "--positive", "b", "-c"], ["a", "b", "-c"], []),
        (["--positive=a", "b"], ["a"], ["b"]),
        (["--positive", "--json"], [], []),
        (["--positive", "a", "--", "b"], ["a"], ["b"]),
    ])
    func aListEndsAtTheNextOption(_ words: [String], _ values: [String], _ positionals: [String]) throws {
        guard case .run(let arguments) = try tool.parse(["tune"] + words) else { throw UsageProblem("not to run") }
        #expect(arguments.values(of: traces) == values)
        #expect(arguments.positionals == positionals)
    }

    // MARK: Values with a type

    @Test func valuesAreReadAsTheyAreDeclared() throws {
        let arguments = try parsed(
            "tune", "--bus=system", "--count=9", "--rate", "50Hz", "--for", "1min", "--axis=y")
        #expect(try arguments.value(of: bus) != nil)
        #expect(try arguments.value(of: count) == 9)
        #expect(try arguments.value(of: rate) == 50)
        #expect(try arguments.value(of: span) == .seconds(60))
        #expect(try arguments.value(of: axis) == "y")
        #expect(arguments.has(count))
        #expect(try parsed("tune").value(of: count) == nil)
    }

    @Test(arguments: [
        ("--bus=here", "option '--bus' needs session, system or a bus address, not 'here'"),
        ("--count=0", "option '--count' needs a number from 1 to 9, not '0'"),
        ("--count=10", "option '--count' needs a number from 1 to 9, not '10'"),
        ("--rate=3g", "option '--rate' needs a rate, not '3g'"),
        ("--rate=0", "option '--rate' needs a rate, not '0'"),
        ("--rate=nan", "option '--rate' needs a rate, not 'nan'"),
        ("--for=61s", "option '--for' needs a time up to 1min, not '61s'"),
        ("--axis=z", "option '--axis' needs x or y, not 'z'"),
    ])
    func whatIsNoneSaysWhatItShouldBe(_ word: String, _ message: String) throws {
        let arguments = try parsed("tune", word)
        #expect(throws: UsageProblem(message)) {
            _ = try arguments.value(of: bus)
            _ = try arguments.value(of: count)
            _ = try arguments.value(of: rate)
            _ = try arguments.value(of: span)
            _ = try arguments.value(of: axis)
        }
    }

    // MARK: What a command does

    @Test func theCommandThatIsNamedIsPerformed() throws {
        #expect(throws: Performed(words: ["on", "ls"])) { try tool.perform(try parsed("on", "--", "ls")) }
        #expect(throws: Performed(words: ["policy", "check"])) { try tool.perform(try parsed("policy", "check")) }
    }
}
