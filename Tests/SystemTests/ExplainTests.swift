import Glibc
import Loop
import TestSupport
import Testing

/// What `explain` prints for people, without the moments in it: how long ago that was is another with each call.
func timeless(_ explained: String) -> String {
    explained.replacing(#/  at [-0-9]+ [.:0-9]+ \([.0-9]+ m?s ago\)  /#, with: "  ")
}

extension Surroundings {
    /// Why an app got its event or not, asked by the clients that people have.
    @Suite(.serialized) struct Explanations {
        private static let gentle = "org.example.Gentle"
        private static let hard = "org.example.Hard"
        private static let root = ["org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1"]
        private static let rule =
            "policies/examples/02-most-specific/policy.conf:14 [Rule any-shake] Priority=0 says allow"

        /// The two apps of the example after a hard shake, which one of them got.
        private func decided() throws -> (stage: Stage, apps: [BackgroundProgram], epoch: String) {
            let stage = try Stage(broker: false)
            try stage.startBroker("--policy", Programs.source("policies/examples/02-most-specific"))
            let gentle = try stage.watch("shake.planar,threshold=2.3g,name=gentle", "--app", Self.gentle)
            let hard = try stage.watch("shake.planar,threshold=3.5g,name=hard", "--app", Self.hard)
            #expect(try stage.jostle("shake", "--peak", "4.5g", "--for", "500ms").status == 0)
            let epoch = try #require(field("epoch", of: try hard.nextEvent()))
            // Until then a further hit would count to it.
            try stage.until("the motion is over") {
                try stage.jostle("why-not", Self.gentle).stdout.contains("it would get the event")
            }
            return (stage, [gentle, hard], epoch)
        }

        private func call(_ stage: Stage, _ member: String, _ arguments: String...) throws -> Tool.Result {
            try stage.busctl(["--json=pretty", "call"] + Self.root + [member] + arguments)
        }

        @Test func busctlIsEnough() throws {
            let (stage, apps, epoch) = try self.decided()
            for arguments in [[epoch, "0"], ["0", "0"], [epoch, "1", "app", "s", Self.gentle]] {
                let answer = try stage.busctl(
                    ["--json=pretty", "call"] + Self.root + ["Explain", "ta{sv}"] + arguments)
                #expect(answer.status == 0, "\(answer.stderr)")
                let lines = answer.stdout.split(separator: "\n").map { $0.drop { $0 == "\t" } }
                #expect(lines.contains("\"org.example.Gentle  NOT DELIVERED  S4.outranked\","))
                #expect(lines.contains { $0.hasPrefix("\"  S2 rule       pass  ") && $0.hasSuffix("\(Self.rule)\",") })
                #expect(lines.contains { $0.contains("first by specificity, 3.5 g to 2.3 g") })
                #expect(
                    lines.contains {
                        $0.hasPrefix("\"  it would have got it if it asked for more than 3.5 g, or the motion")
                    })
                let isAlone = arguments.count > 2
                #expect(lines.contains("\"org.example.Hard  DELIVERED  S5.sent\",") != isAlone)
            }
            // An app's own number.
            let own = try self.call(
                stage, "Explain", "ta{sv}", "1", "2", "app", "s", Self.hard, "sequence", "b", "true")
            #expect(own.stdout.contains("\"data\" : \(epoch)"))
            let why = try self.call(stage, "WhyNot", "sa{sv}", Self.gentle, "1", "peak", "d", "3.0")
            #expect(why.stdout.contains("\"  it has had no event since it registered\""), "\(why.stdout)")
            #expect(why.stdout.contains("S4.outranked once, last "))
            #expect(why.stdout.contains("if it fired now and nothing else did, it would get the event"))
            for app in apps { #expect(try app.terminate() == .exited(0)) }
            // What is gone can still be asked about; what would happen to it cannot.
            #expect(try self.call(stage, "Explain", "ta{sv}", epoch, "0").status == 0)
            let gone = try self.call(stage, "WhyNot", "sa{sv}", Self.gentle, "0")
            #expect(
                gone.stderr.contains("is not registered; the last that became of it: S4.outranked in epoch \(epoch)"))
        }

        /// Who runs is told of no shake, and by everything that explains why.
        @Test func whatARhythmHeldIsSaidEverywhere() throws {
            let stage = try Stage(source: nil, broker: false)
            let run = "\(stage.home)/run.csv"
            #expect(try stage.jostle("make", "rest 3s; run 30s", run, "--rate", "50Hz").status == 0)
            try stage.startReader("trace:\(run)?speed=4&loop")
            try stage.startBroker()
            let app = "org.example.Undo"
            let watch = try stage.watch("shake", "--app", app)
            defer { _ = try? watch.terminate() }
            func whyNot() throws -> String { try stage.jostle("why-not", app).stdout }
            try stage.until("a hit is held") { try whyNot().contains("    held by activity ") }
            let line = try #require(
                stage.jostle("why-not", app, "--json").stdout.split(separator: "\n").map { String($0) }.last)
            #expect((number("held_by_activity", of: line) ?? 0) >= 1 && line.contains("\"last_held_us\":"), "\(line)")
            let explained = try stage.jostle("explain", "--app", app)
            // On the output, where there was an event, else with what is wrong.
            let said = explained.stdout + explained.stderr
            #expect(said.contains("besides, shake was held by activity "), "\(explained)")
            let scope = try stage.start("scope", "--lines", "--for", "60s")
            _ = try scope.waitForLine { $0.hasSuffix(" s  held by activity: \(app)/shake") }
            let page = "\(stage.home)/run.html"
            let replay = try stage.jostle("replay", run, "--detector", "shake", "--report", page)
            #expect(replay.status == 0 && replay.stdout.contains("HELD BY ACTIVITY"), "\(replay)")
            #expect(try stage.run(["grep", "-c", "held by activity at ", page]).status == 0)
        }

        @Test func gdbusReadsIt() throws {
            let (stage, apps, epoch) = try self.decided()
            func call(_ member: String, _ arguments: String...) throws -> String {
                try stage.run(
                    [
                        "gdbus", "call", "--session", "--dest", "org.jostle.Broker1", "--object-path",
                        Stage.Object.broker, "--method", "org.jostle.Broker1.\(member)",
                    ] + arguments
                ).stdout
            }
            let answer = try call("Explain", epoch, "{}")
            #expect(answer.contains("'reason': <'S4.outranked'>"), "\(answer)")
            #expect(answer.contains("'winner': <'\(Self.hard)'>"))
            #expect(answer.contains("'decided-by': <'specificity'>"))
            #expect(answer.contains("'candidates': <uint32 2>"))
            #expect(answer.contains("'delivered': <true>"))
            #expect(answer.contains("'otherwise': <['it asked for more than 3.5 g', "))
            let why = try call("WhyNot", Self.hard, "{'detector': <'hard'>}")
            #expect(why.contains("'last-epoch': <uint64 \(epoch)>"), "\(why)")
            #expect(why.contains("'available': <true>"))
            for app in apps { #expect(try app.terminate() == .exited(0)) }
        }

        /// What a broker said of an event's end, the next one says from the disk.
        @Test func theEndOfAnEventIsTheSameAfterARestart() throws {
            let stage = try Stage(broker: false)
            let policy = """
                [App org.example.Full]
                QueueBytes=0
                [Rule wake]
                WhenState=dead
                Then=allow
                Deliver=wake
                [Rule short]
                Priority=1
                WhenApp=org.example.Short
                WhenState=foreground
                Then=allow
                Reliability=ack
                Lifespan=500ms
                [Rule ack]
                WhenState=foreground
                Then=allow
                Reliability=ack
                Lifespan=1min
                """
            let asleep = "[App]\nUsage=Tests\nModes=push\n[Detector d]\npreset=shake.planar\nthreshold=2g\nrest=1min\n"
            func start() throws {
                try stage.startBroker(
                    policy: policy, apps: ["org.example.Asleep": asleep], "--state-dir", stage.state)
            }
            try start()
            let ends = [
                "Taken": "S5.acknowledged", "Short": "S5.expired", "Withdrawn": "S5.removed", "Full": "S5.queue-full",
                "Asleep": "S5.launch-failed", "Waiting": "S5.sent",
            ]
            func explain(_ app: String) throws -> String {
                try stage.jostle("explain", "last", "--app", "org.example.\(app)", "--json").stdout
            }
            let taker = try stage.watch("shake.planar,threshold=2g,rest=1min,name=d", "--app", "org.example.Taken")
            let detector = "{'preset':V('s','shake.planar'),'threshold':V('s','2g'),'rest':V('s','60s')}"
            func call(_ app: String, _ member: String, _ arguments: String) -> String {
                "\(app) call org.jostle.Broker1 \(Stage.Object.app("org.example.\(app)")) org.jostle.Broker1.App "
                    + "\(member) \(arguments)"
            }
            let silent = ["Short", "Withdrawn", "Full", "Waiting"].flatMap { app in
                [
                    "\(app) own org.example.\(app)", "\(app) hear Event",
                    "\(app) call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register "
                        + "sa{sv} ['org.example.\(app)',{}]",
                    call(app, "AddDetectors", "a(sa{sv}) [[('d',\(detector))]]"),
                ]
            }
            let script = try stage.startScript(
                silent + ["Withdrawn await 1", call("Withdrawn", "RemoveDetectors", "asa{sv} [['d'],{}]")])
            for _ in 0..<4 { _ = try script.waitForLine { $0.contains("effective-rate") } }
            #expect(try stage.jostle("shake", "--peak", "4g", "--for", "300ms").status == 0)
            var before: [String: String] = [:]
            for (app, end) in ends {
                try stage.until("\(app) ends with \(end)") {
                    before[app] = try explain(app)
                    return before[app]?.contains("\"reason\":\"\(end)\"") == true
                }
            }
            #expect(try taker.terminate() == .exited(0))
            #expect(try stage.broker?.terminate() == .exited(0))
            try start()
            // The journal says besides when it was decided, and by which files.
            let besides = #/,"(made_us|policy_files|clocks|ended_after_us)":([0-9]+|\[[^\]]*\]|{[^}]*})/#
            // It counts from when the verdict was made, and not from the motion: that is less by as long as that took.
            let ahead = Clock.wallClock() - Clock.boottime.now()
            func ended(_ line: String) -> Int? {
                line.firstMatch(of: #/"ended_after_us":([0-9]+)/#).flatMap { Int($0.1) }
            }
            for (app, end) in ends {
                let (now, then) = (try explain(app), before[app] ?? "")
                #expect(now.replacing(besides, with: "") == then.replacing(besides, with: ""), "\(end): \(now)\(then)")
                let (stored, live) = (ended(now), ended(then))
                #expect((stored == nil) == (live == nil))
                if let stored, let live {
                    let made = try #require(number("made_us", of: now))
                    let time = try #require(number("t_us", of: now))
                    let took = made - Double(ahead) - time
                    #expect(abs(Double(live - stored) - took) < 100_000, "\(end): \(took) us to \(now)\(then)")
                }
            }
        }

        /// An app asks about itself, and others have no names for it.
        @Test func anAppSeesItselfAlone() throws {
            let stage = try Stage(broker: false)
            try stage.startBroker("--policy", Programs.source("policies/examples/02-most-specific"))
            let broker = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"
            let object = "org.jostle.Broker1 \(Stage.Object.app(Self.gentle)) org.jostle.Broker1.App"
            let planar = "{'preset':V('s','shake.planar'),'threshold':V('s','2.3g')}"
            let script = try stage.startScript(
                // A connection that hears nothing but the sign to go on: an app hears of its own changes, too.
                "gate own org.example.Gate", "gate hear", "app own \(Self.gentle)",
                "app call \(broker) Register sa{sv} ['\(Self.gentle)',{}]",
                "app call \(object) AddDetectors a(sa{sv}) [[['mine',\(planar)]]]", "gate await 1",
                "app call \(broker) Explain ta{sv} [0,{}]", "app call \(broker) WhyNot sa{sv} ['',{}]",
                "app call \(broker) Explain ta{sv} [0,{'app':V('s','\(Self.hard)')}]",
                "app call \(broker) WhyNot sa{sv} ['\(Self.hard)',{}]",
                "other call \(broker) Explain ta{sv} [0,{}]")
            _ = try script.waitForLine { $0.hasPrefix("app ok") && $0.contains("effective-rate") }
            let hard = try stage.watch("shake.planar,threshold=3.5g,name=hard", "--app", Self.hard)
            #expect(try stage.jostle("shake", "--peak", "4.5g", "--for", "500ms").status == 0)
            _ = try hard.nextEvent()
            let go = try stage.run([
                "dbus-send", "--session", "--type=signal", "--dest=org.example.Gate", "/", "org.example.Test.Go",
            ])
            #expect(go.status == 0)
            try script.waitUntilSaid("staying")
            let answers = script.output.split(separator: "\n").map(String.init).suffix(6)
            try #require(answers.count == 6)
            let lines = Array(answers)
            for answer in lines[0...1] {
                #expect(answer.hasPrefix("app ok"), "\(answer)")
                #expect(answer.contains("another app is first by specificity, 3.5 g to 2.3 g"))
                #expect(!answer.contains(Self.hard))
            }
            for answer in lines[2...3] {
                #expect(
                    answer.hasPrefix(
                        "app error org.freedesktop.DBus.Error.AccessDenied: an app can ask about itself only"),
                    "\(answer)")
            }
            // A program that is no app is of the same user.
            #expect(lines[4].contains("\"\(Self.hard)\"") && lines[4].contains("\"\(Self.gentle)\""), "\(lines[4])")
            #expect(try hard.terminate() == .exited(0))
        }

        /// Whoever sees all is told of an epoch also when the app is another user's by now.
        @Test(.enabled(if: geteuid() == 0, "only root can play two users"))
        func anEpochIsToldWhoseverItsAppIsByNow() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(on: PrivateBus(on: .dbusDaemon))
            let app = try stage.watch("shake.planar", "--app", Self.hard)
            #expect(try stage.jostle("shake", "--peak", "4.5g", "--for", "500ms").status == 0)
            let epoch = try #require(field("epoch", of: try app.nextEvent()))
            #expect(try app.terminate() == .exited(0))
            let register = "call \(Self.root.joined(separator: " ")) Register sa{sv} ['\(Self.hard)',{}]"
            let other = try stage.startScript(as: Stage.nobody, ["p own \(Self.hard)", "p \(register)"])
            try other.waitUntilSaid("staying")
            let told = try stage.jostle("explain", epoch, "--app", Self.hard)
            #expect(told.status == 0 && told.stdout.contains("S5.sent"), "\(told)")
        }

        // MARK: The commands

        @Test func explainTellsPeople() throws {
            let (stage, apps, epoch) = try self.decided()
            let all = try stage.jostle("explain")
            #expect(all.status == 0 && all.stderr.isEmpty)
            for again in [try stage.jostle("explain", epoch), try stage.jostle("explain", "last")] {
                #expect(again.status == 0 && timeless(again.stdout) == timeless(all.stdout), "\(again)")
            }
            let blocks = all.stdout.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(blocks.filter { $0.hasPrefix("epoch \(epoch)  ") }.count == 2)
            #expect(all.stdout.utf8.allSatisfy { $0 < 0x80 && $0 != 0x1B }, "no drawing, nothing but text")

            let one = try stage.jostle("explain", epoch, "--app", Self.gentle).stdout
            let lines = one.split(separator: "\n").map(String.init)
            try #require(lines.count == 9, "\(one)")
            #expect(lines[1] == "\(Self.gentle)  NOT DELIVERED  S4.outranked")
            #expect(lines[4].hasSuffix(Self.rule))
            #expect(lines[6].hasPrefix("  S4 group      no    shake: exclusive, 2 candidates, "))
            #expect(lines[7] == "  S5 delivery   -")
            #expect(try stage.jostle("explain", "1", "--sequence", "--app", Self.hard).stdout.contains("S5.sent"))

            let why = try stage.jostle("why-not", Self.hard)
            #expect(why.status == 0)
            #expect(why.stdout.hasPrefix("\(Self.hard)  foreground, registered "))
            #expect(why.stdout.contains("  its last event came ") && why.stdout.contains(", epoch \(epoch)\n"))
            for app in apps { #expect(try app.terminate() == .exited(0)) }
        }

        @Test func explainTellsMachines() throws {
            let (stage, apps, epoch) = try self.decided()
            let explained = try stage.jostle("explain", "--json").stdout
            let why = try stage.jostle("why-not", Self.gentle, "--json").stdout
            for app in apps { #expect(try app.terminate() == .exited(0)) }
            let code = """
                import json, sys
                hard, gentle = map(json.loads, sys.argv[1].splitlines())
                assert hard["app"] == "org.example.Hard" and hard["delivered"] and hard["otherwise"] == []
                assert gentle["reason"] == "S4.outranked" and gentle["winner"] == hard["app"]
                assert gentle["decided_by"] == "specificity" and gentle["rule"] == "any-shake"
                assert gentle["rule_at"].endswith("policy.conf:14") and gentle["candidates"] == 2
                assert [s["result"] for s in gentle["stages"]] == ["pass"] * 4 + ["no", "-"]
                assert hard["epoch"] == gentle["epoch"] == int(sys.argv[3])
                app, detector = map(json.loads, sys.argv[2].splitlines())
                assert app["last_epoch"] == 0 and app["silence_us"] > 0
                assert [d["reason"] for d in app["denials"]] == ["S4.outranked"]
                assert app["denials"][0]["epoch"] == hard["epoch"] and app["denials"][0]["count"] == 1
                assert detector["detector"] == "gentle" and detector["delivered"] and detector["threshold"] == 2.3
                assert len(detector["stages"]) == 5
                """
            let check = try stage.run(["python3", "-c", code, explained, why, epoch])
            #expect(check == Tool.Result(status: 0, stdout: "", stderr: ""), "\(explained)\(why)")
        }

        /// Also a sensor that is not there is an answer.
        @Test func whatCannotFireSaysSo() throws {
            let stage = try Stage(source: nil)
            let app = try stage.watch("shake.planar,threshold=2g,name=d", "--app", Self.gentle)
            let why = try stage.jostle("why-not", Self.gentle).stdout
            #expect(
                why.hasSuffix("  d (shake.planar) above 2.0 g: it cannot fire, there is no accelerometer\n"), "\(why)")
            let unique = try stage.uniqueName(Self.gentle)
            #expect(try stage.jostle("why-not", unique).stdout.hasPrefix("\(Self.gentle)  foreground"))
            #expect(try app.terminate() == .exited(0))
        }

        // MARK: What if

        private func whatIf(_ arguments: String...) throws -> Tool.Result {
            let example = Programs.source("policies/examples/02-most-specific")
            return try Tool.run(
                [
                    Programs.path(of: "jostle"), "policy", "whatif", "--policy", example, "--scenario",
                    "\(example)/scenario",
                ] + arguments)
        }

        @Test func whatIfShowsOnlyDifferences() throws {
            let old = Programs.source("policies/examples/01-unarbitrated")
            let result = try self.whatIf("--against", old)
            #expect(result.status == 0 && result.stderr.isEmpty)
            let lines = result.stdout.split(separator: "\n").map(String.init)
            try #require(lines.count == 4, "\(result.stdout)")
            #expect(lines[0] == "5.000 s  org.example.Gentle  gentle")
            #expect(
                lines[1].hasPrefix("  was       an event, S5.sent  ")
                    && lines[1].contains("policy.conf:12 [Rule foreground"))
            #expect(
                lines[2].hasPrefix("  would be  no event, S4.outranked  ")
                    && lines[2].contains("policy.conf:14 [Rule any"))
            #expect(lines[2].hasSuffix("org.example.Hard is first by specificity, 2.7 g to 1.2 g"))
            #expect(lines[3] == "1 of 4 hits would end otherwise; 3 events instead of 4")
            let json = try self.whatIf("--against", old, "--json")
            let code = """
                import json, sys
                line, = map(json.loads, sys.argv[1].splitlines())
                assert line["t_us"] == 5000000 and line["app"] == "org.example.Gentle"
                assert line["was"]["delivered"] and line["was"]["rule"] == "foreground-shake"
                then = line["would_be"]
                assert not then["delivered"] and then["reason"] == "S4.outranked" and then["decided_by"] == "specificity"
                """
            #expect(try Tool.run(["python3", "-c", code, json.stdout]).status == 0, "\(json.stdout)")
            // A client without a name is called as explain calls it.
            let example = Programs.source("policies/examples/02-most-specific")
            func nameless(_ how: String) throws -> String {
                let line =
                    "sed s/org.example.Gentle/-1/ \(example)/scenario | \(Programs.path(of: "jostle")) policy whatif"
                return try Tool.run(["sh", "-c", "\(line) --policy \(example) --against \(old) --scenario - \(how)"])
                    .stdout
            }
            #expect(try nameless("").hasPrefix("5.000 s  a client without a name  gentle\n"))
            #expect(try nameless("--json").contains("\"app\":\"\","))
            let same = try self.whatIf("--against", Programs.source("policies/examples/02-most-specific"))
            #expect(same == Tool.Result(status: 0, stdout: "no difference in 4 hits and 3 events\n", stderr: ""))
        }
    }
}
