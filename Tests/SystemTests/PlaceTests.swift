import Glibc
import TestSupport
import Testing

extension Senses {
    /// Whoever fills the reader, or asks it for more than may be had, takes nothing from the broker and its apps.
    @Suite(.serialized) struct Places {
        private static let claim =
            "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor Claim a{sv} "
            + "[{'rate':V('d',0.01)}]"

        private func fill(_ stage: Stage) throws -> BackgroundProgram {
            let script = try stage.startScript((0...1_024).map { "p\($0) \(Self.claim)" })
            try self.waitUntilFull(script)
            let last = try script.waitForLine { $0.hasPrefix("p1024 ") }
            try #require(last.contains("LimitsExceeded: claimants is at its limit of 1024"), "\(last)")
            return script
        }

        /// Waits until a script has made all claims that may be made. Each claim has its time, however many there are.
        private func waitUntilFull(_ script: BackgroundProgram) throws {
            for count in stride(from: 63, to: 1_024, by: 64) {
                _ = try script.waitForLine { $0.hasPrefix("p\(count) ") }
            }
        }

        /// As many claims as there can be, all of root's, and then the broker comes.
        @Test func theBrokersPlaceIsKept() throws {
            let stage = try Stage(broker: false)
            let crowd = try self.fill(stage)
            try stage.startBroker()
            let app = try stage.watch(Stage.always)
            _ = try app.nextEvent()
            // A list has 64 of them, and the command asks for the next until there is none.
            let row = try stage.property("Claimants", at: Stage.Object.accelerometer)
            #expect(row.split(separator: "\"claim\"").count - 1 == 64)
            let all = try stage.jostle("sensors", "--json").stdout
            #expect(all.split(separator: "\"claimant\":").count - 1 == 1_025, "\(all.prefix(400))")
            try stage.kill(crowd)
        }

        /// A broker on another bus is a claimant as others are: what keeps it from the sensor is said, and when that is gone it
        /// goes on at once.
        @Test func aRefusedBrokerSaysSoAndGoesOnWhenItCan() throws {
            let sensors = try Stage(broker: false)
            let crowd = try self.fill(sensors)
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker("--sensor-bus", sensors.address)
            let app = try stage.watch(Stage.always, "--app", "org.example.App")
            func state() throws -> String { try stage.property("Sensors", at: Stage.Object.broker) }
            try stage.until("the refusal") { try state().contains("\"state\" s \"refused\"") }
            let object = Stage.Object.app("org.example.App")
            #expect(try stage.property("Detectors", at: object).contains("\"available\" b false"))
            let answer = try stage.jostle("why-not", "org.example.App").stdout
            #expect(answer.contains("it cannot fire") && answer.contains("claimants"), "\(answer)")
            let status = try stage.jostle("status").stdout
            #expect(status.contains("refused") && status.contains("claimants is at its limit"), "\(status)")
            try sensors.kill(crowd)
            _ = try app.nextEvent()
            #expect(try stage.property("Detectors", at: object).contains("\"available\" b true"))
            #expect(try state().contains("\"state\" s \"ready\""))
        }

        /// Whoever is told of a place claims it: told when there is none, he would never stop.
        @Test func whoIsRefusedIsToldOfAPlaceWhenThereIsOne() throws {
            let stage = try Stage(broker: false)
            let last = "p1024 \(Self.claim)"
            let script = try stage.startScript(
                ["p1024 hear SensorChanged"] + (0..<1_024).map { "p\($0) \(Self.claim)" } + [last, last]
                    + ["say free", "p0 leave", "p1024 await 1", last])
            try self.waitUntilFull(script)
            try script.waitUntilSaid("staying")
            let lines = script.output.split(separator: "\n").map(String.init).prefix { $0 != "staying" }
            let (place, told) = (lines.firstIndex(of: "free"), lines.firstIndex { $0.hasPrefix("p1024 heard") })
            #expect(try #require(place) < #require(told), "\(lines.suffix(6))")
            #expect(lines.last?.hasPrefix("p1024 ok") == true, "\(lines.suffix(6))")
        }

        /// A reader that gives the broker no more than anybody, and an app that wants more.
        @Test func whoWantsTooMuchTakesNothingFromOthers() throws {
            let sensors = try Stage(source: "synth:seed=1; noise=0.05g; gravity=z", broker: false, readerPolicy: "")
            let stage = try Stage(source: nil, broker: false)
            try stage.startBroker("--sensor-bus", sensors.address)
            let greedy = try stage.watch("\(Stage.always),every=1ms", "--app", "org.example.Greedy")
            let other = try stage.watch(Stage.always, "--app", "org.example.Other")
            _ = try greedy.nextEvent()
            _ = try other.nextEvent()
            let detectors = try stage.property("Detectors", at: Stage.Object.app("org.example.Greedy"))
            #expect(detectors.contains("\"effective-rate\" d 200"), "\(detectors)")
            #expect(detectors.contains("at 200.0 Hz at most"), "\(detectors)")
            #expect(!(try stage.property("Detectors", at: Stage.Object.app("org.example.Other"))).contains("at most"))
        }

        /// The caller itself is refused, unless it says that less will do.
        @Test func lessIsGivenToWhoTakesIt() throws {
            let stage = try Stage(broker: false, readerPolicy: "[App org.example.Fast]\nFastestRate=300Hz\n")
            func claim(_ more: String) -> String {
                "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor Claim a{sv} "
                    + "[{'rate':V('d',400.0)\(more)}]"
            }
            let slower = ",'or-slower':V('b',True)"
            let lines = try stage.script(
                "p \(claim(""))", "p \(claim(slower))", "q own org.example.Fast", "q \(claim(slower))",
                "b own org.jostle.Broker1", "b \(claim(slower))")
            #expect(lines[0].contains("AccessDenied") && lines[0].contains("200.0 Hz"), "\(lines[0])")
            #expect(lines[1].contains("\"allowed\": 200.0") && lines[1].contains("\"rate\": 200.0"), "\(lines[1])")
            let answers = lines.filter { $0.contains("\"rate\"") }
            try #require(answers.count == 3, "\(lines)")
            #expect(answers[1].contains("\"allowed\": 300.0"), "\(answers[1])")
            #expect(answers[1].contains("\"rate\": 300.0"), "\(answers[1])")
            #expect(!answers[2].contains("allowed") && answers[2].contains("\"rate\": 400.0"), "\(answers[2])")
        }

        /// However many apps policy names, the fastest rate counts among those of the names that somebody has.
        @Test func whoHasSeveralNamesHasTheFastestRate() throws {
            let rates = [("Fast", 300), ("Faster", 350), ("Fastest", 390)] + (0..<2_000).map { ("Absent\($0)", 380) }
            let policy = rates.map { "[App org.example.\($0.0)]\nFastestRate=\($0.1)Hz\n" }.joined()
            let stage = try Stage(broker: false, readerPolicy: policy)
            let claim =
                "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor Claim a{sv} "
                + "[{'rate':V('d',400.0),'or-slower':V('b',True)}]"
            let lines = try stage.script(
                "o own org.example.Fastest", "p own org.example.Faster", "p own org.example.Fast", "p \(claim)",
                "q own org.example.Absent1999", "q \(claim)", "r \(claim)")
            let allowed = lines.filter { $0.contains("\"allowed\"") }
            try #require(allowed.count == 3, "\(lines)")
            for (line, rate) in zip(allowed, ["350.0", "380.0", "200.0"]) {
                #expect(line.contains("\"allowed\": \(rate)"), "\(line)")
            }
        }

        /// What somebody would have to write first is no trace, for whoever reads one.
        @Test(arguments: ["walk.csv", "walk.gpx", "walk.nmea"])
        func aPipeIsNoTrace(_ name: String) throws {
            let stage = try Stage(source: nil, broker: false)
            let path = "\(stage.bus.directory)/\(name)"
            try #require(mkfifo(path, 0o600) == 0)
            let reader = try BackgroundProgram(
                "jostle-sensord", ["--bus", stage.address, "--source", "trace:\(path)"])
            #expect(try reader.waitForEnd() == .exited(2))
            #expect(reader.errors.contains("no regular file"), "\(reader.errors)")
            let replay = try BackgroundProgram("jostle", ["replay", path, "--detector", "shake"])
            #expect(try replay.waitForEnd() == .exited(2))
            #expect(replay.errors.contains("no regular file"), "\(replay.errors)")
        }
    }
}
