import DaemonSupport
import Foundation
import Glibc
import Motion
import Testing
import Randomness

private let bus = CommandOption.value("bus", "BUS", "session, system or an address")
private let sensorBus = CommandOption.value("sensor-bus", "BUS", "the bus of the sensor daemon")
private let source = CommandOption.value("source", "SOURCE", "where samples come from", repeats: true)
private let verbose = CommandOption.flag("verbose", "tell more")

private let daemon = CommandSyntax(
    "jostle-sensord", "Reads motion sensors and publishes their samples.", options: [bus, sensorBus, source, verbose])

private let json = CommandOption.flag("json", "print JSON lines")
private let tool = CommandSyntax(
    "jostle", "Talks to the broker.", options: [bus],
    commands: [
        CommandSyntax("watch", "Shows events.", options: [json], arguments: [.init("DETECTOR", "which", .list)]),
        CommandSyntax(
            "replay", "Plays a trace.",
            arguments: [.init("FILE", "the trace"), .init("RATE", "how fast", .optional)]),
        CommandSyntax("run", "Runs a program.", arguments: [.init("WORD", "the program", .nonEmptyList)]),
        CommandSyntax(
            "policy", "Looks after policy.",
            commands: [CommandSyntax("check", "Checks files.", options: [verbose])]),
        CommandSyntax(
            "lint", "Speaks to nobody.", trailing: .init("COMMAND", "what to run", .nonEmptyList), refusing: [bus],
            notes: [HelpTable("Environment of COMMAND", [.init("X", "what it is")])],
            exits: [ExitStatus(.done), ExitStatus(.no, "it is bad")]),
    ])

/// What the command line means, which must be something to run.
private func parsed(_ syntax: CommandSyntax, _ words: String...) throws -> Arguments {
    guard case .run(let arguments) = try syntax.parse(words) else { throw UsageProblem("not to run") }
    return arguments
}

/// What is wrong with the command line.
private func problem(_ syntax: CommandSyntax, _ words: [String]) -> String? {
    do throws(UsageProblem) {
        _ = try syntax.parse(words)
        return nil
    } catch {
        return error.message
    }
}

@Suite struct ArgumentsTests {
    @Test func valuesStandApartOrJoined() throws {
        #expect(try parsed(daemon, "--bus", "system").value(of: bus) == "system")
        #expect(try parsed(daemon, "--bus=system").value(of: bus) == "system")
        #expect(try parsed(daemon, "--bus=unix:path=/x=y").value(of: bus) == "unix:path=/x=y")
        #expect(try parsed(daemon, "--bus=").value(of: bus) == "")
        #expect(try parsed(daemon, "--bus=--odd").value(of: bus) == "--odd")
        #expect(try parsed(daemon, "--bus", "-5").value(of: bus) == "-5")
        #expect(try parsed(daemon).value(of: bus) == nil)
    }

    @Test func flagsAndRepeatedOptions() throws {
        let arguments = try parsed(daemon, "--source=a", "--verbose", "--source", "b")
        #expect(arguments.has(verbose))
        #expect(!arguments.has(bus))
        #expect(arguments.values(of: source) == ["a", "b"])
        #expect(arguments.value(of: source) == "b")
        #expect(arguments.values(of: bus) == [])
    }

    @Test func commandsTakeTheirOwnOptionsAndTheProgramsOptions() throws {
        let arguments = try parsed(tool, "--bus=a", "watch", "shake", "--json", "tilt")
        #expect(arguments.command == ["watch"])
        #expect(arguments.positionals == ["shake", "tilt"])
        #expect(arguments.has(json))
        #expect(try parsed(tool, "watch", "--bus=a").value(of: bus) == "a")
        #expect(try parsed(tool, "policy", "check", "--verbose").command == ["policy", "check"])
    }

    @Test func twoHyphensEndTheOptions() throws {
        #expect(try parsed(tool, "run", "--", "ls", "--help", "--", "-l").positionals == ["ls", "--help", "--", "-l"])
        #expect(try parsed(tool, "run", "-").positionals == ["-"])
    }

    @Test(arguments: [
        (["--buss", "x"], "unknown option '--buss', did you mean '--bus'?"),
        (["--sens=x"], "unknown option '--sens', did you mean '--sensor-bus'?"),
        (["--colour"], "unknown option '--colour', see 'jostle-sensord --help'"),
        (["-v"], "unknown option '-v', see 'jostle-sensord --help'"),
        (["--Version"], "unknown option '--Version', did you mean '--version'?"),
        (["--bus"], "option '--bus BUS' needs a value"),
        (
            ["--bus", "--verbose"],
            "option '--bus BUS' needs a value; one that begins with '--' is written '--bus=--...'"
        ),
        (["--verbose=yes"], "option '--verbose' takes no value"),
        (["--help=yes"], "option '--help' takes no value"),
        (["--bus=a", "--bus=b"], "option '--bus' was given twice"),
        (["--verbose", "--verbose"], "option '--verbose' was given twice"),
        (["file"], "unexpected argument 'file', see 'jostle-sensord --help'"),
        (["--x\u{1B}[2J\n"], "unknown option '--x\u{FFFD}[2J\u{FFFD}', see 'jostle-sensord --help'"),
    ])
    func wrongDaemonLinesGetOneHelpfulLine(_ words: [String], _ message: String) {
        #expect(problem(daemon, words) == message)
    }

    @Test(arguments: [
        ([], "a command is missing, see 'jostle --help'"),
        (["policy"], "a command is missing, see 'jostle policy --help'"),
        (["wach"], "unknown command 'wach', did you mean 'watch'?"),
        (["dance"], "unknown command 'dance', see 'jostle --help'"),
        (["policy", "chekc"], "unknown command 'chekc', did you mean 'check'?"),
        (["replay"], "argument FILE is missing, see 'jostle replay --help'"),
        (["replay", "a", "b", "c"], "unexpected argument 'c', see 'jostle replay --help'"),
        (["run"], "argument WORD is missing, see 'jostle run --help'"),
        (["--json", "watch"], "unknown option '--json', see 'jostle --help'"),
        (["lint", "--bus", "x"], "option '--bus' has no effect on 'lint'"),
        (["--bus", "x", "lint"], "option '--bus' has no effect on 'lint'"),
        (["lint", "--bsu"], "unknown option '--bsu', see 'jostle lint --help'"),
        (["help", "wach"], "unknown command 'wach', did you mean 'watch'?"),
    ])
    func wrongCommandLinesGetOneHelpfulLine(_ words: [String], _ message: String) {
        #expect(problem(tool, words) == message)
    }

    @Test func valuesAreReadByTheCaller() throws {
        let arguments = try parsed(daemon, "--bus=12")
        #expect(try arguments.value(of: bus, expected: "a number") { Int($0) } == 12)
        #expect(try arguments.value(of: sensorBus, expected: "a number") { Int($0) } == nil)
        #expect(throws: UsageProblem("option '--bus' needs a number, not 'x'")) {
            try parsed(daemon, "--bus=x").value(of: bus, expected: "a number") { Int($0) }
        }
    }

    @Test func versionIsTheOneConstant() throws {
        #expect(try daemon.parse(["--version"]) == .show("jostle-sensord \(Version.text)\n"))
        #expect(try tool.parse(["watch", "--version"]) == .show("jostle \(Version.text)\n"))
    }

    @Test func helpIsMadeFromTheTable() throws {
        let text = """
            Usage: jostle-sensord [OPTION]...
            Reads motion sensors and publishes their samples.

            Options:
              --bus BUS         session, system or an address
              --sensor-bus BUS  the bus of the sensor daemon
              --source SOURCE   where samples come from
              --verbose         tell more
              --help            show this help and end
              --version         show the version and end

            Exit status:
              0  it did what was asked, or the answer is yes
              1  the answer is no, or it did not work out
              2  the command line, or a file named on it, is wrong
              3  nobody answers on the bus

            """
        #expect(try daemon.parse(["--help"]) == .show(text))
        #expect(try daemon.parse(["--verbose", "-h"]) == .show(text))
    }

    @Test func helpOfACommandShowsItsArgumentsAndTheProgramsOptions() throws {
        let text = """
            Usage: jostle replay [OPTION]... FILE [RATE]
            Plays a trace.

            Arguments:
              FILE  the trace
              RATE  how fast

            Options:
              --bus BUS  session, system or an address
              --help     show this help and end
              --version  show the version and end

            Exit status:
              0  it did what was asked, or the answer is yes
              1  the answer is no, or it did not work out
              2  the command line, or a file named on it, is wrong
              3  nobody answers on the bus

            """
        #expect(try tool.parse(["replay", "--help"]) == .show(text))
        #expect(try tool.parse(["help", "replay"]) == .show(text))
        guard case .show(let all) = try tool.parse(["help"]) else { throw UsageProblem("no help") }
        #expect(all.hasPrefix("Usage: jostle [OPTION]... COMMAND [ARGUMENT]...\nTalks to the broker.\n\nCommands:\n"))
        guard case .show(let nested) = try tool.parse(["policy", "check", "--help"]) else { throw UsageProblem("none") }
        #expect(nested.hasPrefix("Usage: jostle policy check [OPTION]...\n"))
    }

    @Test func helpTellsOfWhatIsRunAndOfHowItEnds() throws {
        let text = """
            Usage: jostle lint [OPTION]... -- COMMAND...
            Speaks to nobody.

            Arguments:
              COMMAND  what to run

            Options:
              --help     show this help and end
              --version  show the version and end

            Environment of COMMAND:
              X  what it is

            Exit status:
              0  it did what was asked, or the answer is yes
              1  it is bad

            """
        #expect(try tool.parse(["lint", "--help"]) == .show(text))
        // What has commands below it ends as they do.
        #expect(tool.exits.map(\.code) == [.done, .no, .usage, .noService] && tool.exits[1] == ExitStatus(.no))
    }

    @Test func directoriesHaveToBeThere() throws {
        let option = CommandOption.value("policy", "DIR", "where", repeats: true)
        let program = CommandSyntax("p", "s", options: [option])
        #expect(try parsed(program, "--policy", "/", "--policy", "/tmp").directories(of: option) == ["/", "/tmp"])
        // Whoever is told of them stands elsewhere.
        let here = FileManager.default.currentDirectoryPath
        #expect(
            try parsed(program, "--policy", ".", "--policy", "./..", "--policy", "../").directories(of: option)
                == [here, "\(here)/..", "\(here)/../"])
        for path in ["/nonexistent", "/dev/null", ""] {
            #expect(throws: UsageProblem("option '--policy': there is no directory '\(path)'")) {
                try parsed(program, "--policy", "/", "--policy", path).directories(of: option)
            }
        }
    }

    @Test func longHelpIsBrokenBetweenWords() throws {
        let long = CommandOption.value("a", "B", String(repeating: "word ", count: 40))
        let wide = CommandOption.value("a-very-long-option-name", "AND-ITS-VALUE", "help")
        guard case .show(let text) = try CommandSyntax("p", "s", options: [long, wide]).parse(["--help"]) else {
            throw UsageProblem("no help")
        }
        let lines = text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 && $0.last != " " })
        #expect(lines.contains("  --a-very-long-option-name AND-ITS-VALUE"))
        #expect(lines.contains("                            help"))
    }

    /// Words that an attacker or a cat on the keyboard might give.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func nothingTraps(seed: UInt64) {
        var generator = SeededRandom(seed: seed)
        let pieces = ["-", "--", "=", "bus", "help", "watch", "policy", "check", "é", "\u{0}", "\n", "", "--bus", "x"]
        for _ in 0..<50 {
            let words = (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                (0..<Int.random(in: 0...3, using: &generator))
                    .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            }
            for syntax in [daemon, tool] {
                // Either it can be run, or there is one line that says why not.
                if let message = problem(syntax, words) {
                    #expect(!message.isEmpty && !message.contains("\n"), "seed \(seed)")
                }
            }
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct ProgramTests {
    @Test func wrongCommandLineEndsWithTheUsageCode() async throws {
        let result = try await #require(
            processExitsWith: .exitCode(2), observing: [\.standardErrorContent, \.standardOutputContent]
        ) {
            let option = CommandOption.value("bus", "BUS", "the bus")
            _ = CommandSyntax("jostle-sensord", "Reads.", options: [option]).parseOrExit(["--buss=x"])
        }
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("jostle-sensord: unknown option '--buss', did you mean '--bus'?\n"))
    }

    @Test func versionGoesToStandardOutput() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            _ = CommandSyntax("jostle-sensord", "Reads.").parseOrExit(["--version"])
        }
        #expect(String(decoding: result.standardOutputContent, as: UTF8.self).contains("jostle-sensord 0.1.0\n"))
    }

    @Test func exitCodesAreThePublishedOnes() {
        #expect(ExitCode.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect(ExitCode.noService.rawValue == 3)
        #expect(ExitCode.refused.rawValue == 4)
    }
}
