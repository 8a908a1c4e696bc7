import TestSupport
import Testing

extension EndToEnd {
    /// jostle-brokerd: registrations, detectors, and the way to the reader.
    @Suite(.serialized) struct Broker {
        private static let register =
            "app call org.jostle.Broker1 \(Stage.Object.broker) org.jostle.Broker1 Register sa{sv} ['org.example.App',{}]"
        private static let object = "app call org.jostle.Broker1 \(Stage.Object.app("org.example.App"))"
        private static let add = "\(object) org.jostle.Broker1.App AddDetectors a(sa{sv})"
        private static let read =
            "\(object) org.freedesktop.DBus.Properties Get ss ['org.jostle.Broker1.App','Detectors']"

        private func script(_ stage: Stage, _ steps: String...) throws -> [String] {
            let lines = try stage.script(["app own org.example.App", Self.register] + steps)
            #expect(
                lines.first
                    == "app ok [\"\(Stage.Object.app("org.example.App"))\", {\"durable\": false, \"identity\": \"name\"}]"
            )
            return Array(lines.dropFirst())
        }

        @Test func whatIsInForceIsAnswered() throws {
            let stage = try Stage()
            let lines = try self.script(
                stage,
                "\(Self.add) [[['b',{'preset':V('s','shake.planar'),'threshold':V('s','25m/s2'),'every':V('s','50ms')}],"
                    + "['a',{'when':V('s','x > 20g'),'every':V('u',100000)}]]]", Self.read)
            try #require(lines.count == 2)
            for part in [
                "[[[\"b\", {", "\"threshold\": 2.549", "\"every\": 50000", "\"rest\": 1000000",
                "\"rest-mode\": \"restarting\"", "\"sensor\": \"accelerometer\"", "\"available\": true",
                "\"effective-rate\": 25.0", "\"decimation\": \"last\"", "[\"a\", {", "\"when\": \"x > 20g\"",
                "\"every\": 100000",
            ] { #expect(lines[0].contains(part), "\(part): \(lines[0])") }
            // A sensor of ±16 g never shows that much: allowed, and said in words.
            #expect(lines[0].contains("\"warnings\": [{\"id\": \"threshold-unreachable\", \"text\": \""))
            #expect(!lines[0].contains("DetectorWarning"))
            // The property has the same, in the order of the names.
            #expect(lines[1].hasPrefix("app ok [[[\"a\", {"))
            #expect(lines[1].contains("[\"b\", {"))
        }

        @Test func theSameNameReplacesAndTheSameRequestChangesNothing() throws {
            let stage = try Stage()
            let one = "\(Self.add) [[['d',{'preset':V('s','shake.planar')}]]]"
            let lines = try self.script(
                stage, one, Self.read, one, Self.read,
                "\(Self.add) [[['d',{'preset':V('s','shake.axis'),'threshold':V('d',3.0)}]]]", Self.read,
                "\(Self.object) org.jostle.Broker1.App RemoveDetectors asa{sv} [['d'],{}]", Self.read)
            try #require(lines.count == 8)
            #expect(lines[1] == lines[0] && lines[2] == lines[0] && lines[3] == lines[0])
            #expect(lines[4] == lines[5])
            #expect(lines[5].contains("\"shake.axis\"") && lines[5].contains("\"threshold\": 3.0"))
            #expect(!lines[5].contains("shake.planar"))
            #expect(lines[7] == "app ok [[]]")
        }

        @Test func aDetectorWaitsForItsSensor() throws {
            let stage = try Stage(source: nil)
            let app = try stage.start("watch", "--json", Stage.always, "--app", "org.example.App")
            let watching = try app.waitForLine { $0.hasPrefix("{\"watching\"") }
            #expect(field("available", of: watching) == "false")
            _ = try app.waitForLine(on: .errors) { $0.contains("the sensor is not there; waiting for it") }
            let changes = try BackgroundProgram(tool: [
                "busctl", "--address=\(stage.address)", "monitor", "--match=member='PropertiesChanged'",
            ])
            _ = try changes.waitForLine(on: .errors) { $0.hasPrefix("Monitoring bus message stream") }
            try stage.startReader(Stage.rest)
            _ = try app.nextEvent()
            // Whoever shows the detectors is told that they changed.
            _ = try changes.waitForLine { $0.contains("STRING \"org.jostle.Broker1.App\"") }
            _ = try changes.waitForLine { $0.contains("STRING \"Detectors\"") }
            #expect(
                try stage.property("Detectors", at: Stage.Object.app("org.example.App")).contains(
                    "\"available\" b true"))
            try stage.kill(stage.reader)
            // The line may still be that of another change from before.
            _ = try changes.waitForLine { $0.contains("STRING \"Detectors\"") }
            try stage.until("it is not available") {
                try stage.property("Detectors", at: Stage.Object.app("org.example.App")).contains(
                    "\"available\" b false")
            }
        }

        @Test func oneAppsDetectorsDoNotReachAnother() throws {
            let stage = try Stage()
            let one = try stage.watch("\(Stage.always),name=mine", "--app", "org.example.One")
            let other = try stage.watch("\(Stage.always),name=yours", "--app", "org.example.Other")
            for sequence in 1...5 {
                let (a, b) = (try one.nextEvent(), try other.nextEvent())
                #expect(field("detector", of: a) == "\"mine\"" && field("sequence", of: a) == "\(sequence)")
                #expect(field("detector", of: b) == "\"yours\"" && field("sequence", of: b) == "\(sequence)")
                // Each decision has an epoch of its own.
                #expect(field("epoch", of: a) != field("epoch", of: b))
            }
        }

        @Test func aClientWithoutANameIsAnApp() throws {
            let stage = try Stage()
            let app = try stage.watch(Stage.always)
            _ = try app.nextEvent()
            let list = try stage.busctl(
                "call", "org.jostle.Broker1", Stage.Object.broker, "org.jostle.Broker1", "ListApps", "a{sv}", "0")
            #expect(list.stdout.hasPrefix("a(oa{sv}) 1 \"\(Stage.Object.broker)/apps/_3a1_2e"))
            let path = String(try #require(list.stdout.split(separator: "\"").dropFirst().first))
            #expect(try stage.property("Identity", at: path) == "s \"uid\"")
            #expect(try stage.property("AppId", at: path) == "s \"\"")
        }

        // MARK: Other ways to the reader

        @Test func theBusStartsWhatIsNeeded() throws {
            let stage = try Stage(
                source: nil, broker: false,
                services: [
                    Stage.readerService("--source", "synth:"),
                    try Stage.installedService("org.jostle.Broker1"),
                ])
            // Looking at the apps starts the broker; it starts no reader while nobody needs one.
            #expect(try stage.jostle("apps").status == 0)
            #expect(try stage.property("Sensors", at: Stage.Object.broker) == "aa{sv} 0")
            let app = try stage.watch("shake.planar,threshold=2.3g")
            try stage.bus.waitForName("org.jostle.Sensors1")
            try stage.until("the broker claims") {
                try stage.property("Running", at: Stage.Object.accelerometer) == "b true"
            }
            #expect(try stage.jostle("shake", "--peak", "3g").status == 0)
            _ = try app.nextEvent()
        }

        @Test func theReaderCanBeOnABusOfItsOwn() throws {
            let stage = try Stage(source: nil, broker: false)
            try PrivateBus.with { sensors in
                try stage.startBroker("--sensor-bus", sensors.address)
                let app = try stage.watch("shake.planar,threshold=2.3g", "--app", "org.example.App")
                #expect(
                    try stage.property("Detectors", at: Stage.Object.app("org.example.App"))
                        .contains("\"available\" b false"))
                try stage.startReader(Stage.rest, on: sensors.address)
                try stage.until("the broker claims") {
                    try stage.property("Running", at: Stage.Object.accelerometer, on: sensors.address) == "b true"
                }
                #expect(try stage.jostle("shake", "--peak", "3g", "--sensor-bus", sensors.address).status == 0)
                _ = try app.nextEvent()
                #expect(try stage.jostle("sensors", "--sensor-bus", sensors.address).stdout.contains("accelerometer"))
                // The reader may go and come there, too.
                try stage.kill(stage.reader)
                try stage.until("the broker notices") {
                    try stage.property("Sensors", at: Stage.Object.broker).contains("\"available\" b false")
                }
                try stage.startReader(Stage.rest, on: sensors.address)
                try stage.until("the broker claims again") {
                    try stage.property("Running", at: Stage.Object.accelerometer, on: sensors.address) == "b true"
                }
                try stage.kill(stage.broker)
                try stage.kill(stage.reader)
            }
        }

        /// The sensors' bus goes and comes back; the apps' bus has no part in it.
        @Test func theReadersBusMayGoAndComeBack() throws {
            let sensors = try Stage(source: Stage.rest, broker: false, replaceable: true)
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker("--sensor-bus", sensors.address)
            let app = try stage.watch(Stage.always)
            _ = try app.nextEvent()
            try sensors.replaceBus {
                try stage.until("the broker notices") {
                    try stage.property("Sensors", at: Stage.Object.broker).contains("\"available\" b false")
                }
            }
            try Stage.waitUntilServing(try #require(sensors.reader))
            try stage.until("the broker finds it again") {
                try stage.property("Sensors", at: Stage.Object.broker).contains("\"available\" b true")
            }
            let now = try #require(number("t_us", of: try app.nextEvent()))
            _ = try app.nextEvent { (number("t_us", of: $0) ?? 0) > now + 500_000 }
            #expect(!app.errors.contains("the broker"))
        }
    }
}
