import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// Policy files, a real bus, and apps that get what the files say.
    @Suite(.serialized) struct PolicyFiles {
        private static let gentle = "org.example.Gentle"
        private static let hard = "org.example.Hard"
        private static let reload =
            "app call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Reload a{sv} [{}]"

        private static func write(_ text: String, to path: String) throws {
            let file = try #require(fopen(path, "w"))
            fputs(text, file)
            try #require(fclose(file) == 0)
        }

        /// A stage whose broker reads one policy file of the test's own, at this path.
        private func stage(_ policy: String) throws -> (stage: Stage, file: String) {
            let stage = try Stage(broker: false)
            let directory = "\(stage.bus.directory)/policy"
            try #require(mkdir(directory, 0o755) == 0)
            let file = "\(directory)/10-test.conf"
            try Self.write(policy, to: file)
            try stage.startBroker("--policy", directory)
            return (stage, file)
        }

        private func isEvent(_ line: String) -> Bool { line.hasPrefix("{\"detector\"") }

        /// Anybody may have the files read again: an app that is granted what it was is not told, and so not woken.
        @Test func whoIsGrantedTheSameIsNotTold() throws {
            let policy = "[Policy]\nDefault=allow\n"
            let (stage, file) = try self.stage(policy)
            let app = try stage.startScript([
                "app hear PropertiesChanged", "app own \(Self.gentle)",
                "app call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Register sa{sv} ['\(Self.gentle)',{}]",
            ])
            try app.waitUntilSaid("staying")
            #expect(try stage.script(Self.reload, Self.reload) == ["app ok []", "app ok []"])
            try Self.write("\(policy)[App *]\nGrants=audio\n", to: file)
            #expect(try stage.script(Self.reload) == ["app ok []"])
            _ = try app.waitForLine { $0.contains("\"Grants\"") }
            #expect(app.output.split(separator: "\n").count { $0.contains("\"Grants\"") } == 1, "\(app.output)")
            _ = try app.terminate()
        }

        /// The shipped example: a hard shake belongs to whoever asked for a hard shake.
        @Test func theMostSpecificAppGetsTheHardShake() throws {
            let stage = try Stage(broker: false)
            try stage.startBroker("--policy", Programs.source("policies/examples/02-most-specific"))
            let gentle = try stage.watch("shake.axis,threshold=1.3g,every=20ms,name=gentle", "--app", Self.gentle)
            let hard = try stage.watch("shake.axis,threshold=2.7g,every=20ms,name=hard", "--app", Self.hard)

            // Both detectors rest for a second from their registration on.
            try stage.inject("rest 1.5s; shake peak=1.8g for=600ms; rest 500ms")
            #expect(field("detector", of: try gentle.waitForLine(where: self.isEvent)) == "\"gentle\"")
            #expect(try stage.count("Hits", at: Stage.Object.app(Self.hard)) == 0)
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.hard)) == 0)
            let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.gentle))

            // Only after the first motion is over and quiet.
            try stage.inject("rest 2.5s; shake peak=4g for=600ms; rest 500ms")
            #expect(field("detector", of: try hard.waitForLine(where: self.isEvent)) == "\"hard\"")
            #expect(try stage.count("Denied", at: Stage.Object.app(Self.gentle)) >= 1)
            #expect(try stage.count("Denied", at: Stage.Object.app(Self.hard)) == 0)
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.gentle)) == delivered)
            #expect(try gentle.terminate() == .exited(0))
            #expect(try hard.terminate() == .exited(0))
        }

        /// What is checked against the apps there are is what the broker goes by, wherever its files are.
        @Test func theFilesInForceAreChecked() throws {
            let (stage, file) = try self.stage(
                "[Rule one]\nThen=allow\nWhenApp=org.example.Absent\n[Policy]\nDefault=deny\n")
            func check() throws -> Tool.Result { try stage.jostle("policy", "check", "--apps") }
            let checked = try check()
            #expect(checked.status == 0 && checked.stdout.contains(file), "\(checked)")
            #expect(checked.stderr.isEmpty, "\(checked)")
            #expect(unlink(file) == 0)
            let unread = try check()
            #expect(unread.status == 1, "\(unread)")
            #expect(
                unread.stderr.contains("\(file): ")
                    && unread.stderr.contains(": the broker goes by this file, and it is not checked"), "\(unread)")
            // Without files it is the built-in policy, whatever this user has.
            #expect(try stage.script(Self.reload) == ["app ok []"])
            #expect(try stage.property("PolicyFiles", at: Stage.Object.broker) == "as 0")
            let config = try stage.directory("config", [:])
            try #require(mkdir("\(config)/jostle", 0o755) == 0)
            _ = try stage.directory("config/jostle/policy.d", ["10-bad": "[Rule bad]\nThen=alow\n"])
            let builtIn = try stage.jostle(["policy", "check", "--apps"], environment: ["XDG_CONFIG_HOME": config])
            #expect(builtIn.status == 0 && builtIn.stdout.isEmpty, "\(builtIn)")
        }

        /// An app may leave between the list of them and the question about it.
        @Test func anAppThatLeavesMeanwhileKeepsNothingFromBeingChecked() throws {
            let stage = try Stage(source: nil, broker: false)
            let double = try BackgroundProgram(tool: [
                "python3", Programs.source("Tests/Scripts/broker-double.py"), stage.address, "0", "left",
            ])
            try stage.bus.waitForName("org.jostle.Broker1")
            let files = try stage.directory("checked", ["10-one": "[Policy]\nDefault=allow\n"])
            let checked = try stage.jostle("policy", "check", "--apps", files)
            #expect(checked.status == 0 && checked.stderr.isEmpty, "\(checked)")
            #expect(double.end == nil)
            _ = try double.terminate()
        }

        @Test func aBrokenFileLeavesTheOldPolicy() throws {
            let (stage, file) = try self.stage("[Policy]\nDefault=allow\n")
            #expect(try stage.property("PolicyFiles", at: Stage.Object.broker) == "as 1 \"\(file)\"")
            let app = try stage.watch("shake.planar,threshold=2g,rest=0s,name=one", "--app", Self.gentle)
            let object = Stage.Object.app(Self.gentle)

            try Self.write("[Policy]\nDefault=allow\n\n[Rule all]\nThen=alow\nWhenState=forground\n", to: file)
            let refused = try #require(try stage.script(Self.reload).first)
            #expect(refused.hasPrefix("app error org.jostle.Error.InvalidPolicy: \(file):5:6: error E"), "\(refused)")
            #expect(refused.contains("'allow'"), "\(refused)")
            #expect(refused.hasSuffix(" (and 1 more)"), "\(refused)")
            #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 1)
            #expect(try stage.property("PolicyFiles", at: Stage.Object.broker) == "as 1 \"\(file)\"")
            _ = try stage.broker?.waitForLine(on: .errors) { $0.contains("\(file):6:11: error E") }
            try stage.inject("shake peak=3g for=600ms")
            _ = try app.waitForLine(where: self.isEvent)
            #expect(try stage.property("LastEvent", at: object).contains("\"policy-generation\" t 1 "))
            #expect(try stage.count("Denied", at: object) == 0)
            #expect(try app.terminate() == .exited(0))
        }

        @Test func reloadPutsTheNewPolicyInForce() throws {
            let (stage, file) = try self.stage("[Policy]\nDefault=allow\n")
            let app = try stage.watch("\(Stage.always),name=one", "--app", Self.gentle)
            _ = try app.waitForLine(where: self.isEvent)
            // gdbus says that it monitors before it asks the bus for signals; busctl says so when it does.
            let monitor = try BackgroundProgram(tool: [
                "busctl", "--address=\(stage.address)", "monitor",
                "--match=member='PropertiesChanged',path='\(Stage.Object.broker)'",
            ])
            _ = try monitor.waitForLine(on: .errors) { $0.hasPrefix("Monitoring bus message stream") }
            try Self.write("[Policy]\nDefault=deny\n", to: file)
            #expect(try stage.script(Self.reload) == ["app ok []"])
            // The two come in no order.
            let told = [("PolicyGeneration", "UINT64 ", "2;"), ("PolicyFiles", "STRING ", "\"\(file)\";")]
            for (name, type, value) in told {
                _ = try monitor.waitForLine(by: name) { $0.contains("STRING \"\(name)\";") }
                let line = try monitor.waitForLine(by: name) { $0.contains(type) }
                #expect(line.contains(type + value), "\(monitor.output)")
            }
            let object = Stage.Object.app(Self.gentle)
            let delivered = try stage.count("Delivered", at: object)
            try stage.until("the app is denied") { try stage.count("Denied", at: object) >= 3 }
            #expect(try stage.count("Delivered", at: object) == delivered)
            #expect(try app.terminate() == .exited(0))
        }

        /// 120 000 names, in 3 MB.
        private static func large(_ otherwise: String) -> String {
            var text = "[Policy]\nDefault=\(otherwise)\n"
            for rule in 0..<4 {
                text += "[Rule many\(rule)]\nThen=deny\n"
                for line in 0..<400 {
                    let names = (0..<75).map { "org.example.Nobody\(line * 75 + $0)" }
                    text += "WhenApp=\(names.joined(separator: " "))\n"
                }
            }
            return text
        }

        /// While a large policy is read others are answered, and events go on.
        @Test func aLargePolicyHoldsUpNobody() throws {
            let (stage, file) = try self.stage("[Policy]\nDefault=allow\n")
            let app = try stage.watch(
                "shake.magnitude,threshold=0.5g,rest=0s,every=10ms,name=one", "--app", Self.gentle)
            _ = try app.waitForLine(where: self.isEvent)
            try Self.write(Self.large("deny"), to: file)
            let begin = "app begin" + Self.reload.dropFirst("app call".count)
            let ping = "other call org.jostle.Broker1 /org/jostle/Broker1 org.freedesktop.DBus.Peer Ping"
            let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.gentle))
            var answered = 0
            // The script may be kept from asking for as long as the policy is read, though not each time.
            for _ in 0..<5 where answered < 10 {
                let before = try stage.count("PolicyGeneration", at: Stage.Object.broker)
                let lines = try stage.script(
                    Array(repeating: begin, count: 10) + Array(repeating: ping, count: 40) + [Self.reload])
                answered = lines.prefix { $0 != "app ok []" }.count { $0 == "other ok []" }
                // Each is answered, and all that came while the first was under way are one.
                #expect(lines.count { $0 == "app ok []" } == 11, "\(lines)")
                #expect((2...3).contains(try stage.count("PolicyGeneration", at: Stage.Object.broker) - before))
            }
            #expect(answered >= 10)
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.gentle)) > delivered)
            #expect(try app.terminate() == .exited(0))
        }

        @Test func hangupReadsThePolicyAnew() throws {
            let (stage, file) = try self.stage("[Policy]\nDefault=deny\n")
            let app = try stage.watch("\(Stage.always),name=one", "--app", Self.gentle)
            try stage.until("the app is denied") {
                try stage.count("Denied", at: Stage.Object.app(Self.gentle)) >= 1
            }
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.gentle)) == 0)
            try Self.write("[Policy]\nDefault=allow\n", to: file)
            let broker = try #require(stage.broker)
            try broker.signal(SIGHUP)
            _ = try app.waitForLine(where: self.isEvent)
            #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 2)

            // Broken: said in the log, and nothing changes.
            try Self.write("[Policy]\nDefalt=deny\n", to: file)
            try broker.signal(SIGHUP)
            let said = try broker.waitForLine(on: .errors) { $0.contains("\(file):2:1: ") }
            #expect(said.contains("'Default'"), "\(said)")
            _ = try broker.waitForLine(on: .errors) { $0.contains("policy 2 stays in force") }
            #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 2)
            #expect(try app.terminate() == .exited(0))
        }

        /// The check asks who there is: the broker for its apps, the bus for those that it starts.
        @Test func theCheckLooksAtTheAppsThereAre() throws {
            let startable = "org.example.Startable"
            let stage = try Stage(services: [PrivateBus.Service(name: startable, command: "/bin/false")])
            let gentle = try stage.watch("shake.planar,threshold=1.2g,name=gentle", "--app", Self.gentle)
            let hard = try stage.watch("shake.planar,threshold=2.7g,name=hard", "--app", Self.hard)
            let other = try stage.watch("tilt,name=other", "--app", "org.example.Other")
            let file = "\(stage.bus.directory)/apps.conf"
            try Self.write(
                """
                [Group g]
                Mode=exclusive
                Select=strength recent
                [App *]
                Quota=9/1min
                [Rule strong]
                WhenApp=\(Self.gentle)
                WhenPreset=shake*
                Then=allow
                Group=g
                Strength=5
                [Rule weak]
                WhenApp=\(Self.hard)
                WhenPreset=shake*
                Then=allow
                Group=g
                [Rule woken]
                WhenApp=\(startable) org.example.Nobody \(Self.gentle)
                WhenPreset=tilt
                WhenIdentity=unit
                Then=allow
                Deliver=wake

                """, to: file)
            let checked = try stage.jostle("policy", "check", "--apps", file)
            #expect(checked.status == 0, "\(checked)")
            let lines = checked.stdout.split(separator: "\n")
            func isFound(_ words: String...) -> Bool {
                lines.contains { line in words.allSatisfy { line.contains($0) } }
            }
            #expect(isFound(":18:", "W005", "'org.example.Nobody' is not installed"), "\(checked.stdout)")
            #expect(isFound(":22:9:", "W043", "'\(Self.gentle)', which the bus cannot start"), "\(checked.stdout)")
            #expect(isFound(":1:1:", "W031", "'hard' of \(Self.hard) fires"), "\(checked.stdout)")
            #expect(isFound("W060", "'other' of org.example.Other"), "\(checked.stdout)")
            #expect(isFound("I061", "\(Self.gentle) hears shake.planar"), "\(checked.stdout)")
            #expect(!checked.stdout.contains("'\(startable)'"), "\(checked.stdout)")
            // Without the apps, and as a machine asks.
            let alone = try stage.jostle("policy", "check", file)
            #expect(!alone.stdout.contains("W005") && !alone.stdout.contains("I061"), "\(alone.stdout)")
            #expect(try stage.jostle("policy", "check", "--apps", "--strict", file).status == 1)
            let json = try stage.jostle("policy", "check", "--apps", "--json", file).stdout
            #expect(json.contains("\"id\":\"W005\""), "\(json)")
            for app in [gentle, hard, other] { #expect(try app.terminate() == .exited(0)) }
        }

        /// A policy with many rules for others. All apps may have events; two compete for the same motion.
        private static func crowded(_ number: Int) -> String {
            var text = "[Policy]\nDefault=allow\n[Group pair]\nMode=exclusive\nSelect=strength recent\n"
            text += "[Rule first]\nWhenApp=\(Self.hard)\nThen=allow\nGroup=pair\nStrength=9\n"
            text += "[Rule second]\nWhenApp=\(Self.gentle)\nThen=allow\nGroup=pair\n"
            for index in 0..<500 {
                text +=
                    "[Rule r\(index)]\nWhenApp=org.example.Other\(index)\nThen=\(number % 2 == 0 ? "deny" : "allow")\n"
            }
            return text
        }

        /// A hundred looks a second, all hits, while the policy changes in every way there is: each of them is an event.
        @Test func noEventIsLostWhileThePolicyChanges() throws {
            let (stage, file) = try self.stage(Self.crowded(0))
            let detector = "shake.magnitude,threshold=0.5g,rest=0s,every=10ms,name=one"
            let alone = try stage.watch(detector, "--app", "org.example.Alone")
            let winner = try stage.watch(detector, "--app", Self.hard)
            let loser = try stage.watch(detector, "--app", Self.gentle)
            let reload = [
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "Reload", "a{sv}", "0",
            ]
            var generation: UInt64 = 1
            for number in 1...24 {
                _ = try alone.nextEvent()
                switch number % 4 {
                case 0:
                    // Refused as a whole.
                    try Self.write(Self.crowded(number) + "Then=maybe\n", to: file)
                    #expect(try stage.busctl(reload).status != 0)
                case 1:
                    try Self.write(Self.crowded(number), to: file)
                    try #require(stage.broker).signal(SIGHUP)
                    generation += 1
                    try stage.until("the policy is in force") {
                        try stage.count("PolicyGeneration", at: Stage.Object.broker) == generation
                    }
                default:
                    try Self.write(Self.crowded(number), to: file)
                    #expect(try stage.busctl(reload).status == 0)
                    generation += 1
                }
                #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == generation)
            }
            // Nothing moves any more, so that the counts stay.
            #expect(try stage.jostle("pause").status == 0)
            #expect(try stage.property("Sensors", at: Stage.Object.broker).contains("\"lost\" t 0"))
            for (app, id) in [(alone, "org.example.Alone"), (winner, Self.hard)] {
                let object = Stage.Object.app(id)
                let hits = try stage.count("Hits", at: object)
                #expect(hits > 100)
                // What an app has no room for is sent when it has read.
                try stage.until("all are delivered") { try stage.count("Delivered", at: object) == hits }
                #expect(try stage.count("Denied", at: object) == 0)
                #expect(try stage.count("Dropped", at: object) == 0)
                let events = try Self.events(of: app, through: hits)
                #expect(zip(events, events.dropFirst()).allSatisfy { $0.sequence + 1 == $1.sequence }, "\(id)")
                #expect(zip(events, events.dropFirst()).allSatisfy { $0.time < $1.time }, "\(id)")
                #expect(events.last?.sequence == hits)
            }
            #expect(try stage.count("Delivered", at: Stage.Object.app(Self.gentle)) == 0)
            for app in [alone, winner, loser] { #expect(try app.terminate() == .exited(0)) }
        }

        /// The events that an app was not asked about yet, up to a sequence number.
        private static func events(
            of app: BackgroundProgram, through last: UInt64
        ) throws -> [(sequence: UInt64, time: UInt64)] {
            var events: [(sequence: UInt64, time: UInt64)] = []
            repeat {
                let line = try app.nextEvent()
                events.append(
                    (
                        try #require(field("sequence", of: line).flatMap { UInt64($0) }),
                        try #require(field("t_us", of: line).flatMap { UInt64($0) })
                    ))
            } while events.last.map { $0.sequence < last } ?? true
            return events
        }

        /// Nothing that stands in the way of reading a file puts a part of the policy in force.
        @Test func aFileThatCannotBeReadLeavesTheOldPolicy() throws {
            let (stage, file) = try self.stage("[Policy]\nDefault=allow\n")
            let other = "\(stage.bus.directory)/policy/20-other.conf"
            try Self.write("[Rule gentle]\nWhenApp=\(Self.gentle)\nThen=allow\n", to: other)
            let app = try stage.watch("shake.planar,threshold=2g,rest=0s,name=one", "--app", Self.gentle)
            func isRefused(_ message: String) throws {
                let said = try #require(try stage.script(Self.reload).first)
                #expect(said.hasPrefix("app error org.jostle.Error.InvalidPolicy: \(file):1:1: error E0"), "\(said)")
                #expect(said.contains(message), "\(said)")
                #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 1)
            }
            unlink(file)
            try #require(symlink("\(file).gone", file) == 0)
            try isRefused("No such file or directory")
            unlink(file)
            try #require(mkfifo(file, 0o644) == 0)
            try isRefused("it is not a file")
            unlink(file)
            try Self.write("", to: file)
            try #require(truncate(file, 1 << 30) == 0)
            try isRefused("policy-file-bytes is 16777216")
            // The first policy decides on.
            try stage.inject("shake peak=3g for=600ms")
            _ = try app.waitForLine(where: self.isEvent)
            #expect(
                try stage.property("LastEvent", at: Stage.Object.app(Self.gentle)).contains(
                    "\"policy-generation\" t 1 "))
            #expect(try app.terminate() == .exited(0))
        }

        /// Root may read whatever it likes, so there the broker is somebody else.
        @Test func aFileThatMayNotBeReadLeavesTheOldPolicy() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(broker: false, on: PrivateBus(on: .dbusDaemon))
            let directory = try stage.directory("policy", ["10-test": "[Policy]\nDefault=allow\n"])
            let file = "\(directory)/10-test.conf"
            let user = geteuid() == 0 ? Stage.nobody : []
            try #require(chmod(stage.bus.directory, 0o755) == 0)
            try stage.startBroker("--policy", directory, "--no-journal", under: user)
            let app = try stage.watch("shake.planar,threshold=2g,rest=0s,name=one", "--app", Self.gentle)
            for (path, place) in [(file, "\(file):1:1"), (directory, "\(directory):1:1")] {
                try #require(chmod(path, 0) == 0)
                let said = try #require(try stage.script(as: user, [Self.reload]).first)
                #expect(said.hasPrefix("app error org.jostle.Error.InvalidPolicy: \(place): error E0"), "\(said)")
                #expect(said.contains("Permission denied"), "\(said)")
                #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 1)
                try #require(chmod(path, path == file ? 0o644 : 0o755) == 0)
            }
            try stage.inject("shake peak=3g for=600ms")
            _ = try app.waitForLine(where: self.isEvent)
            #expect(
                try stage.property("LastEvent", at: Stage.Object.app(Self.gentle)).contains(
                    "\"policy-generation\" t 1 "))
            #expect(try stage.script(as: user, [Self.reload]).first?.hasPrefix("app ok ") == true)
            #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 2)
            #expect(try app.terminate() == .exited(0))
        }

        /// A directory that is not listed to its end is not an empty one.
        @Test func aDirectoryThatIsNotListedToItsEndLeavesTheOldPolicy() throws {
            let stage = try Stage(broker: false)
            let directory = try stage.directory("policy", ["10-test": "[Policy]\nDefault=deny\n"])
            let control = "\(stage.home)/fault"
            // In place, because it is mapped.
            func set(_ fault: String) throws {
                let file = try #require(open(control, O_WRONLY | O_CREAT, 0o600) as Int32?)
                #expect(Glibc.write(file, fault, 1) == 1)
                close(file)
            }
            try set("0")
            try stage.startBroker(
                "--policy", directory, "--no-journal",
                environment: ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": control])
            try set("5")
            let said = try #require(try stage.script(Self.reload).first)
            #expect(said.hasPrefix("app error org.jostle.Error.InvalidPolicy: \(directory):1:1: error E000"), "\(said)")
            #expect(said.contains("Input/output error"), "\(said)")
            #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 1)
            try set("0")
            #expect(try stage.script(Self.reload) == ["app ok []"])
            #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 2)
        }

        @Test func aBrokenFileAtTheStartLeavesTheBuiltInPolicy() throws {
            let (stage, file) = try self.stage("[Policy]\nDefault=maybe\n")
            let said = try #require(stage.broker).errors
            #expect(said.contains("\(file):2:9: error E"), "\(said)")
            #expect(said.contains("the built-in policy is in force"), "\(said)")
            #expect(try stage.property("PolicyFiles", at: Stage.Object.broker) == "as 0")
            let app = try stage.watch("\(Stage.always),name=one", "--app", Self.gentle)
            _ = try app.waitForLine(where: self.isEvent)
            #expect(try app.terminate() == .exited(0))
        }

        /// What is named in the user's own directory is checked as the user's, as the broker takes it; the same elsewhere is not.
        @Test func whatIsTheUsersOwnIsCheckedAsThat() throws {
            let stage = try Stage(broker: false)
            let text = "[Rule mine]\nThen=allow\n"
            let config = try stage.directory("config", [:])
            try #require(mkdir("\(config)/jostle", 0o755) == 0)
            let own = try stage.directory("config/jostle/policy.d", ["10-own": text])
            let other = try stage.directory("other", ["10-own": text])
            func check(_ path: String) throws -> Tool.Result {
                try stage.jostle(["policy", "check", path], environment: ["XDG_CONFIG_HOME": config])
            }
            for path in [own, "\(own)/", "\(own)/10-own.conf"] {
                let checked = try check(path)
                #expect(checked.status == 1 && checked.stdout.contains(": error E006: "), "\(path): \(checked)")
            }
            let checked = try check(other)
            #expect(checked.status == 0, "\(checked)")
        }

        /// Whatever stands in a user's own files, the administrator's policy is in force, at the start and after a reload.
        @Test(.enabled(if: getuid() == 0, "only root may mount"))
        func aUsersBrokenFileLeavesTheAdministratorsPolicy() throws {
            let stage = try Stage(broker: false)
            let system = try stage.directory("system", ["10-admin": "[Policy]\nDefault=deny\n"])
            let config = try stage.directory("config", [:])
            try #require(mkdir("\(config)/jostle", 0o755) == 0)
            let own = try stage.directory("config/jostle/policy.d", ["10-own": "garbage\n"])
            // What this machine has is no matter of a test's.
            let hiding =
                "for d in /etc/jostle /usr/share/jostle /usr/local/share/jostle; do test ! -e $d || mount -t tmpfs none $d; done; "
                + "mount -t tmpfs none /run; mkdir -p /run/jostle/policy.d; "
                + "mount --bind '\(system)' /run/jostle/policy.d; exec \"$@\""
            try stage.startBroker(
                environment: ["XDG_CONFIG_HOME": config],
                under: ["unshare", "--mount", "--propagation", "private", "sh", "-ec", hiding, "sh"])
            let inForce = "as 1 \"/run/jostle/policy.d/10-admin.conf\""
            #expect(try stage.property("PolicyFiles", at: Stage.Object.broker) == inForce)
            let said = try #require(stage.broker).errors
            #expect(said.contains("\(own)/10-own.conf:1:1: warning W016: the user's own files are left out"), "\(said)")
            let app = try stage.watch("\(Stage.always),name=one", "--app", Self.gentle)
            let object = Stage.Object.app(Self.gentle)
            try stage.until("a denial") { try stage.count("Denied", at: object) > 0 }
            #expect(try stage.count("Delivered", at: object) == 0)

            try Self.write("[Policy]\nDefault=allow\n", to: "\(system)/10-admin.conf")
            #expect(try stage.script(Self.reload) == ["app ok []"])
            #expect(try stage.count("PolicyGeneration", at: Stage.Object.broker) == 2)
            #expect(try stage.property("PolicyFiles", at: Stage.Object.broker) == inForce)
            _ = try app.waitForLine(where: self.isEvent)
            #expect(try app.terminate() == .exited(0))
        }
    }
}
