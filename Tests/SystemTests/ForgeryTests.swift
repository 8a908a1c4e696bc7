import JostleClient
import TestSupport
import Testing

extension EndToEnd {
    /// Unicast signals arrive without any match rule, from whomever: only the right sender is heard.
    @Suite(.serialized) struct Forgeries {
        private let samples =
            "\(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor Samples (tatad) [[0,[10**15],[9.0,9.0,9.0]]]"
        private let owner = "/org/freedesktop/DBus org.freedesktop.DBus NameOwnerChanged sss"

        @Test func samplesForTheBroker() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar,threshold=2.3g", "--app", "org.example.App")
            _ = try stage.script(
                "f send org.jostle.Broker1 \(self.samples)",
                "f send \(try stage.uniqueName("org.jostle.Broker1")) \(self.samples)",
                "f send org.jostle.Broker1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor ClaimChanged a{sv} "
                    + "[{'rate':V('d',1.0),'batch-latency':V('t',0)}]",
                "f send org.jostle.Broker1 /elsewhere org.jostle.Sensors1.Sensor Samples s ['nothing']",
                "f send org.jostle.Broker1 \(Stage.Object.sensors) org.jostle.Sensors1 SensorChanged oa{sv} "
                    + "['\(Stage.Object.accelerometer)',{'name':V('s','accelerometer'),'channels':V('as',['x']),"
                    + "'available':V('b',False)}]")
            let emitted = try stage.busctl(
                "emit", "--destination=org.jostle.Broker1", Stage.Object.accelerometer, "org.jostle.Sensors1.Sensor",
                "Samples", "(tatad)", "0", "1", "1000000", "3", "9", "9", "9")
            #expect(emitted.status == 0)
            // Who leaves at once does not know whether the bus has passed it on.
            try stage.until("the last has arrived") {
                try stage.count("RefusedMessages", at: Stage.Object.broker) >= 6
            }
            #expect(try stage.count("RefusedMessages", at: Stage.Object.broker) == 6)
            // What it really measures goes on, and only that.
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            let event = try app.nextEvent()
            #expect(field("sequence", of: event) == "1")
            #expect(try #require(number("peak", of: event)) < 3.5)
            #expect(try stage.property("Sensors", at: Stage.Object.broker).contains("\"rate\" d 10 "))
        }

        @Test func theBusForTheDaemons() throws {
            let stage = try Stage()
            let app = try stage.watch(Stage.always, "--app", "org.example.App")
            _ = try app.nextEvent()
            let (reader, broker) = (
                try stage.uniqueName("org.jostle.Sensors1"), try stage.uniqueName("org.jostle.Broker1")
            )
            let client = try stage.uniqueName("org.example.App")
            _ = try stage.script(
                "f send \(broker) \(self.owner) ['org.jostle.Sensors1','\(reader)','']",
                "f send \(broker) \(self.owner) ['org.example.App','\(client)','']",
                "f send \(broker) \(self.owner) ['\(client)','\(client)','']",
                "f send \(reader) \(self.owner) ['\(broker)','\(broker)','']")
            #expect(try stage.count("RefusedMessages", at: Stage.Object.broker) == 3)
            #expect(try stage.count("RefusedMessages", at: Stage.Object.sensors) == 1)
            // Nobody was believed to be gone.
            #expect(try stage.property("AppId", at: Stage.Object.app("org.example.App")) == "s \"org.example.App\"")
            #expect(try stage.property("Sensors", at: Stage.Object.broker).contains("\"available\" b true"))
            #expect(try stage.property("Running", at: Stage.Object.accelerometer) == "b true")
            #expect(!app.errors.contains("the broker"), "\(app.errors)")
        }

        @Test func eventsForAClient() throws {
            let stage = try Stage()
            let client = try JostleApp(app: "org.example.App", on: .address(stage.address))
            var events: [MotionEvent] = []
            var changes: [Bool] = []
            client.onEvent = { events.append($0) }
            client.onBrokerChange = { changes.append($0) }
            try client.connect()
            try client.add([Detector("skip", preset: "shake.planar", options: ["threshold": "2.3g"])])
            let object = Stage.Object.app("org.example.App")
            let unique = try stage.uniqueName("org.jostle.Broker1")
            let event = "org.jostle.Broker1.App Event (tttsda{sv}) [[1,1,1,'skip',9.0,{}]]"
            _ = try stage.script(
                "f send org.example.App \(object) \(event)",
                "f send org.example.App \(object) org.jostle.Broker1.App Event s ['skip']",
                "f send org.example.App \(self.owner) ['org.jostle.Broker1','\(unique)','']")
            try stage.until("the forgeries have arrived") {
                try client.dispatch()
                return client.refusedMessages >= 3
            }
            #expect(events.isEmpty && changes.isEmpty)
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            try stage.until("the real event") {
                try client.dispatch()
                return !events.isEmpty
            }
            #expect(events.first?.sequence == 1 && events.first?.detector == "skip")
            #expect(client.refusedMessages == 3)
        }

        /// The tool has the same ears as the library; its output is all one sees of it.
        @Test func eventsForTheTool() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar,threshold=2.3g", "--app", "org.example.App")
            _ = try stage.script(
                "f send org.example.App \(Stage.Object.app("org.example.App")) "
                    + "org.jostle.Broker1.App Event (tttsda{sv}) [[7,7,7,'forged',9.0,{}]]")
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            #expect(field("detector", of: try app.nextEvent()) == "\"shake.planar\"")
            #expect(!app.output.contains("forged"))
        }

        // MARK: Replies

        /// How many replies are forged in each way.
        private let forgeries = 10_000

        /// Checks that all were refused that the bus delivers: dbus-broker knows who was asked, dbus-daemon does not on a
        /// session bus. Now and then the victim asks the forger himself for a sign of life, and he may answer that.
        private func expect(_ refused: UInt64, toBeAllOf figures: Figures) throws {
            let sent = try UInt64(#require(figures["before"]) + #require(figures["after"]))
            let delivered = try PrivateBus.Implementation.chosen() == .dbusDaemon ? sent : 0
            #expect(refused <= delivered && refused + 20 >= delivered, "\(refused) of \(delivered)")
        }

        private func forge(_ kind: String, for name: String, on stage: Stage, _ more: String...) throws -> Figures {
            let program = try BackgroundProgram(
                "test-attacker",
                ["forge", kind, "--to", name, "--bus", stage.address, "--count", "\(self.forgeries)"] + more)
            return try #require(Figures(try program.waitForLine(timeout: .seconds(90)) { $0.hasPrefix("{") }))
        }

        /// Who answers in the place of the bus, or of the reader, does not become the app, and makes no motion.
        @Test(arguments: ["register", "detector", "nothing"])
        func repliesForTheBroker(_ provocation: String) throws {
            let stage = try Stage()
            let victim = try stage.reader(of: "norm(x, y, z) > 0.5g", every: 20_000, "org.example.Victim")
            let hard = try stage.watch("shake.magnitude,threshold=4g,every=20ms", "--app", "org.example.Hard")
            let figures = try self.forge(
                provocation, for: "org.jostle.Broker1", on: stage, "--app", "org.example.Victim")
            #expect(figures["believed"] == 0)
            try self.expect(stage.count("RefusedMessages", at: Stage.Object.broker), toBeAllOf: figures)
            // What happens is what was before, without a gap, and nothing that no sensor measured.
            let heard = try #require(Figures(try stage.figures(of: victim)))
            #expect((heard["events"] ?? 0) > 0)
            #expect(heard["lost"] == 0 && heard["refused"] == 0)
            #expect(try stage.jostle("shake", "--peak", "6g").status == 0)
            #expect(field("sequence", of: try hard.nextEvent()) == "1")
            #expect(hard.output.split(separator: "\n").filter { $0.hasPrefix("{\"detector\"") }.count == 1)
            #expect(try stage.property("Sensors", at: Stage.Object.broker).contains("\"available\" b true"))
        }

        /// Who answers in the place of the bus does not become one that may read fast.
        @Test func repliesForTheReader() throws {
            let stage = try Stage(broker: false, readerPolicy: "[App org.example.Fast]\nFastestRate=1000Hz\n")
            let figures = try self.forge("claim", for: "org.jostle.Sensors1", on: stage)
            #expect(figures["believed"] == 0)
            try self.expect(stage.count("RefusedMessages", at: Stage.Object.sensors), toBeAllOf: figures)
        }

        /// Who answers in the place of the broker is not heard by its clients.
        @Test func repliesForAClient() throws {
            let stage = try Stage()
            let client = try JostleApp(app: "org.example.App", on: .address(stage.address))
            var changes: [Bool] = []
            client.onBrokerChange = { changes.append($0) }
            try client.connect()
            let attacker = try BackgroundProgram(
                "test-attacker",
                ["forge", "nothing", "--to", "org.example.App", "--bus", stage.address, "--count", "\(self.forgeries)"])
            var line: String?
            var round = 0
            let deadline = ContinuousClock.now + .seconds(90)
            while line == nil, ContinuousClock.now < deadline {
                round += 1
                let detector = Detector(
                    "own", preset: "shake.planar", options: ["threshold": .text("\(2 + round % 7)g")])
                #expect(try client.add([detector]).map(\.name) == ["own"])
                try client.dispatch()
                line = try? attacker.waitForLine(timeout: .milliseconds(1)) { $0.hasPrefix("{") }
            }
            let figures = try #require(line.flatMap { Figures($0) })
            try self.expect(client.refusedMessages, toBeAllOf: figures)
            #expect(changes.isEmpty)
            #expect(try stage.jostle("shake", "--peak", "9g").status == 0)
        }

        /// The same of the tool, while it waits for motion.
        @Test func repliesForTheTool() throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar,threshold=2.3g", "--app", "org.example.App")
            _ = try self.forge("nothing", for: "org.example.App", on: stage)
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            #expect(field("sequence", of: try app.nextEvent()) == "1")
        }
    }
}
