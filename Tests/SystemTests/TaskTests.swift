import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Background work that apps hand in, between real processes.
    @Suite(.serialized) struct Tasks {
        private static let app = "org.example.Feed"
        private static let file =
            "[App]\nUsage=Has the news before you look\nModes=fetch processing\nTasks=refresh tidy-up\n"
        private static let broker = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"
        private static let object = "org.jostle.Broker1 \(Stage.Object.app(app)) org.jostle.Broker1.App"

        private static func policy(interval: String = "300ms", time: String = "30s") -> String {
            """
            [App *]
            Grants=fetch processing
            RefreshInterval=\(interval)
            RefreshTime=\(time)
            ProcessingTime=\(time)
            TaskWindow=0
            """
        }

        private func stage(interval: String = "300ms", time: String = "30s", file: String = file) throws -> Stage {
            let stage = try Stage(source: nil, broker: false)
            try self.startBroker(stage, interval: interval, time: time, file: file)
            return stage
        }

        private func startBroker(
            _ stage: Stage, interval: String = "300ms", time: String = "30s", file: String = file
        ) throws {
            try stage.startBroker(
                policy: Self.policy(interval: interval, time: time), apps: [Self.app: file], "--state-dir", stage.state)
        }

        enum Example: String, CaseIterable, Sendable {
            case python, swift

            func start(_ stage: Stage) throws -> BackgroundProgram {
                switch self {
                case .python:
                    try BackgroundProgram(
                        tool: ["python3", Programs.source("docs/examples/refresh.py"), Tasks.app, "0.005"],
                        environment: stage.environment)
                case .swift:
                    try BackgroundProgram("example-refresh", [Tasks.app], environment: stage.environment)
                }
            }
        }

        /// Nobody is in the foreground, as long as the script is there.
        private func leaveAll(_ stage: Stage) throws -> BackgroundProgram {
            let shell = try stage.startScript("shell call \(Self.broker) SetForeground sa{sv} ['',{}]")
            try shell.waitUntilSaid("staying")
            return shell
        }

        private func outcomes(_ stage: Stage) throws -> String {
            try stage.property("TaskOutcomes", at: Stage.Object.app(Self.app))
        }

        private func tasks(_ stage: Stage) throws -> String { try stage.jostle("tasks", "--json").stdout }

        // MARK: The article

        /// The article's feed, as the demo shows it.
        @Test func theDemoGoesAsTheArticleSays() throws {
            let shown = try Tool.run([Programs.path(of: "jostle"), "demo", "refresh"])
            #expect(shown.status == 0, "\(shown.stdout)\(shown.stderr)")
            let words = [
                "registered: yes", "submitted", "the user leaves it", "begun: attempt 1", "done", "jostle task run",
                "the user ends it", "the user opens it", "expiring", "broken off",
            ]
            #expect(words.allSatisfy { shown.stdout.contains("\($0)\n") })
        }

        /// An app in the background is begun by the broker, submits again first thing, and is suspended afterwards.
        @Test(arguments: Example.allCases)
        func aRefreshIsBegunInTheBackgroundAndGoesOn(_ example: Example) throws {
            let stage = try self.stage(interval: "2s")
            let app = try example.start(stage)
            _ = try app.waitForLine { $0 == "submitted" }
            let shell = try self.leaveAll(stage)
            for _ in 0..<3 {
                _ = try app.waitForLine { $0 == "begun: attempt 1" }
                _ = try app.waitForLine { $0 == "submitted" }
                _ = try app.waitForLine { $0 == "done" }
            }
            try stage.until("three are done") {
                try self.outcomes(stage).split(separator: " ").count { $0 == "\"done\"" } >= 3
            }
            try stage.until("it is suspended again") {
                try stage.property("State", at: Stage.Object.app(Self.app)) == "s \"suspended\""
            }
            #expect(app.end == nil)
            _ = shell
        }

        /// Registering answers yes or no: the app file has to name the task.
        @Test func registeringATaskAnswersYesOrNo() throws {
            let stage = try self.stage(file: "[App]\nUsage=Has the news\nModes=fetch\nTasks=other\n")
            let refused = try stage.run([Programs.path(of: "example-refresh"), Self.app])
            #expect(refused == Tool.Result(status: 1, stdout: "registered: no\n", stderr: ""))
            let lines = try stage.script(
                "app own \(Self.app)", "app call \(Self.broker) Register sa{sv} ['\(Self.app)',{}]",
                "app call \(Self.object) SubmitTask ssa{sv} ['refresh','refresh',{}]",
                "app call \(Self.object) SubmitTask ssa{sv} ['other','processing',{}]")
            #expect(lines[1].contains("AccessDenied") && lines[1].contains("does not name the task 'refresh'"))
            #expect(lines[2].contains("the app file does not ask for processing"))
        }

        /// The debugger's call: one that waits for an hour is run now.
        @Test func oneIsLaunchedNow() throws {
            let stage = try self.stage(interval: "1h")
            let app = try Example.swift.start(stage)
            _ = try app.waitForLine { $0 == "submitted" }
            let shown = try stage.jostle("tasks").stdout
            #expect(shown.contains(Self.app) && shown.contains("refresh") && shown.contains("in 59 min"), "\(shown)")
            #expect(
                try stage.jostle("app", Self.app).stdout
                    .contains(#/task        refresh \(refresh\): waiting, 20[-0-9]+ [.:0-9]+ \(in 59 min\)/#))
            #expect(try stage.jostle("task", "run", Self.app, "refresh").status == 0)
            _ = try app.waitForLine { $0 == "done" }
            try stage.until("the log has it") {
                try stage.jostle("app", Self.app).stdout.contains("ran         refresh: done")
            }
            let missing = try stage.jostle("task", "run", Self.app, "tidy-up")
            #expect(missing.status == 1 && missing.stderr.contains("no task 'tidy-up' waits"))
        }

        /// An app that its user terminated runs none, also after the broker was started anew, until the user opens it.
        @Test func anAppThatItsUserTerminatedRunsNone() throws {
            let stage = try self.stage()
            let first = try Example.swift.start(stage)
            _ = try first.waitForLine { $0 == "submitted" }
            let shell = try self.leaveAll(stage)
            #expect(try stage.jostle("state", Self.app, "terminated").status == 0)
            try first.signal(9)
            #expect(try first.waitForEnd() == .killed(signal: 9))
            #expect(try self.tasks(stage).contains("\"waits_for\":[\"user\"]"))
            try stage.kill(stage.broker)
            try self.startBroker(stage)
            let other = try self.leaveAll(stage)
            try stage.until("the tasks are back") { try self.tasks(stage).contains("\"waits_for\":[\"user\"") }
            let refused = try stage.jostle("task", "run", Self.app, "refresh")
            #expect(refused.status == 4 && refused.stderr.contains("until the user opens it again"))
            let second = try Example.swift.start(stage)
            _ = try second.waitForLine { $0 == "submitted" }
            #expect(try self.tasks(stage).contains("\"waits_for\":[\"user\"]"))
            #expect(!second.output.contains("begun"))
            let opener = try stage.startScript("opener call \(Self.broker) SetForeground sa{sv} ['\(Self.app)',{}]")
            _ = try second.waitForLine { $0.hasPrefix("begun") }
            _ = (shell, other, opener)
        }

        /// Of a name that nobody has nothing can run, and nothing is kept.
        @Test func onlyAnAppWithTasksIsTerminated() throws {
            let stage = try self.stage()
            let app = try stage.watch(Stage.always, "--app", "org.example.Plain")
            let unknown = try stage.jostle("state", "org.example.Nobody", "terminated")
            #expect(unknown.status == 1 && unknown.stderr.contains("there is no app 'org.example.Nobody'"))
            #expect(try stage.jostle("state", "org.example.Plain", "terminated").status == 0)
            // Whoever has an app file may have tasks later.
            #expect(try stage.jostle("state", Self.app, "terminated").status == 0)
            func kept() throws -> String { try stage.sql("state.db", "SELECT app FROM terminated") }
            try stage.until("it is on the disk") { try !kept().isEmpty }
            #expect(try kept() == "\(Self.app)\n")
            _ = app
        }

        /// Of two users' apps of one name a user ends his own, though the other's is on the bus; a connection is that of whoever
        /// has it. Only root can play both.
        @Test(.enabled(if: geteuid() == 0)) func whoEndsAnAppMeansHisOwn() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            try self.startBroker(stage, interval: "1h")
            let submit = [
                "app own \(Self.app)", "app call \(Self.broker) Register sa{sv} ['\(Self.app)',{}]",
                "app call \(Self.object) SubmitTask ssa{sv} ['refresh','refresh',{}]",
            ]
            let own = try stage.script(submit)
            #expect(own.count == 2 && own.allSatisfy { $0.hasPrefix("app ok ") }, "\(own)")
            let other = try stage.startScript(as: Stage.nobody, submit)
            try other.waitUntilSaid("staying")
            #expect(!other.output.contains(" error "), "\(other.output)")
            func ended() throws -> [Substring] {
                try stage.sql("state.db", "SELECT user FROM terminated ORDER BY user").split(separator: "\n")
            }
            #expect(try stage.jostle("state", Self.app, "terminated").status == 0)
            try stage.until("it is on the disk") { try !ended().isEmpty }
            #expect(try ended() == ["0"])
            let answer = try stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "SetState", "ssa{sv}",
                try stage.uniqueName(Self.app), "terminated", "0")
            #expect(answer.status == 0, "\(answer.stderr)")
            try stage.until("the other's is, too") { try ended() == ["0", "65534"] }
        }

        // MARK: Starting

        /// An app that is not there is started by the bus for its task, and told of it once it has registered.
        @Test func anAppThatIsNotThereIsStarted() throws {
            let command = "\(Programs.path(of: "example-refresh")) \(Self.app)"
            let stage = try Stage(
                source: nil, broker: false, services: [PrivateBus.Service(name: Self.app, command: command)])
            try self.startBroker(stage, interval: "1s")
            let app = try Example.swift.start(stage)
            _ = try app.waitForLine { $0 == "submitted" }
            try app.signal(9)
            _ = try app.waitForEnd()
            try stage.until("it was run by the one that the bus started") {
                try self.outcomes(stage).contains("\"done\"")
            }
            #expect(try !self.outcomes(stage).contains("left"))
        }

        /// A task of an app that nobody can start waits for it, and is not tried.
        @Test func anAppThatNobodyCanStartIsWaitedFor() throws {
            let stage = try self.stage()
            let first = try Example.swift.start(stage)
            _ = try first.waitForLine { $0 == "submitted" }
            try first.signal(9)
            _ = try first.waitForEnd()
            try stage.until("it waits for the app") { try self.tasks(stage).contains("\"waits_for\":[\"app\"]") }
            let second = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/task-app.py"), Self.app],
                environment: stage.environment)
            _ = try second.waitForLine { $0.hasPrefix("begun: refresh, attempt ") }
        }

        /// A task that comes due while there is no bus waits for one, and is on the disk until then.
        @Test func aTaskOutlivesABusThatIsAway() throws {
            let stage = try Stage(source: nil, broker: false, replaceable: true)
            try stage.startBroker(
                policy: Self.policy(interval: "3s"), apps: [Self.app: Self.file], "--state-dir", stage.state,
                "--log-level", "debug")
            let broker = try #require(stage.broker)
            let first = try Example.swift.start(stage)
            _ = try first.waitForLine { $0 == "submitted" }
            try first.signal(9)
            _ = try first.waitForEnd()
            try stage.replaceBus {
                // Once more than a task is begun at most.
                for _ in 0..<4 {
                    _ = try broker.waitForLine(on: .errors) { $0.hasSuffix("is launched later: there is no bus") }
                }
            }
            try Stage.waitUntilServing(broker)
            #expect(try stage.sql("state.db", "SELECT count(*) FROM task").hasPrefix("1"))
            let second = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/task-app.py"), Self.app],
                environment: stage.environment)
            _ = try second.waitForLine { $0 == "begun: refresh, attempt 1" }
        }

        // MARK: Conditions

        /// UPower says whether the device runs on its battery, logind whether somebody uses it. Both are python-dbusmock's.
        @Test func aTaskWaitsForPowerAndForAQuietDevice() throws {
            let stage = try Stage(source: nil, broker: false)
            let system = ["DBUS_SYSTEM_BUS_ADDRESS": stage.address]
            let power = try BackgroundProgram(
                tool: ["python3", "-m", "dbusmock", "--template", "upower", "-p", "{\"OnBattery\": true}"],
                environment: system)
            let login = try BackgroundProgram(
                tool: ["python3", "-m", "dbusmock", "--template", "logind"], environment: system)
            try stage.bus.waitForName("org.freedesktop.UPower")
            try stage.bus.waitForName("org.freedesktop.login1")
            let session = ["org.freedesktop.login1", "/org/freedesktop/login1/session/c1"]
            func mock(_ arguments: [String]) throws {
                let result = try stage.busctl(["call"] + arguments)
                try #require(result.status == 0, "\(result.stderr)")
            }
            try mock(
                [
                    "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.DBus.Mock", "AddSession",
                    "ssusb",
                ]
                    + ["c1", "seat0", "\(getuid())", "me", "true"])
            func isIdle(_ isIdle: Bool) throws {
                try mock(
                    session + ["org.freedesktop.DBus.Mock", "UpdateProperties", "sa{sv}"]
                        + ["org.freedesktop.login1.Session", "1", "IdleHint", "b", "\(isIdle)"])
            }
            try isIdle(false)
            try self.startBroker(stage)
            let app = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/task-app.py"), Self.app, "--quiet", "tidy-up"],
                environment: stage.environment)
            try stage.until("it waits for both") {
                try self.tasks(stage).contains("\"waits_for\":[\"idle\",\"external-power\"]")
            }
            try isIdle(true)
            try stage.until("it waits for power") {
                try self.tasks(stage).contains("\"waits_for\":[\"external-power\"]")
            }
            try mock(
                ["org.freedesktop.UPower", "/org/freedesktop/UPower", "org.freedesktop.DBus.Mock", "UpdateProperties"]
                    + ["sa{sv}", "org.freedesktop.UPower", "1", "OnBattery", "b", "false"])
            _ = try app.waitForLine { $0 == "begun: tidy-up, attempt 1" }
            _ = (power, login)
        }

        // MARK: Crashes

        @Test func whatWaitsOutlivesTheBroker() throws {
            let stage = try self.stage()
            let far = 4_000_000_000_000_000
            let lines = try stage.script(
                "app own \(Self.app)", "app call \(Self.broker) Register sa{sv} ['\(Self.app)',{}]",
                "app call \(Self.object) SubmitTask ssa{sv} ['refresh','refresh',{'earliest-begin':V('t',\(far))}]",
                "app call \(Self.object) SubmitTask ssa{sv} ['tidy-up','processing',"
                    + "{'earliest-begin':V('t',\(far)),'idle':V('b',True),'external-power':V('b',True),"
                    + "'discretionary':V('b',True),'latest-begin':V('t',\(far + 1))}]")
            // Answered when it is on the disk.
            #expect(lines.dropFirst().allSatisfy { $0.contains("\"durable\": true") }, "\(lines)")
            let before = try self.tasks(stage)
            #expect(before.split(separator: "\n").count == 2)
            try stage.kill(stage.broker)
            try self.startBroker(stage)
            try stage.until("the tasks are back") { try self.tasks(stage) == before }
        }

        /// What was under way when the broker was killed says so when it is begun again.
        @Test func aTaskUnderWayIsBegunAgainWithASecondAttempt() throws {
            let stage = try self.stage(time: "60s")
            // Answers the call, and never says that it is done.
            let silent = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/task-app.py"), Self.app, "tidy-up"],
                environment: stage.environment)
            _ = try silent.waitForLine { $0 == "begun: tidy-up, attempt 1" }
            try stage.kill(stage.broker)
            try self.startBroker(stage)
            try stage.until("it waits again") { try self.tasks(stage).contains("\"attempt\":1") }
            try silent.signal(9)
            _ = try silent.waitForEnd()
            let next = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/task-app.py"), Self.app],
                environment: stage.environment)
            _ = try next.waitForLine { $0 == "begun: tidy-up, attempt 2" }
        }

        // MARK: Ends

        /// Who is told that its time ends, and says nothing, is suspended.
        @Test func whoSaysNothingIsSuspended() throws {
            let stage = try self.stage(interval: "0", time: "1s")
            // It is away when its time is over, however long this takes.
            let shell = try self.leaveAll(stage)
            let app = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/task-app.py"), Self.app, "tidy-up"],
                environment: stage.environment)
            _ = try app.waitForLine { $0 == "begun: tidy-up, attempt 1" }
            _ = try app.waitForLine { $0 == "expiring: tidy-up" }
            try stage.until("it is suspended") {
                try stage.property("State", at: Stage.Object.app(Self.app)) == "s \"suspended\""
            }
            #expect(try stage.property("StateCause", at: Stage.Object.app(Self.app)) == "s \"overrun\"")
            #expect(try self.outcomes(stage).contains("\"silent\""))
            _ = shell
        }

        /// After the warning it may still say that it broke off.
        @Test func whoBreaksOffInTimeIsNotSilent() throws {
            let stage = try self.stage(time: "2s")
            let app = try BackgroundProgram(
                "example-refresh", [Self.app, "--slow", "1"], environment: stage.environment)
            _ = try app.waitForLine { $0 == "broken off" }
            try stage.until("the broker knows") { try self.outcomes(stage).contains("\"cancelled\"") }
            #expect(try !self.outcomes(stage).contains("silent"))
        }
    }
}
