import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Somebody's shake did nothing at noon: what was it, what would have helped, and how is that put in force?
    @Suite(.serialized) struct Clips {
        private static let app = "org.example.Undo"
        private static let policy = "[Policy]\nDefault=allow\n"

        /// An app on a stage whose broker keeps clips, after a shake that was too weak and another that was not.
        private func story() throws -> (stage: Stage, app: BackgroundProgram) {
            let stage = try Stage(source: "synth:seed=3; noise=0.01g; gravity=z; rate=50Hz", broker: false)
            try stage.startBroker("--policy", try stage.directory("policy", ["10-test": Self.policy]), "--clips", "2s")
            let app = try stage.watch("shake.planar,threshold=2.3g,every=20ms", "--app", Self.app)
            #expect(try stage.jostle("shake", "--peak", "2.1g", "--for", "1s").status == 0)
            try self.untilListed(stage, "near") { $0.contains("\"near\":true") }
            #expect(try stage.jostle("shake", "--peak", "4g", "--for", "1s").status == 0)
            _ = try app.nextEvent()
            try self.untilListed(stage, "hit") { $0.contains("\"near\":false") }
            return (stage, app)
        }

        private func untilListed(_ stage: Stage, _ what: String, _ isSo: (String) -> Bool) throws {
            try stage.until("there is a clip: \(what)") {
                isSo(try stage.jostle("clips", "list", "--state-dir", stage.state, "--json").stdout)
            }
        }

        private func run(_ stage: Stage, _ words: String...) throws -> String {
            let result = try stage.jostle(words + ["--state-dir", stage.state])
            try #require(result.status == 0, "\(words): \(result.stdout)\(result.stderr)")
            return result.stdout
        }

        @Test func aShakeThatDidNothingIsFoundAndHelped() throws {
            let (stage, app) = try self.story()
            // It is in the report, with its motion and the threshold that it stayed below.
            let page = "\(stage.home)/day.html"
            _ = try self.run(stage, "report", "--output", page)
            let html = try Tool.run(["cat", page]).stdout
            #expect(html.contains("g of 2.3 g: no hit, so that nothing was decided and nobody was refused"))
            #expect(html.contains("shake.planar over 2.3 g") && html.contains("what it compares (g)"))
            let asked = try Tool.run([
                "python3", Programs.source("Tests/Scripts/report-numbers.py"), page, "\(stage.state)/journal.db",
            ])
            #expect(asked.status == 0 && asked.stdout.hasPrefix("13 tables, "), "\(asked.stdout)\(asked.stderr)")
            // It says what it was, and what to try.
            let explained = try self.run(stage, "explain", "--clip", "near")
            #expect(explained.contains("  it was ") && explained.contains(" g of 2.3 g: no hit"), "\(explained)")
            let trial = try #require(explained.split(separator: "\n").last).drop { $0 == " " }
            #expect(trial.hasPrefix("jostle whatif --detector shake.planar,threshold="), "\(trial)")
            // Another threshold would have made it a hit, on the motion that was kept.
            let spec = try #require(trial.split(separator: " ").last)
            let tried = try self.run(stage, "whatif", "--detector", "\(spec),every=20ms")
            #expect(tried.contains("  was       no hit: ") && tried.contains("  would be  a hit"), "\(tried)")
            #expect(
                tried.contains("a policy file puts it in force: [App \(Self.app)] Thresholds=shake.planar:"), "\(tried)"
            )
            let same = try self.run(stage, "whatif", "--detector", "shake.planar,threshold=2.3g,every=20ms")
            #expect(same.hasSuffix(" 0 more and 0 fewer\n") && !same.contains("would be"), "\(same)")
            let harder = try self.run(stage, "whatif", "--detector", "shake.planar,threshold=6g,every=20ms", "--json")
            #expect(harder.contains("\"would_be\":\"none\"") && !harder.contains("\"would_be\":\"hit\""), "\(harder)")
            // Of what was not kept nobody knows.
            let lower = try self.run(stage, "whatif", "--detector", "shake.planar,threshold=1.5g,every=20ms")
            #expect(
                lower.contains("unknown: how many more there would be; below 1.84 g no motion was kept"), "\(lower)")
            // And which value would find most of it, as far as anybody can know.
            let tuned = try self.run(stage, "tune", "--preset", "shake.planar,every=20ms", "--from-clips", "--near")
            #expect(tuned.contains("100 %") && tuned.contains(" 0 %"), "\(tuned)")
            #expect(tuned.contains("unknown: all below 1.84 g; no motion was kept there"), "\(tuned)")
            for (command, words, expected) in [
                ("clips list", [], [0]), ("explain", ["--clip", "near"], [1]),
                ("whatif", ["--detector", "shake.planar,threshold=2g,every=20ms"], [0, 1]),
            ] as [(String, [String], [Int])] {
                let lines = try stage.jostle(
                    command.split(separator: " ").map(String.init) + words + ["--json", "--state-dir", stage.state])
                #expect(try kinds(of: lines.stdout, from: command) == expected, "\(command): \(lines)")
            }
            // One line of policy puts it in force, for the app that is there.
            let line = "[App \(Self.app)]\nThresholds=shake.planar:1.9g\n"
            _ = try stage.directory("policy", ["10-test": Self.policy + line])
            let checked = try stage.jostle("policy", "check", "\(stage.home)/policy")
            #expect(checked.status == 0, "\(checked.stdout)\(checked.stderr)")
            try #require(stage.broker).signal(SIGHUP)
            try stage.until("the policy is in force") {
                try stage.jostle("app", Self.app).stdout.contains("1.9")
            }
            #expect(try stage.jostle("shake", "--peak", "2.1g", "--for", "1s").status == 0)
            let event = try app.nextEvent { (number("peak", of: $0) ?? 9) < 2.3 }
            #expect((number("peak", of: event) ?? 0) > 1.9)
        }

        @Test func clipsAreTracesAndAreForgotten() throws {
            let (stage, _) = try self.story()
            let directory = "\(stage.home)/clips"
            try #require(mkdir(directory, 0o755) == 0)
            let written = try self.run(
                stage, "clips", "export", "--near", "--output", directory, "--label", "shake weak")
            let files = written.split(separator: "\n").map(String.init)
            #expect(!files.isEmpty)
            for file in files {
                let replayed = try stage.jostle(
                    "replay", file, "--json", "--detector", "shake.planar,threshold=1.9g,every=20ms")
                #expect(replayed.status == 0 && replayed.stdout.contains("\"peak\":"), "\(replayed)")
            }
            #expect(try stage.jostle("forget", "--clips").status == 0)
            #expect(try self.run(stage, "clips", "list", "--json").isEmpty)
            let nothing = try stage.jostle("whatif", "--detector", "shake", "--state-dir", stage.state)
            #expect(
                nothing.status == 1 && nothing.stderr.contains("'jostle-brokerd --clips 2s' keeps them"), "\(nothing)")
        }

        /// Without the option there is nothing of it in the journal.
        @Test func withoutTheOptionNothingIsKept() throws {
            let stage = try Stage(source: "synth:seed=3; noise=0.01g; gravity=z", broker: false)
            try stage.startBroker("--policy", try stage.directory("policy", ["10-test": Self.policy]))
            let app = try stage.watch("shake.planar,threshold=2.3g", "--app", Self.app)
            #expect(try stage.jostle("shake", "--peak", "4g", "--for", "1s").status == 0)
            _ = try app.nextEvent()
            try stage.until("the event is in the journal") {
                (try stage.property("JournalWritten", at: Stage.Object.broker)) != "t 0"
            }
            let listed = try stage.jostle("clips", "list", "--state-dir", stage.state)
            #expect(listed.status == 0 && listed.stdout.split(separator: "\n").count <= 1, "\(listed)")
            let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('clip', 'moment')"
            #expect(try stage.sql("journal.db", tables) == "0\n")
        }
    }
}
