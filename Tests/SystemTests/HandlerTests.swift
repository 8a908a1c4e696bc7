import Glibc
import JostleClient
import TestSupport
import Testing

extension Surroundings {
    /// Handlers of the client library may make calls.
    @Suite(.serialized) struct Handlers {
        private static let app = "org.example.Player"
        private static let file = "[App]\nUsage=Plays music\nModes=audio\n"
        private static let policy = """
            [Policy]
            Default=allow
            [App *]
            Grants=audio
            Grace=1s
            AssertionBudget=1min

            """
        private static let jolt = Detector(
            "jolt", preset: "shake.magnitude", options: ["threshold": .number(0.5), "rest": .text("0s")])

        private func stage() throws -> Stage {
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: Self.policy, apps: [Self.app: Self.file])
            return stage
        }

        private func client(_ stage: Stage) throws -> JostleApp {
            let client = try JostleApp(app: Self.app, on: .address(stage.address))
            try client.connect()
            return client
        }

        @Test func anEventMayChangeTheDetectors() throws {
            let stage = try self.stage()
            let client = try self.client(stage)
            var heard: [UInt64] = []
            client.onEvent = { event in
                heard.append(event.sequence)
                do throws(JostleError) {
                    if heard.count == 1 {
                        let effective = try client.add([Detector("other", when: "x > 20g")])
                        #expect(effective.map(\.name) == ["other"])
                        // What comes while this waits for its answers is told afterwards, one by one.
                        for _ in 0..<20 { _ = try client.backgroundTimeRemaining() }
                        #expect(heard.count == 1)
                        try client.remove(["other"])
                    }
                } catch {
                    Issue.record(error)
                }
                if heard.count >= 5 { client.stop() }
            }
            try client.add([Self.jolt])
            try client.run()
            #expect(heard == [1, 2, 3, 4, 5])
            // What came besides is for the next run, which ends with the next one.
            try client.run()
            #expect(heard.starts(with: [1, 2, 3, 4, 5, 6]))
        }

        @Test func oneThatRunsTheClientIsRefused() throws {
            let stage = try self.stage()
            let client = try self.client(stage)
            var refused: JostleError?
            client.onEvent = { _ in
                do throws(JostleError) { try client.run() } catch { refused = error }
                client.stop()
            }
            try client.add([Self.jolt])
            try client.run()
            #expect(refused?.kind == .failed && refused?.message.contains("a handler cannot run") == true)
        }

        /// What comes while a handler waits for its answers is told in the next round, which a run may end before.
        @Test func aRunEndsThoughHandlersAskAllTheTime() throws {
            let stage = try self.stage()
            let client = try self.client(stage)
            var heard = 0
            client.onEvent = { _ in
                heard += 1
                do throws(JostleError) {
                    usleep(20_000)
                    _ = try client.backgroundTimeRemaining()
                } catch {
                    Issue.record(error)
                }
                if heard == 1 || heard == 1_000 { client.stop() }
            }
            client.onGap = { _ in }
            try client.add([
                Detector("often", when: "norm(x, y, z) > 0.5g", options: ["every": .text("5ms"), "rest": .text("0s")])
            ])
            // When the sensor begins is up to the machine, and so is whether it tells anything within half a second.
            try client.run()
            try stage.until("a run has called a handler") {
                try client.run(for: .milliseconds(500))
                return heard > 1
            }
            #expect(heard < 1_000)
        }

        /// The recipe of docs/wake.md: at the warning begin what takes over.
        @Test func aWarningMayBeginWhatTakesOver() throws {
            let stage = try self.stage()
            let client = try self.client(stage)
            var sound: UInt64?
            client.onExpiring = { assertion in
                do throws(JostleError) {
                    let activity = try client.beginActivity("audio")
                    sound = activity.number
                    #expect(try client.backgroundTimeRemaining() == nil)
                    activity.end()
                } catch {
                    Issue.record(error)
                }
                client.stop()
            }
            // It is told of soon, and ends late: what takes over may take its time.
            let assertion = try client.beginAssertion("save", warning: .milliseconds(59_900))
            #expect(try stage.jostle("state", Self.app, "background").status == 0)
            try client.run()
            #expect(sound != nil)
            assertion.end()
        }

        @Test func aBrokerThatIsBackMayBeAsked() throws {
            let stage = try self.stage()
            let client = try self.client(stage)
            try client.add([Self.jolt])
            client.onBrokerChange = { isThere in
                guard isThere else { return }
                do throws(JostleError) { try client.add([Detector("more", preset: "tap")]) } catch {
                    Issue.record(error)
                }
                client.stop()
            }
            try stage.kill(stage.broker)
            try stage.startBroker(policy: Self.policy, apps: [Self.app: Self.file])
            try client.run()
            let shown = try stage.property("Detectors", at: Stage.Object.app(Self.app))
            #expect(shown.contains("\"jolt\"") && shown.contains("\"more\""))
        }

        /// For programs with a loop of their own: the descriptor says that there is something to tell, also after a call.
        @Test func aForeignLoopIsToldAfterACall() throws {
            let stage = try self.stage()
            let client = try self.client(stage)
            var heard = 0
            client.onEvent = { _ in
                heard += 1
                _ = try? client.backgroundTimeRemaining()
            }
            try client.add([Self.jolt])
            let until = ContinuousClock.now + .seconds(20)
            while heard < 3, ContinuousClock.now < until {
                // While this asks, events come in.
                _ = try client.backgroundTimeRemaining()
                #expect(self.isReadable(client.descriptor))
                try client.dispatch()
            }
            #expect(heard >= 3)
        }

        /// The corresponding C function is `poll`.
        private func isReadable(_ descriptor: Int32) -> Bool {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&entry, 1, 5_000) == 1
        }

        /// A package outside, as README has it, is built with nothing but this source beside it.
        @Test func aPackageOutsideIsBuilt() throws {
            let stage = try self.stage()
            let scratch = Programs.source(".build/outside")
            // How long a compiler takes says nothing of us.
            let script = """
                directory=$(mktemp -d)
                trap 'rm -rf "$directory"' EXIT
                ln -s "$1" "$directory/jostle"
                cp -r "$1/docs/examples/swift/outside" "$directory/undo"
                swift build --disable-index-store --package-path "$directory/undo" --scratch-path "$2" >&2
                """
            let built = try Tool.run(
                ["sh", "-ec", script, "sh", Programs.source(""), scratch], timeout: .seconds(300))
            #expect(built.status == 0, "\(built.stderr)")
            let undo = try BackgroundProgram(
                tool: ["stdbuf", "-oL", "\(scratch)/debug/undo"], environment: stage.environment)
            _ = try undo.waitForLine { $0 == "shake to undo" }
            try stage.inject("shake peak=5g for=1s")
            _ = try undo.waitForLine { $0.hasPrefix("undo: ") }
            _ = try undo.terminate()
        }
    }
}
