import Glibc
import Motion
import TestSupport
import Testing

extension Surroundings {
    /// `jostle doctor` on a real bus.
    @Suite(.serialized) struct Doctor {
        private func remarks(_ stage: Stage, status: Int32) throws -> [String] {
            let result = try stage.jostle("doctor", "--json")
            #expect(result.status == status, "\(result)")
            #expect(try kinds(of: result.stdout, from: "doctor") == [0])
            return result.stdout.split(separator: "\n").map(String.init)
        }

        @Test func aStageIsWell() throws {
            let stage = try Stage()
            #expect(try self.remarks(stage, status: 0).allSatisfy { !$0.contains("\"wrong\"") })
            let told = try stage.jostle("doctor", "--all").stdout
            #expect(
                told.contains("good: broker: the broker \(Version.text) (process \(stage.broker?.pid ?? 0), user"))
            #expect(told.contains("good: sensors: the reader has accelerometer (idle)"))
            #expect(told.hasSuffix("nothing is wrong; --all shows what was looked at\n"))
        }

        @Test func whatIsAwayOrSilentIsWrong() throws {
            let stage = try Stage(broker: false)
            #expect(
                try self.remarks(stage, status: 1).contains {
                    $0.hasPrefix("{\"area\":\"broker\",\"state\":\"wrong\"")
                        && $0.contains("jostle-brokerd &")
                })
            try stage.startBroker()
            let broker = try #require(stage.broker)
            try broker.stop()
            let silent = try self.remarks(stage, status: 1)
            #expect(
                silent.contains { $0.contains("the broker (process \(broker.pid)") && $0.contains("does not answer") })
            // What is named as its mend ends it, although it hears nothing.
            let mend = "kill -KILL \(broker.pid)"
            #expect(silent.contains { $0.contains("\"\(mend)\"") }, "\(silent)")
            #expect(try stage.run(["sh", "-c", mend]).status == 0)
            let end = try broker.waitForEnd()
            #expect(end == .killed(signal: SIGKILL))
            try stage.startBroker()
            #expect(try self.remarks(stage, status: 0).contains { $0.contains("\"area\":\"storage\"") })
        }

        @Test func aPolicyWithAnErrorIsShownWithItsPlace() throws {
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: "[Policy]\nDefault=allow\n")
            let directory = try stage.directory("policy", ["10-test": "[Policy]\nDefault=perhaps\n"])
            #expect(
                try self.remarks(stage, status: 1).contains {
                    $0.contains("\(directory)/10-test.conf:2:") && $0.contains("error E")
                })
        }

        /// What is typed after a shell's prompt, and each command that it names as a mend mends it.
        @Test(arguments: [true, false]) func whatIsNamedAsAMendMends(_ isTold: Bool) throws {
            let stage = try Stage()
            let bus = isTold ? ["--bus", stage.address] : []
            let environment = isTold ? ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"] : [:]
            func look() throws -> [String] {
                let result = try stage.jostle(["doctor"] + bus, environment: environment)
                #expect(result.status == 0, "\(result)")
                return result.stdout.split(separator: "\n").map(String.init)
            }
            for (command, text) in [
                ("pause", "note: apps: motion is switched off"), ("lock", "note: foreground: the screen"),
            ] {
                #expect(try stage.jostle(command).status == 0)
                let lines = try look()
                let place = try #require(lines.firstIndex { $0.hasPrefix(text) }, "\(lines)")
                let mend = lines[place + 1].drop { $0 == " " }
                #expect(mend.hasPrefix("jostle "))
                let typed = Programs.path(of: "jostle") + mend.dropFirst("jostle".count)
                let result = try stage.run(["sh", "-c", typed], environment: environment)
                #expect(result.status == 0, "\(typed): \(result)")
                #expect(try !look().contains { $0.hasPrefix(text) })
            }
        }

        @Test func aBusThatIsNotThereIsWrong() throws {
            let result = try Tool.run([Programs.path(of: "jostle"), "doctor", "--bus", "unix:path=/nonexistent"])
            #expect(result.status == 1)
            #expect(result.stdout.hasPrefix("wrong: bus: the bus at unix:path=/nonexistent cannot be reached"))
            #expect(result.stdout.split(separator: "\n").count { $0.hasPrefix("wrong: bus:") } == 1)
        }
    }
}
