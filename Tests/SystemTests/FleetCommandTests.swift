import FleetCore
import Glibc
import Loop
import MQTT
import TestSupport
import Testing

extension Surroundings {
    /// `jostle fleet` beside a real server and a device, which are set up as docs/fleet.md says.
    @Suite(.serialized) struct FleetCommands {
        private static let app = "org.example.Kiosk"
        private static let own = "[Rule bridge]\nPriority=200\nWhenApp=org.jostle.Bridge\nThen=allow\n"

        /// A kiosk and a server, and what an operator has of his own.
        private final class Deployment {
            let stage: Stage
            let server: MQTTServer
            let keys: SigningKeys
            let operatorFile: String

            init() throws {
                self.stage = try Stage(broker: false)
                let acl = "\(self.stage.home)/jostle.acl"
                try FleetScene.write(try FleetDocument.block(behind: "`/etc/mosquitto/jostle.acl`"), to: acl)
                // Where the server is and its certificates are others here.
                let lines = try FleetDocument.commands(behind: "`/etc/mosquitto/conf.d/jostle.conf`").filter { line in
                    !["listener", "cafile", "certfile", "keyfile", "acl_file", "require", "use_identity"].contains(
                        where: line.hasPrefix)
                }
                #expect(lines.count == 6, "\(lines)")
                self.server = try MQTTServer(isSecure: true, lines: lines + ["acl_file \(acl)"])
                for name in ["kiosk-17", "operator", "visitor"] { try self.server.certify(name) }
                self.keys = try SigningKeys()
                self.operatorFile = "\(self.stage.home)/fleet.conf"
                var text = try FleetDocument.block(behind: "as `~/.config/jostle/fleet.conf`")
                text = Self.here(text, self.server, "operator")
                try FleetScene.write(text, to: self.operatorFile)
                try self.startDevice()
            }

            /// A file of the document as it is here.
            private static func here(_ text: String, _ server: MQTTServer, _ name: String) -> String {
                let certificate = server.certificate(of: name)
                return [
                    ("Host=mqtt.example.org", "Host=localhost\nPort=\(server.port)"),
                    ("=/etc/jostle/authority.crt", "=\(server.authority)"),
                    ("=/etc/jostle/device.crt", "=\(certificate)"), ("=/home/ada/operator.crt", "=\(certificate)"),
                    ("=credential:key", "=\(server.key(of: name))"),
                    ("=/home/ada/operator.key", "=\(server.key(of: name))"),
                ].reduce(text) { $0.replacing($1.0, with: $1.1) }
            }

            private func startDevice() throws {
                let policy = try self.stage.directory("own-policy", ["40-bridge": FleetCommands.own])
                var text = try FleetDocument.block(behind: "On each device, with its certificate")
                text = Self.here(text, self.server, "kiosk-17")
                text = text.replacing("/etc/jostle/fleet.pub", with: self.keys.open)
                text = text.replacing("[Bridge]", with: "[Bridge]\nDevice=kiosk-17")
                // A trial lasts half of it; the other half is for a broker and a server that answer late.
                text += "ConfirmWithin=6s\n"
                let (file, state) = ("\(self.stage.home)/bridge.conf", "\(self.stage.home)/bridge-state")
                try FleetScene.write(text, to: file)
                try self.stage.startBroker(options: ["--policy", policy, "--outside", "\(state)/desired"])
                let program = try BackgroundProgram(
                    "jostle-bridge",
                    [
                        "--bus", self.stage.address, "--config", file, "--journal", self.stage.state, "--state-dir",
                        state,
                    ])
                self.bridge = program
                _ = try program.waitForLine(on: .errors, timeout: .seconds(60)) {
                    $0.hasSuffix("connected to localhost")
                }
            }

            private(set) var bridge: BackgroundProgram?

            /// Runs a command as it stands in the document, and more words.
            func run(_ command: String, _ more: String...) throws -> Tool.Result {
                let words = command.split(separator: " ").map(String.init)
                try #require(words.prefix(2) == ["jostle", "fleet"])
                let here = words.enumerated().dropFirst(2).map { index, word in
                    switch word {
                    case "fleet.pem": self.keys.secret
                    case "kiosks" where index == 3: "\(self.stage.home)/kiosks"
                    default: word
                    }
                }
                return try self.fleet(here + more)
            }

            func fleet(_ arguments: [String], _ file: String? = nil) throws -> Tool.Result {
                try Tool.run(
                    [Programs.path(of: "jostle"), "fleet"] + arguments + ["--config", file ?? self.operatorFile])
            }

            func folder(_ name: String, _ policy: String, thresholds: String? = nil) throws -> String {
                let directory = "\(self.stage.home)/\(name)"
                for path in [directory, "\(directory)/policy.d"] { try #require(mkdir(path, 0o755) == 0) }
                try FleetScene.write(policy, to: "\(directory)/policy.d/50-fleet.conf")
                if let thresholds { try FleetScene.write(thresholds, to: "\(directory)/thresholds") }
                return directory
            }
        }

        private static let quiet = """
            [Rule quiet]
            Priority=100
            WhenApp=\(app)
            Then=deny
            [Rule all]
            Then=allow

            """

        /// What the document says to type does what it says.
        @Test func aDeploymentAsTheDocumentHasIt() throws {
            let here = try Deployment()
            let commands = try FleetDocument.commands(behind: "it takes two commands to give the kiosks")
            try #require(commands.count == 2)
            _ = try here.folder("kiosks", Self.quiet)
            let list = try here.fleet(["list", "--json"])
            #expect(list.status == 0 && list.stdout.contains("\"device\":\"kiosk-17\",\"online\":true"), "\(list)")
            // All goes well with the canary, and then with the others, which are none.
            let applied = try here.run(commands[0], "--watch", "1s")
            #expect(applied.status == 0, "\(applied)")
            #expect(applied.stdout.contains("all is well with the canaries\nversion 1 is wanted of group kiosks\n"))
            #expect(applied.stdout.contains("1 of 1 devices have it"), "\(applied)")
            let app = try here.stage.watch("shake,name=shake", "--app", Self.app)
            #expect(try here.stage.jostle("shake", "--for", "500ms").status == 0)
            try here.stage.until("it is decided") { try here.run(commands[1]).status == 0 }
            let explained = try here.run(commands[1])
            #expect(explained.stdout.contains("not delivered  S2.denied"), "\(explained)")
            #expect(explained.stdout.contains("50-fleet.conf:1 [Rule quiet] Priority=100 says deny"), "\(explained)")
            try here.stage.kill(app)
        }

        @Test func anOperatorSeesSteersAndAsks() throws {
            let here = try Deployment()
            let key = ["--sign-key", here.keys.secret]
            func group(_ words: String...) throws -> Tool.Result { try here.fleet(words + ["--group", "kiosks"]) }
            func change(_ words: String...) throws -> Tool.Result {
                try here.fleet(words + ["--group", "kiosks", "--wait"] + key)
            }
            let good = try here.folder("good", "[App \(Self.app)]\nQuota=3/1min\nCooldown=5s\n")
            let difference = try group("diff", good)
            #expect(difference.status == 1, "\(difference)")
            #expect(
                difference.stdout == """
                    group kiosks has version 0
                    policy.d/50-fleet.conf
                    + [App \(Self.app)]
                    + Quota=3/1min
                    + Cooldown=5s

                    """)
            let applied = try change("apply", good)
            #expect(applied.status == 0 && applied.stdout.hasSuffix("1 of 1 devices have it\n"), "\(applied)")
            #expect(try group("diff", good).stdout == "group kiosks has version 1\n")
            // What is wrong is found before anything is sent, with its place.
            let wrong = try here.folder("wrong", "[Rule x]\nThne=allow\n")
            let refused = try change("apply", wrong)
            #expect(refused.status == 2 && refused.stderr.contains("nothing was sent"), "\(refused)")
            #expect(refused.stderr.contains("\(wrong)/policy.d/50-fleet.conf:2:1: error E001"), "\(refused)")
            #expect(try group("diff", wrong).status == 2)
            // What only the device can know, its canary finds: the rule is its own.
            let other = try here.folder("other", "[Rule bridge]\nThen=deny\n")
            let stopped = try change("apply", other, "--canary", "1")
            #expect(stopped.status == 1 && stopped.stdout.contains("stopped: kiosk-17: refused"), "\(stopped)")
            #expect(stopped.stdout.contains("the canaries get back what they had, as version 3"), "\(stopped)")
            try here.stage.until("it has back what it had") {
                try here.fleet(["list", "--json"]).stdout.contains("\"state\":\"applied\",\"in_force\":3")
            }
            // What may not be changed there is not tried.
            let limits = try here.folder("limits", "[App \(Self.app)]\nQuota=9/1min\n", thresholds: "knock=3g\n")
            let denied = try change("apply", limits)
            #expect(denied.status == 4 && denied.stderr.contains("kiosk-17 lets nobody change detectors"), "\(denied)")
            // Back to before, where there was nothing, and back to what that took away.
            let back = try change("rollback")
            #expect(back.status == 0, "\(back)")
            let behind = try group("diff", good)
            #expect(behind.status == 1 && behind.stdout.hasPrefix("group kiosks has version 4\n"), "\(behind)")
            #expect(behind.stdout.contains("+ Quota=3/1min"), "\(behind)")
            #expect(try change("rollback").status == 0)
            #expect(try group("diff", good).stdout == "group kiosks has version 5\n")
        }

        @Test func whatIsNotAllowedIsSaid() throws {
            let here = try Deployment()
            let whatIf = try here.fleet([
                "what-if", "kiosk-17", "--policy", try here.folder("new", Self.quiet) + "/policy.d",
            ])
            #expect(whatIf.status == 4 && whatIf.stderr.contains("does not answer that"), "\(whatIf)")
            // Without the key the device refuses it.
            let words = ["apply", "\(here.stage.home)/new", "--group", "kiosks"]
            let unsigned = try here.fleet(words + ["--wait"])
            #expect(unsigned.status == 1 && unsigned.stdout.contains("it is not signed"), "\(unsigned)")
            // Of a group that the server does not know nobody overwrites by chance what it had.
            let nobody = ["apply", "\(here.stage.home)/new", "--group", "nobody"]
            let fresh = try here.fleet(nobody)
            #expect(fresh.status == 1 && fresh.stderr.contains("knows nothing of a group nobody"), "\(fresh)")
            let first = try here.fleet(nobody + ["--first"])
            #expect(first.status == 0 && first.stdout.contains("is wanted of group nobody"), "\(first)")
            #expect(try here.fleet(nobody).status == 0)
            // Who has no rights at the server cannot even look.
            let file = "\(here.stage.home)/visitor.conf"
            let text = try Tool.run(["cat", here.operatorFile]).stdout
            try FleetScene.write(text.replacing("/operator.", with: "/visitor."), to: file)
            let strange = try here.fleet(["explain", "kiosk-17", "--timeout", "2s"], file)
            #expect(strange.status != 0 && strange.stdout.isEmpty, "\(strange)")
            // Within a second a busy machine may not have come as far as to ask for it.
            try here.stage.until("it is said to be unknown") {
                let unknown = try here.fleet(["status", "kiosk-99", "--timeout", "1s"])
                #expect(unknown.status == 3, "\(unknown)")
                return unknown.stderr.contains("kiosk-99 is not known to the server")
            }
            try here.stage.kill(here.bridge)
            try here.stage.until("it is seen to be gone") {
                try here.fleet(["list", "--json"]).stdout.contains("\"online\":false")
            }
            let away = try here.fleet(["status", "kiosk-17"])
            #expect(away.status == 3 && away.stderr.contains("kiosk-17 is not there"), "\(away)")
            try here.server.kill()
            #expect(try here.fleet(["list"]).status == 3)
        }

        /// What says where configuration is holds no absolute path: the file is where it is without that.
        @Test(arguments: ["", "."]) func aVariableWithoutAPathIsNone(_ value: String) throws {
            let bus = try PrivateBus()
            defer { bus.stop() }
            let directory = "\(bus.directory)/.config/jostle"
            for path in ["\(bus.directory)/.config", directory] { try #require(mkdir(path, 0o755) == 0) }
            // Nobody listens there.
            try FleetScene.write("[Server]\nHost=127.0.0.1\nPort=1\nTLS=no\n", to: "\(directory)/fleet.conf")
            let listed = try Tool.run(
                [Programs.path(of: "jostle-fleet"), "list"],
                environment: ["HOME": bus.directory, "XDG_CONFIG_HOME": value, "JOSTLE_FLEET_CONFIG": ""])
            #expect(listed.status == 3 && listed.stderr.contains("127.0.0.1: "), "\(listed)")
        }

        /// The operator's file is there, and cannot be read.
        @Test func whatStandsInThePlaceOfTheFileIsTold() throws {
            let bus = try PrivateBus()
            defer { bus.stop() }
            let file = "\(bus.directory)/jostle/fleet.conf"
            for path in ["\(bus.directory)/jostle", file] { try #require(mkdir(path, 0o755) == 0) }
            let listed = try Tool.run(
                [Programs.path(of: "jostle-fleet"), "list"],
                environment: ["XDG_CONFIG_HOME": bus.directory, "JOSTLE_FLEET_CONFIG": ""])
            #expect(listed.status == 2 && listed.stderr.contains("\(file): open: Is a directory"), "\(listed)")
        }

        /// As with another user's `HOME`, which `sudo` may leave: all that is needed is said by options.
        @Test(.enabled(if: geteuid() != 0, "root may look everywhere"))
        func whereNobodyMayLookIsNoFile() throws {
            let bus = try PrivateBus()
            defer { bus.stop() }
            let directory = "\(bus.directory)/closed"
            try #require(mkdir(directory, 0) == 0)
            defer { chmod(directory, 0o700) }
            let listed = try Tool.run(
                [Programs.path(of: "jostle-fleet"), "list", "--plain", "--server", "127.0.0.1:1"],
                environment: ["XDG_CONFIG_HOME": directory, "JOSTLE_FLEET_CONFIG": ""])
            #expect(listed.status == 3 && listed.stderr.contains("127.0.0.1: "), "\(listed)")
        }

        /// Devices that say something all the time do not keep a command from ending.
        @Test func itEndsWhileDevicesSaySomething() throws {
            let server = try MQTTServer()
            let device = try FleetListener(server, to: "nothing")
            try device.connect()
            let program = try BackgroundProgram(
                "jostle-fleet", ["list", "--plain", "--server", "127.0.0.1:\(server.port)"])
            let deadline = ContinuousClock.now + .seconds(30)
            var end: ProgramEnd?
            while end == nil, ContinuousClock.now < deadline {
                try device.publish(
                    Publication("jostle/1/busy/apps/a.b/state", Array(#"{"hits":1,"denied":0}"#.utf8)))
                try device.run(for: 50_000)
                end = try? program.waitForEnd(timeout: .milliseconds(50))
            }
            #expect(end == .exited(0))
        }

        /// Who is in a group is what each says: who is not there has no say, and who is can be left out of account.
        @Test func whoOnlySaysToBeOfTheGroupHasNoVeto() throws {
            let server = try MQTTServer()
            let visitor = try FleetListener(server)
            try visitor.connect()
            let topics = FleetTopics(device: "visitor")
            func tell(_ topic: String, _ text: String) throws {
                try visitor.want(text, of: topic)
                try visitor.wait(topic) { visitor.last(topic) != nil }
            }
            let bus = try PrivateBus()
            defer { bus.stop() }
            let directory = "\(bus.directory)/wanted"
            for path in [directory, "\(directory)/policy.d"] { try #require(mkdir(path, 0o755) == 0) }
            try FleetScene.write(Self.quiet, to: "\(directory)/policy.d/50-fleet.conf")
            func apply(_ more: String...) throws -> Tool.Result {
                try Tool.run(
                    [
                        Programs.path(of: "jostle-fleet"), "apply", directory, "--group", "kiosks", "--plain",
                        "--server",
                        "127.0.0.1:\(server.port)",
                    ] + more)
            }
            try tell(topics.birth, #"{"device":"visitor","groups":["kiosks"],"desired":[]}"#)
            let absent = try apply()
            #expect(absent.status == 0 && absent.stderr.contains("visitor lets nobody change policy"), "\(absent)")
            try tell(topics.presence, #"{"online":true}"#)
            let present = try apply()
            #expect(present.status == 4 && present.stderr.contains("--without visitor"), "\(present)")
            let without = try apply("--without", "visitor", "--wait")
            #expect(without.status == 0 && without.stdout.contains("0 of 0 devices have it"), "\(without)")
        }

        /// A part of the directory that is something else, or leads nowhere, is no part that is left out. Nobody needs a server to know.
        @Test(arguments: ["policy.d", "apps.d", "thresholds"]) func whatCannotBeReadIsNotAbsent(part: String) throws {
            let bus = try PrivateBus()
            defer { bus.stop() }
            func tell(_ directory: String) throws -> Tool.Result {
                try Tool.run([
                    Programs.path(of: "jostle-fleet"), "diff", directory, "--group", "kiosks", "--plain", "--server",
                    "127.0.0.1:1",
                ])
            }
            let directory = "\(bus.directory)/wanted"
            let path = "\(directory)/\(part)"
            try #require(mkdir(directory, 0o755) == 0)
            if part == "thresholds" {
                try #require(mkdir(path, 0o755) == 0)
            } else {
                try FleetScene.write("", to: path)
            }
            let wrong = try tell(directory)
            #expect(wrong.status == 2 && wrong.stderr.contains("\(path): "), "\(wrong)")
            try #require(remove(path) == 0 && symlink("\(bus.directory)/nothing", path) == 0)
            let nowhere = try tell(directory)
            #expect(nowhere.status == 2 && nowhere.stderr.contains("\(path): "), "\(nowhere)")
            // Without it the server is asked.
            try #require(remove(path) == 0)
            #expect(try tell(directory).status == 3)
        }

        /// A directory without a file that counts takes all away that was wanted before; one that keeps others may not be meant so.
        @Test(arguments: [("50-fleet.conf.new", true), (".gitkeep", false)])
        func whatDoesNotCountIsTold(name: String, isTold: Bool) throws {
            let bus = try PrivateBus()
            defer { bus.stop() }
            let directory = "\(bus.directory)/wanted"
            for path in [directory, "\(directory)/policy.d"] { try #require(mkdir(path, 0o755) == 0) }
            try FleetScene.write("[Rule a]\nThen=deny\n", to: "\(directory)/policy.d/\(name)")
            let result = try Tool.run([
                Programs.path(of: "jostle-fleet"), "diff", directory, "--group", "kiosks", "--plain", "--server",
                "127.0.0.1:1",
            ])
            #expect(result.stderr.contains("policy.d has no file that ends in .conf") == isTold, "\(result)")
        }

        /// A server, a directory of what is wanted, and somebody who says to be devices of a group.
        private final class Pretence {
            let server: MQTTServer
            let device: FleetListener
            let directory: String
            private let bus: PrivateBus
            static let group = "kiosks"

            /// - Parameter lines: What the server's configuration says besides.
            init(_ lines: [String] = []) throws {
                self.server = try MQTTServer(lines: ["max_queued_messages 0"] + lines)
                self.device = try FleetListener(self.server)
                self.bus = try PrivateBus()
                self.directory = "\(self.bus.directory)/wanted"
                for path in [self.directory, "\(self.directory)/policy.d"] { try #require(mkdir(path, 0o755) == 0) }
                try self.write(FleetCommands.quiet, to: "policy.d/50-fleet.conf")
                try self.device.connect()
            }

            deinit { self.bus.stop() }

            func write(_ text: String, to file: String) throws {
                try FleetScene.write(text, to: "\(self.directory)/\(file)")
            }

            func come(_ names: [String]) throws {
                for name in names {
                    let topics = FleetTopics(device: name)
                    try self.device.want(#"{"version":0,"state":"none","in_force":0}"#, of: topics.reported)
                    try self.device.want(#"{"groups":["kiosks"],"desired":["policy"]}"#, of: topics.birth)
                    try self.device.want(#"{"online":true}"#, of: topics.presence)
                }
                let last = try #require(names.last)
                let presence = FleetTopics(device: last).presence
                try self.device.wait("all are there", timeout: 120_000_000) { self.device.last(presence) != nil }
            }

            /// What is wanted on a topic.
            func version(on topic: String) -> UInt64? { self.device.last(topic)?["version"]?.count }

            static let wanted = FleetTopics.desired(ofGroup: group)

            func apply(_ more: String...) -> [String] { self.command("apply") + more }

            func command(_ name: String) -> [String] {
                [
                    Programs.path(of: "jostle-fleet"), name, self.directory, "--group", Self.group, "--plain",
                    "--server", "127.0.0.1:\(self.server.port)",
                ]
            }
        }

        /// What is not sent because it is too long takes nothing away of what can be rolled back to.
        @Test func whatIsTooLongLeavesWhatWasBefore() throws {
            let here = try Pretence()
            let first = try Tool.run(here.apply("--first"))
            #expect(first.status == 0, "\(first)")
            let padding = String(repeating: "# so much\n", count: 10_000)
            try here.write(Self.quiet + padding, to: "policy.d/50-fleet.conf")
            let second = try Tool.run(here.apply())
            #expect(second.status == 0, "\(second)")
            let previous = DeviceBook.previousTopic(of: Pretence.group)
            try here.device.wait("the second") { here.version(on: Pretence.wanted) == 2 }
            #expect(here.version(on: previous) == 1)
            try #require(mkdir("\(here.directory)/apps.d", 0o755) == 0)
            let app = "[App]\nUsage=to be long\n[Detector shake]\npreset=shake\n"
            try here.write(app + padding, to: "apps.d/\(Self.app).conf")
            let third = try Tool.run(here.apply())
            #expect(third.status == 2 && third.stderr.contains("longer than 262144 bytes"), "\(third)")
            try here.device.run(for: 300_000)
            #expect(here.version(on: Pretence.wanted) == 2 && here.version(on: previous) == 1)
        }

        /// Who reads how far it is may go: what was begun comes to its end.
        @Test func whoReadsNoMoreEndsNothing() throws {
            let here = try Pretence()
            let topics = FleetTopics(device: "kiosk-1")
            try here.come(["kiosk-1"])
            let unread =
                "import os,subprocess,sys;r,w=os.pipe();os.close(r);"
                + "sys.exit(subprocess.run(sys.argv[1:],stdout=w).returncode)"
            let program = try BackgroundProgram(
                tool: ["python3", "-c", unread] + here.apply("--canary", "1", "--watch", "1s"))
            try here.device.wait("what the canary is to try") { here.version(on: topics.desired) == 1 }
            try here.device.want(#"{"version":1,"state":"applied","in_force":1}"#, of: topics.reported)
            try here.device.wait("the report is read") { here.version(on: topics.reported) == 1 }
            #expect(try program.waitForEnd(timeout: .seconds(20)) == .exited(0))
            try here.device.wait("what all are to do") { here.version(on: Pretence.wanted) == 1 }
        }

        /// Who reads how far it is may stand still: nobody who is in trouble waits for that.
        @Test func whoStandsStillHoldsUpNothing() throws {
            let here = try Pretence()
            let topics = FleetTopics(device: "kiosk-1")
            try here.come(["kiosk-1"])
            let full = """
                import os, sys
                reader, writer = os.pipe()
                os.set_blocking(writer, False)
                try:
                    while True: os.write(writer, b" " * 4096)
                except BlockingIOError: pass
                os.set_blocking(writer, True)
                os.set_inheritable(reader, True)
                os.dup2(writer, 1)
                os.execv(sys.argv[1], sys.argv[1:])
                """
            let program = try BackgroundProgram(
                tool: ["python3", "-c", full] + here.apply("--canary", "1", "--watch", "5min"))
            try here.device.wait("what the canary is to try") { here.version(on: topics.desired) == 1 }
            try here.device.want(#"{"version":1,"state":"refused","in_force":0}"#, of: topics.reported)
            try here.device.wait("what it had") { here.version(on: topics.desired) == 2 }
            #expect(try program.waitForEnd(timeout: .seconds(30)) == .exited(1))
        }

        /// Somebody ends who shows what happens, and is not read.
        @Test func whoIsNotReadEndsWhenToldTo() throws {
            let here = try Pretence()
            let code = """
                import fcntl, os, subprocess, sys, termios, time
                reader, writer = os.pipe()
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 16384)
                command = subprocess.Popen(sys.argv[1:], stdout=writer)
                def waiting(): return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)
                before = -1
                while before < 4096 or waiting() != before:
                    before = waiting()
                    time.sleep(1)
                print("it waits", flush=True)
                command.terminate()
                try:
                    print("it ended with", command.wait(10), flush=True)
                except subprocess.TimeoutExpired:
                    command.kill()
                """
            let program = try BackgroundProgram(tool: [
                "python3", "-c", code, Programs.path(of: "jostle-fleet"), "watch", "--plain", "--server",
                "127.0.0.1:\(here.server.port)",
            ])
            let deadline = ContinuousClock.now + .seconds(60)
            // What it says is read only where it is waited for.
            var word: String?
            while word == nil, ContinuousClock.now < deadline {
                try here.device.want(#"{"online":true}"#, of: FleetTopics(device: "kiosk-1").presence)
                try here.device.run(for: 10_000)
                word = try? program.waitForLine(timeout: .milliseconds(1)) { $0 == "it waits" }
            }
            try #require(word != nil, "\(program.output)\(program.errors)")
            _ = try program.waitForLine(timeout: .seconds(20)) { $0 == "it ended with 0" }
        }

        /// The server does not let one of the canaries have back what it had.
        @Test func whatOneCannotHaveBackTheOthersHave() throws {
            let lists = try PrivateBus()
            defer { lists.stop() }
            let list = "\(lists.directory)/acl"
            try FleetScene.write("topic readwrite #\n", to: list)
            let here = try Pretence(["acl_file \(list)"])
            try here.come(["kiosk-1", "kiosk-2", "kiosk-3"])
            let last = FleetTopics(device: "kiosk-3")
            let program = try BackgroundProgram(tool: here.apply("--canary", "3", "--watch", "5min"))
            try here.device.wait("what the canaries are to try") { here.version(on: last.desired) == 1 }
            try FleetScene.write("topic deny jostle/1/kiosk-1/desired\ntopic readwrite #\n", to: list)
            try here.server.reload()
            let second = FleetTopics(device: "kiosk-2")
            try here.device.want(#"{"version":1,"state":"refused","in_force":0}"#, of: second.reported)
            #expect(try program.waitForEnd(timeout: .seconds(30)) == .exited(1))
            #expect(
                program.output.hasSuffix("kiosk-2, kiosk-3 got back what they had, as version 2\n"), "\(program.output)"
            )
            #expect(
                program.errors.contains("what the canaries had cannot be given back: kiosk-1: the server"),
                "\(program.errors)")
            try here.device.wait("what they had") { here.version(on: last.desired) == 2 }
        }

        /// A terminal that goes ends it as somebody does who ends it.
        @Test func aTerminalThatGoesLeavesNothing() throws {
            let here = try Pretence()
            let topics = FleetTopics(device: "kiosk-1")
            try here.come(["kiosk-1"])
            // Whoever runs this may outlive terminals.
            let mortal =
                "import os,signal,sys;signal.signal(signal.SIGHUP,signal.SIG_DFL);"
                + "os.execv(sys.argv[1],sys.argv[1:])"
            let program = try BackgroundProgram(
                tool: ["python3", "-c", mortal] + here.apply("--canary", "1", "--watch", "5min"))
            try here.device.wait("what the canary is to try") { here.version(on: topics.desired) == 1 }
            try program.signal(SIGHUP)
            #expect(try program.waitForEnd(timeout: .seconds(20)) == .exited(1))
            try here.device.wait("what it had") { here.version(on: topics.desired) == 2 }
        }

        /// A terminal that nobody reads any more, as behind a line that is dead, keeps nobody from being ended.
        @Test func whoHasADeadTerminalEndsWhenToldTo() throws {
            let here = try Pretence()
            try here.come((1...1_000).map { "kiosk-\($0)" })
            let code = """
                import array, fcntl, os, pty, signal, sys, termios, time
                pid, terminal = pty.fork()
                if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
                held = array.array("i", [0, 0])
                def isNew():
                    held[1] = held[0]
                    fcntl.ioctl(terminal, termios.FIONREAD, held)
                    return held[0] == 0 or held[0] != held[1]
                while isNew(): time.sleep(1)
                os.kill(pid, signal.SIGTERM)
                for _ in range(200):
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    if ended: sys.exit(os.waitstatus_to_exitcode(status))
                    time.sleep(0.1)
                os.kill(pid, signal.SIGKILL)
                sys.exit("it goes on")
                """
            let result = try Tool.run(
                ["/usr/bin/python3", "-c", code, Programs.path(of: "jostle-fleet"), "watch", "--plain"]
                    + ["--server", "127.0.0.1:\(here.server.port)"], timeout: .seconds(80))
            // It was stopped before it had asked for all, or behind that: the server says what it keeps meanwhile.
            #expect([0, 1].contains(result.status) && !result.stderr.contains("it goes on"), "\(result)")
        }

        /// The server begins anew while canaries try something: they get back what they had when it is there.
        @Test func aServerThatBeginsAnewLeavesNothing() throws {
            let here = try Pretence()
            let topics = FleetTopics(device: "kiosk-1")
            try here.come(["kiosk-1"])
            let program = try BackgroundProgram(tool: here.apply("--canary", "1", "--watch", "5min"))
            try here.device.wait("what the canary is to try") { here.version(on: topics.desired) == 1 }
            try here.server.kill()
            try here.server.restart()
            #expect(try program.waitForEnd(timeout: .seconds(60)) == .exited(3))
            try here.device.connect()
            try here.device.wait("what it had") { here.version(on: topics.desired) == 2 }
        }

        /// Where nearly all is another the difference does not take as long as to compare each line with each.
        @Test func aLongDifferenceIsToldSoon() throws {
            let here = try Pretence()
            func lines(_ word: String) -> String { (0..<8_000).map { "# \(word) \($0)\n" }.joined() }
            try here.write(Self.quiet + lines("old"), to: "policy.d/50-fleet.conf")
            let applied = try Tool.run(here.apply("--first"))
            #expect(applied.status == 0, "\(applied)")
            func difference() throws -> (result: Tool.Result, took: Duration) {
                let start = ContinuousClock.now
                let result = try Tool.run(here.command("diff"), timeout: .seconds(120))
                return (result, ContinuousClock.now - start)
            }
            // What it takes to read as much, and to find none.
            let (none, usual) = try difference()
            #expect(none.status == 0, "\(none)")
            try here.write(Self.quiet + lines("new"), to: "policy.d/50-fleet.conf")
            let (told, took) = try difference()
            let bar: Duration = max(.seconds(10), usual * 20)
            #expect(took < bar, "\(took), without a difference: \(usual)")
            let changes = told.stdout.split(separator: "\n").dropFirst(2)
            #expect(told.status == 1 && changes.count == 16_000)
            #expect(changes.first == "- # old 0" && changes.last == "+ # new 7999")
        }

        /// A device says as much of itself as a message holds: the table stays as wide as people look at.
        @Test func whoSaysMuchOfItselfMakesNoLineLonger() throws {
            let here = try Pretence()
            try here.come((1...50).map { "kiosk-\($0)" })
            let birth = FleetTopics(device: "kiosk-1").birth
            let long = String(repeating: "g", count: 200_000)
            try here.device.want(#"{"groups":["\#(long)"]}"#, of: birth)
            try here.device.wait("the long one") { here.device.last(birth)?["desired"] == nil }
            let listed = try Tool.run([
                Programs.path(of: "jostle-fleet"), "list", "--plain", "--server", "127.0.0.1:\(here.server.port)",
            ])
            let lines = listed.stdout.split(separator: "\n")
            #expect(listed.status == 0 && lines.count == 51, "\(listed.stderr)")
            #expect(lines.allSatisfy { $0.utf8.count < 1_000 })
        }

        /// What thousands say at once is counted before patience is over.
        @Test func thousandsAreCountedInTime() throws {
            let here = try Pretence()
            let names = (1...5_000).map { "kiosk-\($0)" }
            let start = ContinuousClock.now
            try here.come(names)
            // Ten times as long as it took them to come, which was three messages of each by the same server.
            let patience = max(60, 10 * (ContinuousClock.now - start).components.seconds)
            let program = try BackgroundProgram(
                tool: here.apply("--wait", "--patience", "\(patience)s", "--timeout", "\(patience)s"))
            try here.device.wait("what all are to do", timeout: 120_000_000) {
                here.version(on: Pretence.wanted) == 1
            }
            for name in names {
                let topic = FleetTopics(device: name).reported
                try here.device.want(#"{"version":1,"state":"applied","in_force":1}"#, of: topic)
            }
            let deadline = ContinuousClock.now + .seconds(2 * patience)
            var end: ProgramEnd?
            while end == nil, ContinuousClock.now < deadline {
                try here.device.run(for: 50_000)
                end = try? program.waitForEnd(timeout: .milliseconds(20))
            }
            #expect(end == .exited(0))
            #expect(program.output.hasSuffix("5000 of 5000 devices have it\n"), "\(program.output.suffix(200))")
        }

        /// Somebody ends who waits for a server that has gone, and that takes connections again but nobody on them.
        @Test func whoWaitsForAServerEndsWhenToldTo() throws {
            let here = try Pretence()
            let topics = FleetTopics(device: "kiosk-1")
            try here.come(["kiosk-1"])
            let program = try BackgroundProgram(
                tool: here.apply("--canary", "1", "--watch", "5min", "--timeout", "60s"))
            try here.device.wait("what the canary is to try") { here.version(on: topics.desired) == 1 }
            try here.server.kill()
            let silent = """
                import socket, sys
                server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
                clients = []
                while True:
                    clients.append(server.accept())
                    print("came", flush=True)
                """
            let double = try BackgroundProgram(tool: ["python3", "-c", silent, "\(here.server.port)"])
            _ = try double.waitForLine(timeout: .seconds(30)) { $0 == "came" }
            try program.signal(SIGTERM)
            #expect(try program.waitForEnd(timeout: .seconds(15)) == .exited(3))
            _ = try double.terminate()
        }

        @Test func thatNoneIsOfAGroupIsNotThatThereIsNone() throws {
            let here = try Pretence()
            try here.come(["kiosk-1"])
            let list = [
                Programs.path(of: "jostle-fleet"), "list", "--plain", "--server", "127.0.0.1:\(here.server.port)",
            ]
            let others = try Tool.run(list + ["--group", "others"])
            #expect(others.stdout == "no device of group others is known to the server\n", "\(others)")
            #expect(try Tool.run(list + ["--group", Pretence.group]).stdout.contains("\nkiosk-1 "))
        }

        /// What devices are told may have them leave: nobody says that they have it.
        @Test func whoLeavesWithItDoesNotHaveIt() throws {
            let here = try Pretence()
            let names = ["kiosk-1", "kiosk-2"]
            try here.come(names)
            let program = try BackgroundProgram(tool: here.apply("--wait", "--patience", "5s"))
            try here.device.wait("what all are to do") { here.version(on: Pretence.wanted) == 1 }
            for name in names {
                try here.device.want(#"{"online":false}"#, of: FleetTopics(device: name).presence)
            }
            try here.device.run(for: 100_000)
            #expect(try program.waitForEnd(timeout: .seconds(30)) == .exited(1))
            #expect(program.errors.contains("not in force on: kiosk-1, kiosk-2"), "\(program.errors)")
        }

        /// Somebody who ends it in the middle leaves nothing behind on the canaries.
        @Test func whoEndsItMeanwhileLeavesNothing() throws {
            let here = try Deployment()
            let directory = try here.folder("new", Self.quiet)
            let program = try BackgroundProgram(
                "jostle-fleet",
                [
                    "apply", directory, "--group", "kiosks", "--canary", "1", "--watch", "5min", "--sign-key",
                    here.keys.secret, "--config", here.operatorFile,
                ])
            _ = try program.waitForLine(timeout: .seconds(30)) { $0 == "all canaries have it, and are watched" }
            try program.signal(SIGTERM)
            #expect(try program.waitForEnd(timeout: .seconds(20)) == .exited(1))
            #expect(
                program.output.hasSuffix("the canaries get back what they had, as version 2\n"), "\(program.output)")
            try here.stage.until("it has back what it had") {
                try here.stage.property("PolicyFiles", at: Stage.Object.broker).components(
                    of: "/desired/current/policy.d/") == 0
            }
        }
    }
}
