import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// `jostle demo` as a process: what it says, and that it leaves nothing.
    @Suite(.serialized) struct Demo {
        /// Starts the demo with a directory of its own for what it makes.
        private func start(_ arguments: [String], _ bus: PrivateBus) throws -> (BackgroundProgram, directory: String) {
            let directory = "\(bus.directory)/demo"
            #expect(mkdir(directory, 0o700) == 0)
            let program = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/leftovers.py"), Programs.path(of: "jostle"), "demo"]
                    + arguments, environment: ["TMPDIR": directory, "NO_COLOR": "1"])
            return (program, directory)
        }

        private func expectNothingLeft(_ program: BackgroundProgram, _ directory: String) throws {
            #expect(program.errors.split(separator: "\n").last == "left 0", "\(program.errors)")
            #expect(try Tool.run(["ls", "-A", directory]).stdout.isEmpty)
        }

        @Test func tellsFourLinesAndLeavesNothing() throws {
            try PrivateBus.with { bus in
                let (program, directory) = try self.start(["--json"], bus)
                #expect(try program.waitForEnd(timeout: .seconds(60)) == .exited(0))
                let lines = program.output.split(separator: "\n").map(String.init)
                let expected = [
                    ("gentle", "org.jostle.Demo.App", true), ("gentle", "org.jostle.Demo.Player", false),
                    ("hard", "org.jostle.Demo.App", true), ("hard", "org.jostle.Demo.Player", true),
                ]
                try #require(lines.count == 4, "\(program.output)")
                for (line, (shake, app, received)) in zip(lines, expected) {
                    let start = "{\"shake\":\"\(shake)\",\"app\":\"\(app)\",\"received\":\(received),\"delay_us\":"
                    #expect(line.hasPrefix(start) && line.hasSuffix("}"), "\(line)")
                    let delay = line.dropFirst(start.count).dropLast()
                    if received {
                        // Half a second would be no event one could feel as an answer.
                        #expect(try #require(Int(delay)) < 500_000)
                    } else {
                        #expect(delay == "null")
                    }
                }
                #expect(program.errors == "left 0\n")
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

        /// Without dbus-daemon it says what is missing.
        @Test func withoutABusProgramItSaysSo() throws {
            try PrivateBus.with { bus in
                let directory = "\(bus.directory)/demo"
                #expect(mkdir(directory, 0o700) == 0)
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
