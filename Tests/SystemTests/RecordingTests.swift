import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// What a live broker decided is decided again from what it wrote down.
    @Suite(.serialized) struct Recording {
        private static let first = "org.example.First"
        private static let second = "org.example.Second"
        private static let late = "org.example.Late"
        private static let broker = "org.jostle.Broker1 /org/jostle/Broker1"

        /// Who is asked has ten seconds to answer, for on a busy machine a script needs longer than an app is given by itself.
        private static let ordered = """
            [Group shake]
            Mode=ordered
            Select=strength
            CommitWindow=250ms
            AckTimeout=10s
            OrderBudget=30s
            Quiet=300ms

            [Rule first]
            WhenApp=org.example.First
            Then=allow
            Group=shake
            Strength=5

            [Rule all]
            Then=allow
            Group=shake

            """
        /// What is used of the quota does not come back while four motions are made, however long that takes.
        private static let exclusive = """
            [App *]
            Quota=3/1h burst 3

            [Group shake]
            Mode=exclusive
            Select=specificity
            CommitWindow=350ms
            Quiet=300ms

            [Rule all]
            Then=allow
            Group=shake

            """

        private func write(_ text: String, to path: String) throws {
            let file = try #require(fopen(path, "w"))
            fputs(text, file)
            try #require(fclose(file) == 0)
        }

        private func text(of path: String) throws -> String { try Tool.run(["cat", path]).stdout }

        @Test func aLiveRunIsDecidedAgainToTheByte() throws {
            let stage = try Stage(broker: false)
            let directory = stage.bus.directory
            for name in ["before", "policy"] { try #require(mkdir("\(directory)/\(name)", 0o755) == 0) }
            for name in ["before", "policy"] { try self.write(Self.ordered, to: "\(directory)/\(name)/10-test.conf") }
            let (scenario, log) = ("\(directory)/scenario", "\(directory)/log")
            try stage.startBroker(
                "--policy", "\(directory)/policy", "--record-inputs", scenario, "--decision-log", log)

            // It passes the first event on, and consumes the second. Its detector's name is three words.
            let object = Stage.Object.app(Self.first)
            let app = try stage.startScript(
                "app own \(Self.first)", "app hear Event",
                "app call \(Self.broker) org.jostle.Broker1 Register sa{sv} ['\(Self.first)',{}]",
                "app call org.jostle.Broker1 \(object) org.jostle.Broker1.App AddDetectors a(sa{sv}) "
                    + "[[['one two\\n3%',{'preset':V('s','shake.planar'),'threshold':V('d',2.5)}]]]",
                "app await 1",
                "app call org.jostle.Broker1 \(object) org.jostle.Broker1.App Ack ttsa{sv} [*heard[0][:2],'pass',{}]",
                "app await 1",
                "app call org.jostle.Broker1 \(object) org.jostle.Broker1.App Ack ttsa{sv} [*heard[0][:2],'consume',{}]"
            )
            for _ in 0..<2 { _ = try app.waitForLine { $0.hasPrefix("app ok") } }
            let second = try stage.watch("shake.planar,threshold=2.5g,name=hard", "--app", Self.second)
            let nameless = try stage.watch("shake.magnitude,threshold=2g,rest=0s,name=free")
            let other = try stage.watch("shake.planar,threshold=2g,name=free")

            try stage.inject("shake peak=4g for=600ms; rest 1s")
            _ = try app.waitForLine { $0.hasPrefix("app ok") }
            _ = try second.nextEvent()
            // Once the first motion is over and the detectors have rested.
            try stage.inject("rest 2.5s; shake peak=4g for=600ms; rest 1s")
            _ = try app.waitForLine { $0.hasPrefix("app ok") }
            // Having said it all, it leaves the bus.
            _ = try app.terminate()
            try stage.until("it is gone") { try !stage.property("Hits", at: object).hasPrefix("t ") }

            try self.write(Self.exclusive, to: "\(directory)/policy/10-test.conf")
            let reload = "reloader call \(Self.broker) org.jostle.Broker1 Reload a{sv} [{}]"
            #expect(try stage.script(reload) == ["reloader ok []"])
            for _ in 0..<4 {
                let denied = try stage.count("Denied", at: Stage.Object.app(Self.second))
                let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.second))
                try stage.inject("rest 2s; shake peak=4g for=400ms; rest 1s")
                try stage.until("it is decided") {
                    try stage.count("Denied", at: Stage.Object.app(Self.second)) > denied
                        || stage.count("Delivered", at: Stage.Object.app(Self.second)) > delivered
                }
            }
            // The reader goes and comes back, and a client without a name leaves and another comes.
            try stage.kill(stage.reader)
            #expect(try nameless.terminate() == .exited(0))
            try stage.startReader(Stage.rest)
            let late = try stage.watch("\(Stage.always),name=always", "--app", Self.late)
            try stage.until("it has a verdict") {
                try stage.count("Denied", at: Stage.Object.app(Self.late)) > 0
                    || stage.count("Delivered", at: Stage.Object.app(Self.late)) > 0
            }
            #expect(try late.terminate() == .exited(0))
            #expect(try stage.broker?.terminate() == .exited(0))
            _ = try? other.terminate()
            _ = try? second.terminate()

            let live = try self.text(of: log)
            let recorded = try self.text(of: scenario)
            for arguments in [[scenario], [scenario, "--policy", "\(directory)/before"]] {
                let again = try stage.jostle(["scenario"] + arguments)
                #expect(again.status == 0, "\(again.stderr)")
                #expect(again.stdout == live, "\(recorded)")
            }
            for part in [
                "deliver \(Self.first) one%20two%0A3%25 peak=", "\(Self.first) S5.passed rule=first at=10-test.conf:9",
                "S5.taken", "S4.consumed", "verdict -1 ", "verdict \(Self.second) S5.sent", "S3.quota", "S4.outranked",
                "verdict -2 ", "verdict \(Self.late) ", "policy=1\n", "policy=2\n",
            ] {
                #expect(live.contains(part), "\(part): \(live)")
            }
            // Nothing that belongs to this run alone.
            for text in [live, recorded] { #expect(!text.contains(":1."), "\(text)") }
            #expect(recorded.contains("\n| Quota=3/1h burst 3\n"))
            #expect(live.split(separator: "\n").allSatisfy { $0.split(separator: " ")[1].utf8.count < 12 })

            // Machines read the same.
            let json = try stage.jostle("scenario", scenario, "--json")
            #expect(json.stdout.split(separator: "\n").count == live.split(separator: "\n").count)
            #expect(json.stdout.contains(",\"what\":\"verdict\",\"app\":\"\(Self.first)\",\"reason\":\"S5.passed\","))
            try self.write(json.stdout, to: log)
            let checked = try Tool.run([
                "python3", "-c", "import json,sys; [json.loads(line) for line in open(sys.argv[1])]", log,
            ])
            #expect(checked.status == 0, "\(checked.stderr)")
        }

        /// What a scenario says first is in force from its beginning; another policy takes its place where it is asked for.
        @Test func aScenarioBeginsWithThePolicyThatItSays() throws {
            let stage = try Stage(broker: false)
            let (path, other) = ("\(stage.bus.directory)/own.scenario", "\(stage.bus.directory)/other.conf")
            try self.write(
                """
                # jostle scenario 1
                0s policy own.conf
                | [Policy]
                | Default=deny
                0s app org.example.App
                0s detector org.example.App d
                1s hit org.example.App d 2g

                """, to: path)
            try self.write("[Policy]\nDefault=allow\n", to: other)
            let own = try stage.jostle("scenario", path)
            #expect(own.status == 0 && own.stdout.contains("S2.no-rule policy=1"), "\(own)")
            let given = try stage.jostle("scenario", path, "--policy", other)
            #expect(given.status == 0 && given.stdout.contains("S5.sent policy=1"), "\(given)")
        }

        @Test func coverageIsShownInThreeWays() throws {
            let policies = Programs.source("policies")
            func jostle(_ words: String...) throws -> Tool.Result {
                try Tool.run([Programs.path(of: "jostle"), "policy", "coverage"] + words)
            }
            let text = try jostle(policies, "--app", "org.example.One")
            #expect(text.status == 0, "\(text.stderr)")
            #expect(text.stdout.hasPrefix("org.example.One\nthe app is  and has       other detectors  system.shake\n"))
            let page = try jostle(policies, "--markdown")
            #expect(page.stdout.contains("\n| background | an assertion | yes | no |\n"), "\(page.stdout)")
            let json = try jostle(policies, "--json")
            let cell =
                "{\"apps\":[\"any other app\"],\"state\":\"background\",\"locked\":null,\"right\":\"an assertion\","
                + "\"presets\":[\"system.shake\"],\"outcome\":\"no\",\"outcomes\":[\"no\"],"
                + "\"rules\":[\"system-shake \(policies)/10-default.conf:11\"]}"
            #expect(json.stdout.contains(cell), "\(json.stdout)")
            #expect(try jostle("/nowhere").status == 2)
        }

        /// A disk that is full ends the recording, not the broker.
        @Test func aFullDiskEndsTheRecording() throws {
            let stage = try Stage(broker: false)
            let log = "\(stage.bus.directory)/log"
            try stage.startBroker("--record-inputs", "/dev/full", "--decision-log", log)
            let app = try stage.watch("\(Stage.always),name=one")
            let broker = try #require(stage.broker)
            let said = try broker.waitForLine(on: .errors) { $0.contains("/dev/full") }
            #expect(said.contains("nothing more is recorded") && said.contains("No space left"), "\(said)")
            for _ in 0..<5 { _ = try app.nextEvent() }
            #expect(try app.terminate() == .exited(0))
            #expect(try broker.terminate() == .exited(0))
            #expect(broker.errors.split(separator: "\n").count { $0.contains("/dev/full") } == 1)
            #expect(try self.text(of: log).contains("verdict -1 S5.sent rule=foreground at=built-in:2 policy=1\n"))
        }

        @Test func aFileThatCannotBeMadeIsSaid() throws {
            let result = try Tool.run([
                Programs.path(of: "jostle-brokerd"), "--record-inputs", "/nowhere/scenario",
            ])
            #expect(result.status == 1)
            #expect(
                result.stderr.contains("cannot record into /nowhere/scenario: open: No such file"), "\(result.stderr)")
        }
    }
}
