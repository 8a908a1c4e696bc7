import TestSupport
import Testing

extension Surroundings {
    /// The examples do what a careful app does.
    @Suite(.serialized) struct Examples {
        enum Example: String, CaseIterable, Sendable {
            case python, wire, swift

            var command: [String] {
                switch self {
                case .python: ["python3", Programs.source("docs/examples/watch.py")]
                case .wire: ["python3", Programs.source("docs/examples/wire.py")]
                case .swift: [Programs.path(of: "example-watch")]
                }
            }
        }

        private func start(_ example: Example, _ stage: Stage, _ arguments: String...) throws -> BackgroundProgram {
            try BackgroundProgram(tool: example.command + arguments, environment: stage.environment)
        }

        @Test(arguments: Example.allCases)
        func hearsEventsAndOutlivesTheBroker(_ example: Example) throws {
            let stage = try Stage()
            let app = try self.start(example, stage, "shake.planar", "threshold=2.5g")
            _ = try app.waitForLine { $0 == "  threshold = 2.5" }
            _ = try app.waitForLine { $0 == "watching" }
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            _ = try app.waitForLine {
                $0.hasPrefix("event 1: watch, peak 2.") || $0.hasPrefix("event 1: watch, peak 3.")
            }

            try stage.kill(stage.broker)
            _ = try app.waitForLine { $0 == "the broker is gone" }
            try stage.startBroker()
            _ = try app.waitForLine { $0 == "the broker is back" }
            try stage.until("the broker claims") {
                try stage.property("Sensors", at: Stage.Object.broker).contains("\"rate\" d 10 ")
            }
            // The first motion may not be over, and be an event of the new broker's. Ten looks a second must not miss the
            // second, wherever they fall.
            try stage.shakeAfterRest(peak: 6)
            _ = try app.waitForLine { $0.hasPrefix("event ") }
            // Numbers begin anew.
            let later = app.output.split(separator: "\n").drop { $0 != "the broker is gone" }
            #expect(later.first { $0.hasPrefix("event ") }?.hasPrefix("event 1: watch, ") == true, "\(later)")
            #expect(app.end == nil)
        }

        /// What is no detector is the broker's to refuse.
        @Test(arguments: ["", ",", ",2g"])
        func aWordThatNamesNoDetectorIsRefused(_ word: String) throws {
            let stage = try Stage(source: nil)
            let result = try Tool.run(
                [Programs.path(of: "example-background"), "--bus", stage.address, "org.example.Listener", word])
            #expect(result.status == 1, "\(result)")
            #expect(result.stderr == "example-background: a detector needs a name\n", "\(result)")
        }

        /// docs/clients.md says how long those are with which one begins. What is asked: 40 lines in C, 15 elsewhere.
        @Test(arguments: [
            ("c/watch-sd-bus.c", 40), ("watch.py", 15), ("gjs/watch.js", 15),
            ("swift/outside/Sources/undo/Undo.swift", 15),
        ])
        func theFirstOnesAreShort(_ example: String, _ most: Int) throws {
            let count = """
                import re, sys
                text = open(sys.argv[1]).read()
                text = re.sub(r'/\\*.*?\\*/|\"\"\".*?\"\"\"', '', text, flags=re.S)
                comment = '#' if sys.argv[1].endswith('.py') else '//'
                print(sum(not re.match(rf'\\s*($|{comment})', line) for line in text.splitlines()))
                """
            let counted = try Tool.run(["python3", "-c", count, Programs.source("docs/examples/\(example)")])
            let lines = try #require(Int(counted.stdout.dropLast()), "\(counted)")
            #expect((1...most).contains(lines), "\(lines) lines")
            let page = try Tool.run(["cat", Programs.source("docs/clients.md")]).stdout
            let name = example.split(separator: "/").last ?? ""
            let link =
                example.hasPrefix("swift") ? "[outside](examples/swift/outside)" : "[\(name)](examples/\(example))"
            #expect(page.contains("| \(link) | \(lines) |"), "\(lines) lines")
        }

        @Test(arguments: Example.allCases)
        func believesNobodyButTheBroker(_ example: Example) throws {
            let stage = try Stage()
            let app = try self.start(example, stage, "shake.planar")
            _ = try app.waitForLine { $0 == "watching" }
            let row = try stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "ListApps", "a{sv}", "0")
            let path = try #require(row.stdout.split(separator: "\"").dropFirst().first)
            let last = try #require(path.split(separator: "/").last)
            // The path of a client without a name is its unique name: _3a1_2e5 is :1.5.
            let client = last.replacing("_3a", with: ":").replacing("_2e", with: ".")
            _ = try stage.script(
                "f send \(client) \(path) org.jostle.Broker1.App Event (tttsda{sv}) [[7,7,7,'forged',9.0,{}]]",
                "f send \(client) /org/freedesktop/DBus org.freedesktop.DBus NameOwnerChanged sss "
                    + "['org.jostle.Broker1',':1.0','']")
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            _ = try app.waitForLine { $0.hasPrefix("event 1: watch, ") }
            #expect(!app.output.contains("forged") && !app.output.contains("gone"))
        }

        @Test(arguments: Example.allCases)
        func saysWhatIsWrong(_ example: Example) throws {
            let stage = try Stage()
            let bad = try stage.run(example.command + ["shake.planer"])
            #expect(bad.status == 1)
            #expect((bad.stdout + bad.stderr).contains("did you mean 'shake.planar'?"), "\(bad)")
            try stage.kill(stage.broker)
            let absent = try stage.run(example.command + ["shake.planar"])
            #expect(absent.status == 1)
            #expect((absent.stdout + absent.stderr).contains("org.jostle.Broker1"), "\(absent)")
        }
    }
}
