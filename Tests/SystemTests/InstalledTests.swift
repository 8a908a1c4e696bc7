import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// Apps with an app file exist while they are not on the bus, and get what was stored for them when they come.
    @Suite(.serialized) struct Installed {
        private static let app = "org.example.Player"
        private static let object = Stage.Object.app(app)
        private static let file = """
            [App]
            Usage=Skips to the next track when you shake the device
            Modes=audio

            [Detector skip]
            preset=shake.magnitude
            threshold=0.5g
            rest=0s

            """
        private static let storing = """
            [Policy]
            Default=allow

            [Rule keep]
            WhenApp=\(app)
            Then=allow
            Deliver=store
            Lifespan=1min

            """

        private func stage(_ policy: String, apps: [String: String] = [app: file]) throws -> Stage {
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: policy, apps: apps, "--state-dir", stage.state)
            return stage
        }

        private func property(_ name: String, _ stage: Stage) throws -> String {
            try stage.property(name, at: Self.object)
        }

        @Test func anAppIsSeenAndJudgedBeforeItComes() throws {
            let stage = try self.stage("[Policy]\nDefault=allow\n")
            #expect(try self.property("State", stage) == "s \"dead\"")
            #expect(try self.property("StateCause", stage) == "s \"left\"")
            #expect(try self.property("Usage", stage) == "s \"Skips to the next track when you shake the device\"")
            #expect(try self.property("Detectors", stage).contains("\"skip\""))
            try stage.until("it is denied") { try stage.count("Denied", at: Self.object) >= 3 }
            let row = try stage.jostle("apps").stdout.split(separator: "\n").first { $0.contains(Self.app) }
            #expect(row?.contains(" dead ") == true, "\(row ?? "no row")")
            let shown = try stage.jostle("app", Self.app).stdout
            #expect(
                shown.hasPrefix("\(Self.app)  dead since ") && shown.contains(": it is not on the bus\n"), "\(shown)")
            #expect(shown.contains("\n  detectors   skip\n") && shown.contains("S1.dead"), "\(shown)")
            let explained = try stage.jostle("explain", "last", "--app", Self.app).stdout
            #expect(explained.contains("NOT DELIVERED  S1.dead"), "\(explained)")
            let whyNot = try stage.jostle("why-not", Self.app).stdout
            #expect(whyNot.contains("dead, not on the bus") && whyNot.contains("S1.dead"), "\(whyNot)")
            let moved = try stage.jostle("state", Self.app, "background")
            #expect(moved.status == 1 && moved.stderr.contains("'\(Self.app)' is not on the bus"), "\(moved)")
            // Others cannot do in its name what only it may.
            let refused = try stage.script(
                "other call org.jostle.Broker1 \(Self.object) org.jostle.Broker1.App RemoveDetectors asa{sv} [['skip'],{}]",
                "other call org.jostle.Broker1 \(Self.object) org.jostle.Broker1.App Subscribe a{sv} [{}]")
            #expect(refused.allSatisfy { $0.contains("AccessDenied: only the app itself can") }, "\(refused)")
        }

        @Test func itGetsWhatWasStoredWhenItComes() throws {
            let stage = try self.stage(Self.storing)
            try stage.until("something is due") { try stage.count("QueuedBytes", at: Self.object) > 0 }
            let watch = try stage.start("watch", "--json", "--kept", "--app", Self.app, "shake.planar")
            let first = try watch.waitForLine { $0.hasPrefix("{\"detector\":\"skip\"") }
            #expect(number("sequence", of: first) == 1, "\(first)")
            #expect(try self.property("State", stage) == "s \"foreground\"")
            #expect(try stage.count("Delivered", at: Self.object) > 0)
            // It leaves, and is still there.
            _ = try watch.terminate()
            try stage.until("it is dead") { try self.property("State", stage) == "s \"dead\"" }
            #expect(try self.property("Detectors", stage).contains("\"skip\""))
            let hits = try stage.count("Hits", at: Self.object)
            try stage.until("its detector goes on") { try stage.count("Hits", at: Self.object) > hits }
        }

        /// What a user's files install takes nothing of what others are left, and the log says once that it is too much.
        @Test(.enabled(if: geteuid() == 0)) func whatAUserInstallsIsOfTheUsersShare() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            var directory = stage.bus.directory
            try #require(chmod(directory, 0o755) == 0 && mkdir(stage.state, 0o700) == 0)
            try #require(chown(stage.state, 65_534, 65_534) == 0)
            for step in ["data", "jostle", "apps.d"] {
                directory += "/\(step)"
                try #require(mkdir(directory, 0o755) == 0)
            }
            let detectors = (0..<64).map { "[Detector d\($0)]\nwhen=x > 2g\n" }.joined()
            for index in 0..<80 {
                let file = try #require(fopen("\(directory)/org.example.Many\(index).conf", "w"))
                fputs("[App]\nUsage=Very many\n" + detectors, file)
                try #require(fclose(file) == 0)
            }
            let data = "\(stage.bus.directory)/data"
            try stage.startBroker(
                "--policy", try stage.directory("policy", ["10-test": "[Policy]\nDefault=allow\n"]),
                environment: ["XDG_DATA_HOME": data, "XDG_DATA_DIRS": "\(data)/none"], under: Stage.nobody)
            let reload = "p call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Reload a{sv} [{}]"
            for _ in 0..<2 { #expect(try stage.script(reload) == ["p ok []"]) }
            let log = try #require(stage.broker).errors.split(separator: "\n").filter { $0.contains("installed") }
            #expect(log.count == 2, "\(log)")
            #expect(log.first?.contains("too many detectors; your user's share of detectors is used up") == true)
            #expect(log.last?.contains("16 app files in all are not installed because of detectors-per-user") == true)
            // Root has all that it had.
            let object = Stage.Object.app("org.example.Roots")
            let lines = try stage.script(
                "p own org.example.Roots",
                "p call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv} "
                    + "['org.example.Roots',{}]",
                "p call org.jostle.Broker1 \(object) org.jostle.Broker1.App AddDetectors a(sa{sv}) "
                    + "[[['one',{'when':V('s','x > 2g')}]]]")
            #expect(lines.last?.hasPrefix("p ok ") == true, "\(lines)")
        }

        /// Whoever looks at windows is told which file a Flatpak brought.
        @Test func rowsTellWhatAFlatpakBrought() throws {
            let stage = try Stage(source: nil, broker: false)
            let text = "[App]\nUsage=Lights\nWindows=light\n[Detector light]\npreset=shake.planar\n"
            let data = try stage.directory("data", [:])
            let (own, packed) = ("org.example.Own", "org.example.Packed")
            for (app, place) in [
                (own, "jostle/apps.d"), (packed, "flatpak/app/\(packed)/current/active/files/share/jostle/apps.d"),
            ] {
                var directory = "data"
                for step in place.split(separator: "/") {
                    directory += "/\(step)"
                    _ = try stage.directory(directory, [:])
                }
                _ = try stage.directory(directory, [app: text])
            }
            try stage.startBroker(
                "--policy", try stage.directory("policy", ["10-test": "[Policy]\nDefault=allow\n"]),
                environment: ["XDG_DATA_HOME": data, "XDG_DATA_DIRS": "\(data)/none"])
            let list = try stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "ListApps", "a{sv}", "0")
            let rows = list.stdout.split(separator: "\(Stage.Object.broker)/apps/")
            for (app, isOfFlatpak) in [(own, false), (packed, true)] {
                let row = try #require(rows.first { $0.contains("\"app\" s \"\(app)\"") }, "\(list)")
                #expect(row.contains("\"windows\" as 1 \"light\""), "\(row)")
                #expect(row.contains("\"flatpak\" b true") == isOfFlatpak, "\(row)")
            }
        }

        @Test func aReloadAddsAndRemoves() throws {
            let stage = try self.stage("[Policy]\nDefault=allow\n")
            let other = "org.example.Torch"
            func write(_ name: String, _ text: String) throws {
                let file = try #require(fopen("\(stage.bus.directory)/apps/\(name).conf", "w"))
                fputs(text, file)
                try #require(fclose(file) == 0)
            }
            try write(other, "[App]\nUsage=Lights\n[Detector light]\npreset=shake.planar\n")
            try write(Self.app, Self.file + "[Detector back]\npreset=shake.planar\n")
            let reload = [
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "Reload", "a{sv}", "0",
            ]
            #expect(try stage.busctl(reload).status == 0)
            #expect(try stage.property("State", at: Stage.Object.app(other)) == "s \"dead\"")
            #expect(try self.property("Detectors", stage).contains("\"back\""))
            #expect(unlink("\(stage.bus.directory)/apps/\(other).conf") == 0)
            try write(Self.app, "[App]\nUsage=Nothing more\n")
            #expect(try stage.busctl(reload).status == 0)
            #expect(try !stage.jostle("apps").stdout.contains(other))
            #expect(try self.property("Detectors", stage) == "a(sa{sv}) 0")
            #expect(try self.property("Usage", stage) == "s \"Nothing more\"")
            // A file with an error says nothing, and its app is none any more.
            try write(Self.app, "[App]\nUsages=x\n")
            #expect(try stage.busctl(reload).status == 0)
            #expect(try !stage.jostle("apps").stdout.contains(Self.app))
        }
    }
}
