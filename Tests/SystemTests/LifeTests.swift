import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// What state apps are in, who says so, and what they hear there.
    @Suite(.serialized) struct Lives {
        private static let front = "org.example.Front"
        private static let back = "org.example.Back"
        private static let broker = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"

        private func state(_ app: String, _ stage: Stage) throws -> String {
            let state = try stage.property("State", at: Stage.Object.app(app))
            return "\(state) \(try stage.property("StateCause", at: Stage.Object.app(app)))"
        }

        private func rootCall(_ stage: Stage, _ arguments: String...) throws -> Tool.Result {
            try stage.busctl(["call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1"] + arguments)
        }

        // MARK: The foreground

        @Test func untilSomebodyReportsEveryAppIsInTheForeground() throws {
            let stage = try Stage()
            let apps = [
                try stage.watch(Stage.always, "--app", Self.front), try stage.watch(Stage.always, "--app", Self.back),
            ]
            #expect(try stage.property("ForegroundReported", at: Stage.Object.broker) == "b false")
            for name in [Self.front, Self.back] {
                #expect(try self.state(name, stage) == "s \"foreground\" s \"came\"")
            }
            for app in apps { _ = try app.nextEvent() }
        }

        /// The one that is in front hears everything; the other is suspended, and gets nothing until the reporter leaves.
        @Test func onlyTheForegroundAppHearsWhileSomebodyReports() throws {
            let stage = try Stage()
            let front = try stage.watch(Stage.always, "--app", Self.front)
            let back = try stage.watch(Stage.always, "--app", Self.back)
            let anonymous = try stage.watch(Stage.always)
            let reporter = try stage.startScript(
                "shell call \(Self.broker) SetForeground sa{sv} ['\(Self.front)',{}]")
            try reporter.waitUntilSaid("staying")
            #expect(reporter.output.hasPrefix("shell ok []\n"))
            #expect(try stage.property("Foreground", at: Stage.Object.broker) == "s \"\(Self.front)\"")
            #expect(try stage.property("ForegroundReported", at: Stage.Object.broker) == "b true")
            #expect(try self.state(Self.front, stage) == "s \"foreground\" s \"came\"")
            #expect(try self.state(Self.back, stage) == "s \"suspended\" s \"grace\"")
            #expect(try stage.jostle("status").stdout.contains("\n\(Self.front) is in the foreground\n"))
            let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.back))
            let denied = try stage.count("Denied", at: Stage.Object.app(Self.back))
            try stage.until("the other app is denied") {
                try stage.count("Denied", at: Stage.Object.app(Self.back)) >= denied + 5
            }
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.back)) == delivered)
            let explained = try stage.jostle("explain", "last", "--app", Self.back).stdout
            #expect(explained.contains("NOT DELIVERED  S1.suspended"), "\(explained)")
            _ = try front.nextEvent()
            _ = try anonymous.nextEvent()

            _ = try reporter.terminate()
            try stage.until("the report lapses") {
                try stage.property("ForegroundReported", at: Stage.Object.broker) == "b false"
            }
            #expect(try self.state(Self.back, stage) == "s \"foreground\" s \"foreground\"")
            try stage.until("it hears again") {
                try stage.count("Delivered", at: Stage.Object.app(Self.back)) > delivered
            }
            _ = back
        }

        @Test func anotherReporterTakesOver() throws {
            let stage = try Stage()
            let app = try stage.watch(Stage.always, "--app", Self.front)
            let first = try stage.startScript(
                "shell call \(Self.broker) SetForeground sa{sv} ['\(Self.front)',{}]", "shell own org.example.First")
            try first.waitUntilSaid("staying")
            let second = try stage.startScript("shell call \(Self.broker) SetForeground sa{sv} ['',{}]")
            try second.waitUntilSaid("staying")
            #expect(try self.state(Self.front, stage) == "s \"suspended\" s \"grace\"")
            #expect(try stage.jostle("status").stdout.contains("\nno app that you may know of is in the foreground\n"))
            // The first has no say any more, not even by leaving. What we ask after the bus saw it go comes after what the
            // bus told the broker of it.
            _ = try first.terminate()
            try stage.until("the bus sees it go") {
                try stage.busctl(
                    "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner", "s",
                    "org.example.First"
                ).stdout == "b false\n"
            }
            #expect(try stage.property("ForegroundReported", at: Stage.Object.broker) == "b true")
            _ = try second.terminate()
            try stage.until("the report lapses") { try self.state(Self.front, stage).contains("foreground") }
            _ = app
        }

        /// Whoever policy names, and nobody else.
        @Test func policyNamesTheReporter() throws {
            let policy = "[Policy]\nDefault=allow\n\n[App org.example.Shell]\nMayReportForeground=yes\n"
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: policy)
            let lines = try stage.script(
                "other call \(Self.broker) SetForeground sa{sv} ['org.example.A',{}]",
                "other call \(Self.broker) SetState ssa{sv} ['org.example.A','auto',{}]",
                "other call \(Self.broker) SetLock sa{sv} ['locked',{}]",
                "shell own org.example.Shell", "shell call \(Self.broker) SetForeground sa{sv} ['org.example.A',{}]",
                "shell call \(Self.broker) SetLock sa{sv} ['locked',{}]")
            try #require(lines.count == 5)
            for line in lines[0...2] {
                #expect(
                    line == "other error org.freedesktop.DBus.Error.AccessDenied: "
                        + "only who has MayReportForeground in policy can say that")
            }
            #expect(lines[3...4].allSatisfy { $0 == "shell ok []" })
            let refused = try stage.jostle("lock")
            #expect(refused.status == 4 && refused.stderr.contains("MayReportForeground"))
        }

        /// On the system bus root may, and a stranger may not. Only root can play both.
        @Test(.enabled(if: geteuid() == 0)) func onTheSystemBusRootReports() throws {
            try PrivateBus.with(.system(policies: [Programs.source("dbus/org.jostle.conf")])) { bus in
                let broker = try BackgroundProgram(
                    "jostle-brokerd", ["--bus", "system"], environment: bus.environment)
                _ = try broker.waitForLine(on: .errors) { $0.hasSuffix("serving the system bus") }
                let call = [
                    "gdbus", "call", "--address", bus.address, "--dest", "org.jostle.Broker1", "--object-path",
                    Stage.Object.broker, "--method",
                ]
                for arguments in [["SetForeground", "org.example.A"], ["SetLock", "locked"]] {
                    let words = ["org.jostle.Broker1.\(arguments[0])", arguments[1], "{}"]
                    let refused = try Tool.run(Stage.nobody + call + words)
                    #expect(
                        refused.stderr.contains("only root, and who has MayReportForeground in policy, can say that"))
                    #expect(try Tool.run(call + words).status == 0)
                }
                #expect(try broker.terminate() == .exited(0))
            }
        }

        /// What the README says about who hears what is what the tool prints.
        @Test func theReadmeHasTheTableOfTheShippedRules() throws {
            let readme = try Tool.run([
                "sed", "-n", "/<!-- coverage -->/,/<!-- .coverage -->/p", Programs.source("README.md"),
            ])
            let lines = readme.stdout.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n")
            let table = try Tool.run([
                Programs.path(of: "jostle"), "policy", "coverage", "--markdown",
                Programs.source("policies/10-default.conf"),
            ])
            #expect(table.status == 0 && table.stdout == lines + "\n", "\(table.stdout)")
        }

        // MARK: By hand

        @Test func aStateCanBeSetByHand() throws {
            let stage = try Stage()
            let app = try stage.watch(Stage.always, "--app", Self.front)
            _ = try app.nextEvent()
            let changes = try BackgroundProgram(tool: [
                "busctl", "--address=\(stage.address)", "monitor", "--match=member='PropertiesChanged'",
            ])
            _ = try changes.waitForLine(on: .errors) { $0.hasPrefix("Monitoring bus message stream") }
            for word in ["background", "inactive", "suspended", "foreground"] {
                let result = try stage.jostle("state", Self.front, word)
                #expect(result == Tool.Result(status: 0, stdout: "", stderr: ""))
                #expect(try self.state(Self.front, stage) == "s \"\(word)\" s \"told\"")
                _ = try changes.waitForLine { $0.contains("STRING \"\(word)\"") }
            }
            #expect(try stage.jostle("state", Self.front, "suspended").status == 0)
            let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.front))
            let denied = try stage.count("Denied", at: Stage.Object.app(Self.front))
            try stage.until("it is denied") {
                try stage.count("Denied", at: Stage.Object.app(Self.front)) >= denied + 3
            }
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.front)) == delivered)
            let unique = try stage.uniqueName(Self.front)
            #expect(try stage.jostle("state", unique, "auto").status == 0)
            #expect(try self.state(Self.front, stage) == "s \"foreground\" s \"told\"")
            try stage.until("it hears again") {
                try stage.count("Delivered", at: Stage.Object.app(Self.front)) > delivered
            }
        }

        /// Under the lock screen the app in front is inactive, and the rules of the phone give it nothing.
        @Test func lockingMovesTheAppOutOfActiveUse() throws {
            let stage = try Stage()
            let app = try stage.watch(Stage.always, "--app", Self.front)
            _ = try app.nextEvent()
            #expect(try stage.jostle("lock") == Tool.Result(status: 0, stdout: "", stderr: ""))
            #expect(try stage.property("Locked", at: Stage.Object.broker) == "b true")
            #expect(try self.state(Self.front, stage) == "s \"inactive\" s \"lock\"")
            #expect(try stage.jostle("status").stdout.contains("\nthe screen is locked\n"))
            let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.front))
            let denied = try stage.count("Denied", at: Stage.Object.app(Self.front))
            try stage.until("it is denied") {
                try stage.count("Denied", at: Stage.Object.app(Self.front)) >= denied + 3
            }
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.front)) == delivered)
            #expect(try stage.jostle("unlock").status == 0)
            #expect(try self.state(Self.front, stage) == "s \"foreground\" s \"lock\"")
            try stage.until("it hears again") {
                try stage.count("Delivered", at: Stage.Object.app(Self.front)) > delivered
            }
        }

        // MARK: jostle app

        @Test func oneAppIsShown() throws {
            let stage = try Stage()
            let app = try stage.watch("\(Stage.always),name=one", "shake,name=other", "--app", Self.front)
            _ = try app.nextEvent()
            let shown = try stage.jostle("app", Self.front)
            #expect(shown.status == 0 && shown.stderr.isEmpty)
            let lines = shown.stdout.split(separator: "\n").map(String.init)
            try #require(lines.count == 5, "\(shown.stdout)")
            #expect(
                lines[0].hasPrefix("\(Self.front)  foreground since ") && lines[0].hasSuffix(" ago): it registered"))
            #expect(lines[1] == "  identity    proven by its name")
            #expect(lines[2] == "  detectors   one, other")
            #expect(lines[3].hasPrefix("  events      ") && lines[3].hasSuffix(" delivered, 0 denied, 0 dropped"))
            #expect(lines[4].hasPrefix("  last event  one ") && lines[4].contains(" ago), epoch "))

            #expect(try stage.jostle("state", Self.front, "suspended").status == 0)
            try stage.until("it is denied") { try stage.count("Denied", at: Stage.Object.app(Self.front)) > 0 }
            let refused = try stage.jostle("app", try stage.uniqueName(Self.front)).stdout
            #expect(refused.hasPrefix("\(Self.front)  suspended since "), "\(refused)")
            #expect(refused.contains(" ago): somebody said so\n") && refused.contains("\n  refused     S1.suspended "))
            let json = try stage.jostle("app", Self.front, "--json").stdout
            let code = """
                import json, sys
                app, = map(json.loads, sys.argv[1].splitlines())
                assert app["app"] == "org.example.Front" and app["state"] == "suspended" and app["state_cause"] == "told"
                assert app["state_since_us"] > 0 and app["identity"] == "name" and app["detectors"] == ["one", "other"]
                assert app["hits"] >= app["delivered"] >= 1 and app["denied"] >= 1 and app["dropped"] == 0
                assert app["last_event"]["detector"] == "one" and app["last_event"]["epoch"] > 0
                assert app["denials"][0]["reason"] == "S1.suspended"
                """
            let check = try stage.run(["python3", "-c", code, json])
            #expect(check == Tool.Result(status: 0, stdout: "", stderr: ""), "\(json)")
        }

        @Test func aClientWithoutANameIsShown() throws {
            let stage = try Stage()
            let app = try stage.watch("shake")
            let list = try self.rootCall(stage, "ListApps", "a{sv}", "0").stdout
            let path = String(try #require(list.split(separator: "\"").dropFirst().first))
            let unique = ":1." + (path.split(separator: "e").last.map(String.init) ?? "")
            let shown = try stage.jostle("app", unique).stdout
            #expect(shown.hasPrefix("a client without a name  foreground since "), "\(shown)")
            #expect(shown.contains("\n  identity    only its user is known\n"))
            #expect(!shown.contains("last event"))
            #expect(try app.terminate() == .exited(0))
        }
    }
}
