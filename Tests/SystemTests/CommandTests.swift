import DaemonSupport
import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// `jostle` as scripts and people call it: exit codes, one line of complaint, output for machines.
    @Suite(.serialized) struct Commands {
        /// A slip in an app's id is pointed at by whatever takes one.
        @Test func anAppThatWasMeantIsNamed() throws {
            let stage = try Stage()
            let (there, slip) = ("org.example.Torch", "org.example.Troch")
            let app = try stage.watch(Stage.always, "--app", there)
            for command in [
                ["why-not", slip], ["app", slip], ["state", slip, "background"], ["explain", "--app", slip],
                ["forget", slip], ["task", "run", slip, "t"],
            ] {
                let result = try stage.jostle(command)
                #expect(
                    result.status == 1 && result.stderr.hasSuffix("; did you mean '\(there)'?\n"),
                    "\(command): \(result)")
            }
            // It is there, or nothing like it.
            for id in [there, "org.example.Player"] {
                let result = try stage.jostle("forget", id)
                #expect(result.status == 1 && !result.stderr.contains("did you mean"), "\(result)")
            }
            let front = try stage.start("foreground", slip)
            _ = try front.waitForLine(on: .errors) {
                $0.hasSuffix("there is no app '\(slip)' yet; did you mean '\(there)'?")
            }
            for program in [front, app] { _ = try program.terminate() }
        }

        struct Case: Sendable, CustomTestStringConvertible {
            let arguments: [String]
            let status: Int32
            let complaint: String

            init(_ arguments: String..., status: Int32, _ complaint: String) {
                (self.arguments, self.status, self.complaint) = (arguments, status, complaint)
            }

            var testDescription: String { self.arguments.joined(separator: " ") }
        }

        private func check(_ bad: Case, _ stage: Stage) throws {
            let result = try stage.jostle(bad.arguments)
            #expect(result.status == bad.status, "\(result)")
            #expect(result.stdout.isEmpty, "\(result.stdout)")
            #expect(result.stderr.hasPrefix("jostle: "), "\(result.stderr)")
            #expect(result.stderr.contains(bad.complaint), "\(result.stderr)")
            #expect(!result.stderr.contains("\u{1B}"))
        }

        static let absent: [Case] = [
            Case("status", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("status", "--limits", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("top", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("top", "--once", "--json", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("apps", "--json", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("policy", "check", "--apps", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("focus", "--list", status: 3, "jostle-focus (org.jostle.Focus1) is not running"),
            Case("pause", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("app", "org.example.App", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("state", "org.example.App", "auto", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("forget", "--clips", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("forget", "org.example.App", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("lock", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("unlock", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("push", "org.example.App", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("explain", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("why-not", "org.example.App", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("foreground", "org.example.App", status: 3, "the broker (org.jostle.Broker1) is not running"),
            Case("sensors", status: 3, "the sensor reader (org.jostle.Sensors1) is not running"),
            Case("shake", status: 3, "the sensor reader (org.jostle.Sensors1) is not running"),
            Case("record", "/nonexistent/x.csv", status: 3, "the sensor reader (org.jostle.Sensors1) is not running"),
            Case("status", "--bus", "unix:path=/nonexistent", status: 3, "/nonexistent"),
            Case("watch", "shake", "--bus", "unix:path=/nonexistent", status: 3, "/nonexistent"),
            Case("on", "shake", "--bus", "unix:path=/nonexistent", "--", "true", status: 3, "/nonexistent"),
            Case("shake", "--bus", "unix:path=/nonexistent", status: 3, "/nonexistent"),
            Case("record", "x", "--bus", "unix:path=/nonexistent", status: 3, "/nonexistent"),
        ]

        @Test(arguments: absent)
        func withoutServices(_ bad: Case) throws {
            try self.check(bad, Stage(source: nil, broker: false))
        }

        static let wrong: [Case] = [
            Case(status: 2, "a command is missing"),
            Case("wach", status: 2, "unknown command 'wach', did you mean 'watch'?"),
            Case("status", "now", status: 2, "unexpected argument 'now'"),
            Case("sensors", "--jason", status: 2, "did you mean '--json'?"),
            Case("focus", "--all", status: 2, "unknown option '--all'"),
            Case("focus", "org.example.App", status: 2, "unexpected argument 'org.example.App'"),
            Case("apps", "--bus", "here", status: 2, "session, system or a bus address, not 'here'"),
            Case("apps", "--bus", "nonsense:", status: 2, "Unknown address type"),
            Case("watch", "--bus", "nonsense:", "shake", status: 2, "Unknown address type"),
            Case(
                "demo", "fast", status: 2,
                "there is no act 'fast', there are background, fleet, pomodoro, refresh and tracker"
            ),
            Case("demo", "refresh", "--", "sh", status: 2, "a command goes with fleet"),
            Case("demo", "refresh", "--track", "way.gpx", status: 2, "--track goes with tracker"),
            Case("demo", "tracker", "--live", "60", status: 2, "--live goes with pomodoro"),
            Case("demo", "tracker", "--desktop", status: 2, "--desktop goes with background"),
            Case("presets", "shak", status: 2, "there is no preset 'shak', did you mean 'shake'?"),
            Case("top", "--sort", "hit", status: 2, "'--sort' needs app, state, hits, "),
            Case("top", "--every", "50ms", status: 2, "a time from 200ms to 1h, such as 2s, not '50ms'"),
            Case("top", "--once", "--for", "2s", status: 2, "--for has no effect beside --once"),
            Case("top", "org.example.App", status: 2, "unexpected argument 'org.example.App'"),
            Case("explain", "0", status: 2, "give an epoch or 'last', not '0'"),
            Case("explain", "lst", status: 2, "give an epoch or 'last', not 'lst'"),
            Case("explain", "5", "--sequence", status: 2, "the app that it is of with --app"),
            Case("explain", "--sequence", "--app", "org.example.A", status: 2, "with --sequence give a number"),
            Case("explain", "last", "--app", "nodot", status: 2, "'nodot' is no app id"),
            Case("explain", status: 1, "nothing has been decided yet"),
            Case("explain", status: 1, "not beyond it, says 'jostle explain --clip near'"),
            // Root is told more than others.
            Case("explain", "42", status: 1, "; if 42 is an app's own number, say --sequence"),
            Case("explain", "18446744073709551615", status: 1, "epoch 18446744073709551615"),
            Case("explain", "--app", "org.example.A", status: 1, "nothing has been decided yet for this app"),
            Case("why-not", status: 2, "argument APP is missing"),
            Case("why-not", "nodot", status: 2, "'nodot' is no app id"),
            Case("why-not", "org.example.A", status: 1, "org.example.A is not registered"),
            Case("app", status: 2, "argument APP is missing"),
            Case("app", "nodot", status: 2, "'nodot' is no app id"),
            Case("app", "org.example.A", status: 1, "org.example.A is not registered"),
            Case("forget", status: 2, "forget: give an app, or --clips"),
            Case("forget", "org.example.A", "--clips", status: 2, "forget: give an app, or --clips"),
            Case("explain", "--clip", "0", status: 2, "the number of a clip or 'near', not '0'"),
            Case("explain", "5", "--clip", "near", status: 2, "what nearly was a hit has no epoch"),
            Case("explain", "--state-dir", "/tmp", status: 2, "--state-dir has no effect without --clip"),
            Case("explain", "--clip", "near", "--state-dir", "/nonexistent", status: 1, "there is no journal"),
            Case("clips", "list", "--state-dir", "/nonexistent", status: 1, "there is no journal"),
            Case("clips", "list", "--state-dir", "/tmp", "--bus", "session", status: 2, "--bus has no effect beside"),
            Case("clips", "export", "x", status: 2, "expected the number of a clip, got 'x'"),
            Case("whatif", status: 2, "give a detector to try with --detector"),
            Case("whatif", "--detector", "shak", status: 2, "unknown preset 'shak', did you mean 'shake'?"),
            Case(
                "whatif", "--detector", "shake", "--state-dir", "/nonexistent", status: 1, "there is no journal"),
            Case("report", "--since", "5g", status: 2, "a time, such as 24h, not '5g'"),
            Case("report", "now", status: 2, "unexpected argument 'now'"),
            Case("report", "--state-dir", "/nonexistent", "-o", "-", status: 1, "there is no journal"),
            Case("forget", "org.example.A", status: 1, "nothing of 'org.example.A' is durable"),
            Case("state", "org.example.A", status: 2, "argument STATE is missing"),
            Case("foreground", status: 2, "foreground: give an app or --none"),
            Case("foreground", "org.example.A", "--none", status: 2, "foreground: give an app or --none"),
            Case("foreground", "nodot", status: 2, "'nodot' is no app id"),
            Case("state", "org.example.A", "front", status: 2, "there is no state 'front'"),
            Case("state", "org.example.A", "background", status: 1, "there is no app 'org.example.A'"),
            Case("tasks", "now", status: 2, "unexpected argument 'now'"),
            Case("task", "run", "org.example.A", status: 2, "argument TASK is missing"),
            Case("task", "run", "org.example.A", "sync", status: 1, "no task of 'org.example.A' waits"),
            Case("policy", "whatif", status: 2, "give the policy to try with --policy"),
            Case(
                "policy", "whatif", "--policy", "/dev/null", "--since", "5g", status: 2, "a time, such as 24h, not '5g'"
            ),
            Case(
                "policy", "whatif", "--policy", "/dev/null", "--state-dir", "/nonexistent", status: 1,
                "there is no journal"),
            Case(
                "policy", "whatif", "--policy", "/dev/null", "--since", "1h", "--scenario", "/dev/null", status: 2,
                "give --scenario, or --since and --state-dir"),
            Case("policy", "whatif", "--scenario", "/dev/null", status: 2, "give the policy to try with --policy"),
            Case(
                "policy", "whatif", "--scenario", "/dev/null", "--policy", "/dev/null", status: 2,
                "/dev/null:1:1: expected '# jostle scenario 1'"),
            Case("policy", "whatif", "--scenario", "/nonexistent", "--policy", "/dev/null", status: 2, "/nonexistent"),
            Case("watch", status: 2, "give a preset, or a condition with --when"),
            Case("watch", "shake.planer", status: 2, "did you mean 'shake.planar'?"),
            Case("watch", "shake.planar,treshold=2g", status: 2, "did you mean 'threshold'?"),
            Case("watch", "shake.planar,threshold=fast", status: 2, "threshold"),
            Case("watch", "shake.planar,threshold=99g", status: 2, "99.0g is outside 0.0g to 64.0g"),
            Case("watch", "shake.planar,threshold", status: 2, "expected option=value"),
            Case("watch", "shake.planar,when=x>1g", status: 2, "'when'"),
            Case("watch", "--when", "x >", status: 2, "expected a value"),
            Case(
                "watch", "--when", "hypot(x y) > 2.3g", status: 2,
                "jostle: column 9: expected ',' or ')', found 'y'\n  hypot(x y) > 2.3g\n          ^\n"),
            // A line break of somebody else's stays what it is.
            Case("replay", "/dev/null", "--when", "x y\n", status: 2, "\n  x y \n    ^\n"),
            Case("scope", "--when", "x y", status: 2, "\n  x y\n    ^\n"),
            Case("watch", "--count", "0", "shake", status: 2, "a number of events, not '0'"),
            Case("watch", "--count", "99999999999999999999", "shake", status: 2, "a number of events"),
            Case("watch", "--app", "nodot", "shake", status: 2, "'nodot' is no app id"),
            Case("on", "--app", ":1.5", "shake", "--", "true", status: 2, "':1.5' is no app id"),
            Case("on", "shake", status: 2, "give a command after '--'"),
            Case("on", "--", "true", status: 2, "give a preset"),
            Case("on", "shake", "--", "no-such-command", status: 2, "on: 'no-such-command' is no program in PATH\n"),
            Case("on", "shake", "--", "/etc/passwd", status: 2, "on: '/etc/passwd' is no program\n"),
            Case("on", "shake", "--", "/tmp", status: 2, "on: '/tmp' is no program\n"),
            Case("on", "shake.planer", "--", "true", status: 2, "did you mean 'shake.planar'?"),
            Case("record", status: 2, "argument FILE is missing"),
            Case("record", "/tmp/x", "--rate", "3g", status: 2, "a rate, such as 50Hz, not '3g'"),
            Case("record", "/tmp/x", "--rate", "nan", status: 2, "a rate"),
            Case("record", "/tmp/x", "--for", "-1s", status: 2, "a time"),
            Case("record", "/dev/null", "--rate", "20000Hz", status: 2, "rate 20000.0 Hz is outside"),
            Case("record", "/tmp/x", "--sensor", "gyro", status: 2, "there is no sensor 'gyro'"),
            // Before anybody has made a gesture.
            Case("teach", "x", "--save", "/nonexistent/x.gesture", status: 1, "cannot write /nonexistent/x.gesture"),
            Case("teach", "x", "--save", "/tmp", status: 1, "cannot write /tmp: open: Is a directory"),
            Case("teach", "x", "--negative", "/nonexistent/n.csv", "--save", "-", status: 2, "/nonexistent/n.csv"),
            Case("teach", "x", "--json", "--save", "-", status: 2, "with --json the gesture goes into a file"),
            Case("shake", "--peak", "3s", status: 2, "an acceleration, such as 3g, not '3s'"),
            Case("shake", "--peak", "inf", status: 2, "an acceleration"),
            Case("shake", "--peak", "17g", status: 2, "expected more than 0 to 16.0 g"),
            Case("shake", "--axis", "w", status: 2, "x, y or z, not 'w'"),
            Case("shake", "--sensor", "acelerometer", status: 2, "did you mean 'accelerometer'?"),
            Case("replay", "/nonexistent", "--detector", "shake", status: 2, "/nonexistent"),
            Case("tune", status: 2, "give traces"),
            Case("tune", "--when", "x > level", "/dev/null", status: 2, "say which name in it stands for the number"),
            Case(
                "tune", "--when", "x > 2g", "--parameter", "level=1g..2g", "/dev/null", status: 2, "'level' is none"),
            Case(
                "tune", "--parameter", "level=2g..1g", "/dev/null", status: 2,
                "a name and a range, such as level=1g..4g"),
            Case("tune", "--parameter", "kount", "/dev/null", status: 2, "can name threshold, count, within"),
            Case("tune", "--parameter", "count=0..900", "/dev/null", status: 2, "'count' of 'shake' lies from"),
            Case("tune", "--parameter", "=1g..2g", "/dev/null", status: 2, "'--parameter' needs a name, not '=1g..2g'"),
            Case("make", "shake", status: 2, "argument FILE is missing"),
            Case("make", "shake 1s freq=60Hz", "-", status: 2, "the script:15: expected 0.1 to 50.0 Hz"),
            Case("make", "", "-", status: 2, "this motion has no end: say --for"),
            Case("make", "walk 1s; loop", "-", status: 2, "this motion has no end: say --for"),
            Case("make", "rest 1s", "-", "--rate", "401Hz", status: 2, "0.01 to 400.0 Hz"),
            Case("make", "seed=1; rest 1s", "-", "--seed", "2", status: 2, "'seed' stands here twice"),
            // What would have no effect.
            Case(
                "watch", "shake", "--rest", "3s", status: 2, "--rest goes with --when; a preset takes it as PRESET,rest"
            ),
            Case("watch", "shake", "--every", "3s", status: 2, "--every goes with --when"),
            Case("watch", "shake", "--sensor", "light", status: 2, "--sensor goes with --when"),
            Case("watch", "shake", "--kept", status: 2, "--kept goes with --app"),
            Case("on", "shake", "--rest", "3s", "--", "true", status: 2, "--rest goes with --when"),
            Case("replay", "/dev/null", "--detector", "shake", "--every", "1s", status: 2, "--every goes with --when"),
            Case("tune", "/dev/null", "--sensor", "light", status: 2, "--sensor goes with --when"),
            Case("scope", "--every", "1s", status: 2, "--every goes with --when"),
            Case("scope", "--detector", "shake", "--rest", "1s", status: 2, "--rest goes with --when"),
            Case("presets", "--bus", "session", status: 2, "option '--bus' has no effect on 'presets'"),
            Case("--bus", "session", "presets", status: 2, "option '--bus' has no effect on 'presets'"),
            Case("policy", "show", "--bus=session", status: 2, "option '--bus' has no effect on 'policy show'"),
            Case(
                "status", "--sensor-bus", "session", status: 2,
                "option '--sensor-bus' has no effect on 'status' without '--limits'"),
            Case("demo", "--bus", "session", status: 2, "option '--bus' has no effect on 'demo'"),
            Case(
                "sensors", "--bus", "session", "--sensor-bus", "session", status: 2,
                "--bus has no effect beside --sensor-bus"),
            Case("policy", "check", "--bus", "session", status: 2, "--bus goes with --apps"),
            Case("policy", "coverage", "--json", "--markdown", status: 2, "--json or --markdown, not both"),
            Case(
                "scenario", "/dev/null", "--json", "--explain", status: 2,
                "give --explain, which is for people, or --json"),
            Case(
                "policy", "whatif", "--policy", "/dev/null", "--state-dir", "/tmp", "--bus", "session", status: 2,
                "--bus has no effect beside --state-dir"),
            Case("policy", "check", "/nonexistent", status: 2, "/nonexistent"),
            Case("bridge", "check", "/nonexistent", status: 2, "/nonexistent"),
            Case("bridge", "check", "--bus", "session", status: 2, "--bus"),
            Case("scenario", "/dev/null", "--policy", "/nonexistent", status: 2, "/dev/null"),
            // Refused by whoever answers, and what cannot be done.
            Case(
                "watch", "shake.planar,name=" + String(repeating: "n", count: 129), status: 4,
                "detector-name-bytes is 128"),
            Case(
                "on", "shake.planar,threshold=" + String(repeating: "1", count: 20_000), "--", "true", status: 4,
                "option-bytes is 16384"),
            Case("watch", "shake", "--app", "org.jostle.Broker1", status: 1, "org.jostle.Broker1 is taken"),
            Case("record", "/nonexistent/x.csv", status: 1, "/nonexistent/x.csv"),
        ]

        /// How a command ends stands in its help.
        @Test(arguments: absent + wrong) func endsAsItsHelpSays(_ bad: Case) throws {
            // A program's own options may stand before the command.
            var words = bad.arguments[...]
            while words.first?.hasPrefix("--") == true { words = words.dropFirst(2) }
            // What is behind them is no command.
            var command = Array(words.prefix { !$0.hasPrefix("-") })
            func help() throws -> Tool.Result { try Tool.run([Programs.path(of: "jostle")] + command + ["--help"]) }
            var said = try help()
            while said.status != 0, !command.isEmpty {
                command.removeLast()
                said = try help()
            }
            let ends = said.stdout.split(separator: "\nExit status:\n").last ?? ""
            #expect(ends.split(separator: "\n").contains { $0.hasPrefix("  \(bad.status) ") }, "\(said)")
        }

        @Test func withServices() throws {
            let stage = try Stage()
            for bad in Self.wrong { try self.check(bad, stage) }
        }

        @Test func whatIsRefusedOnATraceSource() throws {
            let trace = "# jostle trace 1\n# sensor: accelerometer\nt,x,y,z\n0,0,0,1\n10000,0,0,1\n"
            let stage = try Stage(source: nil, files: ["still.csv": trace])
            try stage.startReader("trace:\(stage.bus.directory)/still.csv")
            try self.check(
                Case("shake", status: 4, "motion can be added to a synth source only; this is trace:"), stage)
        }

        /// Every line is an object of its own, and nothing in a pipe is coloured.
        @Test func linesForMachinesAreJSON() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar,name=a\"b\\c\u{7F}é", "--app", "org.example.App")
            #expect(try stage.jostle("shake").status == 0)
            _ = try app.nextEvent()
            var lines = app.output
            for command in ["status", "apps", "sensors", "presets"] {
                let result = try stage.jostle(command, "--json")
                #expect(result.status == 0 && result.stderr.isEmpty && !result.stdout.isEmpty)
                lines += result.stdout
            }
            lines += try stage.jostle("presets", "shake", "--json").stdout
            #expect(!lines.contains("\u{1B}"))
            let code = """
                import json, sys
                for line in sys.argv[1].splitlines():
                    assert isinstance(json.loads(line), dict), line
                print(json.loads(sys.argv[1].splitlines()[0])["watching"] == sys.argv[2])
                """
            let check = try stage.run(["python3", "-c", code, lines, "a\"b\\c\u{7F}é"])
            #expect(check == Tool.Result(status: 0, stdout: "True\n", stderr: ""))
        }

        @Test func tablesForPeopleArePlainInAPipe() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar", "--app", "org.example.App")
            for arguments in [["status"], ["apps"], ["sensors"], ["presets"], ["presets", "shake.planar"]] {
                let result = try stage.jostle(arguments)
                #expect(result.status == 0 && result.stderr.isEmpty)
                #expect(!result.stdout.isEmpty && !result.stdout.contains("\u{1B}"))
            }
            let status = try stage.jostle("status").stdout
            #expect(status.contains("accelerometer  10 Hz"))
            #expect(status.contains("org.example.App  foreground          1     0          0       0        0"))
            #expect(try app.terminate() == .exited(0))
        }

        /// While motion is switched off the device does not run, and everybody can see why.
        @Test func pauseReleasesTheSensorUntilResume() throws {
            let stage = try Stage()
            let object = Stage.Object.app("org.example.App")
            let app = try stage.watch(Stage.always, "--app", "org.example.App")
            _ = try app.nextEvent()
            #expect(try stage.jostle("pause").status == 0)
            try stage.until("the reader is at rest") {
                try stage.property("Running", at: Stage.Object.accelerometer) == "b false"
            }
            #expect(try stage.property("Paused", at: Stage.Object.broker) == "b true")
            #expect(try stage.jostle("status").stdout.contains("motion is switched off"))
            #expect(try stage.jostle("resume").status == 0)
            #expect(try stage.property("Paused", at: Stage.Object.broker) == "b false")
            let before = try stage.count("Delivered", at: object)
            try stage.until("events come again") { try stage.count("Delivered", at: object) > before }
            #expect(try app.terminate() == .exited(0))
        }

        /// Colours on a terminal, unless NO_COLOR or a dumb terminal says otherwise.
        @Test(arguments: [([], true), (["NO_COLOR=1"], false), (["TERM=dumb"], false)])
        func coloursAreForTerminals(_ environment: [String], _ hasColor: Bool) throws {
            let stage = try Stage(source: nil, broker: false)
            let code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
            let result = try stage.run(
                ["env", "-u", "NO_COLOR", "TERM=xterm"] + environment
                    + ["/usr/bin/python3", "-c", code, Programs.path(of: "jostle"), "presets"])
            #expect(result.status == 0)
            #expect(result.stdout.contains("shake.planar"))
            #expect(result.stdout.contains("\u{1B}[1m") == hasColor)
            #expect(result.stdout.contains("\u{1B}") == hasColor)
        }

        @Test func watchEndsAfterItsCountAndOnSignals() throws {
            let stage = try Stage()
            let counted = try stage.watch("--count", "3", Stage.always)
            #expect(try counted.waitForEnd() == .exited(0))
            #expect(counted.output.split(separator: "\n").count == 4)
            for signal in [SIGINT, SIGTERM] {
                let app = try stage.watch(Stage.always)
                try app.signal(signal)
                #expect(try app.waitForEnd() == .exited(0))
            }
            let lines = try stage.start("watch", Stage.always)
            _ = try lines.waitForLine { $0.hasPrefix("watching shake.magnitude  available=yes decimation=last") }
            _ = try lines.waitForLine { $0.hasPrefix("shake.magnitude  at 20") && $0.hasSuffix(" ms after the sample") }
        }

        /// An event that overtakes the answer to its registration still comes after what is in force.
        @Test func whatIsInForceStandsBeforeTheFirstEvent() throws {
            let stage = try Stage(source: nil, broker: false)
            let double = try BackgroundProgram(tool: [
                "python3", Programs.source("Tests/Scripts/broker-double.py"), stage.address, "3", "early",
            ])
            try stage.bus.waitForName("org.jostle.Broker1")
            let result = try stage.jostle("watch", "--json", "--count", "3", "shake")
            #expect(result.status == 0)
            let lines = result.stdout.split(separator: "\n").map(String.init)
            try #require(lines.count == 4)
            #expect(lines[0].hasPrefix("{\"watching\":\"shake\""))
            #expect(lines.dropFirst().map { field("sequence", of: $0) } == ["1", "3", "4"])
            _ = try double.terminate()
        }

        /// A reader of the pipe that has seen enough ends the tool, as it ends every filter.
        @Test func aClosedPipeEndsTheWatch() throws {
            let stage = try Stage()
            let result = try stage.run([
                "sh", "-c", "\"$1\" watch --json \"$2\" 2>/dev/null | head -n 3", "sh", Programs.path(of: "jostle"),
                Stage.always,
            ])
            #expect(result.status == 0)
            #expect(result.stdout.split(separator: "\n").count == 3)
        }

        /// The same bytes from a file and from a pipe, however it is filled, give the same output.
        @Test func replayReadsFilesAndPipesAlike() throws {
            let stage = try Stage(broker: false)
            let script = """
                file=$1/several.csv
                { echo '# jostle trace 1'; echo '# accelerometer.unit: m/s2'
                  echo 't,accelerometer.x,accelerometer.y,accelerometer.z,light.lux'
                  seq 0 4999 | awk '{ printf "%d,%d,0,9.80665,%d\\n", $1 * 20000, $1 % 97 == 5 ? 40 : 1, $1 % 71 < 9 ? 3 : 90 }'
                } > $file
                replay() { "$2" replay "$1" --json --detector shake.planar --when 'lux < 10lx' --sensor light 2>/dev/null; }
                replay $file "$2" | sed 's|"file":"[^"]*"||' | cksum
                replay $file "$2" | sed 's|"file":"[^"]*"||' | cksum
                dd if=$file bs=97 2>/dev/null | replay - "$2" | sed 's|"file":"[^"]*"||' | cksum
                replay $file "$2" | grep -c '"detector":"when","peak"'
                """
            let result = try stage.run(["sh", "-c", script, "sh", stage.bus.directory, Programs.path(of: "jostle")])
            let lines = result.stdout.split(separator: "\n")
            #expect(lines.count == 4 && lines[0] == lines[1] && lines[1] == lines[2], "\(result)")
            // 71 samples are 1.42 s, so that each fall is a hit.
            #expect(lines.last == "71")
        }

        @Test func presetsTellPeopleAndProgramsAllThereIs() throws {
            let stage = try Stage(broker: false)
            let shake = try stage.jostle("presets", "shake", "--json").stdout
            #expect(
                shake.contains(
                    "\"parameters\":[{\"name\":\"threshold\",\"unit\":\"g\",\"lowest\":1.0,\"highest\":64.0,"
                        + "\"default\":1.5,\"whole\":false,"))
            #expect(shake.contains("{\"word\":\"pocket\",\"threshold\":2.0,\"count\":3.0,\"rhythm\":2.0}"))
            let axis = try stage.jostle("presets", "shake.axis").stdout
            for text in [
                "Condition:   max(abs(x), abs(y), abs(z)) > threshold", "2.45g", "0g to 64g", "1ms to 60s",
                "high: threshold=0.75g; normal: threshold=1.5g; low: threshold=2.5g.", "counted from registration on",
            ] {
                #expect(axis.contains(text), "\(text)")
            }
            let lifted = try stage.jostle("presets", "pick-up").stdout
            #expect(lifted.contains("20deg") && lifted.contains("5deg to 90deg"))
        }

        /// What is in force is told as what it is: a time with its unit, a count without one.
        @Test func countsAreNoTimes() throws {
            let stage = try Stage()
            let app = try stage.start("watch", "shake,count=4,rest=2s", "--json", "--app", "org.example.App")
            let line = try app.waitForLine { $0.hasPrefix("{\"watching\":") }
            #expect(field("count", of: line) == "4" && field("rest_us", of: line) == "2000000", "\(line)")
            let shown = try stage.property("Detectors", at: Stage.Object.app("org.example.App"))
            #expect(shown.contains("\"count\" u 4") && shown.contains("\"rest\" t 2000000"), "\(shown)")
            #expect(try app.terminate() == .exited(0))
        }

        @Test func whatIsEmptyHasNoHeading() throws {
            let stage = try Stage(source: nil)
            #expect(try stage.jostle("tasks") == Tool.Result(status: 0, stdout: "no task waits\n", stderr: ""))
            #expect(try stage.jostle("tasks", "--json").stdout.isEmpty)
        }

        @Test func onRunsACommandWithTheEventInItsEnvironment() throws {
            let stage = try Stage()
            let app = try stage.start(
                "on", "shake.planar,threshold=2.3g,name=my \"skip\"", "--app", "org.example.App", "--", "sh", "-c",
                "echo \"$JOSTLE_DETECTOR|$JOSTLE_SEQUENCE|$JOSTLE_EPOCH|$JOSTLE_TIME|$JOSTLE_PEAK|$JOSTLE_SIMULATED|$JOSTLE_CLIPPED|$1\"",
                "sh", "an argument")
            try stage.until("it is registered") {
                try stage.property("Detectors", at: Stage.Object.app("org.example.App")).contains("a(sa{sv}) 1 ")
            }
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            let words = try app.waitForLine { _ in true }
                .split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            try #require(words.count == 8)
            #expect(words[0] == "my \"skip\"" && words[1] == "1" && words[5...] == ["1", "0", "an argument"])
            let last = try stage.property("LastEvent", at: Stage.Object.app("org.example.App"))
            #expect(last.contains(" 1 \(words[2]) \(words[3]) \"my \\\"skip\\\"\" "))
            #expect(try #require(Double(words[4])) > 2.3)
            #expect(try app.terminate() == .exited(0))
        }

        /// A shake as hard as the sensor can show may have been harder: everybody who hears of it is told.
        @Test func motionBeyondTheRangeIsClipped() throws {
            let stage = try Stage()
            let app = try stage.watch("shake,every=5ms", "--app", "org.example.App")
            #expect(try stage.jostle("shake", "--peak", "16g", "--for", "2s").status == 0)
            #expect(field("clipped", of: try app.nextEvent()) == "true")
            let last = try stage.property("LastEvent", at: Stage.Object.app("org.example.App"))
            #expect(last.contains(" \"clipped\" b true"))
            #expect(try app.terminate() == .exited(0))
        }

        @Test func onSaysWhenTheCommandCannotRun() throws {
            let stage = try Stage(files: ["command": "#!/nonexistent/shell\n"])
            let command = "\(stage.bus.directory)/command"
            try #require(chmod(command, 0o755) == 0)
            let app = try stage.start("on", Stage.always, "--", command)
            let line = "jostle: cannot run '\(command)': No such file or directory"
            _ = try app.waitForLine(on: .errors) { $0 == line }
            // It goes on for the next event.
            _ = try app.waitForLine(on: .errors) { $0 == line }
            #expect(try app.terminate() == .exited(1))
        }

        /// Whoever begins before the broker does waits for it, as for one that went.
        @Test(arguments: [["watch", "--json", Stage.always], ["on", Stage.always, "--", "echo", "{\"detector\":"]])
        func theBrokerIsWaitedFor(_ arguments: [String]) throws {
            let stage = try Stage(broker: false)
            let missing = "jostle: the broker is not running; waiting for it"
            let stopped = try BackgroundProgram("jostle", arguments, environment: stage.environment)
            _ = try stopped.waitForLine(on: .errors) { $0 == missing }
            #expect(try stopped.terminate() == .exited(0))
            let app = try BackgroundProgram("jostle", arguments, environment: stage.environment)
            _ = try app.waitForLine(on: .errors) { $0 == missing }
            try stage.startBroker()
            _ = try app.nextEvent()
            try stage.kill(stage.broker)
            _ = try app.waitForLine(on: .errors) { $0 == "jostle: the broker is gone; waiting for it" }
            try stage.startBroker()
            _ = try app.waitForLine(on: .errors) { $0 == "jostle: the broker is back" }
            _ = try app.nextEvent()
            #expect(try app.terminate() == .exited(0))
            #expect(stopped.errors == missing + "\n")
        }

        /// Nor does one that never answers keep anybody who is told to end.
        @Test(arguments: [["watch", "shake"], ["on", "shake", "--", "true"], ["foreground", "--none"]])
        func aBusThatSaysNothingKeepsNobody(_ arguments: [String]) throws {
            let stage = try Stage(source: nil, broker: false)
            let path = "\(stage.bus.directory)/silent"
            let script = """
                import socket, sys
                server = socket.socket(socket.AF_UNIX)
                server.bind(sys.argv[1])
                server.listen()
                print("there", flush=True)
                clients = []
                while True:
                    clients.append(server.accept())
                    print("came", flush=True)
                """
            let server = try BackgroundProgram(tool: ["python3", "-c", script, path])
            _ = try server.waitForLine { $0 == "there" }
            for number in [SIGINT, SIGTERM] {
                let program = try BackgroundProgram("jostle", ["--bus", "unix:path=\(path)"] + arguments)
                _ = try server.waitForLine { $0 == "came" }
                try program.signal(number)
                #expect(try program.waitForEnd() == .exited(0))
            }
            _ = try server.terminate()
        }

        /// A broker, on the bus at an address, that leaves when it is asked for something.
        private static let leaving = """
            import asyncio, sys
            from dbus_fast import Message, MessageType
            from dbus_fast.aio import MessageBus
            async def main(address, member):
                bus, asked = await MessageBus(bus_address=address).connect(), asyncio.Event()
                def take(message):
                    if message.message_type is not MessageType.METHOD_CALL: return None
                    if message.member == member: asked.set()
                    if message.member != "Register" or member == "Register": return True
                    return Message.new_method_return(message, "oa{sv}", ["/org/jostle/Broker1/apps/one", {}])
                bus.add_message_handler(take)
                await bus.request_name("org.jostle.Broker1")
                await asked.wait()
                bus.disconnect()
            asyncio.run(main(*sys.argv[1:]))
            """

        /// What the directory is called is nothing to the address of the bus in it.
        @Test func theUsersBusIsFoundWithoutAWord() throws {
            let stage = try Stage(source: nil)
            let directory = "\(stage.bus.directory)/a b~, 100%;c=\u{FC}"
            try #require(mkdir(directory, 0o700) == 0)
            try #require(symlink("\(stage.bus.directory)/bus", "\(directory)/bus") == 0)
            let result = try stage.run([
                "env", "-u", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR=\(directory)", Programs.path(of: "jostle"),
                "status",
            ])
            #expect(result.status == 0, "\(result)")
        }

        /// One that comes and fails at its start, again and again, is followed by one that does not.
        @Test(arguments: [["watch", "shake"], ["on", "shake", "--", "true"]])
        func aBrokerThatLeavesAtOnceIsWaitedForToo(_ arguments: [String]) throws {
            let stage = try Stage(source: nil, broker: false)
            let program = try BackgroundProgram("jostle", arguments, environment: stage.environment)
            _ = try program.waitForLine(on: .errors) { $0 == "jostle: the broker is not running; waiting for it" }
            for member in ["Register", "AddDetectors"] {
                let broker = try stage.run(["python3", "-c", Self.leaving, stage.address, member])
                #expect(broker.status == 0, "\(broker)")
            }
            try stage.startBroker()
            let stream = arguments[0] == "watch" ? BackgroundProgram.Stream.output : .errors
            _ = try program.waitForLine(on: stream) { $0.contains("ing shake") || $0.contains("ing for shake") }
            #expect(try program.terminate() == .exited(0))
        }

        @Test func whoSaysWhatIsInFrontWaitsForABrokerThatStays() throws {
            let stage = try Stage(source: nil)
            let program = try BackgroundProgram("jostle", ["foreground", "--none"], environment: stage.environment)
            _ = try program.waitForLine { $0.hasPrefix("no app is in the foreground") }
            try stage.kill(stage.broker)
            _ = try program.waitForLine(on: .errors) { $0 == "jostle: the broker is gone; waiting for it" }
            let broker = try stage.run(["python3", "-c", Self.leaving, stage.address, "SetForeground"])
            #expect(broker.status == 0, "\(broker)")
            try stage.startBroker()
            _ = try program.waitForLine(on: .errors) { $0 == "jostle: the broker is back" }
            #expect(try program.terminate() == .exited(0))
        }

        /// A refusal that may pass is told, and the broker asked again; one that does not ends the command.
        @Test(arguments: [["watch", "shake"], ["on", "shake", "--", "true"]])
        func whatTheNextBrokerRefusesIsTold(_ arguments: [String]) throws {
            let stage = try Stage(source: nil, broker: false)
            let command = ([Programs.path(of: "jostle")] + arguments).map { "'\($0)'" }.joined(separator: ", ")
            let lines = """
                import asyncio
                from asyncio.subprocess import DEVNULL, PIPE
                from jostle import testing
                async def main():
                    async with testing.Broker() as broker:
                        command = await asyncio.create_subprocess_exec(\(command), stdout=DEVNULL, stderr=PIPE)
                        await broker.until(lambda: broker.detectors)
                        for name in ('LimitsExceeded', 'AccessDenied'):
                            await broker.leave()
                            broker.refuse('AddDetectors', 'org.freedesktop.DBus.Error.' + name, name)
                            await broker.come_back()
                            while name not in (line := (await command.stderr.readline()).decode()):
                                assert line, 'it ended'
                            print(line, end='')
                            if name == 'LimitsExceeded':
                                broker.allow('AddDetectors')
                                await broker.until(lambda: broker.detectors)
                        print(await command.wait())
                asyncio.run(main())
                """
            let result = try stage.run(["python3", "-c", lines])
            #expect(
                result.stdout == "jostle: LimitsExceeded; the broker is asked again\njostle: AccessDenied\n4\n",
                "\(result)")
        }

        @Test func onSaysThatItListens() throws {
            let stage = try Stage()
            let app = try stage.start("on", "shake.planar,threshold=2.3g,name=skip", "--", "true")
            let line = try app.waitForLine(on: .errors) { _ in true }
            #expect(line.hasPrefix("jostle: listening for skip  ") && line.contains("threshold=2.3"), "\(line)")
            #expect(try app.terminate() == .exited(0))
        }

        /// It holds while the command runs, and with the next broker, too.
        @Test(arguments: [["org.example.App"], ["--none"]])
        func theForegroundHoldsWhileItIsSaid(_ what: [String]) throws {
            let stage = try Stage()
            func foreground() throws -> [String] {
                try ["Foreground", "ForegroundReported"].map { try stage.property($0, at: Stage.Object.broker) }
            }
            let name = what == ["--none"] ? "" : what[0]
            let said = ["s \"\(name)\"", "b true"]
            let shell = try BackgroundProgram("jostle", ["foreground"] + what, environment: stage.environment)
            let line = try shell.waitForLine { _ in true }
            #expect(line == "\(name.isEmpty ? "no app" : name) is in the foreground until this ends (Ctrl-C)")
            #expect(try foreground() == said)
            try stage.kill(stage.broker)
            _ = try shell.waitForLine(on: .errors) { $0 == "jostle: the broker is gone; waiting for it" }
            try stage.startBroker()
            _ = try shell.waitForLine(on: .errors) { $0 == "jostle: the broker is back" }
            #expect(try foreground() == said)
            #expect(try shell.terminate() == .exited(0))
            try stage.until("nobody says so any more") { try foreground() == ["s \"\"", "b false"] }
        }

        /// What it does is told, and why nobody may hear of it; a broker is not started to say so.
        @Test func shakeSaysWhatItDoesAndWhoCannotHearIt() throws {
            let stage = try Stage(broker: false, services: [Stage.installedService("org.jostle.Broker1")])
            func shake(_ arguments: String...) throws -> [String] {
                let result = try stage.jostle(["shake"] + arguments)
                #expect(result.status == 0)
                return [result.stdout, result.stderr]
            }
            let absent = "jostle: the broker is not running, so no app hears of it\n"
            #expect(try shake() == ["shaking accelerometer: peak=3g freq=3Hz for=1.2s axis=x\n", absent])
            #expect(try shake("--for", "500ms", "--axis", "y")[0].contains(" for=0.5s axis=y\n"))
            #expect(!(try stage.busctl("list", "--acquired").stdout.contains("org.jostle.Broker1")))
            try stage.startBroker()
            #expect(try shake()[1].isEmpty)
            #expect(try stage.jostle("pause").status == 0)
            #expect(try shake()[1].contains("motion is switched off, so no app hears of it"))
        }

        /// A command is at work until three more events are delivered; the next is for the newest of them, and never for two at
        /// a time.
        @Test func onRunsOneCommandAtATimeForTheNewestEvent() throws {
            let stage = try Stage()
            let script = """
                mkdir "$0" || echo two at a time
                until [ "$(busctl --address="$1" get-property org.jostle.Broker1 "$2" org.jostle.Broker1.App Delivered \
                    | cut -d' ' -f2)" -ge $((JOSTLE_SEQUENCE + 3)) ]; do :; done
                rmdir "$0"
                echo "for $JOSTLE_SEQUENCE"
                """
            let app = try stage.start(
                "on", Stage.always, "--app", "org.example.App", "--", "sh", "-c", script,
                "\(stage.bus.directory)/working", stage.address, Stage.Object.app("org.example.App"))
            let told = try app.waitForLine(on: .errors) { $0.hasSuffix("skipped that came while it ran") }
            var last = 0
            for _ in 0..<4 {
                let number = try #require(Int(try app.waitForLine { _ in true }.dropFirst(4)), "\(app.output)")
                #expect(number > last)
                last = number
            }
            #expect(try app.terminate() == .exited(0), "\(app.errors)")
            #expect(!app.output.contains("two at a time"))
            // Each event has a command or is told as skipped.
            #expect(told.hasPrefix("jostle: "))
            let skipped = app.errors.split(separator: "\n").compactMap { line in
                line.hasSuffix("that came while it ran") ? Int(line.split(separator: " ")[1]) : nil
            }
            let ran = app.output.split(separator: "\n").compactMap { Int($0.dropFirst(4)) }
            for (index, pair) in zip(ran, ran.dropFirst()).enumerated() where pair.1 - pair.0 > 1 {
                #expect(skipped.contains(pair.1 - pair.0 - 1), "command \(index): \(ran), \(skipped)")
            }
        }

        @Test func onOverlapsWhenAskedTo() throws {
            let stage = try Stage()
            // They work until they have no parent to work for.
            let app = try stage.start(
                "on", "--overlap", "\(Stage.always),every=20ms", "--", "sh", "-c",
                "echo begun; while kill -0 $PPID 2>/dev/null; do sleep 0.05; done")
            let line = try app.waitForLine(on: .errors) { $0.contains(" is skipped: ") }
            #expect(line.hasSuffix("is skipped: 16 commands are still at work"), "\(line)")
            // Each says so once it runs, which may be after the line above.
            for _ in 0..<16 { _ = try app.waitForLine { $0 == "begun" } }
            #expect(app.output.split(separator: "\n").count == 16)
            // None of them has ended, so none ended badly.
            #expect(try app.terminate() == .exited(0))
        }

        /// What became of commands is told, and shows in the status.
        @Test(arguments: [
            ("exit 3", "event 1 of shake.magnitude ended with status 3", Int32(1)),
            ("kill -KILL $$", "event 1 of shake.magnitude was killed by signal 9", 1),
            ("echo done >&2", "done", 0), ("echo done >&2; kill -TERM $$", "done", 0),
        ])
        func onTellsHowCommandsEnd(_ script: String, _ words: String, _ status: Int32) throws {
            let stage = try Stage()
            let app = try stage.start("on", Stage.always, "--", "sh", "-c", script)
            _ = try app.waitForLine(on: .errors) { $0.hasSuffix(words) }
            // One more has begun, so the first has ended.
            let second = status == 0 ? words : "ended with status 3"
            if status == 0 { _ = try app.waitForLine(on: .errors) { $0.hasSuffix(second) } }
            #expect(try app.terminate() == .exited(status), "\(app.errors)")
            #expect(app.errors.contains("commands did not end with status 0") == (status != 0))
        }

        /// All that is set for the command stands in the help and on its page, and nothing else does.
        @Test func whatOnSetsIsDocumented() throws {
            let stage = try Stage()
            // What another one of us has set is not in the way.
            let app = try stage.start(
                "on", Stage.always, "--", "sh", "-c", "env | grep ^JOSTLE_; echo end",
                environment: ["JOSTLE_DETECTOR": "another's", "JOSTLE_SEQUENCE": "0"])
            _ = try app.waitForLine { $0 == "end" }
            _ = try app.terminate()
            let lines = app.output.split(separator: "\n").prefix { $0 != "end" }
            #expect(lines.contains("JOSTLE_DETECTOR=shake.magnitude") && lines.contains("JOSTLE_SEQUENCE=1"))
            func names(_ text: String) -> [String] {
                Set(text.matches(of: /JOSTLE_[A-Z]+/).map { String($0.0) }).sorted()
            }
            let set = names(
                lines.joined(separator: "\n").split(separator: "\n").map { $0.prefix { $0 != "=" } }.joined(
                    separator: " "))
            // Ours, and those by which the tests are told something.
            let own = set.filter { !$0.hasPrefix("JOSTLE_TEST") && !$0.hasPrefix("JOSTLE_ATTACK") }
            #expect(own.count == 10)
            #expect(names(try stage.jostle("on", "--help").stdout) == own)
            let page = try Tool.run([
                "sed", "-n", "s/^| `\\(JOSTLE_[A-Z]*\\)`.*/\\1/p", Programs.source("docs/commands.md"),
            ])
            #expect(names(page.stdout) == own)
        }

        /// What was recorded plays again: the same shake reaches the same detector.
        @Test func aRecordingReplays() throws {
            // Time begins for such a sensor with the first who claims it: however late that is, the shake is recorded.
            let stage = try Stage(source: "\(Stage.rest); rest 400ms; shake peak=3g for=1200ms; rest 24h")
            let file = "\(stage.bus.directory)/shake.csv"
            let recorder = try stage.start(
                "record", file, "--rate", "100Hz", "--for", "2s", "--label", "shake, by hand")
            #expect(try recorder.waitForEnd() == .exited(0))
            #expect(recorder.errors == "jostle: 200 samples of the accelerometer in \(file)\n")
            let head = try stage.run(["head", "-n", "7", file]).stdout
            #expect(head.hasPrefix("# jostle trace 1\n"))
            #expect(head.contains("\n# label: shake, by hand\n"))

            try stage.kill(stage.reader)
            let app = try stage.watch("shake.planar,threshold=2.3g")
            try stage.startReader("trace:\(file)?speed=10")
            let event = try app.nextEvent()
            #expect(field("simulated", of: event) == "true")
            #expect(field("clipped", of: event) == "false")
            #expect(try #require(number("peak", of: event)) < 3.3)
            let offline = try stage.jostle("replay", file, "--json", "--detector", "shake.planar,threshold=2.3g")
            #expect(offline.stdout.contains("\"hits\":1"))
        }
    }
}
