import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// The Python package: its own tests, an installed copy, and apps that outlive the broker and the bus.
    @Suite(.serialized) struct Python {
        private static let package = Programs.source("Sources/python")
        private static let app = "org.example.Python"

        /// Those that need no daemons. All of them ran, and none was left out.
        @Test func itsOwnTestsPass() throws {
            let result = try Tool.run(
                [
                    "sh", "-c", "cd \"$0\" && exec /usr/bin/python3 -B -m unittest discover -t . -s tests",
                    Self.package,
                ], timeout: .seconds(180))
            #expect(result.status == 0, "\(result.stderr)")
            #expect(result.stderr.hasSuffix("\nOK\n") && result.stderr.contains("Ran "), "\(result.stderr)")
        }

        /// Pip makes of it a package that needs nothing of the source.
        @Test func pipInstallsIt() throws {
            let stage = try Stage(source: nil, broker: false)
            let target = "\(stage.bus.directory)/site"
            // A copy, because building leaves things behind; and nothing is asked of the network.
            let installed = try Tool.run(
                [
                    "sh", "-c",
                    "cp -r \"$0\" \"$1\" && exec /usr/bin/python3 -m pip install --quiet --no-index --no-deps"
                        + " --no-build-isolation --root-user-action=ignore --target \"$2\" \"$1\"",
                    Self.package, "\(stage.bus.directory)/source", target,
                ], timeout: .seconds(120))
            #expect(installed.status == 0, "\(installed.stderr)")
            let result = try stage.run(
                [
                    "python3", "-B", "-c",
                    "import jostle, jostle.testing, importlib.metadata as m, os; print(jostle.__file__, m.version('jostle'),"
                        + " os.path.exists(os.path.dirname(jostle.__file__) + '/py.typed'),"
                        + " os.path.exists(jostle.testing.dbusmock_template()))",
                ], environment: ["PYTHONPATH": target])
            #expect(
                result.stdout == "\(target)/jostle/__init__.py \(try self.version()) True True\n", "\(result.stderr)")
        }

        private func version() throws -> String {
            let words = try Tool.run([Programs.path(of: "jostle"), "--version"]).stdout.split(
                whereSeparator: \.isWhitespace)
            return String(try #require(words.last))
        }

        private func isShaken(_ stage: Stage, _ app: BackgroundProgram) throws {
            try stage.until("the broker claims") {
                try stage.property("Sensors", at: Stage.Object.broker).contains("\"rate\" d 10 ")
            }
            #expect(try stage.jostle("shake", "--peak", "6g").status == 0)
            _ = try app.waitForLine { $0.hasPrefix("event 1: watch, ") }
        }

        /// The bus goes, and with it everybody; whoever comes back finds the app there again.
        @Test func anAppOutlivesTheBus() throws {
            let stage = try Stage(replaceable: true)
            let app = try BackgroundProgram(
                tool: ["python3", Programs.source("docs/examples/watch.py"), "shake.planar", "threshold=2.5g"],
                environment: stage.environment)
            _ = try app.waitForLine { $0 == "watching" }
            try self.isShaken(stage, app)
            try stage.replaceBus { _ = try app.waitForLine { $0 == "the broker is gone" } }
            // The daemons come back by themselves, too.
            _ = try app.waitForLine { $0 == "the broker is back" }
            try self.isShaken(stage, app)
            #expect(app.end == nil)
        }

        /// What it was sent and did not answer, the broker sends again after its own end; and what it answered, it does not.
        @Test func anAppThatOutlivesTheBrokerNamesWhatItIsDoneWith() throws {
            let stage = try Stage(broker: false)
            let policy = "[Rule all]\nThen=allow\nReliability=ack\nDurability=persistent\nLifespan=10min\n"
            let options = ["--policy", try stage.directory("policy", ["10-test": policy])]
            try stage.startBroker(options[0], options[1])
            let app = try BackgroundProgram(
                tool: [
                    "python3", Programs.source("docs/examples/careful.py"), Self.app, "\(stage.bus.directory)/done",
                    "shake.planar", "threshold=2g",
                ], environment: stage.environment)
            _ = try app.waitForLine { $0 == "nothing more is kept" }
            try stage.shakeAfterRest()
            _ = try app.waitForLine { $0.hasPrefix("event 1: watch, peak ") }
            let object = Stage.Object.app(Self.app)
            try stage.until("the answer") { try stage.count("Unacknowledged", at: object) == 0 }
            try stage.kill(stage.broker)
            try stage.startBroker(options[0], options[1])
            try stage.until("it is there again") { try stage.property("DetectorCount", at: object) == "t 1" }
            try stage.shakeAfterRest()
            // The first is done with, and numbers begin anew if the broker knew that in time.
            _ = try app.waitForLine { $0.hasPrefix("event ") }
            #expect(!app.output.contains("sent again"), "\(app.output)")
            #expect(app.end == nil)
        }

        /// What it holds ends with the broker, and it is told; then it may have it again.
        @Test func anAssertionThatIsLostIsTold() throws {
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker(policy: "[App *]\nAssertionBudget=30s\n")
            let lines = """
                import asyncio, jostle
                async def main():
                    back = asyncio.Event()
                    async with jostle.App('\(Self.app)') as app:
                        app.on_broker_change(lambda is_there: is_there and back.set())
                        async with app.assertion('save') as assertion:
                            print('holds', flush=True)
                            await assertion.ended.wait()
                            print('lost', flush=True)
                        await back.wait()
                        async with app.assertion('again'):
                            print('holds again', len(await app.get_property('Assertions')), flush=True)
                            await asyncio.Event().wait()
                jostle.run(main())
                """
            let app = try BackgroundProgram(tool: ["python3", "-c", lines], environment: stage.environment)
            _ = try app.waitForLine { $0 == "holds" }
            try stage.kill(stage.broker)
            _ = try app.waitForLine { $0 == "lost" }
            try stage.startBroker(policy: "[App *]\nAssertionBudget=30s\n")
            _ = try app.waitForLine { $0 == "holds again 1" }
            try app.signal(SIGINT)
            #expect(try app.waitForEnd() == .exited(0))
        }

        /// What an app says of an error is what the broker said.
        @Test func itSaysWhatTheBrokerSays() throws {
            let stage = try Stage()
            let lines = """
                import asyncio, jostle
                async def main():
                    async with jostle.App() as app:
                        try: await app.add('a', 'shake.planer')
                        except jostle.JostleError as error: print(error.name, error.message)
                        effective = await app.add('a', 'shake.planar', threshold=3, every=1, rest=0.5)
                        print(*(effective.options[key] for key in ('threshold', 'every', 'rest')), effective.available)
                        try:
                            async with app.assertion('a'): pass
                        except jostle.JostleError as error: print(error.name)
                        print(sorted(await jostle.sensors()))
                asyncio.run(main())
                """
            let result = try stage.run(["python3", "-c", lines])
            let told = result.stdout.split(separator: "\n").map(String.init)
            try #require(told.count == 4, "\(result)")
            #expect(told[0].hasPrefix("org.jostle.Error.InvalidConfiguration detector 'a', preset: unknown preset"))
            #expect(told[0].hasSuffix("did you mean 'shake.planar'?"))
            #expect(told[1] == "3.0 1.0 0.5 True")
            #expect(told[2] == "org.freedesktop.DBus.Error.AccessDenied")
            #expect(told[3] == "['accelerometer', 'motion']")
        }
    }
}
