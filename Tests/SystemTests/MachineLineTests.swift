import DaemonSupport
import Foundation
import TestSupport
import Testing

/// Checks lines of JSON by `Tests/Scripts/json-types.py`, and returns of which kinds they are.
func kinds(of lines: String, from command: String) throws -> [Int] {
    let file = FileManager.default.temporaryDirectory.appending(path: "jostle-lines-\(UUID().uuidString)")
    try lines.write(to: file, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    let script = "exec /usr/bin/python3 \"$1\" \"$2\" < \"$3\""
    let result = try Tool.run(
        ["sh", "-c", script, "sh", Programs.source("Tests/Scripts/json-types.py"), command, file.path])
    #expect(result.status == 0, "\(command): \(result.stderr)")
    return result.stdout.split(whereSeparator: \.isWhitespace).dropFirst().compactMap { Int($0) }
}

extension Surroundings {
    /// What `jostle` prints for programs has types, and for people times.
    @Suite(.serialized) struct MachineLines {
        private static let app = "org.example.App"
        private static let deaf = "org.example.Deaf"
        private static let feed = "org.example.Feed"
        private static let policy = """
            [Policy]
            Default=allow

            [App *]
            Grants=fetch
            RefreshInterval=1h
            TaskWindow=0

            [Rule none]
            WhenApp=\(deaf)
            Then=deny

            """
        private static let feedFile = "[App]\nUsage=Has the news before you look\nModes=fetch\nTasks=refresh\n"

        /// A broker with a journal, an app that gets events, one that gets none, and one whose task waits.
        private func stage() throws -> (stage: Stage, programs: [BackgroundProgram]) {
            let stage = try Stage(broker: false)
            try stage.startBroker(
                policy: Self.policy, apps: [Self.feed: Self.feedFile], "--state-dir", stage.state)
            let app = try stage.watch(Stage.always, "--app", Self.app)
            let deaf = try stage.watch(Stage.always, "--app", Self.deaf)
            let feed = try BackgroundProgram("example-refresh", [Self.feed], environment: stage.environment)
            _ = try app.nextEvent()
            try stage.until("the deaf one is refused") {
                try stage.count("Denied", at: Stage.Object.app(Self.deaf)) > 0
            }
            try stage.until("a task waits") { try !stage.jostle("tasks", "--json").stdout.isEmpty }
            return (stage, [app, deaf, feed])
        }

        @Test func numbersAreNumbersAndTimesHaveClocks() throws {
            let (stage, programs) = try self.stage()
            let directory = stage.bus.directory
            let other = try stage.directory("other", ["10": "[Policy]\nDefault=deny\n"])
            let doubtful = try stage.directory(
                "doubtful", ["10": "[Rule a]\nThen=allow\n[Rule b]\nThen=deny\nWhenApp=org.example.A\n"])
            let examples = Programs.source("policies/examples")
            let trace = "\(directory)/shake.csv"
            #expect(try stage.jostle("make", "rest 1s; shake peak=4g; rest 1s", trace).status == 0)
            let circle = "\(directory)/circle.csv"
            #expect(
                try stage.jostle("make", "rest 1s; circle 900ms strength=0.6g; rest 1s", circle).status == 0)
            let cases: [(command: String, arguments: [String], kinds: [Int])] = [
                ("status", [], [0, 1, 2]), ("status", ["--limits"], [3]), ("apps", [], [0]), ("sensors", [], [0]),
                ("app", [Self.app], [0]),
                ("app", [Self.deaf], [0]), ("app", [Self.feed], [0]), ("tasks", [], [0]), ("explain", [], [0]),
                ("explain", ["last", "--app", Self.deaf], [0]), ("why-not", [Self.deaf], [0, 1]),
                ("presets", [], [0]), ("presets", ["shake"], [0]), ("top", ["--once", "--every", "200ms"], [0]),
                ("watch", ["--count", "2", "shake,count=4,rest=2s", Stage.always], [0, 1]),
                ("watch", ["--count", "1", "--app", "org.example.B", "--kept", Stage.always], [0, 1, 3]),
                ("watch", ["--count", "1", "--when", "norm(x, y, z) > 0.5g", "--every", "50ms"], [0, 1]),
                ("policy check", [doubtful], [0]), ("policy show", [Programs.source("policies")], [0]),
                ("bridge check", ["\(doubtful)/10.conf"], [0]),
                ("policy coverage", [Programs.source("policies")], [0]),
                ("policy whatif", ["--policy", other, "--state-dir", stage.state], [0]),
                (
                    "policy whatif",
                    [
                        "--policy", "\(examples)/02-most-specific", "--against", "\(examples)/01-unarbitrated",
                        "--scenario", "\(examples)/02-most-specific/scenario",
                    ], [1]
                ),
                ("replay", [trace, "--detector", "shake.planar,threshold=2.3g"], [0, 1]),
                ("teach", ["o", "--example", circle, "--example", circle, "--save", "\(directory)/o.gesture"], [0]),
                ("demo", ["pomodoro"], [2]),
            ]
            for (command, arguments, expected) in cases {
                let words = command.split(separator: " ").map(String.init)
                let result = try stage.jostle(words + ["--json"] + arguments)
                // What is checked has something wrong with it.
                #expect(result.status == (command.hasSuffix(" check") ? 1 : 0), "\(command) \(arguments): \(result)")
                #expect(try kinds(of: result.stdout, from: command) == expected, "\(command): \(result.stdout)")
            }
            // What is read in the journal has the wall clock, too: the other clock may be that of an earlier boot.
            for program in programs { _ = try program.terminate() }
            #expect(try stage.broker?.terminate() == .exited(0))
            try stage.startBroker()
            let stored = try stage.jostle("explain", "--json").stdout
            #expect(try kinds(of: stored, from: "explain") == [0] && stored.contains("\"made_us\":"), "\(stored)")
        }

        @Test func decisionLogsHaveTypes() throws {
            let examples = Programs.source("policies/examples")
            let names = try Tool.run(["ls", examples]).stdout.split(separator: "\n")
            #expect(names.count > 5)
            for name in names {
                let result = try Tool.run([
                    Programs.path(of: "jostle"), "scenario", "\(examples)/\(name)/scenario", "--policy",
                    "\(examples)/\(name)", "--json",
                ])
                #expect(result.status == 0 && !result.stdout.isEmpty, "\(name): \(result)")
                #expect(try kinds(of: result.stdout, from: "scenario") == [0], "\(name)")
            }
        }

        // MARK: Times

        /// The times in a text, in seconds since 1970; all programs of this test are told UTC.
        private func times(in text: String) -> [Double] {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "UTC")
            format.dateFormat = "yyyy-MM-dd HH:mm:ss.SSS"
            return text.matches(of: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}/)
                .compactMap { format.date(from: String($0.0))?.timeIntervalSince1970 }
        }

        @Test func peopleSeeTimesOfTheirClock() throws {
            let began = Date().timeIntervalSince1970
            let (stage, programs) = try self.stage()
            let commands: [(words: [String], times: Int)] = [
                (["watch", "--count", "2", Stage.always], 2), (["explain"], 1), (["explain", "--app", Self.deaf], 1),
                (["app", Self.app], 2), (["app", Self.deaf], 2), (["why-not", Self.app], 2), (["tasks"], 1),
            ]
            for (words, count) in commands {
                let result = try stage.jostle(words, environment: ["TZ": "UTC"])
                let now = Date().timeIntervalSince1970
                let found = self.times(in: result.stdout)
                #expect(found.count >= count, "\(words): \(result.stdout)")
                // What waits is an hour ahead.
                let last = words == ["tasks"] ? now + 7_200 : now + 0.01
                #expect(found.allSatisfy { (began - 0.01...last).contains($0) }, "\(words): \(result.stdout)")
                #expect(result.stdout.firstMatch(of: /\d us\b/) == nil, "\(words): \(result.stdout)")
            }
            let explained = try stage.jostle("explain").stdout
            #expect(
                explained.firstMatch(of: #/  at [-0-9]+ [:.0-9]+ \([.0-9]+ m?s ago\)  policy 1\n/#) != nil,
                "\(explained)")
            // The same from the journal, after the broker's restart.
            for program in programs { _ = try program.terminate() }
            #expect(try stage.broker?.terminate() == .exited(0))
            try stage.startBroker()
            let stored = try stage.jostle(["explain"], environment: ["TZ": "UTC"]).stdout
            let ended = Date().timeIntervalSince1970
            #expect(self.times(in: stored).first.map { (began - 0.01...ended).contains($0) } == true, "\(stored)")
        }
    }
}
