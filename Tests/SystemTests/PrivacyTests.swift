import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Who is told that an app exists. Only root can play two users.
    @Suite(.serialized, .enabled(if: geteuid() == 0)) struct Privacy {
        private static let app = "org.example.App"
        private static let introspect = "org.freedesktop.DBus.Introspectable Introspect"

        /// Each step by a peer `p` of a user that has nothing to do with ours.
        private func stranger(_ steps: String..., on stage: Stage) throws -> [String] {
            try stage.script(as: Stage.nobody, steps.map { "p call org.jostle.Broker1 \($0)" })
        }

        private func nodes(_ answer: String) -> [String] {
            answer.split(separator: "<").compactMap { part in
                let words = part.split(separator: "\"")
                return part.hasPrefix("node name=") && words.count > 1
                    ? String(words[1].split(separator: "\\").first ?? "") : nil
            }
        }

        @Test func introspectionShowsAppsToThoseWhoMayUseThem() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(on: PrivateBus(on: .dbusDaemon))
            let app = try stage.watch("shake.planar", "--app", Self.app)
            let (root, apps, own) = (Stage.Object.broker, "\(Stage.Object.broker)/apps", Stage.Object.app(Self.app))
            let node = String(own.dropFirst(apps.count + 1))

            let seen = try self.stranger(
                "\(root) \(Self.introspect)", "\(apps) \(Self.introspect)", "\(own) \(Self.introspect)",
                "/ \(Self.introspect)", on: stage)
            #expect(seen[0].hasPrefix("p ok ") && self.nodes(seen[0]).isEmpty)
            #expect(seen[1].hasPrefix("p error org.freedesktop.DBus.Error.UnknownObject"))
            #expect(seen[2].hasPrefix("p error org.freedesktop.DBus.Error.UnknownObject"))
            #expect(self.nodes(seen[3]) == ["org"])

            // One that is an app itself sees that.
            let beside = try self.stranger(
                "\(root) org.jostle.Broker1 Register sa{sv} ['',{}]", "\(root) \(Self.introspect)",
                "\(apps) \(Self.introspect)", on: stage)
            #expect(self.nodes(beside[1]) == ["apps"])
            let found = self.nodes(beside[2])
            #expect(found.count == 1 && found != [node])

            // The same user sees it as ever, and so does busctl.
            let mine = try stage.script("p call org.jostle.Broker1 \(apps) \(Self.introspect)")
            #expect(self.nodes(mine[0]) == [node])
            #expect(try stage.busctl("tree", "org.jostle.Broker1").stdout.contains(node))
            #expect(try app.terminate() == .exited(0))
        }

        /// Whatever is called on it, another user's object answers as one that is not there.
        @Test func anAppOfAnotherUserIsNotThere() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(on: PrivateBus(on: .dbusDaemon))
            let app = try stage.watch("shake.planar", "--app", Self.app)
            let absent = "org.example.Nobody"
            let properties = "org.freedesktop.DBus.Properties"
            let calls = [
                "\(properties) GetAll s ['org.jostle.Broker1.App']", "\(properties) GetAll s ['']",
                "\(properties) GetAll s ['no.such']", "\(properties) Get ss ['org.jostle.Broker1.App','State']",
                "\(properties) Get ss ['','Nothing']", "\(properties) Nothing",
                "\(properties) Set ssv ['org.jostle.Broker1.App','State',V('s','dead')]", Self.introspect,
                "org.freedesktop.DBus.Introspectable Nothing", "org.freedesktop.DBus.Peer Ping",
                "org.freedesktop.DBus.Peer Nothing", "- Ping", "- Nothing", "- ListDetectors a{sv} [{}]",
                "no.such Nothing",
                "org.jostle.Broker1.App ListDetectors a{sv} [{}]", "org.jostle.Broker1.App ListDetectors",
                "org.jostle.Broker1.App AddDetectors a(sa{sv}) [[]]",
                "org.jostle.Broker1.App Ack ttsa{sv} [1,1,'consume',{}]", "org.jostle.Broker1.App Nothing",
            ]
            func answers(_ id: String) throws -> [String] {
                let steps = calls.map { "p call org.jostle.Broker1 \(Stage.Object.app(id)) \($0)" }
                return try stage.script(as: Stage.nobody, steps).map {
                    $0.replacing(Stage.Object.app(id), with: "PATH")
                }
            }
            let (there, absentAnswers) = (try answers(Self.app), try answers(absent))
            #expect(there.count == calls.count)
            for (index, call) in calls.enumerated() { #expect(there[index] == absentAnswers[index], "\(call)") }
            #expect(there[0] == "p error org.freedesktop.DBus.Error.UnknownObject: there is no object at PATH")
            // It is there all the same.
            #expect(try stage.property("State", at: Stage.Object.app(Self.app)) == "s \"foreground\"")
            #expect(try app.terminate() == .exited(0))
        }

        /// Which app its user works with is for that user, for who may say it, and for the broker's own user.
        @Test func theForegroundIsNotForStrangers() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            try stage.startBroker(policy: "[Policy]\nDefault=allow\n[App org.example.Shell]\nMayReportForeground=yes\n")
            let root = Stage.Object.broker
            let properties = "call org.jostle.Broker1 \(root) org.freedesktop.DBus.Properties"
            let get = "\(properties) Get ss ['org.jostle.Broker1','Foreground']"
            let shell = try stage.startScript(
                "shell own org.example.Shell",
                "shell call org.jostle.Broker1 \(root) org.jostle.Broker1 SetForeground sa{sv} ['\(Self.app)',{}]")
            try shell.waitUntilSaid("staying")
            let reads = [
                "p \(get)", "p \(properties) GetAll s ['org.jostle.Broker1']", "p \(properties) GetAll s ['']",
            ]
            func read(_ user: [String], _ before: String...) throws -> [Bool] {
                let answers = try stage.script(as: user, before + reads).suffix(reads.count)
                try #require(answers.allSatisfy { $0.hasPrefix("p ok ") }, "\(answers)")
                #expect(answers.last?.contains("\"ForegroundReported\": true") == true)
                return answers.map { $0.contains(Self.app) }
            }
            let (all, none) = ([true, true, true], [false, false, false])
            #expect(try read([]) == all)
            #expect(try read(Stage.nobody) == none)
            #expect(try stage.script(as: Stage.nobody, ["p \(get)"]) == ["p ok [\"\"]"])
            // The app of one of them is not the other's business.
            let app = try stage.startScript(
                as: Stage.somebody,
                [
                    "app own \(Self.app)",
                    "app call org.jostle.Broker1 \(root) org.jostle.Broker1 Register sa{sv} ['\(Self.app)',{}]",
                ])
            try app.waitUntilSaid("staying")
            #expect(try read(Stage.somebody) == all)
            // What sources say is of all users' apps.
            let sources = "p \(properties) Get ss ['org.jostle.Broker1','FocusSources']"
            #expect(try stage.script(as: Stage.somebody, [sources]) == ["p ok [[]]"])
            #expect(try stage.script([sources]).first?.contains(Self.app) == true)
            #expect(try read(Stage.nobody) == none)
            // Who says what is in the foreground may know it, too.
            _ = try shell.terminate()
            let say = "p call org.jostle.Broker1 \(root) org.jostle.Broker1 SetForeground sa{sv} ['\(Self.app)',{}]"
            #expect(try read(Stage.nobody, "p own org.example.Shell", say) == all)
        }

        /// What an app registered for good outlives it, and is nobody else's to know of.
        @Test func aDurableAppThatIsAwayIsShownToItsUserAlone() throws {
            // The other bus lets nobody else in here.
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            func start() throws {
                try stage.startBroker(
                    policy: "[Policy]\nDefault=allow\n", apps: [Self.app: "[App]\nUsage=Skips\n"], "--state-dir",
                    stage.state)
            }
            let (root, apps, own) = (Stage.Object.broker, "\(Stage.Object.broker)/apps", Stage.Object.app(Self.app))
            let node = String(own.dropFirst(apps.count + 1))
            let list = "\(root) org.jostle.Broker1 ListApps a{sv} [{}]"
            let unknown = "p error org.freedesktop.DBus.Error.UnknownObject"
            func isHidden() throws {
                let seen = try self.stranger(
                    list, "\(root) \(Self.introspect)", "\(apps) \(Self.introspect)", "\(own) \(Self.introspect)",
                    "\(own) org.freedesktop.DBus.Properties GetAll s ['org.jostle.Broker1.App']",
                    "\(root) org.jostle.Broker1 Forget sa{sv} ['\(Self.app)',{}]", on: stage)
                #expect(seen[0] == "p ok [[]]")
                #expect(seen[1].hasPrefix("p ok ") && self.nodes(seen[1]).isEmpty)
                #expect(seen[2..<5].allSatisfy { $0.hasPrefix(unknown) }, "\(seen[2...])")
                #expect(seen[5].hasSuffix("NotFound: nothing of '\(Self.app)' is durable"), "\(seen[5])")
                // One that is an app itself sees that.
                let beside = try self.stranger(
                    "\(root) org.jostle.Broker1 Register sa{sv} ['',{}]", list, "\(apps) \(Self.introspect)", on: stage)
                #expect(beside[1].contains("[[\"\(apps)/_3a1_2e") && !beside[1].contains(Self.app), "\(beside[1])")
                #expect(self.nodes(beside[2]).count == 1 && !self.nodes(beside[2]).contains(node))
                // It is there all the same.
                #expect(try stage.property("State", at: own) == "s \"dead\"")
                let mine = try stage.script(
                    "p call org.jostle.Broker1 \(list)", "p call org.jostle.Broker1 \(apps) \(Self.introspect)")
                #expect(mine[0].contains(own) && self.nodes(mine[1]).contains(node), "\(mine)")
            }
            try start()
            let lines = try stage.script(
                "app own \(Self.app)",
                "app call org.jostle.Broker1 \(root) org.jostle.Broker1 Register sa{sv} "
                    + "['\(Self.app)',{'durable':V('b',True)}]")
            #expect(lines.first?.contains("\"durable\": true") == true, "\(lines)")
            try stage.until("it is dead") { try stage.property("State", at: own) == "s \"dead\"" }
            try isHidden()
            try stage.kill(stage.broker)
            try start()
            try isHidden()
        }
    }
}
