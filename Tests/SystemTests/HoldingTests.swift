import Glibc
import JostleClient
import TestSupport
import Testing

extension EndToEnd {
    /// What keeps an app going in the background: assertions and activities, each a descriptor.
    @Suite(.serialized) struct Holding {
        private static let app = "org.example.App"
        private static let root = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"
        private static let object = "org.jostle.Broker1 \(Stage.Object.app(app)) org.jostle.Broker1.App"
        private static let register = ["app own \(app)", "app call \(root) Register sa{sv} ['\(app)',{}]"]
        /// An assertion of which the app is told early.
        private static let begin = beginning(warning: 1_200_000)
        /// One of which it is told after 300 ms in the background, and which goes on for nearly a minute then: what is
        /// done at the warning may take its time.
        private static let (long, early) = ("AssertionBudget=1min", beginning(warning: 59_700_000))
        private static func beginning(warning: Int) -> String {
            "app call \(self.object) BeginAssertion sa{sv} ['save',{'warning':V('t',\(warning))}]"
        }
        private static let toBack = "shell call \(root) SetForeground sa{sv} ['',{}]"
        private static let toFront = "shell call \(root) SetForeground sa{sv} ['\(app)',{}]"
        /// Waits for `go`.
        private static let gate = ["gate own org.example.Gate", "gate hear"]
        private static let wait = "gate await 1"

        /// The rules of the phone with a short budget, and the right to play audio.
        private func stage(_ keys: String = "AssertionBudget=1500ms") throws -> Stage {
            let stage = try Stage(source: nil, broker: false)
            let rules = try Tool.run(["cat", Programs.source("policies/10-default.conf")]).stdout
            try stage.startBroker(
                policy: rules + "\n[App *]\nGrants=audio push\n\(keys)\n",
                apps: [Self.app: "[App]\nUsage=Plays music while you walk\nModes=audio bluetooth\n"])
            return stage
        }

        private func go(_ stage: Stage) throws {
            let go = try stage.run([
                "dbus-send", "--session", "--type=signal", "--dest=org.example.Gate", "/", "org.example.Test.Go",
            ])
            #expect(go.status == 0)
        }

        private func start(_ stage: Stage, _ steps: [String]) throws -> BackgroundProgram {
            try stage.startScript(Self.gate + Self.register + steps)
        }

        private func property(_ name: String, _ stage: Stage) throws -> String {
            try stage.property(name, at: Stage.Object.app(Self.app))
        }

        /// The pipes of the broker; other descriptors come and go with its files.
        private func descriptors(_ stage: Stage) throws -> Int {
            let broker = try #require(stage.broker)
            return try Tool.run(["ls", "-l", "/proc/\(broker.pid)/fd"]).stdout.split(separator: "\n").filter {
                $0.contains("pipe:")
            }.count
        }

        // MARK: How an assertion ends

        @Test func itIsAnnouncedAndEndsAtItsDeadline() throws {
            // From the word to the end is longer than a machine stands still.
            let warning = 2_700_000
            let stage = try self.stage("AssertionBudget=3s")
            let script = try self.start(
                stage,
                [
                    "app hear AssertionExpiring", Self.beginning(warning: warning), Self.toBack, "app await 1",
                    "app ended",
                ])
            try script.waitUntilSaid("staying")
            let lines = script.output.split(separator: "\n").map(String.init)
            try #require(lines.count == 6, "\(script.output)")
            // In the foreground nothing of it is used.
            #expect(!lines[1].contains("deadline") && lines[1].contains("\"background-time-remaining\": \(UInt64.max)"))
            let told = try #require(lines[3].firstMatch(of: /^app heard :[0-9.]+ AssertionExpiring (.*)$/)?.1)
            let match = told.firstMatch(of: /^\["save", {"number": 1, "remaining": ([0-9]+)}\]$/)
            let left = try #require(match.flatMap { Int($0.1) })
            #expect((1...warning).contains(left))
            #expect(lines[4] == "app ended")
            #expect(try self.property("State", stage) == "s \"suspended\"")
            #expect(try self.property("StateCause", stage) == "s \"overrun\"")
            #expect(try self.property("Overruns", stage) == "t 1")
            #expect(try self.property("Assertions", stage) == "aa{sv} 0")
            #expect(try self.property("BackgroundTimeRemaining", stage) == "t 0")
            let shown = try stage.jostle("app", Self.app).stdout
            #expect(shown.contains(" ago): it did not end an assertion or a task in time\n"), "\(shown)")
            #expect(shown.contains("\n  overruns    1 assertions that it did not end in time\n"), "\(shown)")
        }

        @Test func closingItEndsIt() throws {
            let stage = try self.stage("AssertionBudget=1h")
            let script = try self.start(
                stage,
                [
                    Self.toBack.replacing("''", with: "'\(Self.app)'"), Self.begin, Self.toBack, "say held", Self.wait,
                    "app drop",
                ])
            _ = try script.waitForLine { $0 == "held" }
            #expect(try self.property("State", stage) == "s \"background\"")
            #expect(
                try self.property("Assertions", stage).hasPrefix(
                    "aa{sv} 1 3 \"name\" s \"save\" \"number\" t 1 \"remaining\" t 35"))
            let remaining = try stage.count("BackgroundTimeRemaining", at: Stage.Object.app(Self.app))
            #expect((3_500_000_000...3_600_000_000).contains(remaining))
            let shown = try stage.jostle("app", Self.app).stdout
            #expect(shown.contains("\n  granted     audio\n  assertion   save: lasts another 59 min\n"), "\(shown)")
            try self.go(stage)
            try stage.until("it is suspended") { try self.property("State", stage) == "s \"suspended\"" }
            #expect(try self.property("StateCause", stage) == "s \"grace\"")
            #expect(try self.property("Overruns", stage) == "t 0")
        }

        /// The name counts, whoever else holds the descriptor.
        @Test func itEndsWithTheNameAlsoWhenAForkedChildStillHoldsIt() throws {
            let stage = try self.stage("AssertionBudget=1h")
            let before = try self.descriptors(stage)
            let script = try self.start(
                stage,
                [Self.begin, "app child", "app drop", Self.toBack, "say held", Self.wait, "app leave", "say left"])
            let child = try script.waitForLine { $0.hasPrefix("app child ") }.dropFirst("app child ".count)
            _ = try script.waitForLine { $0 == "held" }
            // The child keeps it.
            #expect(try self.property("State", stage) == "s \"background\"")
            #expect(try self.property("Assertions", stage).hasPrefix("aa{sv} 1 3 \"name\" s \"save\" "))
            #expect(try self.descriptors(stage) == before + 1)
            try self.go(stage)
            _ = try script.waitForLine { $0 == "left" }
            try stage.until("the assertion is gone") { try self.descriptors(stage) == before }
            #expect(try self.property("State", stage) == "s \"dead\"")
            #expect(Glibc.kill(try #require(Int32(child)), 0) == 0, "the child is still there")
            // Whoever has the name next has nothing of it.
            let next = try stage.startScript([
                "next own \(Self.app)", "next call \(Self.root) Register sa{sv} ['\(Self.app)',{}]",
            ])
            try next.waitUntilSaid("staying")
            #expect(try self.property("Assertions", stage) == "aa{sv} 0")
        }

        @Test func noAssertionSurvivesItsProcess() throws {
            let stage = try self.stage("AssertionBudget=1h")
            let before = try self.descriptors(stage)
            let script = try self.start(
                stage, [Self.begin, Self.begin, "app call \(Self.object) BeginActivity sa{sv} ['audio',{}]"])
            try script.waitUntilSaid("staying")
            // The answers' own ends are closed once they are sent, which the script knows before the broker.
            try stage.until("only what is held is left") { try self.descriptors(stage) == before + 3 }
            try stage.kill(script)
            try stage.until("all is gone") { try self.descriptors(stage) == before }
            #expect(try self.property("State", stage) == "s \"dead\"")
            #expect(try self.property("Assertions", stage) == "aa{sv} 0")
            #expect(try self.property("Activities", stage) == "as 0")
        }

        @Test func comingBackToTheForegroundEndsIt() throws {
            let stage = try self.stage("AssertionBudget=1h")
            let script = try self.start(stage, [Self.begin, Self.toBack, Self.toFront, "app ended"])
            try script.waitUntilSaid("staying")
            #expect(try self.property("State", stage) == "s \"foreground\"")
            #expect(try self.property("Assertions", stage) == "aa{sv} 0")
            #expect(try self.property("Overruns", stage) == "t 0")
        }

        // MARK: Activities

        /// The article's recipe: at the warning begin to play audio, then end the assertion; no moment without either.
        @Test func anActivityTakesOverWithoutASuspendedMoment() throws {
            let stage = try self.stage(Self.long)
            let play = "app call \(Self.object) BeginActivity sa{sv} ['audio',{}]"
            let script = try self.start(
                stage,
                [
                    "app hear PropertiesChanged AssertionExpiring", Self.early, Self.toBack,
                    // The assertion, the change of the state, and the warning.
                    "app await 3", play, "app drop 0", "app await 1", Self.wait, Self.toFront, "app await 1",
                ])
            try stage.until("the assertion is ended and the activity goes on") {
                try self.property("Assertions", stage) == "aa{sv} 0"
                    && self.property("Activities", stage) == "as 1 \"audio\""
            }
            #expect(try self.property("State", stage) == "s \"background\"")
            #expect(try stage.count("BackgroundTimeRemaining", at: Stage.Object.app(Self.app)) == .max)
            #expect(try stage.jostle("app", Self.app).stdout.contains("\n  at work     audio\n"))
            try self.go(stage)
            try script.waitUntilSaid("staying")
            #expect(try self.property("Overruns", stage) == "t 0")
            // Coming back changes nothing about what it plays.
            #expect(try self.property("Activities", stage) == "as 1 \"audio\"")
            #expect(script.output.contains("\"background\"") && script.output.contains("AssertionExpiring"))
            #expect(!script.output.contains("suspended"))
        }

        @Test func anActivityEndsWithItsDescriptor() throws {
            let stage = try self.stage()
            let play = "app call \(Self.object) BeginActivity sa{sv} ['audio',{}]"
            let script = try self.start(stage, [play, Self.toBack, "say plays", Self.wait, "app drop"])
            _ = try script.waitForLine { $0 == "plays" }
            #expect(try self.property("State", stage) == "s \"background\"")
            try self.go(stage)
            try stage.until("it is suspended") { try self.property("State", stage) == "s \"suspended\"" }
            #expect(try self.property("Activities", stage) == "as 0")
        }

        // MARK: Refusals

        @Test func whatMayNotBeBegunIsRefusedWithItsReason() throws {
            let stage = try self.stage("AssertionBudget=1s\nAssertionsPerHour=2\nGrace=1h")
            let begin = "app call \(Self.object) BeginAssertion sa{sv} ['a',{}]"
            let lines = try stage.script(
                Self.register + [
                    Self.begin, "app drop", begin, "app drop", begin,
                    "shell call \(Self.root) SetState ssa{sv} ['\(Self.app)','suspended',{}]", begin,
                    "app call \(Self.object) BeginActivity sa{sv} ['audio',{}]",
                ])
            try #require(lines.count == 7, "\(lines)")
            let denied = "app error org.freedesktop.DBus.Error."
            #expect(lines[3].hasPrefix("\(denied)LimitsExceeded: ") && lines[3].hasSuffix("AssertionsPerHour is 2"))
            for line in lines[5...6] { #expect(line.hasPrefix("\(denied)AccessDenied: the app is suspended")) }
        }

        /// Asking is not getting, and what is not asked for is not to be had.
        @Test func aModeMustBeDeclaredAndGranted() throws {
            let stage = try self.stage()
            func begin(_ mode: String) -> String { "app call \(Self.object) BeginActivity sa{sv} ['\(mode)',{}]" }
            let script = try self.start(stage, [begin("audio"), begin("push"), begin("bluetooth"), begin("voip")])
            try script.waitUntilSaid("staying")
            let lines = script.output.split(separator: "\n").map(String.init)
            try #require(lines.count == 6, "\(script.output)")
            #expect(lines[1] == "app ok [0, {\"keeps-going\": true, \"number\": 1}]")
            let denied = "app error org.freedesktop.DBus.Error.AccessDenied: "
            let place = "Modes in apps.d/APPID.conf; one with an error says nothing"
            #expect(lines[2] == "\(denied)the app file does not ask for push: \(place)")
            #expect(lines[3] == "\(denied)policy does not grant bluetooth: Grants in its [App] section")
            #expect(lines[4].hasPrefix("\(denied)the app file does not ask for voip"))
            #expect(try self.property("Grants", stage) == "as 1 \"audio\"")
            #expect(try self.property("Usage", stage) == "s \"Plays music while you walk\"")
            #expect(try stage.jostle("app", Self.app).stdout.contains("\n  usage       Plays music while you walk\n"))
        }

        /// One with an error in it says nothing, and the log says where.
        @Test func aBrokenAppFileGivesNothing() throws {
            let stage = try Stage(source: nil, broker: false)
            let rules = try Tool.run(["cat", Programs.source("policies/10-default.conf")]).stdout
            try stage.startBroker(
                policy: rules + "\n[App *]\nGrants=audio\n",
                apps: [Self.app: "[App]\nUsage=x\nModes=audio adio\n", "org.example.Quiet": "[App]\nModes=audio\n"])
            let lines = try stage.script(
                Self.register + [
                    "app call \(Self.object) BeginActivity sa{sv} ['audio',{}]", "quiet own org.example.Quiet",
                    "quiet call \(Self.root) Register sa{sv} ['org.example.Quiet',{}]",
                ])
            try #require(lines.count == 3)
            // Whoever reads only this, and finds the mode in the file, is to look for the error.
            #expect(lines[1].contains("the app file does not ask for audio") && lines[1].contains("one with an error"))
            let broker = try #require(stage.broker)
            let file = "\(stage.bus.directory)/apps/\(Self.app).conf"
            _ = try broker.waitForLine(on: .errors) {
                $0.contains("\(file):3:13: error E001") && $0.contains("did you mean 'audio'?")
            }
            _ = try broker.waitForLine(on: .errors) { $0.contains("org.example.Quiet.conf:1:1: error E056") }
            // The tool says the same.
            let check = try stage.jostle(
                "policy", "check", "--app-files", "\(stage.bus.directory)/apps",
                Programs.source("policies/examples/02-most-specific"))
            #expect(check.status == 1 && check.stderr == "jostle: 2 errors, 0 warnings\n", "\(check)")
            #expect(check.stdout.contains("\(file):3:13: error E001") && check.stdout.contains("E056"))
        }

        @Test func theBudgetOfAStayIsSpentOnce() throws {
            let stage = try self.stage("AssertionBudget=1s\nGrace=1h")
            let script = try self.start(
                stage,
                [
                    "app call \(Self.object) BeginActivity sa{sv} ['audio',{}]", Self.begin, Self.toBack, "app ended",
                    "app call \(Self.object) BeginAssertion sa{sv} ['more',{}]", Self.toFront,
                    "app call \(Self.object) BeginAssertion sa{sv} ['again',{}]",
                ])
            try script.waitUntilSaid("staying")
            let lines = script.output.split(separator: "\n").map(String.init)
            try #require(lines.count == 9, "\(script.output)")
            #expect(
                lines[5]
                    == "app error org.freedesktop.DBus.Error.LimitsExceeded: the time in the background is used up "
                    + "until the app is in the foreground again: AssertionBudget is 1s")
            #expect(lines[7].hasPrefix("app ok ") && lines[7].contains("\"again\""))
        }

        /// A broker that has no descriptor left says so to whoever wants one, and goes on.
        @Test func withoutADescriptorLeftItIsRefused() throws {
            let stage = try Stage(source: nil, broker: false)
            let broker = try BackgroundProgram(tool: [
                "prlimit", "--nofile=32:32", Programs.path(of: "jostle-brokerd"), "--bus", stage.address,
            ])
            try Stage.waitUntilServing(broker)
            let begins = (0..<60).map { "app call \(Self.object) BeginAssertion sa{sv} ['a\($0)',{}]" }
            let script = try self.start(stage, begins + ["app drop 0", "app drop 0", begins[0]])
            try script.waitUntilSaid("staying")
            let lines = script.output.split(separator: "\n").map(String.init)
            try #require(lines.count == 63, "\(script.output)")
            #expect(lines[1].hasPrefix("app ok "))
            #expect(lines[60].contains("LimitsExceeded: no descriptor is left"), "\(lines[60])")
            #expect(try stage.jostle("apps").stdout.contains(Self.app))
            #expect(try broker.terminate() == .exited(0))
        }

        // MARK: The client library

        @Test func swiftHoldsOneForTheTimeOfAClosure() throws {
            let stage = try self.stage("AssertionBudget=1h")
            let client = try JostleApp(app: Self.app, on: .address(stage.address))
            try client.connect()
            #expect(try client.backgroundTimeRemaining() == nil)
            let shell = try stage.startScript(Self.toBack)
            try shell.waitUntilSaid("staying")
            // Suspended with nothing to keep it going: too late.
            let late = #expect(throws: JostleError.self) { try client.withAssertion("late") { _ in } }
            #expect(late?.kind == .refused && late?.message.contains("the app is suspended") == true)
            #expect(try shell.terminate() != .exited(0))
            try stage.until("it is in the foreground") { try self.property("State", stage) == "s \"foreground\"" }

            let result = try client.withAssertion("save") { assertion in
                let (name, deadline, isEnded) = (assertion.name, assertion.deadline, assertion.isEnded)
                #expect(name == "save" && deadline == nil && !isEnded)
                #expect(try self.property("Assertions", stage) == "aa{sv} 1 2 \"name\" s \"save\" \"number\" t 2")
                let again = try stage.startScript(Self.toBack)
                try again.waitUntilSaid("staying")
                #expect(try self.property("State", stage) == "s \"background\"")
                #expect(try #require(try client.backgroundTimeRemaining()) > .seconds(3_500))
                let inner = try client.beginAssertion("inner")
                let end = inner.deadline
                #expect(end != nil)
                inner.end()
                _ = try again.terminate()
                // Back in the foreground.
                let limit = ContinuousClock.now + .seconds(20)
                while !assertion.isEnded { try #require(ContinuousClock.now < limit) }
                return 7
            }
            #expect(result == 7)
            #expect(throws: Failure.self) { try client.withAssertion("fails") { _ in throw Failure("so") } }
            try stage.until("nothing is held") { try self.property("Assertions", stage) == "aa{sv} 0" }
            let activity = try client.beginActivity("audio")
            let (mode, isEnded) = (activity.mode, activity.isEnded)
            #expect(mode == "audio" && !isEnded)
            #expect(try stage.jostle("state", Self.app, "suspended").status == 0)
            let isEndedNow = activity.isEnded
            #expect(isEndedNow)
            #expect(throws: JostleError.self) { _ = try client.beginActivity("audio") }
        }

        @Test func withoutANameNothingIsHeld() throws {
            let stage = try self.stage()
            let client = try JostleApp(on: .address(stage.address))
            try client.connect()
            let refused = #expect(throws: JostleError.self) { try client.withAssertion("a") { _ in } }
            #expect(refused?.kind == .refused && refused?.message.contains("without a name") == true)
        }

        /// The same in Python.
        @Test func thePythonExampleStopsInTime() throws {
            // It stops a second before the end, and is looked at in the background before that.
            let stage = try self.stage("AssertionBudget=6s")
            let example = try BackgroundProgram(
                tool: ["python3", Programs.source("docs/examples/background.py"), Self.app, "60"],
                environment: stage.environment)
            _ = try example.waitForLine { $0 == "working" }
            #expect(try self.property("Assertions", stage) == "aa{sv} 1 2 \"name\" s \"example\" \"number\" t 1")
            let shell = try stage.startScript(Self.toBack)
            try shell.waitUntilSaid("staying")
            #expect(try self.property("State", stage) == "s \"background\"")
            _ = try example.waitForLine { $0 == "stopped in time" }
            #expect(try example.waitForEnd() == .exited(0))
            _ = try shell.terminate()
            try stage.until("the report lapses") {
                try stage.property("ForegroundReported", at: Stage.Object.broker) == "b false"
            }
            let done = try stage.run(["python3", Programs.source("docs/examples/background.py"), Self.app, "0.01"])
            #expect(done == Tool.Result(status: 0, stdout: "working\ndone\n", stderr: ""))
        }

        @Test func swiftIsToldThatOneEndsSoon() throws {
            let stage = try self.stage(Self.long)
            let client = try JostleApp(app: Self.app, on: .address(stage.address))
            try client.connect()
            var told: [ExpiringAssertion] = []
            client.onExpiring = { expiring in
                told.append(expiring)
                client.stop()
            }
            let assertion = try client.beginAssertion("save", warning: .milliseconds(59_700))
            #expect(try stage.jostle("state", Self.app, "background").status == 0)
            try client.run()
            let isEnded = assertion.isEnded
            let number = assertion.number
            #expect(told.map(\.name) == ["save"] && told.map(\.number) == [number] && !isEnded)
            #expect(told.allSatisfy { $0.remaining > .zero && $0.remaining <= .milliseconds(59_700) })
            // The recipe: take over, then end it.
            let activity = try client.beginActivity("audio")
            assertion.end()
            #expect(try client.backgroundTimeRemaining() == nil)
            let isOver = activity.isEnded
            #expect(!isOver)
        }
    }
}
