import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// The examples that must lose no event: they answer, die, come back, and leave motion to each other.
    @Suite(.serialized) struct CarefulApps {
        enum Example: String, CaseIterable, Sendable {
            case python, swift

            var command: [String] {
                switch self {
                case .python: ["python3", Programs.source("docs/examples/careful.py")]
                case .swift: [Programs.path(of: "example-careful")]
                }
            }

            var other: Example { self == .python ? .swift : .python }
        }

        private static let app = "org.example.Careful"
        private static let object = Stage.Object.app(app)
        private static let acknowledged = "[Rule all]\nThen=allow\nReliability=ack\nLifespan=10min\n"

        private func stage(_ policy: String) throws -> Stage {
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: policy)
            return stage
        }

        /// Starts an example, and returns when it listens and has been sent what was kept.
        private func start(
            _ example: Example, _ stage: Stage, _ app: String = Self.app, _ threshold: String = "2g",
            passesBelow limit: String = "0"
        ) throws -> BackgroundProgram {
            let program = try BackgroundProgram(
                tool: example.command + [
                    app, self.file(stage, app), "--pass-below", limit, "shake.planar", "threshold=\(threshold)",
                ],
                environment: stage.environment)
            // Either may be said first: the one is an answer, the other a signal.
            for _ in 0..<2 { _ = try program.waitForLine { $0 == "nothing more is kept" || $0 == "watching" } }
            return program
        }

        private func file(_ stage: Stage, _ app: String = Self.app) -> String { "\(stage.bus.directory)/\(app)" }

        /// Kills an app that has had its first event and been sent the second, which it did not see. Returns the second's
        /// epoch.
        private func killWithOneUnanswered(_ example: Example, _ stage: Stage) throws -> String {
            let app = try self.start(example, stage)
            try stage.shakeAfterRest()
            _ = try app.waitForLine { $0.hasPrefix("event 1: watch, peak ") && !$0.hasSuffix("sent again") }
            try stage.until("the answer") { try stage.count("Unacknowledged", at: Self.object) == 0 }
            try app.stop()
            try stage.shakeAfterRest()
            try stage.until("the second is out") { try stage.count("Delivered", at: Self.object) == 2 }
            #expect(try stage.count("Unacknowledged", at: Self.object) == 1)
            // (tttsda{sv}) 2 EPOCH …
            let words = try stage.property("LastEvent", at: Self.object).split(separator: " ")
            try #require(words.count > 2 && words[1] == "2", "\(words)")
            try stage.kill(app)
            try stage.until("it is gone") { try !stage.property("Delivered", at: Self.object).hasPrefix("t ") }
            return String(words[2])
        }

        /// An event is sent to who comes back, and to who has not answered after a second, after two more, after four more.
        private static func mostCopies(within time: Duration) -> UInt64 {
            var (copies, due) = (UInt64(1), Duration.seconds(1))
            while due <= time { (copies, due) = (copies + 1, due * 2 + .seconds(1)) }
            return copies
        }

        @Test(arguments: Example.allCases)
        func whoDiesFindsWhatIsDueToIt(_ example: Example) throws {
            let stage = try self.stage(Self.acknowledged)
            _ = try self.killWithOneUnanswered(example, stage)
            let back = ContinuousClock.now
            let again = try self.start(example, stage)
            // The motion may not have been over when the app was back: then it has a further event already.
            let lines = again.output.split(separator: "\n")
            let events = lines.filter { $0.hasPrefix("event ") }
            #expect(events.first?.hasPrefix("event 2: watch, peak ") == true, "\(lines)")
            #expect(events.first?.hasSuffix(", sent again") == true, "\(lines)")
            try stage.until("the answer") { try stage.count("QueuedBytes", at: Self.object) == 0 }
            let redelivered = try stage.count("Redelivered", at: Self.object)
            let most = Self.mostCopies(within: ContinuousClock.now - back)
            #expect((1...most).contains(redelivered), "\(redelivered), where \(most) were due at most")
            // Numbers go on.
            try stage.shakeAfterRest()
            let third = try again.waitForLine { $0.hasPrefix("event 3: watch, ") }
            #expect(!third.hasSuffix("sent again"))
        }

        /// It was done with the event, and died before it could say so.
        @Test(arguments: Example.allCases)
        func whoKnowsWhatItDidIsNotSentItAgain(_ example: Example) throws {
            let stage = try self.stage(Self.acknowledged)
            let epoch = try self.killWithOneUnanswered(example, stage)
            let file = try #require(fopen(self.file(stage), "w"))
            fputs("2 \(epoch)\n", file)
            try #require(fclose(file) == 0)
            let again = try self.start(example, stage)
            #expect(try stage.count("Redelivered", at: Self.object) == 0)
            #expect(try stage.count("StaleAcks", at: Self.object) == 0)
            // The motion may not have been over when the app was back: then it has a further event already.
            #expect(!again.output.contains("event 2"))
            try stage.until("nothing is due") { try stage.count("QueuedBytes", at: Self.object) == 0 }
        }

        // MARK: In order

        /// The app that asks for more is asked first, and has ten seconds to answer.
        private static let ordered = """
            [Group shake]
            Mode=ordered
            Select=specificity
            CommitWindow=350ms
            AckTimeout=10s
            OrderBudget=30s

            [Rule all]
            Then=allow
            Group=shake

            """

        @Test(arguments: Example.allCases)
        func whoPassesLeavesItToTheNext(_ first: Example) throws {
            let stage = try self.stage(Self.ordered)
            let (hard, gentle) = ("org.example.Hard", "org.example.Gentle")
            let passing = try self.start(first, stage, hard, "3g", passesBelow: "99")
            let taking = try self.start(first.other, stage, gentle)
            try stage.shakeAfterRest()
            _ = try passing.waitForLine { $0.hasPrefix("event 1 is for others, peak ") }
            _ = try taking.waitForLine { $0.hasPrefix("event 1: watch, peak ") }
            // Its answer ends the matter.
            try stage.until("it is consumed") {
                try stage.jostle("explain", "last", "--app", gentle).stdout.contains("S5.taken")
            }
            #expect(try stage.jostle("explain", "last", "--app", hard).stdout.contains("S5.passed"))
            #expect(!passing.output.contains("event 1: "))
            for app in [hard, gentle] { #expect(try stage.count("StaleAcks", at: Stage.Object.app(app)) == 0) }
        }

        @Test(arguments: Example.allCases)
        func whoConsumesKeepsItFromTheNext(_ first: Example) throws {
            let stage = try self.stage(Self.ordered)
            let (hard, gentle) = ("org.example.Hard", "org.example.Gentle")
            let taking = try self.start(first, stage, hard, "3g")
            let next = try self.start(first.other, stage, gentle)
            try stage.shakeAfterRest()
            _ = try taking.waitForLine { $0.hasPrefix("event 1: watch, peak ") }
            try stage.until("it is consumed") { try stage.count("Denied", at: Stage.Object.app(gentle)) > 0 }
            #expect(try stage.jostle("explain", "last", "--app", gentle).stdout.contains("S4.consumed"))
            #expect(try stage.jostle("explain", "last", "--app", hard).stdout.contains("S5.taken"))
            #expect(try stage.count("Delivered", at: Stage.Object.app(gentle)) == 0)
            #expect(!next.output.contains("event "))
        }
    }
}
