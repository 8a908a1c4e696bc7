import Foundation
import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// What `jostle` writes: nothing that others named does anything to the terminal, and what cannot be written is told.
    @Suite(.serialized) struct Outputs {
        private static let app = "org.example.App"
        /// Colours, rings, ends the line, turns it round and erases it.
        private static let hostile = "a\u{1B}[31m\u{7}\n\u{202E}\u{9B}2Jz"

        /// A stage with an app whose detector, and a reader whose source, are named so.
        private func stage() throws -> (Stage, BackgroundProgram) {
            let trace = "# jostle trace 1\n# sensor: accelerometer\nt,x,y,z\n0,0,0,1\n20000,0,0,1\n40000,0,0,1\n"
            let file = "b\u{1B}]0;title\u{7}\u{202E}.csv"
            let stage = try Stage(source: nil, broker: false, files: [file: trace])
            try stage.startReader("trace:\(stage.bus.directory)/\(file)?loop")
            try stage.startBroker()
            let app = try stage.watch("\(Stage.always),every=20ms,name=\(Self.hostile)", "--app", Self.app)
            _ = try app.nextEvent()
            return (stage, app)
        }

        @Test func namesOfOthersAreOnlyShown() throws {
            let (stage, app) = try self.stage()
            let commands = [
                ["status"], ["apps"], ["app", Self.app], ["sensors"], ["tasks"], ["explain"],
                ["explain", "--app", Self.app], ["why-not", Self.app], ["scope", "--lines", "--for", "1.2s"],
                ["watch", "--count", "1", "\(Stage.always),every=20ms,name=\(Self.hostile)"],
                ["top", "--once", "--every", "200ms"],
            ]
            var shown: [String] = []
            for command in commands {
                let result = try stage.jostle(command)
                #expect(result.status == 0, "\(command): \(result)")
                // A warning names the detector as well.
                let text = result.stdout + result.stderr
                #expect(text.controls.isEmpty, "\(command): \(text.debugDescription)")
                if result.stdout.contains(#"a\x1b[31m\x07\n\u{202e}\x9b2Jz"#) { shown.append(command[0]) }
            }
            // It is not that they say nothing of it.
            #expect(shown == ["app", "explain", "explain", "why-not", "scope", "watch"])
            #expect(try stage.jostle("sensors").stdout.contains(#"b\x1b]0;title\x07\u{202e}.csv"#))
            #expect(app.end == nil)
        }

        /// Whoever plugs something in says what it is called, where it sits and what it can do.
        @Test func whatDevicesSayIsOnlyShown() throws {
            let stage = try Stage(source: nil, broker: false)
            let bed = try DeviceBed(stage)
            try bed.perform(
                DeviceBed.accelerometer(), DeviceBed.accelerometer(1), DeviceBed.add("ambient"),
                DeviceBed.add("laptop"),
                "input /dev/input/event6 asked 0=-512,512,0 1=-512,512,0 2=-512,512,0")
            // With a byte that is no UTF-8, and one that is a control character alone and in UTF-8.
            let name = Array(Self.hostile.utf8) + [0xFF, 0x9B, 0x32, 0x4A, 0x7A]
            let flat = DeviceBed.accelerometerPath()
            let inputs = "/devices/platform/lis3/input/input6"
            let ambient = "/devices/platform/ambient/iio:device7"
            for (device, attribute, before) in [
                (flat, "name", ""), (flat, "label", "accel-"), (flat, "in_accel_mount_matrix", "1, 0, 0; "),
                (DeviceBed.accelerometerPath(1), "name", ""),
                (DeviceBed.accelerometerPath(1), "in_accel_scale", "1"),
                (DeviceBed.accelerometerPath(1), "sampling_frequency_available", "25 "), (inputs, "name", ""),
                (ambient, "name", ""), (ambient, "in_illuminance_raw", "2"), (ambient, "in_proximity_raw", ""),
            ] {
                let bytes = Array(before.utf8) + name + [0x0A]
                try bed.perform("bytes \(device) \(attribute) " + bytes.map { hex($0) }.joined())
            }
            try stage.startReader(environment: bed.environment)
            try stage.startBroker()
            // A sensor's name is made of where it sits, and is a name all the same.
            let sensor = "accelerometer-a--31m----2jz--2jz"
            let app = try stage.watch(
                "--when", "norm(x, y, z) > 0.5g", "--sensor", sensor, "--every", "50ms", "--rest", "0s", "--app",
                Self.app)
            _ = try app.nextEvent()
            let deaf = try stage.watch("\(Stage.always),every=50ms", "--app", "org.example.Deaf")
            try stage.until("the other one is broken") {
                try stage.property("State", at: Stage.Object.accelerometer) == "s \"broken\""
            }
            let commands = [
                ["sensors"], ["sensors", "--json"], ["status"], ["status", "--json"], ["apps"], ["app", Self.app],
                ["explain"], ["explain", "--json"], ["why-not", Self.app], ["why-not", "org.example.Deaf"],
                ["why-not", "org.example.Deaf", "--json"], ["scope", sensor, "--lines", "--for", "500ms"],
            ]
            for command in commands {
                let result = try stage.jostle(command)
                #expect(result.status == 0, "\(command): \(result)")
                let text = result.stdout + result.stderr
                #expect(text.controls.isEmpty, "\(command): \(text.debugDescription)")
            }
            // It is not that they say nothing of it.
            let sensors = try stage.jostle("sensors").stdout
            let shown = #"a\x1b[31m\x07\n\u{202e}\x9b2Jz"#
            #expect(sensors.components(separatedBy: shown).count > 4, "\(sensors)")
            for program in [stage.reader, stage.broker] {
                let said = try #require(program).errors
                #expect(said.controls.isEmpty, "\(said.debugDescription)")
            }
            let log = try #require(stage.reader).errors
            #expect(log.contains("which is no mount matrix"), "\(log)")
            for program in [app, deaf] { #expect(program.end == nil) }
        }

        /// Names of assertions are the app's own words, as long as may be; of tasks, whatever a broker says.
        @Test func namesOfWorkAreOnlyShown() throws {
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker(policy: "[Policy]\nDefault=allow\n[App *]\nAssertionBudget=1h\n")
            let root = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"
            // ASCII only: the script's library counts a text's letters where the bus counts bytes.
            let name = #"'a\x1b[31m\x07\n\x7f2Jz'+'\x1b'*100"#
            let app = try stage.startScript(
                "app own \(Self.app)", "app call \(root) Register sa{sv} ['\(Self.app)',{}]",
                "app call org.jostle.Broker1 \(Stage.Object.app(Self.app)) org.jostle.Broker1.App BeginAssertion sa{sv} "
                    + "[\(name),{}]")
            try app.waitUntilSaid("staying")
            #expect(!app.output.contains("app error"), "\(app.output)")
            let shown = try stage.jostle("app", Self.app)
            #expect(shown.stdout.contains(#"a\x1b[31m\x07\n\x7f2Jz\x1b\x1b"#), "\(shown)")
            for command in [["app", Self.app], ["app", Self.app, "--json"], ["apps"], ["status"], ["tasks"]] {
                let result = try stage.jostle(command)
                #expect(result.status == 0 && (result.stdout + result.stderr).controls.isEmpty, "\(result)")
            }

            let other = try Stage(source: nil, broker: false)
            let double = try BackgroundProgram(
                tool: [
                    "python3", Programs.source("Tests/Scripts/broker-double.py"), other.address, "0",
                    "a\u{1B}[31m\u{7}\n\u{7F}2Jz",
                ])
            try other.bus.waitForName("org.jostle.Broker1")
            for command in [["tasks"], ["tasks", "--json"]] {
                let result = try other.jostle(command)
                #expect(result.status == 0 && (result.stdout + result.stderr).controls.isEmpty, "\(result)")
                if command == ["tasks"] { #expect(result.stdout.contains(#"a\x1b[31m\x07\n\x7f2Jz"#)) }
            }
            #expect(double.end == nil)
        }

        /// Whoever has the broker's name may answer without end.
        @Test func aListWithoutEndIsRefused() throws {
            let stage = try Stage(source: nil, broker: false)
            let double = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/broker-double.py"), stage.address, "0", "early"])
            try stage.bus.waitForName("org.jostle.Broker1")
            let result = try stage.jostle("apps")
            #expect(result.status == 1 && result.stderr.contains("lists the same twice"), "\(result)")
            #expect(double.end == nil)
        }

        /// What is refused is named, in a message that does nothing: also when it is long, or no UTF-8.
        @Test(arguments: [
            hostile, hostile + String(repeating: "\u{1B}", count: 5_000), #"$(printf 'a\377\033[31m\233z')"#,
        ])
        func whatIsRefusedIsOnlyShown(_ word: String) throws {
            let stage = try Stage(source: nil)
            var shown = 0
            for command in [
                ["app"], ["why-not"], ["why-not", Self.app], ["explain"], ["explain", "--app"], ["presets"], ["push"],
                ["forget"], ["state", Self.app], ["task", "run", Self.app], ["watch"], ["watch", "--when"], ["scope"],
                ["policy", "check"], ["replay"], [],
            ] {
                // The shell makes bytes of what is no text.
                let last = word.hasPrefix("$") ? "\"\(word)\"" : "\"$WORD\""
                let result = try stage.run(
                    ["sh", "-c", "exec \"$@\" \(last)", "sh", Programs.path(of: "jostle")] + command,
                    environment: word.hasPrefix("$") ? [:] : ["WORD": word])
                #expect(result.status != 0 || command == ["explain", "--app"], "\(command): \(result)")
                #expect((result.stdout + result.stderr).controls.isEmpty, "\(command): \(result)")
                if result.stderr.contains("[31m") { shown += 1 }
            }
            // It is not that they say nothing of it.
            #expect(shown >= 8, "\(shown)")
        }

        @Test func onATerminalOnlyOurOwnStylesAreLeft() throws {
            let (stage, app) = try self.stage()
            let code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
            for command in [["app", Self.app], ["why-not", Self.app], ["explain"], ["sensors"], ["status"]] {
                let result = try stage.run(
                    ["env", "-u", "NO_COLOR", "TERM=xterm", "/usr/bin/python3", "-c", code]
                        + [Programs.path(of: "jostle")] + command)
                var text = result.stdout
                for style in ["0", "1", "2", "32", "33", "36"] {
                    text = text.split(separator: "\u{1B}[\(style)m", omittingEmptySubsequences: false).joined()
                }
                // The terminal itself ends lines so.
                #expect(text.controls.allSatisfy { $0 == "\r" }, "\(text.debugDescription)")
            }
            #expect(app.end == nil)
        }

        @Test func machinesGetThemAsTheyAre() throws {
            let (stage, app) = try self.stage()
            let code = """
                import json, sys
                found = [json.loads(line) for line in sys.argv[1].splitlines()]
                print(any(sys.argv[2] in str(list(o.values())) or sys.argv[2] in o.values() for o in found))
                """
            for command in [["app", Self.app], ["explain"], ["why-not", Self.app]] {
                let result = try stage.jostle(command + ["--json"])
                #expect(result.status == 0 && result.stdout.controls.isEmpty)
                let check = try stage.run(["python3", "-c", code, result.stdout, Self.hostile])
                #expect(check.status == 0 && check.stderr.isEmpty, "\(check)")
                if command[0] == "explain" { #expect(check.stdout == "True\n") }
            }
            #expect(app.end == nil)
        }

        // MARK: What cannot be written

        private static let commands: [[String]] = [
            ["status"], ["sensors"], ["apps"], ["app", app], ["tasks"], ["explain"], ["why-not", app], ["presets"],
            ["presets", "shake"], ["watch", "shake.planar"], ["scope", "--lines"], ["policy", "show"],
            ["policy", "coverage"], ["--help"], ["--version"], ["status", "--json"],
        ]

        /// A full disk is told, and nobody who looks at the exit code takes half for the whole. So is an output that was opened to
        /// be read.
        @Test(arguments: [("> /dev/full", "No space left on device"), ("1< /dev/null", "Bad file descriptor")])
        func whatCannotBeWrittenIsAFailure(output: String, problem: String) throws {
            let (stage, app) = try self.stage()
            for command in Self.commands {
                let result = try stage.run(
                    ["sh", "-c", "exec \"$@\" \(output)", "sh", Programs.path(of: "jostle")] + command)
                #expect(result.status == 1, "\(command): \(result)")
                #expect(result.stderr.hasPrefix("jostle: "), "\(command): \(result.stderr)")
                #expect(result.stderr.contains(problem), "\(command): \(result.stderr)")
                #expect(result.stderr.split(separator: "\n").count == 1, "\(command): \(result.stderr)")
            }
            #expect(app.end == nil)
        }

        @Test func anInputThatCannotBeReadIsTold() throws {
            let replay = [Programs.path(of: "jostle"), "replay", "--detector", "shake", "-"]
            let result = try Tool.run(["sh", "-c", "exec \"$@\" 0> /dev/null", "sh"] + replay)
            #expect(result.status == 2, "\(result)")
            #expect(result.stderr == "jostle: -: read: Bad file descriptor (9)\n")
        }

        /// Who closes the pipe has read enough.
        @Test func whoReadsNoMoreIsToldNothing() throws {
            let (stage, app) = try self.stage()
            for command in Self.commands {
                let result = try stage.run(
                    ["bash", "-c", "exec > >(exec true); wait $!; exec \"$@\"", "sh", Programs.path(of: "jostle")]
                        + command)
                #expect(result.status == 0, "\(command): \(result)")
                #expect(result.stderr.isEmpty, "\(command): \(result.stderr)")
            }
            #expect(app.end == nil)
        }

        /// Whoever reads stands still, and somebody ends what writes.
        @Test(arguments: [["watch", "\(Stage.always),every=20ms"], ["record", "-"], ["top", "--every", "200ms"]])
        func whoIsNotReadEndsWhenToldTo(_ arguments: [String]) throws {
            let stage = try Stage()
            let code = """
                import fcntl, os, subprocess, sys, termios, time
                reader, writer = os.pipe()
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
                command = subprocess.Popen(sys.argv[1:], stdout=writer, stderr=subprocess.DEVNULL)
                def waiting(): return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)
                before = -1
                while before < 1 or waiting() != before:
                    before = waiting()
                    time.sleep(1)
                command.terminate()
                try:
                    sys.exit(command.wait(10))
                except subprocess.TimeoutExpired:
                    command.kill()
                    raise
                """
            let result = try stage.run(["python3", "-c", code, Programs.path(of: "jostle")] + arguments)
            #expect(result.status == 0, "\(result)")
        }

        /// The same where nobody reads what it has to complain of.
        @Test func whoseComplaintsAreNotReadEndsWhenToldTo() throws {
            let stage = try Stage()
            let code = """
                import fcntl, os, subprocess, sys, termios, time
                reader, writer = os.pipe()
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 8192)
                command = subprocess.Popen(sys.argv[1:], stderr=writer)
                def waiting(): return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)
                before = -1
                while before < 1 or waiting() != before:
                    before = waiting()
                    time.sleep(1)
                command.terminate()
                try:
                    print("it ended with", command.wait(10))
                except subprocess.TimeoutExpired:
                    command.kill()
                """
            let result = try stage.run([
                "python3", "-c", code, Programs.path(of: "jostle"), "on", "\(Stage.always),every=20ms", "--", "false",
            ])
            // What it runs has status 1 each time.
            #expect(result.stdout == "it ended with 1\n", "\(result)")
        }

        /// A terminal that nobody reads any more, as behind a line that is dead, keeps no picture from being ended.
        @Test func whoHasADeadTerminalEndsWhenToldTo() throws {
            let stage = try Stage()
            let code = """
                import fcntl, os, pty, signal, struct, sys, termios, time
                pid, terminal = pty.fork()
                if pid == 0:
                    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 65535, 65535, 0, 0))
                    os.execv(sys.argv[1], sys.argv[1:])
                seen = b""
                while b"\\x1b[J" not in seen: seen += os.read(terminal, 65536)
                time.sleep(5)
                os.kill(pid, signal.SIGTERM)
                for _ in range(100):
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    if ended: sys.exit(os.waitstatus_to_exitcode(status))
                    time.sleep(0.1)
                os.kill(pid, signal.SIGKILL)
                sys.exit("it goes on")
                """
            let result = try stage.run(
                ["env", "TERM=xterm", "timeout", "30", "/usr/bin/python3", "-c", code, Programs.path(of: "jostle")]
                    + ["scope"])
            #expect(result.status == 0, "\(result)")
        }

        /// A terminal that claims to be endless costs no more than a large one, and one that stands still has no pictures waiting
        /// for it: whoever ends the command waits for none of them. Counted, not timed.
        @Test func aTerminalIsNoLargerThanPeopleLookAt() throws {
            let stage = try Stage()
            let code = """
                import fcntl, os, pty, struct, sys, termios, time
                pid, terminal = pty.fork()
                if pid == 0:
                    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 65535, 65535, 0, 0))
                    os.execv(sys.argv[1], sys.argv[1:])
                seen = 0
                while seen < 100000: seen += len(os.read(terminal, 65536))
                time.sleep(1)
                os.write(terminal, b"\\x03")
                rest = bytearray()
                try:
                    while some := os.read(terminal, 65536): rest += some
                except OSError: pass
                print(rest.count(b"\\x1b[H"), rest.count(b"\\x1b[?1049l"))
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                """
            let result = try stage.run(
                ["env", "TERM=xterm", "timeout", "30", "/usr/bin/python3", "-c", code, Programs.path(of: "jostle")]
                    + ["scope"])
            #expect(result.status == 0, "\(result)")
            // The one that was about to be drawn, and one for what came meanwhile; then the terminal is given back.
            let counts = result.stdout.split(separator: "\n").last?.split(separator: " ").compactMap { Int($0) } ?? []
            try #require(counts.count == 2, "\(result)")
            #expect(counts[0] <= 2 && counts[1] == 1, "\(counts)")
        }
    }
}
