import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// `jostle demo` as a process: what it says, and that it leaves nothing.
    @Suite(.serialized) struct Demo {
        /// Starts the demo with a directory of its own for what it makes.
        func start(
            _ arguments: [String], _ bus: PrivateBus, in name: String = "demo"
        ) throws -> (BackgroundProgram, directory: String) {
            let directory = "\(bus.directory)/\(name)"
            #expect(mkdir(directory, 0o755) == 0)
            let program = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/leftovers.py"), Programs.path(of: "jostle"), "demo"]
                    + arguments, environment: ["TMPDIR": directory, "NO_COLOR": "1"])
            return (program, directory)
        }

        func expectNothingLeft(_ program: BackgroundProgram, _ directory: String) throws {
            #expect(program.errors.split(separator: "\n").last == "left 0", "\(program.errors)")
            #expect(try Tool.run(["ls", "-A", directory]).stdout.isEmpty)
        }

        @Test func tellsEightLinesAndLeavesNothing() throws {
            try PrivateBus.with { bus in
                // What the directory is called is nothing to the address of the bus in it.
                let (program, directory) = try self.start(["--json"], bus, in: "of blanks, 100% & more; as they come")
                #expect(try program.waitForEnd(timeout: .seconds(60)) == .exited(0))
                let lines = program.output.split(separator: "\n").map(String.init)
                let (app, player) = ("org.jostle.Demo.App", "org.jostle.Demo.Player")
                let expected: [(String, String, String, Bool, String)] = [
                    ("broadcast", "gentle", app, true, "\"S5.sent\",\"decided_by\":null"),
                    ("broadcast", "gentle", player, false, "null,\"decided_by\":null"),
                    ("broadcast", "hard", app, true, "\"S5.sent\",\"decided_by\":null"),
                    ("broadcast", "hard", player, true, "\"S5.sent\",\"decided_by\":null"),
                    ("exclusive", "gentle", app, true, "\"S5.sent\",\"decided_by\":null"),
                    ("exclusive", "gentle", player, false, "null,\"decided_by\":null"),
                    ("exclusive", "hard", app, false, "\"S4.outranked\",\"decided_by\":\"specificity\""),
                    ("exclusive", "hard", player, true, "\"S5.sent\",\"decided_by\":\"specificity\""),
                ]
                try #require(lines.count == expected.count, "\(program.output)")
                var delays: [Int] = []
                for (line, (policy, shake, app, received, reason)) in zip(lines, expected) {
                    let start =
                        "{\"policy\":\"\(policy)\",\"shake\":\"\(shake)\",\"app\":\"\(app)\",\"received\":\(received),"
                    #expect(line.hasPrefix(start) && line.hasSuffix(",\"reason\":\(reason)}"), "\(line)")
                    let delay = try #require(field("delay_us", of: line))
                    if received {
                        // A gentle shake waits for its window.
                        let window = policy == "exclusive" && shake == "gentle" ? 350_000 : 0
                        delays.append(try #require(Int(delay)) - window)
                    } else {
                        #expect(delay == "null")
                    }
                }
                // Half a second would be no event one could feel as an answer. A machine that stands still makes one
                // late, and not most of them.
                #expect(delays.sorted()[delays.count / 2] < 500_000, "\(delays)")
                #expect(program.errors == "left 0\n")
                #expect(try kinds(of: program.output, from: "demo") == [0])
                try self.expectNothingLeft(program, directory)
            }
        }

        /// What people read: both acts, and why one app got nothing, from the broker's own mouth.
        @Test func showsBothActs() throws {
            try PrivateBus.with { bus in
                let (program, directory) = try self.start([], bus)
                #expect(try program.waitForEnd(timeout: .seconds(60)) == .exited(0))
                let output = program.output
                #expect(
                    output.contains("\nAs the article says: the gentle shake reached one app, the hard one both.\n"))
                #expect(output.contains("\nThe same two shakes, and a policy that decides:\n"))
                #expect(
                    output.contains(
                        "\nAs the policy says: the gentle shake reached the demo app, the hard one the music player alone.\n"
                    ))
                #expect(output.contains("\n  org.jostle.Demo.App  NOT DELIVERED  S4.outranked\n"))
                #expect(output.contains("/policy/10-demo.conf:14 [Rule any-shake] Priority=0 says allow\n"))
                #expect(output.contains("org.jostle.Demo.Player is first by specificity, 3.5 g to 2.3 g\n"))
                try self.expectNothingLeft(program, directory)
            }
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func interruptedItLeavesNothing(_ signal: Int32) throws {
            try PrivateBus.with { bus in
                let (program, directory) = try self.start([], bus)
                // In the middle of it: both subscribers are there and samples arrive.
                _ = try program.waitForLine { $0.contains(" s ▏") }
                try program.signal(signal)
                #expect(try program.waitForEnd() == .exited(1))
                #expect(program.errors.hasPrefix("jostle: stopped before the end\n"), "\(program.errors)")
                try self.expectNothingLeft(program, directory)
            }
        }

        /// Interrupted at the first moment one can, while the bus is hardly there.
        @Test func interruptedEarlyItLeavesNothing() throws {
            try PrivateBus.with { bus in
                let (program, directory) = try self.start([], bus)
                var entries = ""
                let deadline = ContinuousClock.now + .seconds(20)
                while entries.isEmpty {
                    try #require(ContinuousClock.now < deadline)
                    entries = try Tool.run(["ls", "-A", directory]).stdout
                }
                try program.signal(SIGINT)
                #expect(try program.waitForEnd() == .exited(1))
                try self.expectNothingLeft(program, directory)
            }
        }

        /// What the README says to type shows what it says: three devices, a server and an operator; it exits 0 only if all of it happened.
        @Test func aFleetAsTheReadmeHasIt() throws {
            let commands = try FleetDocument.commands(behind: "## More than one machine", of: "README.md")
            try #require(commands.count == 2)
            let steps = [
                "three devices are there", "a policy is in force on all three", "a shake of one is seen from afar",
                "what happened while the server was dead is told when it is back, as past",
                "a bad policy is stopped by the canary",
                "from afar it is explained why the canary's shake did nothing",
                "the canary has back what it had, and a shake is seen again",
            ]
            for (command, all) in zip(
                commands, [steps, ["not delivered  S2.denied", "[Rule night]", "the museum is closed"]])
            {
                let words = command.split(separator: " ").map(String.init)
                try #require(words.prefix(2) == ["jostle", "demo"])
                try PrivateBus.with { bus in
                    let (program, directory) = try self.start(Array(words.dropFirst(2)), bus)
                    let end = try program.waitForEnd(timeout: .seconds(300))
                    #expect(end == .exited(0), "\(program.output)\(program.errors)")
                    var rest = program.output[...]
                    for words in all {
                        let place = rest.firstRange(of: words)
                        #expect(place != nil, "'\(words)' does not come, or not in this order: \(program.output)")
                        if let place { rest = rest[place.upperBound...] }
                    }
                    try self.expectNothingLeft(program, directory)
                }
            }
        }

        /// Without dbus-daemon it says what is missing.
        @Test func withoutABusProgramItSaysSo() throws {
            try PrivateBus.with { bus in
                let directory = "\(bus.directory)/demo"
                #expect(mkdir(directory, 0o755) == 0)
                let result = try Tool.run(
                    ["env", "PATH=\(directory)", Programs.path(of: "jostle"), "demo"],
                    environment: ["TMPDIR": directory])
                #expect(result.status == 1)
                #expect(result.stderr.hasPrefix("jostle: "), "\(result.stderr)")
                #expect(result.stderr.split(separator: "\n").count == 1, "\(result.stderr)")
                let left = try Tool.run(["ls", "-A", directory]).stdout
                #expect(left.isEmpty)
            }
        }
    }
}
