import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// How the daemons begin, and how they decline to.
    @Suite(.serialized) struct Starts {
        private func run(_ program: String, _ arguments: [String], _ stage: Stage? = nil) throws -> Tool.Result {
            try Tool.run(
                [Programs.path(of: program)] + arguments,
                environment: stage?.environment ?? ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": ""])
        }

        @Test(arguments: [("jostle-sensord", "org.jostle.Sensors1"), ("jostle-brokerd", "org.jostle.Broker1")])
        func aSecondOneGivesWay(_ program: String, _ name: String) throws {
            let stage = try Stage()
            let second = try self.run(program, [], stage)
            #expect(second.status == 1)
            #expect(second.stdout.isEmpty)
            #expect(
                second.stderr == "<3>the name \(name) is taken: another instance runs on the session bus\n")
            // The first one did not notice.
            #expect(try stage.count("RefusedMessages", at: Stage.Object.sensors) == 0)
            #expect(try stage.count("RefusedMessages", at: Stage.Object.broker) == 0)
        }

        @Test(
            arguments: ["jostle-sensord", "jostle-brokerd"],
            [["--bus", "unix:path=/nonexistent/bus"], [], ["--bus=session"]])
        func withoutABusItSaysSo(_ program: String, _ arguments: [String]) throws {
            let result = try self.run(program, arguments)
            #expect(result.status == 3)
            #expect(result.stdout.isEmpty)
            #expect(result.stderr.hasPrefix("<3>no bus: "))
            #expect(result.stderr.split(separator: "\n").count == 1, "\(result.stderr)")
        }

        /// Swift knows what we are called with by `/proc` alone: nothing is done as if we were called with nothing.
        @Test(
            .enabled(if: getuid() == 0, "only root may mount"),
            arguments: [("jostle", "--version"), ("jostle-sensord", "--version"), ("jostle-brokerd", "--no-journal")])
        func withoutACommandLineNothingIsDone(_ program: String, _ argument: String) throws {
            let hiding = ["sh", "-ec", "mount -t tmpfs none /proc; exec \"$@\"", "sh"]
            let result = try Tool.run(
                ["unshare", "--mount", "--propagation", "private"] + hiding
                    + [Programs.path(of: program), argument],
                environment: ["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": ""])
            #expect(result.status == 1)
            #expect(result.stdout.isEmpty)
            #expect(result.stderr.contains("the command line cannot be read"), "\(result.stderr)")
        }

        /// What cannot be read because something is used up may be right: the bridge ends so that it is started again, and what it had
        /// written down stays.
        @Test(arguments: [("c", "bridge.conf"), ("d", "bridge.cursor")])
        func aBridgeWithoutADescriptorIsToBeStartedAgain(_ fault: String, _ file: String) throws {
            let stage = try Stage(source: nil, broker: false)
            let (config, cursor) = ("\(stage.home)/bridge.conf", "\(stage.home)/bridge.cursor")
            let files = [
                config: "[Server]\nHost=127.0.0.1\nTLS=no\n", cursor: "kept\n", "\(stage.home)/fault": fault,
            ]
            for (path, text) in files {
                let file = try #require(fopen(path, "w"))
                fputs(text, file)
                try #require(fclose(file) == 0)
            }
            let result = try Tool.run(
                [Programs.path(of: "jostle-bridge"), "--config", config, "--state-dir", stage.home],
                environment: stage.environment.merging([
                    "LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": "\(stage.home)/fault",
                ]) { $1 })
            #expect(result.status == 1, "\(result)")
            #expect(result.stderr.contains("\(file): ") && result.stderr.contains("Too many open files"), "\(result)")
            #expect(try Tool.run(["cat", cursor]).stdout == "kept\n")
        }

        static let badArguments: [(program: String, arguments: [String], hint: String)] = [
            ("jostle-sensord", ["--sauce", "synth:"], "unknown option '--sauce', did you mean '--source'?"),
            ("jostle-sensord", ["--source"], "option '--source URI' needs a value"),
            (
                "jostle-sensord", ["--source", "shaking"],
                "expected auto, iio:NAME, evdev:NODE, gpsd, synth:SCRIPT or trace:FILE, got 'shaking'"
            ),
            ("jostle-sensord", ["--source", "sinth:"], "unknown kind of source 'sinth', did you mean 'synth'?"),
            ("jostle-sensord", ["--source", "synth:shkae"], "synth:1: "),
            ("jostle-sensord", ["--source", "synth:rest 1s; seed=2"], "synth:10: 'seed' must stand before"),
            ("jostle-sensord", ["--source", "trace:/nonexistent.csv"], "trace:/nonexistent.csv: "),
            ("jostle-sensord", ["--source", "trace:/dev/null"], "trace:/dev/null: "),
            ("jostle-sensord", ["--source", "trace:-"], "trace:-: standard input cannot be played; expected a file"),
            ("jostle-sensord", ["--source", "auto:"], "auto takes nothing behind it, got 'auto:'"),
            ("jostle-sensord", ["--source", "trace:/dev/null?speed=0"], "'speed=' 0.01 to 1000"),
            ("jostle-sensord", ["--source", "trace:/dev/null?speed=nan"], "'speed=' 0.01 to 1000"),
            (
                "jostle-sensord", ["--source", "synth:", "--source", "synth:"],
                "two sources have a sensor 'accelerometer'"
            ),
            ("jostle-sensord", ["--bus", "nowhere"], "session, system or a bus address, not 'nowhere'"),
            ("jostle-sensord", ["--log-level", "loud"], "a log level, not 'loud'"),
            ("jostle-sensord", ["now"], "unexpected argument 'now'"),
            ("jostle-brokerd", ["--sensor-buss=system"], "did you mean '--sensor-bus'?"),
            ("jostle-brokerd", ["--sensor-bus", "here"], "auto, session, system or a bus address, not 'here'"),
            ("jostle-brokerd", ["--bus", "session", "--bus", "system"], "option '--bus' was given twice"),
            ("jostle-brokerd", ["--exit-with-bus=yes"], "option '--exit-with-bus' takes no value"),
            (
                "jostle-brokerd", ["--policy", "/nonexistent"],
                "option '--policy': there is no directory '/nonexistent'"
            ),
            ("jostle-brokerd", ["--apps", "/dev/null"], "option '--apps': there is no directory '/dev/null'"),
            ("jostle-brokerd", ["--state-dir", "state"], "an absolute path, not 'state'"),
            ("jostle-brokerd", ["--state-dirs", "/state"], "did you mean '--state-dir'?"),
            ("jostle-brokerd", ["--no-journal=yes"], "option '--no-journal' takes no value"),
            ("jostle-brokerd", ["--journal-size", "0"], "a whole number from 1 to 65536, not '0'"),
            ("jostle-brokerd", ["--journal-size", "64MiB"], "a whole number from 1 to 65536, not '64MiB'"),
            ("jostle-brokerd", ["--journal-age", "48"], "a time from 1min to 87600h, such as 48h, not '48'"),
            ("jostle-brokerd", ["--journal-age", "1s"], "a time from 1min to 87600h, such as 48h, not '1s'"),
            ("jostle-brokerd", ["--journal-age", "1e300h"], "a time from 1min to 87600h, such as 48h, not '1e300h'"),
        ]

        @Test(arguments: badArguments.indices)
        func aBadCommandLineIsOneLineThatHelps(_ index: Int) throws {
            let (program, arguments, hint) = Self.badArguments[index]
            let stage = try Stage(source: nil, broker: false)
            let result = try self.run(program, arguments, stage)
            #expect(result.status == 2)
            #expect(result.stdout.isEmpty)
            #expect(result.stderr.hasPrefix("\(program): "), "\(result.stderr)")
            #expect(result.stderr.contains(hint), "\(result.stderr)")
            #expect(result.stderr.split(separator: "\n").count == 1, "\(result.stderr)")
        }

        @Test(arguments: ["jostle-sensord", "jostle-brokerd", "jostle"])
        func helpAndVersionNeedNoBus(_ program: String) throws {
            let help = try self.run(program, ["--help"])
            #expect(help.status == 0 && help.stderr.isEmpty)
            #expect(help.stdout.hasPrefix("Usage: \(program) [OPTION]..."))
            #expect(help.stdout.split(separator: "\n").allSatisfy { $0.count <= 80 })
            let version = try self.run(program, ["--version"])
            #expect(version.status == 0 && version.stderr.isEmpty)
            #expect(version.stdout.hasPrefix("\(program) 0."))
        }

        /// Nobody waits in a queue for the name, and a clean end gives it back.
        @Test func aTerminatedDaemonLeavesItsPlace() throws {
            let stage = try Stage()
            for program in [stage.reader, stage.broker] { #expect(try program?.terminate() == .exited(0)) }
            try stage.startReader(Stage.rest)
            try stage.startBroker()
            #expect(try stage.property("Version", at: Stage.Object.broker).hasPrefix("s \""))
        }

        /// With nothing registered, neither daemon wakes up: not once in three seconds.
        @Test(arguments: [false, true])
        func idleDaemonsSleep(afterUse: Bool) throws {
            let stage = try Stage()
            if afterUse {
                let app = try stage.watch(Stage.always)
                _ = try app.nextEvent()
                #expect(try app.terminate() == .exited(0))
                try stage.until("the sensor stops") {
                    try stage.property("Running", at: Stage.Object.accelerometer) == "b false"
                }
                #expect(
                    try stage.busctl(
                        "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "ListApps", "a{sv}",
                        "0"
                    )
                    .stdout == "a(oa{sv}) 0\n")
            }
            let daemons = try [stage.reader, stage.broker].map { try #require($0) }
            // A second after use memory is given back, and the last rows are written. Of a start the bus, or a disk that is slow, may
            // bring something later.
            try stage.until("what was begun is done") {
                let before = try daemons.map { try self.wakeUps(of: $0, stage) }
                _ = try Tool.run(["sleep", "1.5"])
                return try daemons.map { try self.wakeUps(of: $0, stage) } == before
            }
            let before = try daemons.map { try self.wakeUps(of: $0, stage) }
            _ = try Tool.run(["sleep", "3"])
            #expect(try daemons.map { try self.wakeUps(of: $0, stage) } == before)
        }

        /// And where a service manager wants to hear that it lives, it wakes for that and nothing else.
        @Test(arguments: ["jostle-sensord", "jostle-brokerd"])
        func onlyTheWatchdogWakesAnIdleDaemon(_ name: String) throws {
            let stage = try Stage(source: nil, broker: false)
            let manager = try ServiceManager(in: stage.bus.directory, watchdog: 1_000_000)
            if name == "jostle-sensord" {
                try stage.startReader(Stage.rest, environment: manager.environment)
            } else {
                try stage.startReader(Stage.rest)
                try stage.startBroker(environment: manager.environment)
            }
            let daemon = try #require(stage.broker ?? stage.reader)
            for _ in 0..<2 { _ = try manager.nextPing() }
            let began = ContinuousClock.now
            let before = try self.wakeUps(of: daemon, stage)
            for _ in 0..<8 { _ = try manager.nextPing() }
            let woken = try self.wakeUps(of: daemon, stage) - before
            // One each half second, however long we take to look; some may come besides, at either end.
            let due = Int((ContinuousClock.now - began) / .milliseconds(500))
            #expect((1...due + 3).contains(woken), "\(woken) of \(due)")
        }

        /// How often the threads of a process have slept: what it does now is over.
        private func wakeUps(of program: BackgroundProgram, _ stage: Stage) throws -> Int {
            func status(_ field: String) throws -> [Substring] {
                let files = "/proc/\(program.pid)/task/*/status"
                return try Tool.run(["sh", "-c", "grep -h ^\(field): \(files)"]).stdout.split(separator: "\n")
            }
            try stage.until("all of it sleeps") { try status("State").allSatisfy { $0.contains("S (sleeping)") } }
            return try status("voluntary_ctxt_switches").reduce(0) { sum, line in
                sum + (try #require(line.split(separator: "\t").last.flatMap { Int($0) }, "\(line)"))
            }
        }
    }
}
