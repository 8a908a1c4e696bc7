import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Apps that are not there are started for their events by a real bus, and told why.
    @Suite(.serialized) struct Wakes {
        private static let app = "org.example.Sleeper"
        private static let appFile =
            "[App]\nUsage=Tests\nModes=location push\n[Detector jolt]\npreset=shake.planar\nthreshold=2.3g\n"

        /// A directory for what apps write, which goes with the value.
        private final class Log {
            let directory: String
            var path: String { "\(self.directory)/log" }

            init() throws {
                var name = Array("/tmp/jostle-wake-XXXXXX".utf8CString)
                self.directory = try #require(
                    name.withUnsafeMutableBufferPointer { buffer in
                        buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
                    })
            }

            deinit { try? FileManager.default.removeItem(atPath: self.directory) }

            var lines: [String] {
                ((try? String(contentsOfFile: self.path, encoding: .utf8)) ?? "").split(separator: "\n").map(
                    String.init)
            }
        }

        private static func policy(_ more: String = "", terms: String = "Lifespan=60s") -> String {
            """
            [Policy]
            Default=deny
            [App *]
            WakeTimeout=20s
            \(more)
            [Rule wake]
            WhenState=suspended dead
            Then=allow
            Deliver=wake
            \(terms)
            [Rule running]
            WhenState=foreground background
            Then=allow
            """
        }

        private static func service(_ name: String, _ log: Log, _ how: String) -> PrivateBus.Service {
            PrivateBus.Service(
                name: name,
                command: "/usr/bin/python3 \(Programs.source("Tests/Scripts/receiver.py")) \(name) \(log.path) \(how)")
        }

        private func stage(
            _ services: [PrivateBus.Service], policy: String = Self.policy(), apps: [String: String] = [app: appFile]
        ) throws -> Stage {
            let stage = try Stage(broker: false, services: services)
            try stage.startBroker(policy: policy, apps: apps)
            return stage
        }

        private func lastLaunch(_ stage: Stage, _ app: String = Self.app) throws -> String {
            let line = try stage.jostle("app", app, "--json").stdout
            guard let start = line.range(of: "\"last_launch\":") else { return "" }
            return String(line[start.upperBound...].prefix { $0 != "}" }) + "}"
        }

        /// The example apps as their service files start them.
        static let examples = [
            "/usr/bin/env PYTHONPATH=\(Programs.source("Sources/python")) /usr/bin/python3 \(Programs.source("docs/examples/woken.py"))",
            Programs.path(of: "example-woken"),
        ]

        @Test(arguments: examples.indices)
        func aDeadAppIsStartedForAShakeAndToldWhy(_ index: Int) throws {
            let log = try Log()
            let command =
                "/bin/sh -c \"DBUS_SESSION_BUS_ADDRESS=$DBUS_STARTER_ADDRESS exec \(Self.examples[index]) \(Self.app) \(log.path)\""
            // One hit, however long it is shaken.
            let stage = try self.stage(
                [PrivateBus.Service(name: Self.app, command: command)], apps: [Self.app: Self.appFile + "rest=1min\n"])
            #expect(try stage.jostle("app", Self.app).stdout.contains("dead"))
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("it is launched") { log.lines.first == "launched for shake: jolt" }
            try stage.until("its answer is there") { try self.lastLaunch(stage).contains("\"result\":\"done\"") }
            #expect(try self.lastLaunch(stage).contains("\"reason\":\"shake\""))
            let why = try stage.jostle("explain", "last", "--json").stdout
            #expect(why.contains("S5.acknowledged"), "\(why)")
            #expect(log.lines == ["launched for shake: jolt"])
        }

        @Test func aKilledAppWithTheLocationRightIsRelaunchedByALocationEventAndToldWhy() throws {
            let log = try Log()
            let stage = try Stage(source: nil, broker: false, services: [Self.service(Self.app, log, "done")])
            let trace = "\(stage.bus.directory)/way.trace"
            var text = "# jostle trace 1\nt,location.latitude,location.longitude,location.speed\n"
            for second in 0..<600 { text += "\(second * 100),50.0,8.0,\(second < 100 ? 0 : 9)\n" }
            try text.write(toFile: trace, atomically: true, encoding: .utf8)
            let policy = Self.policy("[App \(Self.app)]\nWakeTimeout=20s\nGrants=location", terms: "WhenGrant=location")
            let file =
                "[App]\nUsage=Tests\nModes=location\n[Detector ride]\nsensor=location\nwhen=speed > 5m/s\nrest=1h\n"
            try stage.startBroker(policy: policy, apps: [Self.app: file])
            // It was there, and was killed.
            let first = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/own-name.py"), Self.app, stage.address])
            try stage.until("it has its name") {
                try stage.busctl(
                    "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner", "s", Self.app
                ).stdout == "b true\n"
            }
            try stage.kill(first)
            try stage.startReader("trace:\(trace)")
            try stage.until("it is relaunched") { log.lines.contains { $0.contains(" called location ride ") } }
        }

        /// What apps do wrong, and what is said of them.
        static let ill: [(how: String, result: String)] = [
            ("exits", "not-started"), ("hangs", "silent"), ("error", "refused"), ("nonsense", "refused"),
            ("silent", "silent"), ("dies", "left"), ("replaced", "silent"), ("leaves", "left"),
        ]

        /// An app that takes longer to start than its event is of use fails in no way of its own: where the machine is so slow, both have
        /// more time.
        @Test(arguments: ill.indices)
        func whoCannotBeLaunchedHasAVerdict(_ index: Int) throws {
            let (how, result) = Self.ill[index]
            do {
                try self.expectFailure(how, result, patience: 1)
            } catch let failure as Failure {
                print("once more, slower: \(failure)")
                try self.expectFailure(how, result, patience: 4)
            }
        }

        private func expectFailure(_ how: String, _ result: String, patience: Int) throws {
            let log = try Log()
            let policy = Self.policy(
                "[App \(Self.app)]\nWakeTimeout=\(2 * patience)s", terms: "Lifespan=\(1_500 * patience)ms")
            let stage = try self.stage([Self.service(Self.app, log, how)], policy: policy)
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("its failure is known") {
                try self.lastLaunch(stage).contains("\"result\":\"\(result)\"")
            }
            try stage.until("the event has its end") {
                try stage.jostle("explain", "last", "--app", Self.app, "--json").stdout.contains("S5.launch-failed")
            }
            #expect(try stage.jostle("why-not", Self.app).stdout.contains("S5.launch-failed"))
            #expect(stage.broker?.end == nil)
            // A shake has several hits, and each launch of the app began with a process.
            #expect(log.lines.count { $0.contains(" start ") } <= 2 * patience)
        }

        @Test func whoNobodyCanStartIsGivenUpAtOnce() throws {
            let stage = try self.stage([], policy: Self.policy(terms: "Lifespan=1h"))
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("it is given up") {
                try stage.jostle("explain", "last", "--app", Self.app, "--json").stdout.contains("S5.launch-failed")
            }
            #expect(try self.lastLaunch(stage).contains("\"result\":\"unknown\""))
        }

        /// Nobody says that an app has what it could not be launched for: not meanwhile, not in the end, not after a restart.
        @Test(arguments: [nil, "exits"], [true, false])
        func whatALaunchFailedForIsNotDelivered(_ how: String?, _ isGivenUp: Bool) throws {
            // Who cannot be started at all is given up at once.
            if how == nil, !isGivenUp { return }
            let log = try Log()
            let result = how == nil ? "unknown" : "not-started"
            let policy = Self.policy(
                "[App \(Self.app)]\nWakeTimeout=20s", terms: isGivenUp ? "Lifespan=2s" : "Lifespan=1h")
            let apps = [Self.app: Self.appFile + "rest=1min\n"]
            let stage = try Stage(broker: false, services: how.map { [Self.service(Self.app, log, $0)] } ?? [])
            try stage.startBroker(policy: policy, apps: apps, "--state-dir", stage.state)
            func explained(_ event: String = "last", _ how: String...) throws -> String {
                let said = try stage.jostle(["explain", event, "--app", Self.app] + how).stdout
                #expect(!said.contains("\"delivered\":true") && !said.contains("  DELIVERED"), "\(said)")
                return said
            }
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            let reason = isGivenUp ? "S5.launch-failed" : "S5.woken"
            try stage.until("its launches failed") {
                let said = try explained("last", "--json")
                return said.contains("\"reason\":\"\(reason)\"")
                    && (isGivenUp || !said.contains("\"launch_failures\":1,"))
                    && said.contains("\"last_failure\":\"\(result)\"")
            }
            let whyNot = try stage.jostle("why-not", Self.app, "--json").stdout
            #expect(whyNot.contains("\"last_epoch\":0,") && whyNot.contains("\"result\":\"\(result)\""), "\(whyNot)")
            #expect(!whyNot.contains("\"launch_failures\":0"), "\(whyNot)")
            let people = try explained()
            #expect(people.contains(isGivenUp ? "  given up " : "NOT DELIVERED YET  S5.woken"), "\(people)")
            #expect(isGivenUp || people.contains("  it waits since then; "), "\(people)")
            #expect(
                people.contains("failed: \(result)") || people.contains("launches failed, the last: \(result)"),
                "\(people)")
            #expect(try stage.jostle("why-not", Self.app).stdout.contains(" failed; the last, "))

            // The shake may go on under the next broker.
            let epoch = String(people.dropFirst("epoch ".count).prefix { $0.isNumber })
            #expect(try stage.broker?.terminate() == .exited(0))
            try stage.startBroker(policy: policy, apps: apps, "--state-dir", stage.state)
            let later = try explained(epoch, "--json")
            #expect(later.contains("\"reason\":\"\(reason)\"") && later.contains("\"made_us\""), "\(later)")
            #expect(later.contains("\"last_failure\":\"\(result)\""), "\(later)")
            let story = try explained(epoch)
            #expect(
                story.contains(isGivenUp ? "  given up " : "  the broker ended before the app had it; "), "\(story)")
            #expect(story.contains("failed: \(result)") || story.contains("the last: \(result)"), "\(story)")
            let fresh = try stage.jostle("why-not", Self.app, "--json").stdout
            #expect(fresh.contains("\"last_epoch\":0,"), "\(fresh)")
            // What the journal knows. The shake is over, unless the app was given up at once.
            if isGivenUp, how != nil {
                #expect(
                    fresh.contains("\"launches\":0,\"launch_failures\":0,\"past_failure\":{\"epoch\":\(epoch),"),
                    "\(fresh)")
                #expect(fresh.contains("\"last_failure\":\"\(result)\",\"made_us\":"), "\(fresh)")
                let line = try stage.jostle("why-not", Self.app).stdout
                #expect(
                    line.contains("  before this broker ") && line.contains(" failed: \(result), for epoch \(epoch) "),
                    "\(line)")
            }
        }

        @Test func aFailedLaunchIsTriedAgainWhileItsEventIsOfUse() throws {
            let log = try Log()
            let stage = try self.stage([Self.service(Self.app, log, "error")])
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("it is called again") { log.lines.count { $0.contains(" called shake ") } >= 3 }
            let calls = log.lines.filter { $0.contains(" called shake ") }
            #expect(!calls[0].contains("redelivered") && calls.dropFirst().allSatisfy { $0.contains("redelivered") })
            let times = calls.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }
            #expect(times[1] - times[0] >= 1 && times[2] - times[1] >= 2, "\(times)")
        }

        @Test func nobodyIsStartedWithoutARule() throws {
            let log = try Log()
            let policy =
                "[Policy]\nDefault=deny\n[Rule store]\nWhenState=dead\nThen=allow\nDeliver=store\nLifespan=60s\n"
            let stage = try self.stage([Self.service(Self.app, log, "done")], policy: policy)
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("it is stored") {
                try stage.jostle("explain", "last", "--app", Self.app, "--json").stdout.contains("S5.stored")
            }
            #expect(log.lines.isEmpty)
            #expect(try stage.bus.run(["busctl", "--address=\(stage.address)", "status", Self.app]).status != 0)
        }

        @Test func aSuspendedAppIsResumed() throws {
            let log = try Log()
            let stage = try self.stage([])
            let app = try BackgroundProgram(
                tool: [Programs.path(of: "example-woken"), Self.app, log.path], environment: stage.environment)
            try stage.until("it is there") { try stage.jostle("state", Self.app, "suspended").status == 0 }
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("it is called") { log.lines.first == "launched for shake: jolt" }
            try stage.until("its answer is there") { try self.lastLaunch(stage).contains("\"result\":\"done\"") }
            #expect(app.end == nil)
            #expect(try stage.jostle("app", Self.app).stdout.contains("suspended"))
        }

        /// Who owes an answer is not called once more, and the next best app has the event at once: behind all that was decided with it.
        @Test func whatIsHandedOnAtOnceComesInItsOrder() throws {
            let (silent, other) = ("org.example.Silent", "org.example.Other")
            let stage = try Stage(broker: false)
            try stage.startBroker(
                policy: """
                    [Policy]
                    Default=deny
                    [Group shakes]
                    Mode=exclusive
                    CommitWindow=300ms
                    EagerCommit=no
                    [App \(silent)]
                    WakeTimeout=1s
                    [Rule silent]
                    WhenApp=\(silent)
                    WhenState=suspended
                    Then=allow
                    Group=shakes
                    Strength=10
                    Deliver=wake
                    Lifespan=60s
                    [Rule shakes]
                    WhenApp=\(other)
                    WhenPreset=shake.planar
                    Then=allow
                    Group=shakes
                    [Rule others]
                    WhenApp=\(other)
                    Then=allow
                    """)
            let app = try stage.watch("shake.planar,threshold=2.3g", "--app", silent)
            #expect(try stage.jostle("state", silent, "suspended").status == 0)
            try app.stop()
            // The sample that closes the window of the group is a hit of the other one's second detector.
            let detectors =
                "[('shake',{'preset':V('s','shake.planar'),'threshold':V('d',2.3)}),"
                + "('still',{'when':V('s','abs(z) > 0.2g'),'every':V('t',20000),'rest':V('t',0)})]"
            let (broker, object) = ("org.jostle.Broker1", Stage.Object.app(other))
            let listener = try stage.startScript(
                "other own \(other)", "other hear Event",
                "other call \(broker) \(Stage.Object.broker) \(broker) Register sa{sv} ['\(other)',{}]",
                "other call \(broker) \(object) \(broker).App AddDetectors a(sa{sv}) [\(detectors)]")
            try listener.waitUntilSaid("staying")
            for failures: UInt64 in 1...3 {
                // Behind the last failure it is left alone for a second, and then for two.
                try stage.inject("rest 4s; shake peak=4g axis=x for=600ms")
                try stage.until("it did not answer", timeout: .seconds(30)) {
                    try stage.count("LaunchFailures", at: Stage.Object.app(silent)) >= failures
                }
            }
            func sequence(_ line: some StringProtocol) -> UInt64? {
                line.split(separator: " Event [[").last.flatMap { UInt64($0.prefix { $0.isNumber }) }
            }
            let sent = try stage.count("Delivered", at: object)
            _ = try listener.waitForLine { sequence($0).map { $0 >= sent } ?? false }
            _ = try listener.terminate()
            let numbers = listener.output.split(separator: "\n").compactMap { sequence($0) }
            #expect(listener.output.contains("\"shake\""))
            #expect(numbers == Array(1...UInt64(numbers.count)))
            try stage.kill(app)
        }

        /// Who owes an answer is not called with what comes next. When it goes on it is told that it never had that.
        @Test func whatNobodyWasCalledWithIsMissed() throws {
            let stage = try Stage(broker: false)
            try stage.startBroker(
                policy: """
                    [Policy]
                    Default=deny
                    [App *]
                    WakeTimeout=1s
                    [Rule wake]
                    WhenState=suspended
                    Then=allow
                    Deliver=wake
                    Lifespan=2s
                    [Rule running]
                    WhenState=foreground background
                    Then=allow
                    """)
            let app = try stage.watch("shake.planar,threshold=2.3g", "--app", Self.app)
            #expect(try stage.jostle("state", Self.app, "suspended").status == 0)
            try app.stop()
            for expired: UInt64 in 1...2 {
                try stage.inject("rest 2s; shake peak=4g axis=x for=600ms")
                try stage.until("it is too old") {
                    try stage.count("Expired", at: Stage.Object.app(Self.app)) >= expired
                }
            }
            #expect(try stage.count("LaunchFailures", at: Stage.Object.app(Self.app)) == 2)
            try app.signal(SIGCONT)
            #expect(try stage.jostle("state", Self.app, "foreground").status == 0)
            // The first it was called with.
            let gap = try app.waitForLine { $0.hasPrefix("{\"gap\":") }
            #expect(gap.hasPrefix("{\"gap\":1,\"first\":2,\"last\":2,"), "\(gap)")
            #expect(try stage.count("Gaps", at: Stage.Object.app(Self.app)) == 1)
            _ = try app.terminate()
        }

        /// What an app that dies has not answered starts it again at once: nobody calls the connection that is gone.
        @Test func whoDiesWithAnEventIsStartedForIt() throws {
            let log = try Log()
            let policy =
                "[Rule all]\nThen=allow\nDeliver=wake\nReliability=ack\nLifespan=60s\n[App *]\nWakeTimeout=20s\n"
            let stage = try self.stage(
                [Self.service(Self.app, log, "done")], policy: policy, apps: [Self.app: Self.appFile + "rest=1min\n"])
            let (broker, object) = ("org.jostle.Broker1", Stage.Object.app(Self.app))
            _ = try stage.script(
                "app own \(Self.app)", "app hear Event",
                "app call \(broker) \(Stage.Object.broker) \(broker) Register sa{sv} ['\(Self.app)',{}]",
                "app call \(broker) \(object) \(broker).App Subscribe a{sv} [{}]",
                "app call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor Inject sa{sv} "
                    + "['shake peak=3g axis=x for=0.5s',{}]",
                "app await 1")
            try stage.until("it is launched") { try self.lastLaunch(stage).contains("\"result\":\"done\"") }
            #expect(log.lines.contains { $0.contains(" called shake jolt ack,") }, "\(log.lines)")
            #expect(try stage.property("LaunchFailures", at: object) == "t 0")
        }

        // MARK: Push

        @Test func whoMayPushHasAnAppLaunched() throws {
            let log = try Log()
            let policy = Self.policy(
                "[App org.example.Mail]\nMayPush=yes\n[App \(Self.app)]\nGrants=push\nWakeTimeout=20s\n")
            let stage = try self.stage([Self.service(Self.app, log, "done")], policy: policy)
            let done = try stage.jostle("push", Self.app, "--app", "org.example.Mail")
            #expect(done.status == 0, "\(done)")
            #expect(log.lines.contains { $0.contains(" called push  - ") }, "\(log.lines)")
            #expect(try stage.jostle("push", Self.app).status == 4)
            #expect(try stage.jostle("push", Self.app, "--app", "org.example.Other").status == 4)
            #expect(try stage.jostle("push", "org.example.Nobody", "--app", "org.example.Mail").status == 1)
            #expect(try stage.jostle("push", "no", "--app", "org.example.Mail").status == 2)
            #expect(try stage.jostle("push", Self.app, "--app", ":1.1").status == 2)
        }

        @Test func aPushIsRefusedWithoutTheGrantAndFailsWithoutAnAnswer() throws {
            let log = try Log()
            let others = ["org.example.Silent", "org.example.Ungranted", "org.example.Unstarted"]
            let policy =
                "[App *]\nMayPush=yes\n"
                + ["Silent", "Unstarted"].map { "[App org.example.\($0)]\nMayPush=yes\nGrants=push\nWakeTimeout=1s\n" }
                .joined()
            let stage = try self.stage(
                [Self.service(others[0], log, "silent"), Self.service(others[1], log, "done")], policy: policy,
                apps: Dictionary(uniqueKeysWithValues: others.map { ($0, "[App]\nUsage=Tests\nModes=push\n") }))
            let silent = try stage.jostle("push", others[0])
            #expect(silent.status == 1 && silent.stderr.contains("did not answer in time"), "\(silent)")
            let ungranted = try stage.jostle("push", others[1])
            #expect(ungranted.status == 4 && ungranted.stderr.contains("does not grant push"), "\(ungranted)")
            let unstarted = try stage.jostle("push", others[2])
            #expect(unstarted.status == 1 && unstarted.stderr.contains("no D-Bus service file"), "\(unstarted)")
            #expect(!log.lines.contains { $0.hasPrefix(others[1]) })
        }

        /// Who pushes an app while it is being called for another push is answered with the next launch, as what comes of that.
        @Test func aPushIsAnsweredWithItsOwnLaunch() throws {
            let log = try Log()
            let stage = try self.stage(
                [Self.service(Self.app, log, "once")],
                policy: "[App *]\nMayPush=yes\n[App \(Self.app)]\nGrants=push\nWakeTimeout=8s\n")
            let first = try stage.start("push", Self.app, "--app", "org.example.Mail")
            try stage.until("it is called") { log.lines.contains { $0.contains(" called push ") } }
            let second = try stage.start("push", Self.app, "--app", "org.example.Chat")
            try stage.until("the other asks") {
                try stage.bus.run(["busctl", "--address=\(stage.address)", "status", "org.example.Chat"]).status == 0
            }
            usleep(300_000)
            try Data().write(to: URL(fileURLWithPath: log.path + ".gate"))
            #expect(try first.waitForEnd() == .exited(0))
            #expect(try second.waitForEnd() == .exited(1))
            #expect(log.lines.count { $0.contains(" called push ") } >= 2)
        }

        // MARK: Storm

        /// Apps with an event and a task are started once for both, and two at a time in all.
        @Test(.timeLimit(.minutes(3))) func oneStartServesAnEventAndATask() throws {
            let log = try Log()
            let names = (1...5).map { "org.example.App\($0)" }
            let file = Self.appFile.replacing("location push", with: "processing\nTasks=sync") + "rest=1h\n"
            let stage = try self.stage(
                names.map { Self.service($0, log, "works") },
                policy: Self.policy("Grants=processing\nTaskWindow=0\n"),
                apps: Dictionary(uniqueKeysWithValues: names.map { ($0, file) }))
            let broker = "org.jostle.Broker1"
            let lines = try stage.script(
                names.enumerated().flatMap { index, name in
                    [
                        "a\(index) own \(name)",
                        "a\(index) call \(broker) \(Stage.Object.broker) \(broker) Register sa{sv} ['\(name)',{}]",
                        "a\(index) call \(broker) \(Stage.Object.app(name)) \(broker).App SubmitTask ssa{sv} "
                            + "['sync','processing',{'earliest-begin':V('t',4000000000000000)}]",
                    ]
                })
            #expect(lines.count { $0.contains("durable") } == 2 * names.count, "\(lines)")
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("two are starting") { log.lines.count == 2 }
            for name in names { #expect(try stage.jostle("task", "run", name, "sync").status == 0) }
            #expect(log.lines.count == 2)
            try Data().write(to: URL(fileURLWithPath: log.path + ".gate"))
            try stage.until("all is done", timeout: .seconds(90)) {
                log.lines.count { $0.contains(" answer ") } == names.count
                    && log.lines.count { $0.contains(" task sync ") } == names.count
            }
            #expect(log.lines.count { $0.contains(" start ") } == names.count, "\(log.lines)")
            #expect(Self.mostAtOnce(log.lines, until: "registers") == 2, "\(log.lines)")
        }

        /// How many apps were between their start and another step at any time.
        private static func mostAtOnce(_ lines: [String], until step: String) -> Int {
            var starting: Set<String> = []
            var most = 0
            for words in lines.map({ $0.split(separator: " ").map(String.init) }) {
                if words[1] == "start" { starting.insert(words[0]) }
                if words[1] == step { starting.remove(words[0]) }
                most = max(most, starting.count)
            }
            return most
        }

        /// 50 dead apps, one shake: at most two are starting at any time, and the strongest are first.
        @Test(.timeLimit(.minutes(4))) func aStormOfStartsIsHeldBack() throws {
            let log = try Log()
            let names = (10..<60).map { "org.example.App\($0)" }
            var policy = "[Policy]\nDefault=deny\n[App *]\nWakeTimeout=60s\n[Group all]\nMode=broadcast\n"
            for (index, name) in names.enumerated() {
                policy +=
                    "[Rule \(index)]\nWhenApp=\(name)\nThen=allow\nDeliver=wake\nLifespan=10min\nGroup=all\nStrength=\(index)\n"
            }
            let file = "[App]\nUsage=Tests\n[Detector jolt]\npreset=shake.planar\nthreshold=2.3g\nrest=1h\n"
            let stage = try self.stage(
                names.map { Self.service($0, log, "done") }, policy: policy,
                apps: Dictionary(uniqueKeysWithValues: names.map { ($0, file) }))
            // What the broker asks of the bus; when whoever is started comes to a processor is another matter.
            let starts = try BackgroundProgram(tool: [
                "busctl", "--address=\(stage.address)", "monitor", "--match=member='StartServiceByName'",
            ])
            _ = try starts.waitForLine(on: .errors) { $0.hasPrefix("Monitoring bus message stream") }
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("all have answered", timeout: .seconds(180)) {
                log.lines.count { $0.contains(" answer ") } == names.count
            }
            #expect(Self.mostAtOnce(log.lines, until: "answer") == 2)
            #expect(log.lines.count { $0.contains(" start ") } == names.count, "\(log.lines)")
            var order: [String] = []
            while order.count < names.count {
                let line = try starts.waitForLine { $0.contains("STRING \"org.example.App") }
                order.append(String(line.split(separator: "\"")[1]))
            }
            #expect(order == names.reversed())
        }
    }
}
