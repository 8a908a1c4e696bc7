import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// A broker that is there and says nothing does not keep whoever only looks, or has done. Each wait ends before a call would.
    @Suite(.serialized) struct HungBrokers {
        /// Daemons of which the broker hangs, as long as `body` runs.
        private func whileItHangs(_ stage: Stage, _ body: () throws -> Void) throws {
            let broker = try #require(stage.broker)
            try broker.stop()
            defer { try? broker.signal(SIGCONT) }
            try body()
        }

        @Test(arguments: [["status"], ["status", "--limits"], ["apps"], ["tasks"]])
        func whoLooksIsTold(_ arguments: [String]) throws {
            let stage = try Stage()
            try self.whileItHangs(stage) {
                let command = try BackgroundProgram("jostle", arguments, environment: stage.environment)
                let end = try command.waitForEnd()
                #expect(end == .exited(3))
                let line = "the broker (org.jostle.Broker1) does not answer: it is stopped, busy or just gone"
                #expect(command.errors == "jostle: \(line)\n")
            }
        }

        /// The reader is well. What the apps wait for is not known, which is not that they wait for nothing.
        @Test func whoDrawsIsToldAndDraws() throws {
            let stage = try Stage()
            try self.whileItHangs(stage) {
                let command = try BackgroundProgram(
                    "jostle", ["scope", "--lines", "--for", "1s"], environment: stage.environment)
                let end = try command.waitForEnd()
                #expect(end == .exited(0))
                let said = command.output
                #expect(said.contains("; the broker (org.jostle.Broker1) does not answer: "), "\(said)")
                // It is the line of the first second, or of the one in which a busy machine let it go on.
                #expect(said.contains(#/\n[0-9]+ s  norm\(x, y, z\) /#), "\(said)")
            }
        }

        /// It hangs before it is asked whether the sensor has come.
        @Test(arguments: [["watch", "shake"], ["on", "shake", "--", "true"]])
        func whoWaitsForASensorEndsWhenToldTo(_ arguments: [String]) throws {
            let stage = try Stage(source: nil)
            let program = try BackgroundProgram("jostle", arguments, environment: stage.environment)
            let stream = arguments[0] == "watch" ? BackgroundProgram.Stream.output : .errors
            _ = try program.waitForLine(on: stream) { $0.contains("available=no") }
            try self.whileItHangs(stage) {
                usleep(1_500_000)
                let end = try program.terminate()
                #expect(end == .exited(0))
            }
        }

        @Test func whoShakesIsDone() throws {
            let stage = try Stage()
            try self.whileItHangs(stage) {
                let command = try BackgroundProgram("jostle", ["shake"], environment: stage.environment)
                let end = try command.waitForEnd()
                #expect(end == .exited(0))
            }
        }

        @Test func whoEndsTheForegroundIsDone() throws {
            let stage = try Stage()
            let shell = try BackgroundProgram("jostle", ["foreground", "--none"], environment: stage.environment)
            _ = try shell.waitForLine { $0.hasPrefix("no app is in the foreground") }
            try self.whileItHangs(stage) {
                let end = try shell.terminate()
                #expect(end == .exited(0))
            }
        }
    }
}
