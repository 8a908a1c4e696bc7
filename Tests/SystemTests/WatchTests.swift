import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Panels and the like are told what changes, and need not poll.
    @Suite(.serialized) struct Watches {
        private static let root = "org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1"
        private static let watch = "panel call \(root) Watch a{sv} [{}]"
        private static let app = "org.example.App"

        /// What a peer heard of a kind until somebody told it that this is all.
        private func heard(_ script: BackgroundProgram, _ word: String, _ stage: Stage) throws -> [String] {
            let name = try #require(script.output.firstMatch(of: #/ name (:[0-9.]+)/#)?.1)
            _ = try stage.script("end send \(name) /end org.example.End Ended s ['']")
            _ = try script.waitForLine { $0.contains(" Ended ") }
            return script.output.split(separator: "\n").map(String.init).filter {
                $0.contains(" heard ") && $0.contains(word)
            }
        }

        /// Starts a script, and returns when it has said all.
        private func start(_ stage: Stage, as user: [String] = [], _ steps: String...) throws -> BackgroundProgram {
            let script = try user.isEmpty ? stage.startScript(steps) : stage.startScript(as: user, steps)
            try script.waitUntilSaid("staying")
            return script
        }

        @Test func appsComeChangeAndGo() throws {
            let stage = try Stage()
            let panel = try self.start(stage, "panel hear AppsChanged", Self.watch)
            let app = try stage.watch(Stage.always, "--app", Self.app)
            let path = Stage.Object.app(Self.app)
            let mine = "[\"\(path)\", {\"activities\": [], \"app\": \"\(Self.app)\""
            let row = try panel.waitForLine { $0.contains(mine) && $0.contains("\"detectors\": 1") }
            #expect(row.contains("\"process\": \(app.pid)") && row.contains("\"user\": \(getuid())"), "\(row)")
            #expect(row.hasSuffix("]], [], {}]"), "\(row)")
            #expect(try stage.jostle("state", Self.app, "background").status == 0)
            _ = try panel.waitForLine { $0.contains(mine) && $0.contains("\"state\": \"background\"") }
            #expect(try app.terminate() == .exited(0))
            _ = try panel.waitForLine { $0.hasSuffix("AppsChanged [[], [\"\(path)\"], {}]") }
            _ = try panel.terminate()
        }

        @Test func theForegroundIsToldToWhoWatches() throws {
            let stage = try Stage()
            let panel = try self.start(stage, "panel hear PropertiesChanged", Self.watch)
            let other = try self.start(stage, "other hear", "other name")
            let shell = try self.start(stage, "shell call \(Self.root) SetForeground sa{sv} ['\(Self.app)',{}]")
            let told =
                "PropertiesChanged [\"org.jostle.Broker1\", {\"Foreground\": \"\(Self.app)\", \"ForegroundReported\": true}, [\"FocusSources\"]]"
            _ = try panel.waitForLine { $0.hasSuffix(told) }
            _ = try shell.terminate()
            _ = try panel.waitForLine { $0.contains("{\"Foreground\": \"\", \"ForegroundReported\": false}") }
            #expect(try self.heard(other, "Foreground", stage).isEmpty)
            for program in [panel, other] { _ = try program.terminate() }
        }

        @Test func whoWatchesNoMoreIsToldNoMore() throws {
            let stage = try Stage()
            let unwatch = "panel call \(Self.root) Unwatch a{sv} [{}]"
            let panel = try self.start(
                stage, "panel name", "panel hear", Self.watch, Self.watch, unwatch, unwatch)
            let other = try self.start(stage, "other hear AppsChanged", "other call \(Self.root) Watch a{sv} [{}]")
            let app = try stage.watch(Stage.always, "--app", Self.app)
            _ = try other.waitForLine { $0.contains(Self.app) }
            #expect(try self.heard(panel, "AppsChanged", stage).isEmpty)
            #expect(panel.output.split(separator: "\n").filter { $0 == "panel ok []" }.count == 4)
            for program in [app, panel, other] { _ = try program.terminate() }
        }

        /// An app is its user's: another who watches hears nothing of it. Only root can play two users.
        @Test(.enabled(if: geteuid() == 0)) func anAppOfAnotherUserIsNotToldOf() throws {
            let stage = try Stage(on: PrivateBus(on: .dbusDaemon))
            let stranger = try self.start(
                stage, as: Stage.nobody, "panel name", "panel hear", Self.watch,
                "panel call \(Self.root) ListApps a{sv} [{}]")
            let own = try self.start(stage, "own hear", "own call \(Self.root) Watch a{sv} [{}]")
            let app = try stage.watch(Stage.always, "--app", Self.app)
            _ = try own.waitForLine { $0.contains("AppsChanged") && $0.contains(Self.app) }
            let shell = try self.start(stage, "shell call \(Self.root) SetForeground sa{sv} ['\(Self.app)',{}]")
            _ = try own.waitForLine { $0.contains("ForegroundReported") }
            // That somebody says what is in front is no secret; which app it is, is.
            #expect(try self.heard(stranger, "AppsChanged", stage).isEmpty)
            #expect(!stranger.output.contains(Self.app), "\(stranger.output)")
            for program in [app, shell, own, stranger] { _ = try program.terminate() }
        }

        /// Who may say what is in the foreground may know it, and whom a later policy does not name may not. Only root can play two
        /// users.
        @Test(.enabled(if: geteuid() == 0)) func whoMaySayItIsToldOfTheForeground() throws {
            func policy(_ apps: String...) -> String {
                apps.reduce("[Policy]\nDefault=allow\n") { "\($0)[App org.example.\($1)]\nMayReportForeground=yes\n" }
            }
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            try stage.startBroker(policy: policy("Shell", "Panel"))
            let panel = try self.start(
                stage, as: Stage.nobody, "panel own org.example.Panel", "panel hear PropertiesChanged", Self.watch)
            let stranger = try self.start(
                stage, as: Stage.nobody, "panel name", "panel hear PropertiesChanged Ended", Self.watch)
            let shell = try self.start(
                stage, "shell own org.example.Shell", "shell call \(Self.root) SetForeground sa{sv} ['\(Self.app)',{}]")
            _ = try panel.waitForLine {
                $0.contains("{\"Foreground\": \"\(Self.app)\", \"ForegroundReported\": true}")
            }
            _ = try stranger.waitForLine { $0.contains("{\"Foreground\": \"\", \"ForegroundReported\": true}") }
            _ = try stage.directory("policy", ["10-test": policy("Shell")])
            #expect(try stage.script("own call \(Self.root) Reload a{sv} [{}]") == ["own ok []"])
            _ = try panel.waitForLine { $0.contains("{\"Foreground\": \"\", \"ForegroundReported\": true}") }
            #expect(try self.heard(stranger, "Foreground", stage).count == 1)
            for program in [shell, panel, stranger] { _ = try program.terminate() }
        }

        /// Who gets a name that policy lets say what is in the foreground is told of it then. Only root can play two users.
        @Test(.enabled(if: geteuid() == 0)) func whoGetsTheNameLaterIsToldThen() throws {
            let policy = ["Shell", "Panel"].reduce("[Policy]\nDefault=allow\n") {
                "\($0)[App org.example.\($1)]\nMayReportForeground=yes\n"
            }
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            try stage.startBroker(policy: policy)
            let shell = try self.start(
                stage, "shell own org.example.Shell", "shell call \(Self.root) SetForeground sa{sv} ['\(Self.app)',{}]")
            let panel = try self.start(
                stage, as: Stage.nobody, "panel hear PropertiesChanged", Self.watch, "panel own org.example.Panel")
            _ = try panel.waitForLine {
                $0.contains("{\"Foreground\": \"\(Self.app)\", \"ForegroundReported\": true}")
            }
            for program in [shell, panel] { _ = try program.terminate() }
        }

        /// One whose own app comes to the front at once after another's is told so, however close they are. Only root can play two
        /// users.
        @Test(.enabled(if: geteuid() == 0)) func whoseOwnAppComesNextIsToldOfIt() throws {
            let stage = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            try stage.startBroker(
                policy: "[Policy]\nDefault=allow\n[App org.example.Shell]\nMayReportForeground=yes\n")
            let panel = try self.start(
                stage, as: Stage.nobody, "app own \(Self.app)",
                "app call \(Self.root) Register sa{sv} ['\(Self.app)',{}]",
                "panel hear PropertiesChanged", Self.watch)
            for _ in 0..<5 {
                let shell = try self.start(
                    stage, "shell own org.example.Shell",
                    "shell begin \(Self.root) SetForeground sa{sv} ['org.example.Other',{}]",
                    "shell call \(Self.root) SetForeground sa{sv} ['\(Self.app)',{}]")
                _ = try panel.waitForLine { $0.contains("{\"Foreground\": \"\(Self.app)\", ") }
                _ = try shell.terminate()
                _ = try panel.waitForLine { $0.contains("{\"Foreground\": \"\", \"ForegroundReported\": false}") }
            }
            _ = try panel.terminate()
        }

        /// What docs/clients.md shows.
        @Test func thePanelOfTheDocumentsKnowsAll() throws {
            let stage = try Stage()
            let first = try stage.watch(Stage.always, "--app", Self.app)
            let panel = try BackgroundProgram(
                tool: ["python3", Programs.source("docs/examples/pygobject/panel.py")], environment: stage.environment)
            _ = try panel.waitForLine { $0 == "\(Self.app): foreground" }
            let second = try stage.watch(Stage.always, "--app", "org.example.Second")
            _ = try panel.waitForLine { $0 == "org.example.Second: foreground" }
            let shell = try self.start(stage, "shell call \(Self.root) SetForeground sa{sv} ['\(Self.app)',{}]")
            // In one round both are told, in either order.
            let told = [try panel.waitForLine { _ in true }, try panel.waitForLine { _ in true }]
            #expect(told.contains("in front: \(Self.app)"), "\(told)")
            #expect(try second.terminate() == .exited(0))
            _ = try panel.waitForLine { $0 == "org.example.Second: gone" }
            try stage.kill(stage.broker)
            _ = try panel.waitForLine { $0 == "the broker is gone" }
            try stage.startBroker()
            _ = try panel.waitForLine { $0 == "\(Self.app): foreground" }
            for program in [first, shell, panel] { _ = try program.terminate() }
        }

        @Test func thePanelOfTheDocumentsForgetsWhoseEndItMissed() throws {
            let stage = try Stage(source: nil, broker: false)
            let broker = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/window-broker.py"), stage.address, "\(Self.app)=1"])
            try broker.waitUntilSaid("ready")
            let panel = try BackgroundProgram(
                tool: ["python3", Programs.source("docs/examples/pygobject/panel.py")], environment: stage.environment)
            _ = try panel.waitForLine { $0 == "\(Self.app): foreground" }
            try broker.signal(SIGUSR1)
            _ = try panel.waitForLine { $0 == "\(Self.app): gone" }
            for program in [broker, panel] { _ = try program.terminate() }
        }

        /// Who watches and does not read costs no more than what may be under way, and is told how things are when it reads again.
        @Test func oneWhoDoesNotReadIsToldOfWhatIsThenSo() throws {
            let stage = try Stage()
            let panel = try self.start(stage, "panel name", "panel hear AppsChanged Ended", Self.watch)
            let app = try stage.watch(Stage.always, "--app", Self.app)
            #expect(kill(panel.pid, SIGSTOP) == 0)
            let rounds = 1_000
            let states = (0..<rounds).map { $0 % 2 == 0 ? "background" : "inactive" }
            let answers = try stage.script(
                states.map { "shell call \(Self.root) SetState ssa{sv} ['\(Self.app)','\($0)',{}]" })
            #expect(answers == Array(repeating: "shell ok []", count: rounds))
            #expect(try stage.jostle("state", Self.app, "suspended").status == 0)
            #expect(kill(panel.pid, SIGCONT) == 0)
            _ = try panel.waitForLine { $0.contains("\"state\": \"suspended\"") }
            #expect(try self.heard(panel, Self.app, stage).count < rounds / 2)
            for program in [app, panel] { _ = try program.terminate() }
        }

        /// Many listen to a sensor that comes: each is told that its detectors are in force otherwise, in turns.
        @Test func eachWhoListensIsToldOfASensor() throws {
            let stage = try Stage(source: nil)
            let names = (0..<100).map { "p\($0)" }
            let add =
                "call org.jostle.Broker1 self org.jostle.Broker1.App AddDetector sa{sv} ['d',{'preset':V('s','shake')}]"
            let crowd = try stage.startScript(
                names.flatMap {
                    ["\($0) hear PropertiesChanged", "\($0) call \(Self.root) Register sa{sv} ['',{}]", "\($0) \(add)"]
                })
            try crowd.waitUntilSaid("staying", timeout: .seconds(60))
            try stage.startReader(Stage.rest)
            // Each has heard of its detector when it was added, and hears of it once more.
            var counts: [Substring: Int] = [:]
            _ = try crowd.waitForLine { line in
                if line.contains("\"Detectors\"") { counts[line.prefix { $0 != " " }, default: 0] += 1 }
                return names.allSatisfy { counts[$0[...], default: 0] > 1 }
            }
            _ = try crowd.terminate()
        }

        /// Where many apps change at once, each who watches is told of all of them, a part in each turn.
        @Test func eachWhoWatchesIsToldOfAll() throws {
            let stage = try Stage(source: nil)
            let names = (0..<200).map { "org.example.Crowd\($0)" }
            let crowd = try stage.startScript(
                names.enumerated().flatMap { number, name in
                    ["p\(number) own \(name)", "p\(number) call \(Self.root) Register sa{sv} ['\(name)',{}]"]
                })
            try crowd.waitUntilSaid("staying", timeout: .seconds(60))
            let panels = try (0..<3).map { _ in try self.start(stage, "panel hear AppsChanged", Self.watch) }
            #expect(
                try stage.script("shell call \(Self.root) SetForeground sa{sv} ['\(Self.app)',{}]") == ["shell ok []"])
            for panel in panels {
                var missing = Set(names)
                _ = try panel.waitForLine { line in
                    missing = missing.filter { !line.contains("\"\($0)\"") }
                    return missing.isEmpty
                }
            }
            for program in panels + [crowd] { _ = try program.terminate() }
        }

        @Test func noUserTakesAllPlaces() throws {
            let stage = try Stage()
            let limits = try stage.property("Limits", at: Stage.Object.broker)
            let share = try #require(
                limits.firstMatch(of: #/"watchers-per-user" ([0-9]+)/#).flatMap { Int($0.1) }, "\(limits)")
            guard getuid() != 0 else {
                // Root may take what is free.
                #expect(share == 32 && limits.contains("\"watchers\" 128"))
                return
            }
            let steps = (0...share).map { "p\($0) call \(Self.root) Watch a{sv} [{}]" }
            let answers = try stage.script(steps)
            #expect(answers.dropLast().allSatisfy { $0.hasSuffix("ok []") })
            #expect(answers.last?.contains("LimitsExceeded") == true)
        }
    }
}
