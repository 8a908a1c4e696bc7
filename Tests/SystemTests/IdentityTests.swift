import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// How well an app is proven: by the sandbox and by the control group that its process really is in.
    @Suite(.serialized) struct Identities {
        private static let app = "org.example.Player"
        private static let file = "[App]\nUsage=Skips when you shake the device\n"
        private static let root = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"

        private func start(_ stage: Stage) throws {
            let policy = "[Policy]\nDefault=allow\n"
            try stage.startBroker(policy: policy, apps: [Self.app: Self.file], "--state-dir", stage.state)
        }

        private func stage() throws -> Stage {
            let stage = try Stage(source: nil, broker: false)
            try self.start(stage)
            return stage
        }

        /// Registers as the app from a process that is started by some command; what the broker answers.
        private func register(
            _ stage: Stage, durable: Bool = false, by command: [String] = []
        ) throws -> String {
            let options = durable ? "{'durable':V('b',True)}" : "{}"
            let result = try Tool.run(
                command + ["/usr/bin/python3", Programs.source("Tests/Scripts/bus-script.py"), stage.address]
                    + [
                        "app own \(Self.app)", "app call \(Self.root) Register sa{sv} ['\(Self.app)',\(options)]",
                        "app call org.jostle.Broker1 \(Stage.Object.app(Self.app)) org.freedesktop.DBus.Properties Get ss"
                            + " ['org.jostle.Broker1.App','Identity']",
                    ])
            try #require(result.status == 0, "\(result.stderr)")
            return result.stdout
        }

        // MARK: Control groups

        /// Where a test can make groups; `nil`: nowhere.
        private static let groups: String? = {
            guard geteuid() == 0 else { return nil }
            return ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].first { access("\($0)/cgroup.procs", W_OK) == 0 }
        }()

        /// A group of its own, gone with it.
        private final class Group {
            let path: String
            private let slice: String

            init(_ unit: String) throws {
                self.slice = "\(try #require(Identities.groups))/jostle-test\(getpid()).slice"
                self.path = "\(self.slice)/\(unit)"
                try #require(mkdir(self.slice, 0o755) == 0 && mkdir(self.path, 0o755) == 0)
            }

            deinit {
                rmdir(self.path)
                rmdir(self.slice)
            }

            /// What runs a command in the group.
            var command: [String] {
                ["sh", "-c", "echo $$ > '\(self.path)/cgroup.procs' && exec \"$@\"", "sh"]
            }
        }

        @Test(
            .enabled(if: groups != nil),
            arguments: [
                ("app-org.example.Player-1.scope", "unit"), ("app-gnome-org.example.Player-77.scope", "unit"),
                ("org.example.Player.service", "unit"), ("app-org.example.Other-1.scope", "name"),
            ])
        func aUnitProvesAnApp(_ unit: String, _ proof: String) throws {
            let stage = try self.stage()
            let group = try Group(unit)
            let answer = try self.register(stage, by: group.command)
            #expect(answer.contains("\"identity\": \"\(proof)\""), "\(answer)")
            #expect(answer.contains("app ok [\"\(proof)\"]"), "\(answer)")
        }

        // MARK: Sandboxes

        /// What runs a command in a sandbox as Flatpak makes them: with bubblewrap, and a file at its root.
        private func sandbox(of app: String, _ stage: Stage) throws -> [String] {
            let path = "\(stage.bus.directory)/info"
            let file = try #require(fopen(path, "w"))
            fputs("[Application]\nname=\(app)\nruntime=runtime/org.example.Platform/x86_64/1\n", file)
            try #require(fclose(file) == 0)
            let source = Programs.source("Tests")
            return [
                "sh", "-c", "exec 9<'\(path)' && exec \"$@\"", "sh", "bwrap", "--ro-bind", "/usr", "/usr", "--ro-bind",
                "/etc", "/etc", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink",
                "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--ro-bind", source, source, "--bind",
                stage.bus.directory, stage.bus.directory, "--ro-bind-data", "9", "/.flatpak-info",
            ]
        }

        @Test(arguments: [(app, "flatpak"), ("org.example.Other", "name")])
        func aSandboxProvesAnApp(_ app: String, _ proof: String) throws {
            let stage = try self.stage()
            let answer = try self.register(stage, by: try self.sandbox(of: app, stage))
            #expect(answer.contains("\"identity\": \"\(proof)\""), "\(answer)")
        }

        /// What was proven once is asked for from then on, also by a broker that starts anew.
        @Test func whoIsProvenWorseIsNotTheApp() throws {
            let stage = try self.stage()
            let sandbox = try self.sandbox(of: Self.app, stage)
            #expect(try self.register(stage, durable: true).contains("\"identity\": \"name\""))
            #expect(try self.register(stage, by: sandbox).contains("\"identity\": \"flatpak\""))
            for _ in 0..<2 {
                let answer = try self.register(stage)
                #expect(
                    answer.contains(
                        "IdentityMismatch: '\(Self.app)' was once proven by its flatpak, and you are not"), "\(answer)")
                #expect(try self.register(stage, by: sandbox).contains("\"identity\": \"flatpak\""))
                try stage.kill(stage.broker)
                try self.start(stage)
                try stage.untilDurable(Self.app)
            }
            #expect(try stage.jostle("forget", Self.app).status == 0)
            #expect(try self.register(stage).contains("\"identity\": \"name\""))
        }

        /// Nor is it handed what is kept for the app.
        @Test func whoIsProvenWorseIsNotLaunchedInItsPlace() throws {
            let stage = try Stage(source: Stage.rest, broker: false)
            try stage.startBroker(
                policy: "[Rule wake]\nWhenState=dead\nThen=allow\nDeliver=wake\nLifespan=1min\n",
                apps: [Self.app: Self.file + "[Detector jolt]\npreset=shake.planar\nthreshold=2.3g\nrest=1h\n"],
                "--state-dir", stage.state)
            let answer = try self.register(stage, durable: true, by: try self.sandbox(of: Self.app, stage))
            #expect(answer.contains("\"identity\": \"flatpak\""), "\(answer)")
            // Called, it would answer and end.
            let other = try BackgroundProgram(
                tool: [
                    "/usr/bin/python3", Programs.source("Tests/Scripts/receiver.py"), Self.app, "/dev/null", "done",
                ],
                environment: ["DBUS_STARTER_ADDRESS": stage.address])
            try stage.bus.waitForName(Self.app)
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("its launch is refused") {
                try stage.property("LastLaunch", at: Stage.Object.app(Self.app)).contains("\"refused\"")
            }
            #expect(other.end == nil)
        }

        // MARK: Who cannot be looked at now

        /// Without daemons. Another bus may hand out what the socket in its place does not hand on.
        private func stageOfConfusion() throws -> Stage {
            try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
        }

        /// Puts a socket in the place of the bus that makes errors of the first questions.
        private func confuse(_ stage: Stage) throws -> (program: BackgroundProgram, address: String) {
            let path = "\(stage.bus.directory)/faulty"
            let faulty = try BackgroundProgram(tool: [
                "python3", Programs.source("Tests/Scripts/faulty-bus.py"), path, "confused",
                "\(stage.bus.directory)/bus",
            ])
            _ = try faulty.waitForLine { $0 == "listening" }
            return (faulty, "unix:path=\(path)")
        }

        private static let untold = "p error org.freedesktop.DBus.Error.Failed: the bus does not say who you are"

        /// The first claim fails for who made the connection, the second for whose the name is that may read so fast.
        @Test func whomTheBusDoesNotTellOfMayClaimLater() throws {
            let stage = try self.stageOfConfusion()
            let (faulty, address) = try self.confuse(stage)
            try stage.startReader(Stage.rest, on: address, policy: "[App \(Self.app)]\nFastestRate=400Hz\n")
            let claim =
                "p call org.jostle.Sensors1 \(Stage.Object.sensors)/accelerometer org.jostle.Sensors1.Sensor Claim a{sv} "
                + "[{'rate':V('d',400.0)}]"
            let lines = try stage.script("p own \(Self.app)", claim, claim, claim)
            try #require(lines.count == 3, "\(lines)")
            #expect(lines[0].hasPrefix(Self.untold) && lines[1].hasPrefix(Self.untold), "\(lines)")
            #expect(lines[2].hasPrefix("p ok "), "\(lines)")
            #expect(faulty.end == nil)
        }

        /// What the bus fails to say of an app is no last word on it.
        @Test func whomTheBusDoesNotTellOfMayAskAgain() throws {
            let stage = try self.stageOfConfusion()
            let (faulty, address) = try self.confuse(stage)
            try stage.startBroker(on: address)
            let register = "p call \(Self.root) Register sa{sv} ['\(Self.app)',{}]"
            let lines = try stage.script("p own \(Self.app)", register, register)
            try #require(lines.count == 2, "\(lines)")
            #expect(lines[0].hasPrefix(Self.untold), "\(lines)")
            #expect(lines[1].hasPrefix("p ok "), "\(lines)")
            #expect(faulty.end == nil)
        }

        /// Without a descriptor to look at a caller the broker knows nothing of it, and does not remember that.
        @Test func whoComesWhileNoDescriptorIsLeftIsRefusedForTheMoment() throws {
            let stage = try Stage(source: nil)
            let broker = try #require(stage.broker)
            func limit(_ count: Int) throws {
                #expect(try Tool.run(["prlimit", "--pid", "\(broker.pid)", "--nofile=\(count):"]).status == 0)
            }
            let calls = [
                "p call \(Self.root) Pause a{sv} [{}]", "p own \(Self.app)",
                "p call \(Self.root) Register sa{sv} ['\(Self.app)',{}]",
            ]
            try limit(3)
            let refused = try stage.script(calls)
            let error = "p error org.freedesktop.DBus.Error.LimitsExceeded: no descriptor is left"
            #expect(refused.count == 2 && refused.allSatisfy { $0.hasPrefix(error) }, "\(refused)")
            try limit(1_024)
            let taken = try stage.script(calls)
            #expect(taken.count == 2 && taken.allSatisfy { $0.hasPrefix("p ok ") }, "\(taken)")
        }

        // MARK: What a sandbox keeps one from

        private static let victim = "org.example.Victim"
        /// What only the user and root may, by what it is refused with.
        private static let refusals: [(error: String, call: String)] = [
            ("AccessDenied", "\(root) Pause a{sv} [{}]"), ("AccessDenied", "\(root) Resume a{sv} [{}]"),
            ("AccessDenied", "\(root) Mute ta{sv} [1,{}]"), ("AccessDenied", "\(root) Reload a{sv} [{}]"),
            ("AccessDenied", "\(root) SetForeground sa{sv} ['\(app)',{}]"),
            ("AccessDenied", "\(root) SetWindows a(sa{sv})a{sv} [[['\(app)',{'state':V('s','front')}]],{}]"),
            ("AccessDenied", "\(root) SetFrozen asa{sv} [['\(victim)'],{}]"),
            ("AccessDenied", "\(root) SetPlaying asa{sv} [['\(victim)'],{}]"),
            ("AccessDenied", "\(root) SetState ssa{sv} ['\(victim)','terminated',{}]"),
            ("AccessDenied", "\(root) SetLock sa{sv} ['locked',{}]"),
            ("AccessDenied", "\(root) RunTask ssa{sv} ['\(victim)','sync',{}]"),
            ("NotFound", "\(root) Forget sa{sv} ['\(victim)',{}]"),
            ("AccessDenied", "\(root) Forget sa{sv} ['',{'clips':V('b',True)}]"),
            ("AccessDenied", "\(root) Explain ta{sv} [0,{'app':V('s','\(victim)')}]"),
            ("AccessDenied", "\(root) WhyNot sa{sv} ['\(victim)',{}]"),
            (
                "UnknownObject",
                "org.jostle.Broker1 \(Stage.Object.app(victim)) org.freedesktop.DBus.Properties Get ss "
                    + "['org.jostle.Broker1.App','State']"
            ),
            (
                "AccessDenied",
                "org.jostle.Broker1 /org/freedesktop/LogControl1 org.freedesktop.DBus.Properties Set ssv "
                    + "['org.freedesktop.LogControl1','LogLevel',V('s','err')]"
            ),
        ]

        /// Lets a script speak in the sandbox of an app.
        private func script(_ stage: Stage, inSandboxOf app: String, _ steps: [String]) throws -> [String] {
            let result = try Tool.run(
                try self.sandbox(of: app, stage)
                    + ["/usr/bin/python3", Programs.source("Tests/Scripts/bus-script.py"), stage.address] + steps)
            try #require(result.status == 0, "\(result.stderr)")
            return result.stdout.split(separator: "\n").map(String.init)
        }

        /// Another connection of a program that registered is no app, and not its user either.
        @Test(arguments: [app, "org.example.Other", ""]) func whoIsInASandboxIsNotItsUser(_ sandbox: String) throws {
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker(
                policy: "[Policy]\nDefault=allow\n", apps: [Self.app: Self.file, Self.victim: Self.file],
                "--state-dir", stage.state)
            let victim = try stage.startScript(
                "v own \(Self.victim)",
                "v call \(Self.root) Register sa{sv} ['\(Self.victim)',{'durable':V('b',True)}]")
            _ = try victim.waitForLine { $0 == "staying" }
            let set = "call \(Self.root) SetForeground sa{sv} ['\(Self.victim)',{}]"
            #expect(try stage.script("o \(set)") == ["o ok []"])

            let apps = "org.jostle.Broker1 \(Stage.Object.broker)/apps"
            var lists = ["ListApps", "ListCounters", "ListTasks"].map { "call \(Self.root) \($0) a{sv} [{}]" }
            lists.append("call \(apps) org.freedesktop.DBus.Introspectable Introspect")
            lists.append(
                "call org.jostle.Broker1 \(Stage.Object.broker) org.freedesktop.DBus.Properties Get ss "
                    + "['org.jostle.Broker1','Foreground']")
            var steps = ["p own \(Self.app)", "p call \(Self.root) Register sa{sv} ['\(Self.app)',{}]"]
            steps += Self.refusals.map { "x call \($0.call)" }
            steps += lists.map { "x \($0)" }
            steps += lists.map { "p \($0)" }
            let lines = try self.script(stage, inSandboxOf: sandbox, steps)
            try #require(lines.count == 1 + Self.refusals.count + 2 * lists.count, "\(lines)")
            #expect(lines[0].hasPrefix("p ok "))
            for (line, (error, call)) in zip(lines[1...], Self.refusals) {
                #expect(line.hasPrefix("x error ") && line.contains(".\(error):"), "\(call): \(line)")
            }
            let others = lines.suffix(2 * lists.count).prefix(lists.count).joined(separator: "\n")
            let own = lines.suffix(lists.count).joined(separator: "\n")
            #expect(!others.contains("Victim") && !own.contains("Victim"), "\(others) \(own)")
            // What it runs in may be the app's own sandbox: then the app is its own.
            #expect(others.contains(Self.app) == (sandbox == Self.app), "\(others)")
            #expect(own.contains(Self.app), "\(own)")

            // Nothing of it has come about, and whoever is in none is the user still.
            #expect(try stage.jostle("apps").stdout.contains(Self.victim))
            #expect(try stage.script("o \(set)") == ["o ok []"])
            #expect(try stage.jostle("forget", Self.victim).status == 0)
            _ = try victim.terminate()
        }

        /// They are those of all apps of the user.
        @Test func whoIsInASandboxIsShownNoWindows() throws {
            let stage = try Stage(source: nil)
            let focus = try BackgroundProgram("jostle-focus", ["--bus", stage.address, "--source", "gnome"])
            try stage.bus.waitForName("org.jostle.Focus1")
            let list = "p call org.jostle.Focus1 /org/jostle/Focus1 org.jostle.Focus1 ListWindows a{sv} [{}]"
            let outside = try stage.script(list)
            #expect(outside.first?.hasPrefix("p ok ") == true, "\(outside)")
            let inside = try self.script(stage, inSandboxOf: Self.app, [list])
            #expect(inside.first?.hasPrefix("p error org.freedesktop.DBus.Error.AccessDenied:") == true, "\(inside)")
            #expect(focus.end == nil)
        }

        /// A program can keep its user from looking at it: one in a sandbox, and one that knows passwords.
        @Test func whoHidesItsSandboxIsInOne() throws {
            let stage = try Stage(source: nil, broker: false)
            // Root would see it nevertheless.
            try stage.startBroker(under: geteuid() == 0 ? ["setpriv", "--bounding-set=-sys_ptrace", "--"] : [])
            let hiding =
                "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); del sys.argv[0]; "
                + "runpy.run_path(sys.argv[0], run_name='__main__')"
            let script = [
                "/usr/bin/python3", "-c", hiding, Programs.source("Tests/Scripts/bus-script.py"), stage.address,
                "p call \(Self.root) Pause a{sv} [{}]",
            ]
            let outside = try Tool.run(script)
            #expect(outside.stdout == "p ok []\n", "\(outside)")
            let inside = try Tool.run(try self.sandbox(of: Self.app, stage) + script)
            #expect(inside.stdout.hasPrefix("p error org.freedesktop.DBus.Error.AccessDenied:"), "\(inside)")
        }

        /// Whoever makes a root says whether it answers: nothing is asked of it that one could be kept waiting for.
        @Test(.enabled(if: geteuid() == 0 && access("/dev/fuse", W_OK) == 0))
        func aRootThatDoesNotAnswerKeepsNobodyWaiting() throws {
            let stage = try Stage(source: nil)
            let directory = "\(stage.bus.directory)/root"
            try #require(mkdir(directory, 0o755) == 0)
            let result = try Tool.run([
                "timeout", "20", "/usr/bin/python3", Programs.source("Tests/Scripts/silent-root.py"), stage.address,
                directory,
            ])
            #expect(result.stdout == "org.freedesktop.DBus.Error.AccessDenied\n", "\(result)")
        }

        /// Whom policy names may report, wherever it runs.
        @Test func whoPolicyNamesMayReportFromASandbox() throws {
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker(policy: "[Policy]\nDefault=allow\n[App \(Self.app)]\nMayReportForeground=yes\n")
            let set = "call \(Self.root) SetForeground sa{sv} ['\(Self.victim)',{}]"
            let lines = try self.script(
                stage, inSandboxOf: Self.app, ["p own \(Self.app)", "p \(set)", "x \(set)"])
            #expect(lines[0] == "p ok []" && lines[1].contains(".AccessDenied:"), "\(lines)")
        }
    }
}
