import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// A newcomer teaches a circle, sees what it would have done on a recorded day, and an app of three lines reacts to it.
    @Suite(.serialized) struct GestureStory {
        private static let page = Programs.source("docs/gestures.md")

        /// The first block of code of the page in a language.
        private func block(_ language: String) throws -> String {
            let lines = try Tool.run(["cat", Self.page]).stdout
                .split(separator: "\n", omittingEmptySubsequences: false)
            let start = try #require(lines.firstIndex(of: "```\(language)"))
            let rest = lines[(start + 1)...]
            let end = try #require(rest.firstIndex(of: "```"))
            return rest[..<end].joined(separator: "\n") + "\n"
        }

        /// What the page says is done as it says it, down to the app.
        @Test func thePageDoesWhatItSays() throws {
            let stage = try Stage(source: nil, broker: false)
            let directory = "\(stage.home)/story"
            try #require(mkdir(directory, 0o755) == 0)
            let programs = String(Programs.path(of: "jostle").dropLast("/jostle".count))
            let commands = try self.block("sh")
            #expect(commands.split(separator: "\n").allSatisfy { $0.hasPrefix("jostle ") })
            let story = try stage.run([
                "sh", "-ec", "cd \"$1\"; PATH=\"$2:$PATH\"; \(commands)", "sh", directory, programs,
            ])
            #expect(story.status == 0, "\(story)")
            #expect(story.stdout.contains("circle: 3 examples in circle.gesture"), "\(story.stdout)")
            // How often it is found where it is not, and the bound that this proves.
            let said = story.stdout.split(separator: "\n").first { $0.hasPrefix("  on made everyday motion: ") }
            #expect(said?.contains(" in 2.1 h; at 95 % no more than ") == true, "\(story.stdout)")
            // One circle in that day, where it was made, and neither the walk nor the shake.
            let hits = story.stdout.split(separator: "\n").filter { $0.hasPrefix("day.csv  ") }
            #expect(hits.count == 1, "\(story.stdout)")
            let time = hits.first?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
            #expect(time > 17 && time < 18, "\(hits)")

            try stage.startBroker()
            let python = Programs.source("Sources/python")
            let app = try BackgroundProgram(
                tool: [
                    "sh", "-ec", "cd \"$1\"; exec /usr/bin/python3 -c \"$2\"", "sh", directory,
                    try self.block("python"),
                ],
                environment: stage.environment.merging(["PYTHONPATH": python]) { $1 })
            try stage.until("it is registered") { try stage.jostle("apps").stdout.contains("org.example.Circles") }
            try stage.startReader("trace:\(directory)/day.csv")
            let line = try app.waitForLine { $0.hasPrefix("a circle, score ") }
            #expect((Double(line.dropFirst("a circle, score ".count)) ?? 0) >= 0.5, "\(line)")
            #expect(app.end == nil)
        }

        /// With a sensor: it counts down, draws each example, and what it learned is found live.
        @Test func aGestureIsTaughtLive() throws {
            let circles = "synth:seed=5; noise=0.02g; rest 1700ms; circle 900ms strength=0.6g; rest 600ms; loop"
            let stage = try Stage(source: circles)
            let file = "\(stage.home)/circle.gesture"
            let screen = try TmuxScreen(
                stage, "\(Programs.path(of: "jostle")) teach circle --count 2 --save \(file)", colors: false)
            var seen: Set<String> = []
            let wanted = [
                "Make the gesture 'circle' 2 times, each between two calm moments.", "example 1 in 3", "example 1 in 1",
                "example 1: now", "example 2 in 2", "example 2: now", "circle: 2 examples in",
            ]
            try stage.until("it is taught", timeout: .seconds(60)) {
                // With what has left the screen above: nobody looks at it each second.
                for line in try screen.capture("-S", "-") {
                    for text in wanted where line.hasPrefix(text) { seen.insert(text) }
                    // The three axes of what was made, drawn.
                    if line.hasPrefix("  x ") && line.contains("█") { seen.insert("a picture") }
                }
                return seen.count == wanted.count + 1
            }
            #expect(try Tool.run(["head", "-n", "2", file]).stdout == "jostle-gesture 1\nname circle\n")
            let watch = try stage.watch("--gesture", file)
            let hit = try watch.nextEvent()
            #expect(field("detector", of: hit) == "\"circle\"", "\(hit)")
        }

        /// What people are told goes elsewhere.
        @Test func aGestureOnStandardOutputIsNothingElse() throws {
            let stage = try Stage(source: nil, broker: false)
            let files = (1...3).map { "\(stage.home)/\($0).csv" }
            for (number, file) in files.enumerated() {
                let motion = "noise=0.02g; rest 1s; circle \(900 + 100 * number)ms strength=0.6g; rest 1s"
                #expect(try stage.jostle("make", motion, file, "--seed", "\(number + 1)").status == 0)
            }
            let taught = try stage.jostle(["teach", "circle", "--save", "-", "--example"] + files)
            #expect(taught.status == 0 && taught.stdout.hasPrefix("jostle-gesture 1\nname circle\n"), "\(taught)")
            #expect(taught.stderr.hasPrefix("\(files[0])  "), "\(taught)")
            let file = "\(stage.home)/x.gesture"
            let missing = try stage.jostle(
                ["teach", "circle", "--save", file, "--negative", "/nonexistent", "--example"] + files)
            #expect(missing.status == 2, "\(missing)")
            #expect(try Tool.run(["test", "-e", file]).status == 1)
            let saved = try stage.jostle(["teach", "circle", "--save", file, "--example"] + files)
            #expect(try Tool.run(["cat", file]).stdout == taught.stdout, "\(saved)")
        }

        /// Where nothing moves it does not wait for ever, and leaves no file.
        @Test func whoMakesNoGestureIsToldSo() throws {
            let stage = try Stage()
            let file = "\(stage.home)/none.gesture"
            let teach = try stage.start("teach", "none", "--count", "2", "--save", file)
            _ = try teach.waitForLine { $0 == "example 1: now" }
            #expect(try teach.terminate() == .exited(1))
            #expect(access(file, F_OK) != 0)
        }
    }
}
