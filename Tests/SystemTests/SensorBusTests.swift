import Foundation
import TestSupport
import Testing

extension Senses {
    /// Which bus the reader is looked for on, by a broker that is installed and by the command line, and what a recording needs.
    @Suite(.serialized) struct SensorBus {
        private static let app = "org.example.App"

        private func startBroker(_ stage: Stage, system: String) throws {
            try stage.startBroker("--sensor-bus", "auto", environment: ["DBUS_SYSTEM_BUS_ADDRESS": system])
        }

        private func isRunning(_ stage: Stage, on address: String) throws -> Bool {
            try stage.property("Running", at: Stage.Object.accelerometer, on: address) == "b true"
        }

        private func hasReader(_ address: String) throws -> Bool {
            try Tool.run(["busctl", "--address=\(address)", "list", "--acquired"]).stdout.contains(
                "org.jostle.Sensors1")
        }

        /// The session bus could start one, and need not.
        @Test func aReaderOnTheSystemBusCounts() throws {
            let stage = try Stage(source: nil, broker: false, services: [Stage.readerService("--source", "synth:")])
            try PrivateBus.with { system in
                try stage.startReader(Stage.rest, on: system.address)
                try self.startBroker(stage, system: system.address)
                let app = try stage.watch(Stage.always, "--app", Self.app)
                _ = try app.nextEvent()
                #expect(try self.isRunning(stage, on: system.address))
                #expect(try !self.hasReader(stage.address))
                try stage.kill(stage.reader)
            }
        }

        @Test func aReaderThatTheSystemBusCanStartCounts() throws {
            let stage = try Stage(source: nil, broker: false, services: [Stage.readerService("--source", "synth:")])
            try PrivateBus.with(services: [Stage.readerService("--source", "synth:")]) { system in
                try self.startBroker(stage, system: system.address)
                let app = try stage.watch(Stage.always, "--app", Self.app)
                _ = try app.nextEvent()
                #expect(try self.hasReader(system.address))
                #expect(try !self.hasReader(stage.address))
            }
        }

        /// What starts it fails each time, as a unit that is masked does. Nobody is kept busy with that, and it is told once.
        @Test func aReaderThatCannotBeStartedIsTriedLessOften() throws {
            let reader = PrivateBus.Service(name: "org.jostle.Sensors1", command: "/bin/false")
            // This bus says what it starts.
            let stage = try Stage(source: nil, on: PrivateBus(services: [reader], on: .dbusDaemon))
            let broker = try #require(stage.broker)
            let start = ContinuousClock.now
            let app = try stage.watch("shake", "--app", Self.app)
            func lines(of text: String, with words: String) -> Int {
                text.split(separator: "\n").count { $0.contains(words) }
            }
            try stage.until("it is tried for the fourth time") {
                lines(of: stage.bus.errors, with: "Activating service name='org.jostle.Sensors1'") >= 4
            }
            // After one second, two and four.
            #expect(ContinuousClock.now - start > .seconds(6.9))
            _ = try app.terminate()
            #expect(try broker.terminate() == .exited(0))
            let told = lines(of: broker.errors, with: "the sensor reader could not be started")
            #expect(told == 1, "\(broker.errors)")
        }

        /// No system bus at all, or one without a reader.
        @Test(arguments: [true, false]) func withoutOneItsOwnBusCounts(_ isThere: Bool) throws {
            let stage = try Stage(
                source: nil, broker: false,
                services: [Stage.readerService("--source", "synth:")])
            try PrivateBus.with { system in
                try self.startBroker(stage, system: isThere ? system.address : "unix:path=/nonexistent")
                let app = try stage.watch(Stage.always, "--app", Self.app)
                _ = try app.nextEvent()
                #expect(try self.hasReader(stage.address))
            }
        }

        /// Something takes connections in the place of a system bus, and ends each or says nothing.
        @Test(arguments: ["ends", "silent"]) func whatDoesNotGreetIsNoSystemBus(_ fault: String) throws {
            let stage = try Stage(source: nil, broker: false, services: [Stage.readerService("--source", "synth:")])
            let path = "\(stage.bus.directory)/faulty"
            let bus = try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/faulty-bus.py"), path, fault])
            _ = try bus.waitForLine { $0 == "listening" }
            try self.startBroker(stage, system: "unix:path=\(path)")
            let app = try stage.watch(Stage.always, "--app", Self.app)
            _ = try app.nextEvent()
            #expect(try self.hasReader(stage.address))
            #expect(bus.end == nil)
        }

        /// The one for the machine comes while another one is used, and goes again.
        @Test func theBrokerFollowsTheReader() throws {
            let stage = try Stage(broker: false)
            try PrivateBus.with { system in
                try self.startBroker(stage, system: system.address)
                let app = try stage.watch(Stage.always, "--app", Self.app)
                _ = try app.nextEvent()
                #expect(try self.isRunning(stage, on: stage.address))
                let own = stage.reader
                try stage.startReader(Stage.rest, on: system.address)
                try stage.until("the other reader runs") { try self.isRunning(stage, on: system.address) }
                try stage.until("its own stands still") { try !self.isRunning(stage, on: stage.address) }
                _ = try app.nextEvent()
                try stage.kill(stage.reader)
                try stage.until("its own runs again") { try self.isRunning(stage, on: stage.address) }
                // What came before that is not of this reader.
                let delivered = try stage.count("Delivered", at: Stage.Object.app(Self.app))
                try stage.until("events come") {
                    try stage.count("Delivered", at: Stage.Object.app(Self.app)) > delivered
                }
                #expect(try stage.property("RefusedMessages", at: Stage.Object.broker) == "t 0")
                _ = try own?.terminate()
            }
        }

        /// It hangs when the broker comes, for longer than answers are waited for.
        @Test func aReaderThatAnswersLateIsHeard() throws {
            let stage = try Stage(broker: false)
            let reader = try #require(stage.reader)
            try reader.stop()
            try stage.startBroker()
            // Whoever asks behind the broker has given up by then.
            let asked = try Tool.run(
                [
                    "busctl", "--address=\(stage.address)", "--timeout=26", "call", "org.jostle.Sensors1",
                    Stage.Object.sensors, "org.jostle.Sensors1", "ListSensors", "a{sv}", "0",
                ], timeout: .seconds(60))
            #expect(asked.status != 0)
            try reader.signal(SIGCONT)
            let app = try stage.watch(Stage.always, "--app", Self.app)
            _ = try app.nextEvent()
        }

        /// Who found no place at a sensor is told of it whenever there is one. What was said before is no news to the apps.
        @Test func whatIsSaidOnceMoreOfASensorIsNoNewsToApps() throws {
            let stage = try Stage(source: nil)
            let broker = "org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1"
            let app = try stage.startScript(
                "app hear", "app own \(Self.app)", "app call \(broker) Register sa{sv} ['\(Self.app)',{}]",
                "app call org.jostle.Broker1 \(Stage.Object.app(Self.app)) org.jostle.Broker1.App AddDetector sa{sv} "
                    + "['d',{'preset':V('s','shake')}]")
            try app.waitUntilSaid("staying")
            let ping = "r call org.jostle.Broker1 / org.freedesktop.DBus.Peer Ping"
            let said =
                "r send org.jostle.Broker1 \(Stage.Object.sensors) org.jostle.Sensors1 SensorChanged oa{sv} "
                + "['/org/jostle/Sensors1/gyroscope',{'name':V('s','gyroscope'),'channels':V('as',['x','y','z']),"
                + "'unit':V('s','rad/s'),'rates':V('ad',[100.0])}]"
            let reader = try stage.startScript(
                ["r own org.jostle.Sensors1", ping] + (0..<10).flatMap { _ in [said, ping] })
            try reader.waitUntilSaid("staying")
            _ = try stage.script("end send \(try stage.uniqueName(Self.app)) /end org.example.End Ended s ['']")
            _ = try app.waitForLine { $0.contains(" Ended ") }
            #expect(try stage.property("Sensors", at: Stage.Object.broker).contains("gyroscope"))
            let told = app.output.split(separator: "\n").count { $0.contains("\"Detectors\"") }
            #expect((1..<5).contains(told), "\(app.output)")
            for program in [reader, app] { _ = try program.terminate() }
        }

        /// The next one knows nothing of what was claimed.
        @Test(arguments: [["record", "-"], ["scope", "--lines"], ["teach", "x", "--save", "/dev/null"]])
        func aReaderThatLeavesEndsWhoListensToIt(_ arguments: [String]) throws {
            let stage = try Stage(broker: false)
            let program = try BackgroundProgram("jostle", arguments, environment: stage.environment)
            try stage.until("the sensor runs") {
                try stage.property("Running", at: Stage.Object.accelerometer) == "b true"
            }
            try stage.kill(stage.reader)
            #expect(try program.waitForEnd() == .exited(3))
            #expect(program.errors.hasSuffix("jostle: the sensor reader (org.jostle.Sensors1) went away\n"))
        }

        /// A sensor that waits for a change, or has come to its end, says nothing of the time.
        @Test(arguments: [["record", "-", "--sensor", "light"], ["scope", "--lines", "light"]])
        func aSensorThatTellsNothingKeepsNobody(_ arguments: [String]) throws {
            var text = "# jostle trace 1\n# light.unit: lx\n"
            text += "t,accelerometer.x,accelerometer.y,accelerometer.z,light.lux\n"
            for row in 0..<10 { text += "\(row * 20_000),0,0,1,\n" }
            let stage = try Stage(source: nil, broker: false, files: ["dark.csv": text])
            try stage.startReader("trace:\(stage.bus.directory)/dark.csv?loop")
            let result = try stage.jostle(arguments + ["--for", "200ms"])
            #expect(result.status == 0, "\(result)")
            // What there is of it is a trace.
            if arguments[0] == "record" { #expect(result.stdout.hasSuffix("\nt,lux\n"), "\(result)") }
        }

        /// The time of what is played slowly goes slowly, too.
        @Test func aRecordingThatIsPlayedSlowlyIsRecordedToItsEnd() throws {
            var text = "# jostle trace 1\nt,accelerometer.x,accelerometer.y,accelerometer.z\n"
            for row in 0..<150 { text += "\(row * 20_000),0,0,1\n" }
            let stage = try Stage(source: nil, broker: false, files: ["slow.csv": text])
            try stage.startReader("trace:\(stage.bus.directory)/slow.csv?speed=0.2&loop")
            let result = try stage.jostle("record", "-", "--sensor", "accelerometer", "--for", "2s")
            let last = result.stdout.split(separator: "\n").last?.split(separator: ",").first.flatMap { Int($0) }
            #expect(result.status == 0 && last ?? 0 > 1_800_000, "\(result)")
        }

        /// The system bus itself comes later than the broker.
        @Test func aSystemBusThatComesIsFound() throws {
            let stage = try Stage(source: nil, broker: false)
            let later = "\(stage.bus.directory)/later"
            try self.startBroker(stage, system: "unix:path=\(later)")
            let app = try stage.watch(Stage.always, "--app", Self.app)
            try PrivateBus.with { system in
                try stage.startReader(Stage.rest, on: system.address)
                let path = system.address.split(separator: ",")[0].dropFirst("unix:path=".count)
                let link = try Tool.run(["ln", "-s", String(path), later])
                #expect(link.status == 0, "\(link.stderr)")
                _ = try app.nextEvent()
                try stage.kill(stage.reader)
            }
        }

        /// The command line finds the reader of an installation without an option, and keeps to what it is told.
        @Test func commandsFindTheReader() throws {
            let stage = try Stage(source: nil, broker: false)
            try PrivateBus.with { system in
                let environment = ["DBUS_SYSTEM_BUS_ADDRESS": system.address]
                func sensors(_ options: String...) throws -> Tool.Result {
                    try stage.jostle(["sensors"] + options, environment: environment)
                }
                let none = try sensors()
                #expect(
                    none.status == 3 && none.stderr.contains("the sensor reader (org.jostle.Sensors1) is not running"))
                try stage.startReader("synth:rate=50Hz", on: system.address)
                let machine = stage.reader
                for result in try [sensors(), sensors("--bus", "system"), sensors("--sensor-bus", "system")] {
                    #expect(result.status == 0 && result.stdout.contains("accelerometer"), "\(result)")
                }
                let nowhere = try stage.jostle(
                    ["sensors"],
                    environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"]) { $1 })
                #expect(nowhere.status == 0, "\(nowhere)")
                #expect(try sensors("--bus", "session").status == 3)
                let record = try stage.jostle(
                    ["record", "\(stage.bus.directory)/x.csv", "--for", "200ms"], environment: environment)
                #expect(record.status == 0, "\(record)")
                // One that was started by hand on the session bus is the nearer one.
                try stage.startReader(Stage.rest)
                try stage.kill(machine)
                #expect(try sensors().status == 0)
            }
        }

        /// A sensor that is refused costs nobody the trace that is there.
        @Test func aRefusedRecordingLeavesWhatIsThere() throws {
            let stage = try Stage(broker: false, files: ["x.csv": "old"])
            let file = "\(stage.bus.directory)/x.csv"
            func text() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
            let refused = try stage.jostle("record", file, "--rate", "20000Hz")
            #expect(try refused.status == 2 && text() == "old", "\(refused)")
            let recorded = try stage.jostle("record", file, "--for", "200ms")
            #expect(try recorded.status == 0 && text().hasPrefix("# jostle trace 1\n"), "\(recorded)")
            let names = try FileManager.default.contentsOfDirectory(atPath: stage.bus.directory)
            #expect(!names.contains { $0.hasPrefix(".jostle-") }, "\(names)")
        }
    }
}
