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

        /// The one that is in front hears everything; the other is suspended, and gets nothing until what was said is over.
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
            #expect(
                try stage.jostle("status").stdout.contains(
                    "\n\(Self.front) is in the foreground, says process \(reporter.pid)\n"))
            let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.back))
            let denied = try stage.count("Denied", at: Stage.Object.app(Self.back))
            try stage.until("the other app is denied") {
                try stage.count("Denied", at: Stage.Object.app(Self.back)) >= denied + 5
            }
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.back)) == delivered)
            let explained = try stage.jostle("explain", "last", "--app", Self.back).stdout
            #expect(explained.contains("NOT DELIVERED  S1.suspended"), "\(explained)")
            #expect(explained.contains("suspended, unlocked; somebody says that \(Self.front) is in front\n"))
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
            #expect(
                try stage.jostle("status").stdout.contains(
                    "\nno app that you may know of is in the foreground, says process \(second.pid)\n"))
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

        private static func setWindows(_ peer: String, _ rows: String, as source: String) -> String {
            "\(peer) call \(Self.broker) SetWindows a(sa{sv})a{sv} [[\(rows)],{'source':V('s','\(source)')}]"
        }

        private static func row(_ app: String, _ state: String) -> String {
            "('\(app)',{'state':V('s','\(state)'),'window':V('s','0x7'),'pid':V('u',1)})"
        }

        private func json(_ stage: Stage, _ arguments: String..., check: String) throws {
            let answer = try stage.jostle(arguments + ["--json"]).stdout
            let code = """
                import json, sys
                rows = [json.loads(line) for line in sys.argv[1].splitlines()]
                assert \(check)
                """
            let result = try stage.run(["python3", "-c", code, answer])
            #expect(result.status == 0, "\(check): \(answer) \(result.stderr)")
        }

        /// Two seats: both apps are in front, another that is seen is inactive, and everything says by whom.
        @Test func severalSourcesSayWhatIsInFront() throws {
            let stage = try Stage(broker: false)
            let third = "org.example.Third"
            try stage.startBroker(policy: "[Policy]\nDefault=allow\n", "--state-dir", stage.state)
            let apps = try [Self.front, Self.back, third].map { try stage.watch(Stage.always, "--app", $0) }
            let reporter = try stage.startScript(
                Self.setWindows(
                    "one", "\(Self.row(Self.front, "front")),\(Self.row(third, "visible"))", as: "x11::0"),
                Self.setWindows(
                    "two", "\(Self.row("org.example.Other", "front")),\(Self.row(Self.back, "hidden"))", as: "wl-1"))
            try reporter.waitUntilSaid("staying")
            #expect(reporter.output.hasPrefix("one ok []\ntwo ok []\n"), "\(reporter.output)")
            #expect(try self.state(Self.front, stage) == "s \"foreground\" s \"came\"")
            #expect(try self.state(third, stage) == "s \"inactive\" s \"foreground\"")
            #expect(try self.state(Self.back, stage) == "s \"suspended\" s \"grace\"")
            #expect(try stage.property("Foreground", at: Stage.Object.broker) == "s \"\(Self.front)\"")
            let status = try stage.jostle("status").stdout
            #expect(
                status.contains(
                    "\n\(Self.front) is in the foreground, says x11::0\n"
                        + "org.example.Other is in the foreground, says wl-1\n"), "\(status)")
            let sources = "[(s['source'], s['front'], s['visible'], s['hidden'], s['windows'], s['leaving'])"
            try self.json(
                stage, "status",
                check: "\(sources) for s in rows[0]['focus_sources']] == [('x11::0', ['\(Self.front)'], ['\(third)'],"
                    + " [], 2, False), ('wl-1', ['org.example.Other'], [], ['\(Self.back)'], 2, False)]")
            try self.json(stage, "status", check: "rows[0]['focus_sources'][0]['process'] == \(reporter.pid)")
            try self.json(
                stage, "apps",
                check: "{r['app']: (r['shown'], r['shown_by']) for r in rows} == {'\(Self.front)': ('front', 'x11::0'),"
                    + " '\(third)': ('visible', 'x11::0'), '\(Self.back)': ('hidden', 'wl-1')}")
            #expect(try stage.jostle("apps").stdout.contains("  hidden by wl-1"))
            let said = "x11::0 shows \(Self.front) in front, wl-1 shows org.example.Other in front"
            #expect(try stage.jostle("why-not", Self.back).stdout.contains("suspended, unlocked; \(said)\n"))
            let doctor = try stage.jostle("doctor", "--all").stdout
            #expect(doctor.contains("in front is \(Self.front) (x11::0), org.example.Other (wl-1)"), "\(doctor)")
            #expect(try stage.jostle("lock").status == 0)
            for app in [Self.front, third] { #expect(try self.state(app, stage).hasPrefix("s \"inactive\"")) }
            #expect(try stage.jostle("unlock").status == 0)

            // What was decided says so later, too: from memory, and from the journal of a broker that is gone.
            let denied = try stage.count("Denied", at: Stage.Object.app(Self.back))
            try stage.until("the one in the background is denied") {
                try stage.count("Denied", at: Stage.Object.app(Self.back)) > denied
            }
            let explained = try stage.jostle("explain", "last", "--app", Self.back).stdout
            #expect(explained.contains("S1 alive      no    suspended, unlocked; \(said)\n"), "\(explained)")
            let epoch = try #require(explained.firstMatch(of: #/^epoch ([0-9]+) /#)?.1)
            _ = try reporter.terminate()
            for app in apps { _ = try app.terminate() }
            #expect(try stage.broker?.terminate() == .exited(0))
            try stage.startBroker(policy: "[Policy]\nDefault=allow\n", "--state-dir", stage.state)
            let stored = try stage.jostle("explain", String(epoch), "--app", Self.back).stdout
            #expect(stored.contains("suspended, unlocked; \(said)\n"), "\(stored)")
        }

        /// A compositor that starts anew changes nothing; what it takes back is over at once.
        @Test func aReporterThatStartsAnewChangesNothing() throws {
            let stage = try Stage()
            let apps = try [Self.front, Self.back].map { try stage.watch(Stage.always, "--app", $0) }
            let rows = Self.row(Self.front, "front")
            let first = try stage.startScript(Self.setWindows("one", rows, as: "x11::0"))
            try first.waitUntilSaid("staying")
            let since = try stage.property("StateSince", at: Stage.Object.app(Self.back))
            #expect(try self.state(Self.back, stage) == "s \"suspended\" s \"grace\"")
            _ = try first.terminate()
            try stage.until("it has left") {
                try stage.property("FocusSources", at: Stage.Object.broker).contains("\"leaving\" b true")
            }
            #expect(try stage.jostle("status").stdout.contains("in the foreground, says x11::0, which has left\n"))
            #expect(try stage.property("ForegroundReported", at: Stage.Object.broker) == "b true")
            let answers = try stage.script(
                Self.setWindows("two", rows, as: "x11::0"), "two call \(Self.broker) ForgetWindows a{sv} [{}]",
                "three call \(Self.broker) ForgetWindows a{sv} [{'source':V('s','x11::0')}]",
                "two call org.jostle.Broker1 \(Stage.Object.broker) org.freedesktop.DBus.Properties Get ss "
                    + "['org.jostle.Broker1','FocusSources']",
                "two call org.jostle.Broker1 \(Stage.Object.app(Self.back)) org.freedesktop.DBus.Properties Get ss "
                    + "['org.jostle.Broker1.App','StateSince']",
                "two call \(Self.broker) ForgetWindows a{sv} [{'source':V('s','x11::0')}]",
                "two call org.jostle.Broker1 \(Stage.Object.broker) org.freedesktop.DBus.Properties Get ss "
                    + "['org.jostle.Broker1','FocusSources']")
            try #require(answers.count == 7, "\(answers)")
            #expect(answers[3].contains("\"leaving\": false") && answers[6] == "two ok [[]]", "\(answers)")
            #expect("t \(answers[4].dropFirst("two ok [".count).dropLast())" == since)
            #expect(try self.state(Self.back, stage) == "s \"foreground\" s \"foreground\"")
            #expect(try stage.property("StateSince", at: Stage.Object.app(Self.back)) != since)
            _ = apps
        }

        /// What one says and takes back without waiting is heard in that order; as much as may be said is taken.
        @Test func whatIsSaidIsHeardInOrder() throws {
            let stage = try Stage(source: nil)
            let begin = Self.setWindows("one", Self.row(Self.front, "front"), as: "x")
                .replacing(" call ", with: " begin ")
            let forget = "one call \(Self.broker) ForgetWindows a{sv} [{'source':V('s','x')}]"
            for _ in 0..<5 {
                #expect(try stage.script(begin, begin, forget) == Array(repeating: "one ok []", count: 3))
                #expect(try stage.property("ForegroundReported", at: Stage.Object.broker) == "b false")
            }
            let many =
                "[('org.example.N%d'%i,{'state':V('s','hidden'),'window':V('s','x'*64),'pid':V('u',i)})"
                + " for i in range(1024)]"
            let answers = try stage.script(
                "one call \(Self.broker) SetWindows a(sa{sv})a{sv} [\(many),{}]",
                "one call \(Self.broker) SetWindows a(sa{sv})a{sv} [\(many.replacing("1024", with: "1025")),{}]",
                "one call \(Self.broker) ForgetWindows a{sv} [{}]")
            #expect(answers[0] == "one ok []" && answers[2] == "one ok []", "\(answers)")
            #expect(
                answers[1].hasPrefix("one error org.freedesktop.DBus.Error.LimitsExceeded: ")
                    && answers[1].hasSuffix("windows-per-source is 1024"), "\(answers[1])")
        }

        // MARK: Who plays, and who sleeps

        /// A player that plays keeps its app going for which that is said, and only while policy and app file have it so.
        @Test func aPlayerKeepsItsAppGoing() throws {
            let stage = try Stage(source: nil, broker: false)
            func policy(_ grants: String) -> String { "[Policy]\nDefault=allow\n\n[App *]\nGrace=0s\n\(grants)" }
            func reload(_ grants: String) throws {
                _ = try stage.directory("policy", ["10-test": policy(grants)])
                #expect(try self.rootCall(stage, "Reload", "a{sv}", "0").status == 0)
            }
            let file = "[App]\nUsage=plays\nModes=audio\n"
            try stage.startBroker(
                policy: policy("Grants=audio\n"), apps: [Self.front: file + "Mpris=yes\n", Self.back: file])
            let apps = try [Self.front, Self.back].map { app in
                let script = try stage.startScript(
                    "app own \(app)", "app call \(Self.broker) Register sa{sv} ['\(app)',{}]")
                try script.waitUntilSaid("staying")
                return script
            }
            let list = "SetPlaying asa{sv} [['\(Self.front)','\(Self.back)'],{'source':V('s','mpris')}]"
            let player = try stage.startScript(
                "one call \(Self.broker) SetForeground sa{sv} ['',{}]", "one call \(Self.broker) \(list)")
            try player.waitUntilSaid("staying")
            #expect(player.output.hasPrefix("one ok []\none ok []\n"), "\(player.output)")
            #expect(try self.state(Self.front, stage) == "s \"background\" s \"player\"")
            #expect(try stage.property("Activities", at: Stage.Object.app(Self.front)) == "as 1 \"audio\"")
            #expect(try self.state(Self.back, stage) == "s \"suspended\" s \"grace\"")
            #expect(try stage.jostle("status").stdout.contains("\(Self.front) plays, says mpris\n"))
            // Without the grant it is nothing; with it, it is again what it was.
            try reload("")
            #expect(try self.state(Self.front, stage) == "s \"suspended\" s \"grace\"")
            #expect(try stage.property("Activities", at: Stage.Object.app(Self.front)) == "as 0")
            try reload("Grants=audio\n")
            #expect(try self.state(Self.front, stage) == "s \"background\" s \"player\"")
            // What it said stands for a while, and no longer.
            _ = try player.terminate()
            try stage.until("nobody says who plays") {
                try stage.property("FocusSources", at: Stage.Object.broker) == "aa{sv} 0"
            }
            #expect(try self.state(Self.front, stage) == "s \"foreground\" s \"foreground\"")
            #expect(try stage.property("Activities", at: Stage.Object.app(Self.front)) == "as 0")
            _ = apps
        }

        /// Who is frozen is suspended in front, too, and hears again as soon as nobody says so.
        @Test func whoIsFrozenHearsNothing() throws {
            let stage = try Stage()
            let app = try stage.watch(Stage.always, "--app", Self.front)
            _ = try app.nextEvent()
            let freezer = try stage.startScript(
                "one call \(Self.broker) SetForeground sa{sv} ['\(Self.front)',{}]",
                "one call \(Self.broker) SetFrozen asa{sv} [['\(Self.front)'],{'source':V('s','freezer')}]")
            try freezer.waitUntilSaid("staying")
            #expect(try self.state(Self.front, stage) == "s \"suspended\" s \"frozen\"")
            let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.front))
            let denied = try stage.count("Denied", at: Stage.Object.app(Self.front))
            try stage.until("the frozen app is denied") {
                try stage.count("Denied", at: Stage.Object.app(Self.front)) >= denied + 5
            }
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.front)) == delivered)
            let explained = try stage.jostle("explain", "last", "--app", Self.front).stdout
            #expect(explained.contains("NOT DELIVERED  S1.suspended"), "\(explained)")
            #expect(explained.contains("suspended, unlocked; freezer says that it is frozen\n"), "\(explained)")
            #expect(try stage.jostle("status").stdout.contains("\(Self.front) is frozen, says freezer\n"))
            #expect(try stage.jostle("apps").stdout.contains("frozen by freezer"))
            #expect(try stage.jostle("app", Self.front).stdout.contains("its processes are frozen"))
            // Another connection of the user takes its place, and says that it is over.
            let answers = try stage.script(
                "two call \(Self.broker) SetFrozen asa{sv} [[],{'source':V('s','freezer')}]")
            #expect(answers == ["two ok []"])
            #expect(try self.state(Self.front, stage) == "s \"foreground\" s \"frozen\"")
            try stage.until("it hears again") {
                try stage.count("Delivered", at: Stage.Object.app(Self.front)) > delivered
            }
        }

        /// Whoever policy names, and nobody else.
        @Test func policyNamesTheReporter() throws {
            let policy = "[Policy]\nDefault=allow\n\n[App org.example.Shell]\nMayReportForeground=yes\n"
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: policy)
            let lines = try stage.script(
                "other call \(Self.broker) SetForeground sa{sv} ['org.example.A',{}]",
                "other call \(Self.broker) SetWindows a(sa{sv})a{sv} [[],{}]",
                "other call \(Self.broker) ForgetWindows a{sv} [{}]",
                "other call \(Self.broker) SetPlaying asa{sv} [[],{}]",
                "other call \(Self.broker) SetFrozen asa{sv} [[],{}]",
                "other call \(Self.broker) SetState ssa{sv} ['org.example.A','auto',{}]",
                "other call \(Self.broker) SetLock sa{sv} ['locked',{}]",
                "shell own org.example.Shell", "shell call \(Self.broker) SetForeground sa{sv} ['org.example.A',{}]",
                "shell call \(Self.broker) SetLock sa{sv} ['locked',{}]")
            try #require(lines.count == 9)
            for line in lines[0...6] {
                #expect(
                    line == "other error org.freedesktop.DBus.Error.AccessDenied: "
                        + "only who has MayReportForeground in policy can say that")
            }
            #expect(lines[7...8].allSatisfy { $0 == "shell ok []" })
            let refused = try stage.jostle("lock")
            #expect(refused.status == 4 && refused.stderr.contains("MayReportForeground"))
        }

        /// Who is taken the right away has no say any more, though it stays; and has it back with the right.
        @Test func whoMayReportNoMoreHasNoSay() throws {
            let stage = try Stage(broker: false)
            let grant = "\n[App org.example.Shell]\nMayReportForeground=yes\n"
            func policy(_ grant: String) -> String {
                "[Policy]\nDefault=allow\n\n[App org.example.Other]\nMayReportForeground=yes\n\(grant)"
            }
            func reload(_ grant: String) throws {
                _ = try stage.directory("policy", ["10-test": policy(grant)])
                #expect(try self.rootCall(stage, "Reload", "a{sv}", "0").status == 0)
            }
            try stage.startBroker(policy: policy(grant))
            let shell = try stage.startScript(
                "shell own org.example.Shell", "shell call \(Self.broker) SetForeground sa{sv} ['\(Self.front)',{}]")
            try shell.waitUntilSaid("staying")
            #expect(try stage.property("Foreground", at: Stage.Object.broker) == "s \"\(Self.front)\"")
            try reload("")
            try stage.until("nobody says what is in front") {
                try stage.property("ForegroundReported", at: Stage.Object.broker) == "b false"
            }
            try reload(grant)
            try stage.until("the shell has its say again") {
                try stage.property("Foreground", at: Stage.Object.broker) == "s \"\(Self.front)\""
            }
            _ = try shell.terminate()
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
