import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// What apps register for good outlives them and the broker, and is nobody else's.
    @Suite(.serialized) struct DurableApps {
        private static let app = "org.example.Player"
        private static let object = Stage.Object.app(app)
        private static let root = "org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1"
        private static let file = "[App]\nUsage=Skips when you shake the device\nModes=audio\n"
        private static let policy = "[Policy]\nDefault=allow\n\n[App *]\nGrants=audio\n"
        private static let skip = "('skip',{'preset':V('s','shake.magnitude'),'threshold':V('d',0.5),'rest':V('t',0)})"

        private func start(_ stage: Stage, apps: [String: String] = [app: file]) throws {
            try stage.startBroker(policy: Self.policy, apps: apps, "--state-dir", stage.state)
        }

        private func stage(source: String? = nil, apps: [String: String] = [app: file]) throws -> Stage {
            let stage = try Stage(source: source, broker: false)
            try self.start(stage, apps: apps)
            return stage
        }

        private static func register(_ peer: String = "app", _ app: String = app, durable: Bool = true) -> [String] {
            let options = durable ? "{'durable':V('b',True)}" : "{}"
            return ["\(peer) own \(app)", "\(peer) call \(self.root) Register sa{sv} ['\(app)',\(options)]"]
        }

        private static func call(_ member: String, _ arguments: String) -> String {
            "app call org.jostle.Broker1 \(self.object) org.jostle.Broker1.App \(member) \(arguments)"
        }

        private static let add = call("AddDetectors", "a(sa{sv}) [[\(skip)]]")

        private func property(_ name: String, _ stage: Stage) throws -> String {
            try stage.property(name, at: Self.object)
        }

        /// An app that is there for one user has its file there. On a system bus no user speaks for all.
        @Test(arguments: [false, true])
        func aFileOfItsUserIsEnough(_ isSystemBus: Bool) throws {
            let stage = try Stage(source: nil, broker: false)
            let data = "\(stage.bus.directory)/data"
            var directory = stage.bus.directory
            for step in ["data", "jostle", "apps.d"] {
                directory += "/\(step)"
                try #require(mkdir(directory, 0o755) == 0)
            }
            func write(_ text: String) throws {
                let file = try #require(fopen("\(directory)/\(Self.app).conf", "w"))
                fputs(text, file)
                try #require(fclose(file) == 0)
            }
            try write(Self.file)
            let environment = [
                "XDG_DATA_HOME": data, "XDG_DATA_DIRS": "\(data)/none", "DBUS_SYSTEM_BUS_ADDRESS": stage.address,
            ]
            let broker = try BackgroundProgram(
                "jostle-brokerd",
                [
                    "--bus", isSystemBus ? "system" : stage.address, "--state-dir", stage.state, "--policy",
                    try stage.directory("policy", ["10-test": Self.policy]),
                ], environment: environment)
            _ = try broker.waitForLine(on: .errors) { $0.contains("serving the ") }
            let lines = try stage.script(Self.register())
            if isSystemBus {
                #expect(lines.last?.contains("AccessDenied: durable is for apps with an app file") == true, "\(lines)")
            } else {
                #expect(lines.last?.contains("\"durable\": true") == true, "\(lines)")
                let path = "\(directory)/\(Self.app).conf"
                #expect(try stage.jostle("app", Self.app).stdout.contains("\n  app file    \(path)\n"))
                #expect(try stage.jostle("apps").stdout.contains(" \(path)\n"))
                #expect(try stage.jostle("apps", "--json").stdout.contains("\"file\":\"\(path)\""))
                #expect(try self.property("AppFile", stage) == "s \"\(path)\"")
                // As with others' files, a reload sees what changed.
                try write("[App]\nUsage=Does something else\n")
                let reload = "p call \(Self.root) Reload a{sv} [{}]"
                #expect(try stage.script(reload) == ["p ok []"])
                #expect(try self.property("Usage", stage) == "s \"Does something else\"")
                try #require(unlink(path) == 0)
                #expect(try stage.script(reload) == ["p ok []"])
                #expect(try stage.jostle("app", Self.app).status != 0)
            }
            #expect(try broker.terminate() == .exited(0))
        }

        // MARK: Outliving

        @Test func itOutlivesTheAppAndTheBroker() throws {
            let stage = try self.stage(source: Stage.rest)
            let lines = try stage.script(Self.register() + [Self.add])
            #expect(lines.count == 2 && lines[0].contains("\"durable\": true"), "\(lines)")
            // The script is gone, and with it the app.
            try stage.until("it is dead") { try self.property("State", stage) == "s \"dead\"" }
            #expect(try self.property("Durable", stage) == "b true")
            // Acknowledged is committed: the broker can be killed at once.
            try stage.kill(stage.broker)
            try self.start(stage)
            try stage.untilDurable(Self.app)
            #expect(try self.property("State", stage) == "s \"dead\"")
            #expect(try self.property("Grants", stage) == "as 1 \"audio\"")
            #expect(try self.property("Detectors", stage).contains("\"skip\""))
            try stage.until("its detector is at work") { try stage.count("Hits", at: Self.object) > 2 }
            let shown = try stage.jostle("app", Self.app).stdout
            #expect(shown.contains("\n  durable     what it registered outlives it\n"), "\(shown)")
        }

        /// What it registers without asking for it to last does not, and does not undo what lasts.
        @Test func onlyWhatIsRegisteredForGoodOutlivesIt() throws {
            let stage = try self.stage()
            _ = try stage.script(Self.register() + [Self.add])
            let other = "('other',{'preset':V('s','shake.planar')})"
            let lines = try stage.script(
                Self.register(durable: false) + [Self.call("AddDetectors", "a(sa{sv}) [[\(other)]]")])
            #expect(lines[0].contains("\"durable\": false"))
            try stage.until("it is dead") { try self.property("State", stage) == "s \"dead\"" }
            let detectors = try self.property("Detectors", stage)
            #expect(detectors.contains("\"skip\"") && !detectors.contains("\"other\""))
        }

        /// A report says how long the sensor ran while its detectors asked for that, which end with its connection.
        @Test func whatItAskedForIsOverWhenItLeaves() throws {
            let stage = try self.stage(source: Stage.rest)
            let app = try stage.startScript(Self.register(durable: false) + [Self.add])
            // The table comes with the first row, so that there may be none to be asked.
            func asks() throws -> String {
                let query = "SELECT rate > 0 FROM change WHERE kind = 'asks' ORDER BY id DESC LIMIT 1"
                return try Tool.rows(of: "\(stage.state)/journal.db", query).stdout
            }
            try stage.until("it is noted what it asks for") { try asks() == "1\n" }
            _ = try app.terminate()
            try stage.until("it is noted that it asks for nothing") { try asks() == "0\n" }
        }

        /// What is noted of a sensor is nobody's, and has its room with the lock and the like: no app takes all of that.
        @Test func howASensorRunsIsNotedTwiceASecondAtMost() throws {
            let stage = try self.stage(source: Stage.rest)
            func notes(_ columns: String) throws -> String {
                let query = "SELECT \(columns) FROM change WHERE kind = 'sensor'"
                return try Tool.rows(of: "\(stage.state)/journal.db", query).stdout
            }
            let changes = (0..<200).map { number in
                let every = number.isMultiple(of: 2) ? "5ms" : "20ms"
                let detector = "('r',{'when':V('s','x > 5g'),'every':V('s','\(every)')})"
                return Self.call("AddDetectors", "a(sa{sv}) [[\(detector)]]")
            }
            let begun = ContinuousClock.now
            let lines = try stage.script(Self.register(durable: false) + changes)
            #expect(lines.count == 201 && lines.allSatisfy { $0.hasPrefix("app ok ") }, "\(lines.suffix(2))")
            // The app has left, and the sensor rests, as the last row says.
            let last = "(SELECT rate = 0 FROM change WHERE kind = 'sensor' ORDER BY id DESC LIMIT 1)"
            try stage.until("it is noted that the sensor rests") { try notes("max(rate) > 0 AND \(last)") == "1\n" }
            let seconds = (ContinuousClock.now - begun).components.seconds + 1
            let count = try #require(Int64(try notes("count(*)").dropLast()))
            #expect(count <= 4 + 2 * seconds, "\(count) in \(seconds) s")
        }

        @Test func withdrawnIsGone() throws {
            let stage = try self.stage()
            let lines = try stage.script(
                Self.register() + [Self.add, Self.call("RemoveDetectors", "asa{sv} [['skip'],{}]")])
            #expect(lines.count == 3)
            try stage.kill(stage.broker)
            try self.start(stage)
            try stage.untilDurable(Self.app)
            #expect(try self.property("Detectors", stage) == "a(sa{sv}) 0")

            _ = try stage.script(Self.register() + [Self.add])
            #expect(try stage.jostle("forget", Self.app).status == 0)
            #expect(try self.property("Durable", stage) == "b false")
            #expect(try self.property("Detectors", stage) == "a(sa{sv}) 0")
            try stage.kill(stage.broker)
            try self.start(stage)
            #expect(try self.property("Durable", stage) == "b false")
            let again = try stage.jostle("forget", Self.app)
            #expect(again.status == 1 && again.stderr.contains("nothing of '\(Self.app)' is durable"), "\(again)")
        }

        /// The file of an app says why it may; without one it is nobody, but what it has on the disk stays there.
        @Test func itNeedsAnAppFile() throws {
            let stage = try self.stage(apps: [Self.app: Self.file, "org.example.Quiet": "[App]\n"])
            let lines = try stage.script(
                Self.register("quiet", "org.example.Quiet") + Self.register("none", "org.example.None")
                    + ["nobody call \(Self.root) Register sa{sv} ['',{'durable':V('b',True)}]"] + Self.register()
                    + [Self.add])
            try #require(lines.count == 5)
            for line in lines[..<2] { #expect(line.contains("AccessDenied: durable is for apps with an app file")) }
            #expect(lines[2].contains("InvalidConfiguration: Register: only an app with a name can be durable"))
            let file = "\(stage.bus.directory)/apps/\(Self.app).conf"
            let reload = [
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "Reload", "a{sv}", "0",
            ]
            func write(_ text: String) throws {
                let stream = try #require(fopen(file, "w"))
                fputs(text, stream)
                try #require(fclose(stream) == 0)
                #expect(try stage.busctl(reload).status == 0)
            }
            // An update that went wrong does not make it deaf.
            try write("[App]\nUsage\n")
            #expect(try self.property("Detectors", stage).contains("\"skip\""))
            #expect(try self.property("Usage", stage) == "s \"Skips when you shake the device\"")
            #expect(unlink(file) == 0)
            #expect(try stage.busctl(reload).status == 0)
            #expect(try !stage.jostle("apps").stdout.contains(Self.app))
            try write(Self.file)
            #expect(try self.property("Detectors", stage).contains("\"skip\""))
        }

        /// What its file gave goes with the file, also while the app is there.
        @Test func aRemovedFileGivesNothingMore() throws {
            let stage = try self.stage()
            let app = try stage.startScript(Self.register())
            try app.waitUntilSaid("staying")
            #expect(try self.property("Grants", stage) == "as 1 \"audio\"")
            #expect(unlink("\(stage.bus.directory)/apps/\(Self.app).conf") == 0)
            #expect(try stage.script("p call \(Self.root) Reload a{sv} [{}]") == ["p ok []"])
            #expect(try self.property("AppFile", stage) == "s \"\"")
            #expect(try self.property("Grants", stage) == "as 0")
            #expect(try self.property("State", stage) == "s \"foreground\"")
            _ = app
        }

        /// A disk that fails for a moment while the directory is listed takes nothing away that stands in it: not from an app
        /// that is there, not from one that is not, and not at the start. What is not there when it can be listed is gone.
        @Test func whatStandsWhereNobodyCanLookStays() throws {
            let stage = try Stage(source: nil, broker: false)
            let other = "org.example.Other"
            let folders = (
                policy: try stage.directory("policy", ["10-test": Self.policy]),
                apps: try stage.directory("apps", [Self.app: Self.file, other: Self.file])
            )
            let control = "\(stage.home)/fault"
            // In place, because it is mapped.
            func set(_ fault: String) throws {
                let file = try #require(open(control, O_WRONLY | O_CREAT, 0o600) as Int32?)
                #expect(Glibc.write(file, fault, 1) == 1)
                close(file)
            }
            func start() throws {
                try stage.startBroker(
                    "--policy", folders.policy, "--apps", folders.apps,
                    environment: ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": control])
            }
            let reload = "p call \(Self.root) Reload a{sv} [{}]"
            try set("0")
            try start()
            _ = try stage.script(Self.register() + [Self.add])
            try stage.until("it is dead") { try self.property("State", stage) == "s \"dead\"" }
            let app = try stage.startScript(Self.register("other", other, durable: false))
            try app.waitUntilSaid("staying")
            try set("5")
            let said = try #require(try stage.script(reload).first)
            #expect(said.contains("the directory cannot be read to its end"), "\(said)")
            #expect(try self.property("Detectors", stage).contains("\"skip\""))
            for object in [Self.object, Stage.Object.app(other)] {
                #expect(try stage.property("Grants", at: object) == "as 1 \"audio\"")
            }
            _ = try app.terminate()
            // At the start only what was registered is known.
            try stage.kill(stage.broker)
            try start()
            try stage.untilDurable(Self.app)
            #expect(try self.property("Detectors", stage).contains("\"skip\""))
            try set("0")
            #expect(try stage.script(reload) == ["p ok []"])
            #expect(try self.property("AppFile", stage) == "s \"\(folders.apps)/\(Self.app).conf\"")
            try #require(unlink("\(folders.apps)/\(Self.app).conf") == 0)
            #expect(try stage.script(reload) == ["p ok []"])
            #expect(try stage.jostle("app", Self.app).status != 0)
        }

        /// An app that comes while nobody can look into the directory of its file keeps what it had, whatever other directory has one of
        /// that name.
        @Test(arguments: [false, true]) func whoComesWhileNobodyCanLookKeepsWhatItHad(_ isOtherThere: Bool) throws {
            let stage = try Stage(source: nil, broker: false)
            let others = isOtherThere ? [Self.app: "[App]\nUsage=Does something else\n"] : [:]
            let folders = (
                policy: try stage.directory("policy", ["10-test": Self.policy]),
                below: try stage.directory("below", others),
                apps: try stage.directory("apps", [Self.app: Self.file])
            )
            try stage.startBroker(
                "--policy", folders.policy, "--apps", folders.below, "--apps", folders.apps)
            func expectItsOwn() throws {
                #expect(try self.property("AppFile", stage) == "s \"\(folders.apps)/\(Self.app).conf\"")
                #expect(try self.property("Grants", stage) == "as 1 \"audio\"")
            }
            try expectItsOwn()
            // A link that leads to itself.
            let away = "\(folders.apps).away"
            try #require(rename(folders.apps, away) == 0 && symlink(folders.apps, folders.apps) == 0)
            let app = try stage.startScript(Self.register(durable: false))
            try app.waitUntilSaid("staying")
            try expectItsOwn()
            _ = try app.terminate()
            try stage.until("it is dead") { try self.property("State", stage) == "s \"dead\"" }
            try expectItsOwn()
            // What is not there when it can be looked for is gone.
            try #require(unlink(folders.apps) == 0 && rename(away, folders.apps) == 0)
            try #require(unlink("\(folders.apps)/\(Self.app).conf") == 0)
            let again = try stage.startScript(Self.register(durable: false))
            try again.waitUntilSaid("staying")
            #expect(try self.property("Grants", stage) == "as 0")
            _ = try again.terminate()
        }

        @Test func withoutADiskNothingIsDurable() throws {
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker(policy: Self.policy, apps: [Self.app: Self.file], "--no-journal")
            let lines = try stage.script(Self.register())
            #expect(lines[0].contains("NotSupported: nothing outlives this broker"), "\(lines)")
        }

        // MARK: Whose it is

        /// A process of another user takes the name of a dead app. Only root can play both.
        @Test(.enabled(if: geteuid() == 0)) func anotherUserIsNotTheApp() throws {
            let stage = try self.stage()
            // The way to the bus is open to others here; the bus lets everybody in.
            #expect(chmod(stage.bus.directory, 0o755) == 0)
            _ = try stage.script(Self.register() + [Self.add])
            try stage.until("it is dead") { try self.property("State", stage) == "s \"dead\"" }
            let script = ["/usr/bin/python3", Programs.source("Tests/Scripts/bus-script.py"), stage.address]
            let thief = try Tool.run(
                Stage.nobody + script
                    + Self.register("thief", durable: false))
            #expect(
                thief.stdout.contains(
                    "thief error org.jostle.Error.IdentityMismatch: '\(Self.app)' is another user's"), "\(thief)")
            #expect(try self.property("State", stage) == "s \"dead\"")
            // Nor after the broker has started anew; the app itself is welcome.
            try stage.kill(stage.broker)
            try self.start(stage)
            try stage.untilDurable(Self.app)
            let again = try Tool.run(
                Stage.nobody + script
                    + Self.register("thief"))
            #expect(again.stdout.contains("IdentityMismatch"), "\(again)")
            let own = try stage.script(Self.register(durable: false))
            #expect(own[0].hasPrefix("app ok "))
        }

        /// A process of another user that has the name of a dead app is not handed its events.
        @Test(.enabled(if: geteuid() == 0)) func anotherUserIsNotLaunchedInItsPlace() throws {
            let stage = try Stage(source: Stage.rest, broker: false)
            let wake = "[Rule wake]\nWhenState=dead\nThen=allow\nDeliver=wake\nLifespan=1min\n"
            try stage.startBroker(
                policy: Self.policy + wake, apps: [Self.app: Self.file], "--state-dir", stage.state)
            #expect(chmod(stage.bus.directory, 0o755) == 0)
            _ = try stage.script(Self.register() + [Self.add])
            // Called, it would say nothing.
            let thief = try BackgroundProgram(
                tool: Stage.nobody + [
                    "/usr/bin/python3", Programs.source("Tests/Scripts/receiver.py"), Self.app, "/dev/null", "silent",
                ],
                environment: ["DBUS_STARTER_ADDRESS": stage.address])
            try stage.bus.waitForName(Self.app)
            try stage.until("its launch is refused") {
                try self.property("LastLaunch", stage).contains("\"refused\"")
            }
            #expect(thief.end == nil)
            #expect(try stage.jostle("why-not", Self.app).status == 0)
        }

        /// Nor is he when the app is durable only by its file: whose it is says who had it last.
        @Test(.enabled(if: geteuid() == 0)) func anotherUserIsNotLaunchedInThePlaceOfWhoWasThere() throws {
            let stage = try Stage(source: Stage.rest, broker: false)
            try stage.startBroker(
                policy: "[Rule wake]\nWhenState=dead\nThen=allow\nDeliver=wake\nLifespan=1min\n",
                apps: [Self.app: Self.file + Self.jolt], "--state-dir", stage.state)
            #expect(chmod(stage.bus.directory, 0o755) == 0)
            _ = try stage.script(Self.register(durable: false))
            let thief = try BackgroundProgram(
                tool: Stage.nobody + [
                    "/usr/bin/python3", Programs.source("Tests/Scripts/receiver.py"), Self.app, "/dev/null", "done",
                ],
                environment: ["DBUS_STARTER_ADDRESS": stage.address])
            try stage.bus.waitForName(Self.app)
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("its launch is over") { try !self.property("LastLaunch", stage).contains("a{sv} 0") }
            #expect(try self.property("LastLaunch", stage).contains("\"refused\""))
            #expect(thief.end == nil)
        }

        private static let jolt = "[Detector jolt]\npreset=shake.planar\nthreshold=2.3g\nrest=1h\n"

        /// What is kept for root is not what is kept for nobody: another user does not get it, whoever comes first.
        @Test(.enabled(if: geteuid() == 0), arguments: [true, false])
        func whatIsKeptIsTheSameUsersAfterARestart(_ isRoots: Bool) throws {
            let stage = try Stage(source: Stage.rest, broker: false)
            func start() throws {
                try stage.startBroker(
                    policy: "[Rule keep]\nThen=allow\nDeliver=store\nDurability=persistent\nLifespan=10min\n",
                    apps: [Self.app: Self.file + Self.jolt], "--state-dir", stage.state)
            }
            try start()
            if isRoots { _ = try stage.script(Self.register(durable: false)) }
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("it is on the disk") { try self.due(stage) == (isRoots ? "0" : "-1") }
            // It must not go on shaking.
            try stage.kill(stage.reader)
            try stage.kill(stage.broker)
            try start()
            let subscribe = Self.register(durable: false) + [Self.call("Subscribe", "a{sv} [{}]")]
            let other = try stage.script(as: Stage.nobody, subscribe)
            #expect(other.last?.contains("\"kept\": \(isRoots ? 0 : 1)") == true, "\(other)")
            let root = try stage.script(subscribe)
            #expect(root.last?.contains("\"kept\": \(isRoots ? 1 : 0)") == true, "\(root)")
        }

        /// Whose the events on the disk are.
        private func due(_ stage: Stage) throws -> String {
            let script = """
                import sqlite3,sys
                c=sqlite3.connect(sys.argv[1])
                print(*[r[0] for r in c.execute('SELECT user FROM due')],end='')
                """
            return try Tool.run(["/usr/bin/python3", "-c", script, "\(stage.state)/state.db"]).stdout
        }

        // MARK: Killed

        /// Killed at any moment while apps register and withdraw: what was acknowledged is there, and what was withdrawn is
        /// not; no assertion outlives its process.
        @Test func aKilledBrokerLosesNoRegistration() throws {
            let kills = max(5, Disks.kills / 4)
            let names = (0..<4).map { "org.example.App\($0)" }
            let files = Dictionary(uniqueKeysWithValues: names.map { ($0, Self.file) })
            let stage = try Stage(source: nil, broker: false)
            let seed = UInt64.random(in: .min ... .max)
            print("seed \(seed), \(kills) kills")
            var state = seed
            func random(_ count: UInt64) -> UInt64 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return (state >> 33) % count
            }
            // What each app was told last to be on the disk, and what it asked for since without an answer.
            var known: [String: Set<String>] = Dictionary(uniqueKeysWithValues: names.map { ($0, []) })
            var acknowledged = 0
            for _ in 0..<kills {
                try self.start(stage, apps: files)
                for name in names {
                    let all = try #require(known[name])
                    var found: Set<String> = []
                    // A slow disk is not waited for until it has said all it knows.
                    try stage.until("\(all) of \(name) after the kill") {
                        let shown = try stage.property("Detectors", at: Stage.Object.app(name))
                        found = Set((0..<30).map { "d\($0)" }.filter { shown.contains("\"\($0)\"") })
                        return found.isSuperset(of: all)
                    }
                    #expect(found == all, "\(name) after the kill")
                    #expect(try stage.property("Grants", at: Stage.Object.app(name)) == "as 1 \"audio\"")
                    #expect(try stage.property("Assertions", at: Stage.Object.app(name)) == "aa{sv} 0")
                    #expect(try stage.property("State", at: Stage.Object.app(name)) == "s \"dead\"")
                }
                let load = try names.map { name in
                    try BackgroundProgram(
                        tool: [
                            "python3", Programs.source("Tests/Scripts/register-for-good.py"), stage.address, name,
                            "\(random(1 << 32))", known[name]?.sorted().joined(separator: ",") ?? "",
                        ])
                }
                let moment = 1 + random(12)
                for _ in 0..<moment { _ = try load[0].waitForLine { $0.hasPrefix("has ") } }
                try stage.kill(stage.broker)
                for (name, program) in zip(names, load) {
                    #expect(try program.waitForEnd() == .exited(0), "\(program.errors)")
                    let lines = program.output.split(separator: "\n").filter { $0.hasPrefix("has ") }
                    acknowledged += lines.count
                    // The last line is what it was told; one more change may have come to the disk without having been told.
                    let told = Self.names(lines.last.map(String.init) ?? "")
                    let asked = program.output.split(separator: "\n").last { $0.hasPrefix("asks ") }.map(String.init)
                    known[name] = try self.settled(stage, name, told ?? known[name] ?? [], asked.flatMap(Self.names))
                }
            }
            print("\(acknowledged) registrations were acknowledged, none is missing")
            #expect(acknowledged > kills)
            #expect(access("\(stage.state)/state.db.broken", F_OK) != 0)
        }

        /// What a line says after its first word.
        private static func names(_ line: String) -> Set<String>? {
            guard let space = line.firstIndex(of: " ") else { return nil }
            return Set(line[line.index(after: space)...].split(separator: ",").map(String.init))
        }

        /// What stands on the disk for an app: what it was told, or what it had asked for when the broker died.
        private func settled(
            _ stage: Stage, _ app: String, _ told: Set<String>, _ asked: Set<String>?
        ) throws -> Set<String> {
            let script = """
                import sqlite3,sys
                c=sqlite3.connect(sys.argv[1])
                print(*[r[0] for r in c.execute('SELECT DISTINCT detector FROM detector_option WHERE app=?',(sys.argv[2],))])
                """
            let result = try Tool.run(["python3", "-c", script, "\(stage.state)/state.db", app])
            try #require(result.status == 0, "\(result.stderr)")
            let stored = Set(
                result.stdout.split(separator: " ").map { $0.filter { !$0.isNewline } }.filter { !$0.isEmpty })
            #expect(stored == told || stored == asked, "\(app): stored \(stored), told \(told), asked \(asked ?? [])")
            return stored
        }
    }
}
