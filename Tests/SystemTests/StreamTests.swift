import Glibc
import TestSupport
import Testing

extension Senses {
    /// OpenStream: samples over a descriptor.
    @Suite(.serialized) struct Streams {
        private static let sensor =
            "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor"

        private static func open(_ rate: Double, latency: Int = 0) -> String {
            "\(self.sensor) OpenStream a{sv} [{'rate':V('d',\(rate)),'batch-latency':V('t',\(latency))}]"
        }

        private enum Kind: Int {
            case samples = 1
            case gap
            case caughtUp
        }

        /// A packet that a script read.
        private struct Packet {
            let kind: Kind
            let count: Int
            let sequence: Int
            let times: [Int64]
            let values: [[Double]]

            init?(_ line: String) {
                let words = line.split(separator: " ", maxSplits: 5)
                guard words.count == 6, words[1] == "packet", let kind = Int(words[2]).flatMap(Kind.init),
                    let count = Int(words[3]), let sequence = Int(words[4])
                else { return nil }
                (self.kind, self.count, self.sequence) = (kind, count, sequence)
                let rows = words[5].split(separator: "[").map { row in
                    row.split(whereSeparator: { ",] ".contains($0) }).map(String.init)
                }.filter { !$0.isEmpty }
                self.times = rows.compactMap { Int64($0[0]) }
                self.values = rows.map { $0.dropFirst().compactMap(Double.init) }
            }
        }

        private func packets(_ lines: [String]) -> [Packet] { lines.compactMap(Packet.init) }

        private func row(of name: Substring, _ stage: Stage) throws -> (sent: UInt64, dropped: UInt64)? {
            let words = try stage.property("Claimants", at: Stage.Object.accelerometer).split(separator: " ")
            guard let index = words.firstIndex(of: "\"\(name)\"") else { return nil }
            return (try #require(UInt64(words[index + 3])), try #require(UInt64(words[index + 4])))
        }

        @Test func rowsComeWithTheirTimesAndNumbers() throws {
            let stage = try Stage(broker: false, readerPolicy: Stage.fast)
            let lines = try stage.script("p \(Self.open(400))", "p packets 50")
            let inForce =
                "{\"batch-latency\": 0, \"device-latency\": 0, \"gathering\": \"none\", \"rate\": 400.0, "
                + "\"running\": true, \"stream\": 1}"
            #expect(lines[0] == "p ok [0, \(inForce)]")
            let packets = self.packets(lines)
            #expect(packets.map(\.sequence) == Array(0..<50))
            #expect(packets.allSatisfy { $0.kind == .samples && $0.count == 1 && $0.values[0].count == 3 })
            let times = packets.flatMap(\.times)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 2_500 })
            // Flat on the table.
            #expect(packets.allSatisfy { abs($0.values[0][2] - 1) < 0.3 && abs($0.values[0][0]) < 0.3 })
        }

        @Test func samplesTravelTogether() throws {
            let stage = try Stage(broker: false)
            let lines = try stage.script("p \(Self.open(100, latency: 200_000))", "p packets 10")
            let packets = self.packets(lines)
            // Who wakes late reads more at once, and does not wake late each time.
            #expect(packets.contains { $0.count <= 25 }, "\(packets.map(\.count))")
            var next = 0
            for packet in packets {
                #expect(packet.kind == .samples && packet.sequence == next)
                #expect(packet.count >= 15 && packet.times.count == packet.count)
                next += packet.count
            }
        }

        /// A descriptor has a claim of its own, beside that of its connection and of other descriptors.
        @Test func aStreamIsAClaimOfItsOwn() throws {
            let stage = try Stage(broker: false)
            let claim = "\(Self.sensor) Claim a{sv} [{'rate':V('d',10.0)}]"
            let script = try stage.startScript(
                "p hear", "p \(claim)", "p \(Self.open(25))", "p \(Self.open(50))", "p packets 3", "p drop",
                "p packets 3", "p \(Self.sensor) Release a{sv} [{}]", "p packets 3", "p drop")
            try script.waitUntilSaid("staying")
            let lines = script.output.split(separator: "\n").map(String.init)
            #expect(lines.contains { $0.hasPrefix("p ok ") && $0.contains("\"stream\": 2") })
            let steps = self.packets(lines).compactMap { $0.times.first }
            #expect(steps.count == 9)
            #expect(steps[1] - steps[0] == 20_000 && steps[4] - steps[3] == 40_000)
            // Each change of the device's pace was told for the claim that it concerned, if for any.
            #expect(!lines.contains { $0.contains("ClaimChanged") })
            try stage.until("the last one is gone") {
                try stage.property("Claimants", at: Stage.Object.accelerometer) == "a(sdttta{sv}) 0"
            }
            #expect(try stage.property("Running", at: Stage.Object.accelerometer) == "b false")
        }

        /// People and programs see of each claim what it is, and what is in force for it.
        @Test func claimsShowWhatTheyAre() throws {
            let stage = try Stage(broker: false)
            let claim =
                "\(Self.sensor) Claim a{sv} [{'rate':V('d',10.0),'passive':V('b',True),'decimation':V('s','mean')}]"
            let script = try stage.startScript(
                "p name", "q name", "p \(Self.open(100, latency: 200_000))", "q \(claim)")
            try script.waitUntilSaid("staying")
            let names = script.output.split(separator: "\n").filter { $0.dropFirst().hasPrefix(" name ") }
                .map { String($0.dropFirst("p name ".count)) }
            try #require(names.count == 2)
            let shown = try stage.property("Claimants", at: Stage.Object.accelerometer)
            #expect(shown.hasPrefix("a(sdttta{sv}) 2 \"\(names[0])\" 100 200000 "), "\(shown)")
            let parts = shown.split(separator: "\"\(names[1])\"").map(String.init)
            try #require(parts.count == 2, "\(shown)")
            let (stream, passive) = (parts[0], parts[1])
            #expect(stream.contains("\"stream\" t 1") && !stream.contains("\"passive\""), "\(shown)")
            #expect(stream.contains("\"gathering\" s \"device\""), "\(shown)")
            #expect(passive.contains("\"passive\" b true") && passive.contains("\"decimation\" s \"mean\""), "\(shown)")

            let rows = try stage.jostle("sensors").stdout.split(separator: "\n").map { line in
                line.split(separator: " ").map(String.init)
            }
            let head = ["SENSOR", "CLAIMED", "BY", "OVER", "RATE", "LATENCY", "GATHERED", "DECIMATION", "KIND"]
            #expect(rows.contains { $0.starts(with: head) }, "\(rows)")
            let first = ["accelerometer", names[0], "stream", "1", "100", "Hz", "200ms", "device", "last", "active"]
            #expect(rows.contains { $0.starts(with: first) }, "\(rows)")
            let second = ["accelerometer", names[1], "signals", "10", "Hz", "0", "none", "mean", "passive"]
            #expect(rows.contains { $0.starts(with: second) }, "\(rows)")
            let json = try stage.jostle("sensors", "--json").stdout
            #expect(
                json.contains(
                    "{\"claimant\":\"\(names[0])\",\"stream\":1,\"rate\":100.0,\"batch_latency_us\":200000,"
                        + "\"gathering\":\"device\",\"decimation\":\"last\",\"passive\":false,"), "\(json)")
            #expect(json.contains("{\"claimant\":\"\(names[1])\",\"stream\":null,"), "\(json)")
        }

        /// The device's pace changes through no call of the stream's.
        @Test func whatChangesIsToldWithTheStreamsNumber() throws {
            let trace = Stage.trace((0..<400).map { "\($0 * 20_000),\($0),0,1" })
            let stage = try Stage(source: nil, broker: false, files: ["walk.csv": trace])
            try stage.startReader("trace:\(stage.bus.directory)/walk.csv")
            let lines = try stage.script("p \(Self.open(200))", "p packets 3")
            // A trace has the rate it has.
            #expect(lines[0].contains("\"rate\": 50.0"))
            #expect(self.packets(lines).flatMap(\.values).map { $0[0] } == [0, 1, 2])
        }

        /// Whoever closes the descriptor, or dies, or leaves the bus, claims nothing any more.
        @Test(arguments: ["p drop", "p leave", "p shut", "die"])
        func theEndOfTheReaderIsNoticed(_ end: String) throws {
            let stage = try Stage(broker: false)
            let steps = ["p \(Self.open(100))", "p packets 1"]
            let script = try stage.startScript(end == "die" ? steps : steps + [end, "q name"])
            try script.waitUntilSaid("staying")
            if end == "die" { try stage.kill(script) }
            try stage.until("the sensor stops") {
                try stage.property("Running", at: Stage.Object.accelerometer) == "b false"
            }
        }

        /// A copy of the descriptor keeps the claim, though no longer than the connection that made it.
        @Test func aCopyKeepsTheStream() throws {
            let stage = try Stage(broker: false)
            let script = try stage.startScript("p \(Self.open(50))", "p child", "p drop")
            try script.waitUntilSaid("staying")
            #expect(try stage.property("Running", at: Stage.Object.accelerometer) == "b true")
            try stage.kill(script)
            try stage.until("the sensor stops") {
                try stage.property("Running", at: Stage.Object.accelerometer) == "b false"
            }
        }

        /// What is held back comes when it is asked for, and then the word that it has.
        @Test func whatIsHeldBackCanBeAskedFor() throws {
            let stage = try Stage(broker: false)
            let lines = try stage.script(
                "p hear", "p \(Self.sensor) Claim a{sv} [{'rate':V('d',100.0)}]",
                "q \(Self.open(100, latency: 10_000_000))",
                // Samples that one claimant has had are there for the other.
                "p await 30", "q ask", "q packets 2", "q ask 0000000000000000ffffffffffffffffffffffff", "q packets 1")
            let packets = self.packets(lines)
            #expect(packets[0].kind == .samples && packets[0].sequence == 0 && packets[0].count >= 25)
            #expect(packets[1].kind == .caughtUp && packets[1].sequence == packets[0].count && packets[1].count == 0)
            #expect(packets[2].sequence == packets[0].count)
        }

        @Test func thereIsALimitToStreams() throws {
            let stage = try Stage(broker: false)
            let lines = try stage.script(
                Array(repeating: "p \(Self.open(10))", count: 17) + ["p drop", "q \(Self.open(10))"])
            #expect(lines[..<16].allSatisfy { $0.hasPrefix("p ok ") })
            #expect(lines[16].hasPrefix("p error org.freedesktop.DBus.Error.LimitsExceeded: streams: "))
            #expect(lines[17].hasPrefix("q ok "))
            #expect(try stage.property("Limits", at: Stage.Object.sensors).contains("\"streams\" 16"))
        }

        /// A stage, somebody who reads fast and was stopped before there was anything to read, and another one who goes on.
        private func stageWithAStoppedReader() throws -> (
            stage: Stage, script: BackgroundProgram, name: Substring, other: BackgroundProgram
        ) {
            // A machine that stands still for longer than the gap is a reason to begin anew.
            for _ in 0..<5 {
                // Nothing is read for the first seconds, so that every sample is sent after the stop.
                let stage = try Stage(
                    source: "synth:rate=2000Hz; gap 2s; rest 24h", broker: false, readerPolicy: Stage.fast)
                let script = try stage.startScript("p name", "p \(Self.open(2_000))", "p packets 3000", "p drop")
                let name = try script.waitForLine { $0.hasPrefix("p name ") }.dropFirst("p name ".count)
                _ = try script.waitForLine { $0.hasPrefix("p ok ") }
                try script.stop()
                let other = try stage.startScript("q \(Self.open(100))", "q packets 200")
                let row = try #require(try self.row(of: name, stage))
                if row.sent == 0, row.dropped == 0 { return (stage, script, name, other) }
            }
            throw Failure("the stop came too late each time")
        }

        /// A reader that stops costs its socket's buffer, and nobody else anything.
        @Test func aStoppedReader() throws {
            let (stage, script, name, other) = try self.stageWithAStoppedReader()
            let reader = try #require(stage.reader)
            try stage.until("samples are dropped") { try (self.row(of: name, stage)?.dropped ?? 0) > 100 }
            let sent = try #require(try self.row(of: name, stage)).sent
            // No packet costs less than its 48 bytes, nor more than a kibibyte and a half.
            #expect(sent > 150 && sent * 48 <= 256 << 10, "\(sent)")

            // The other one loses nothing; and the reader sleeps between two samples as before.
            for sequence in 0..<150 {
                let packet = try #require(Packet(try other.waitForLine { $0.hasPrefix("q packet ") }))
                #expect(packet.kind == .samples && packet.sequence == sequence)
            }
            #expect(try self.row(of: name, stage)?.sent == sent)
            #expect(reader.end == nil)

            try script.signal(SIGCONT)
            var next = 0
            var missing = 0
            while true {
                let packet = try #require(Packet(try script.waitForLine { $0.hasPrefix("p packet ") }))
                #expect(packet.sequence == next)
                if packet.kind == .gap {
                    // All that was sent before the stop comes before the first gap; room for a gap need not be room for more.
                    if missing == 0 { #expect(next == Int(sent) && packet.count > 100) }
                    missing += packet.count
                } else if missing > 0 {
                    #expect(packet.kind == .samples)
                    break
                }
                next += packet.count
            }
        }

        /// Faster than 200 Hz needs a word from policy, unless one is the broker; slower needs none.
        @Test func whoReadsFastNeedsARight() throws {
            let policy = "[App org.example.Fast]\nFastestRate=400Hz\n"
            let stage = try Stage(broker: false, readerPolicy: policy)
            let claims = [200.0, 201, 400, 401].flatMap { rate in
                ["\(Self.sensor) Claim a{sv} [{'rate':V('d',\(rate))}]", Self.open(rate)]
            }
            func errors(_ peer: String, _ first: String...) throws -> [Bool] {
                let lines = try stage.script(first + claims.map { "\(peer) \($0)" })
                return lines.map { line in
                    let isRefusal = line.hasPrefix(
                        "\(peer) error org.freedesktop.DBus.Error.AccessDenied: claim: rate ")
                    #expect(isRefusal || line.hasPrefix("\(peer) ok "), "\(line)")
                    #expect(!isRefusal || line.contains("FastestRate"))
                    return isRefusal
                }
            }
            let slow = [false, false]
            let fast = [true, true]
            #expect(try errors("p") == slow + fast + fast + fast)
            #expect(try errors("p", "p own org.example.Slow") == slow + fast + fast + fast)
            #expect(try errors("p", "p own org.example.Fast") == slow + slow + slow + fast)
            #expect(try errors("p", "p own org.jostle.Broker1") == slow + slow + slow + slow)
            // What is asked at once is answered in its order.
            let lines = try stage.script(
                "p hear", "p own org.jostle.Broker1",
                "p burst \(Stage.Object.accelerometer) 400 50 0",
                "p \(Self.sensor) Release a{sv} [{}]")
            #expect(lines.filter { $0.hasPrefix("p ok ") }.map { $0.contains("400") } == [true, false, false, false])
        }

        /// Policy that cannot be read gives nobody a right, and takes nothing from anybody.
        @Test func aBrokenPolicyGivesNoRights() throws {
            let stage = try Stage(broker: false, readerPolicy: "[App *]\nFastestRate=fast\n")
            let lines = try stage.script("p \(Self.open(400))", "p \(Self.open(200))")
            #expect(lines[0].hasPrefix("p error org.freedesktop.DBus.Error.AccessDenied: "))
            #expect(lines[1].hasPrefix("p ok "))
            _ = try stage.reader?.waitForLine(on: .errors) {
                $0.contains("policy is refused") && $0.contains("10-test.conf:2:13")
            }
        }

        /// A broker that needs many samples takes them past the bus, and no look is missed as it changes its way.
        @Test func theBrokerGoesOverToAStreamAndBack() throws {
            let stage = try Stage()
            let pid = try #require(stage.broker).pid
            func sockets() throws -> Int {
                let list = try Tool.run(["ls", "-l", "/proc/\(pid)/fd"]).stdout
                return list.split(separator: "\n").count { $0.contains("socket:") }
            }
            let slow = try stage.watch("\(Stage.always),name=slow", "--app", "org.example.Slow")
            var times: [Double] = []
            func look(_ count: Int) throws {
                for _ in 0..<count { times.append(try #require(number("t_us", of: try slow.nextEvent()))) }
            }
            try look(3)
            let before = try sockets()
            let fast = try stage.watch("\(Stage.always),every=10ms,name=fast", "--app", "org.example.Fast")
            _ = try fast.nextEvent()
            #expect(try sockets() == before + 1)
            try stage.until("there is one claim") {
                let claimants = try stage.property("Claimants", at: Stage.Object.accelerometer)
                return claimants.hasPrefix("a(sdttta{sv}) 1 ") && claimants.contains("\" 100 0 ")
            }
            try look(5)
            try stage.kill(fast)
            try stage.until("the stream is closed") { try sockets() == before }
            #expect(try stage.property("Claimants", at: Stage.Object.accelerometer).contains("\" 10 0 "))
            try look(5)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 <= 200_000 }, "\(times)")
            let sensors = try stage.property("Sensors", at: Stage.Object.broker)
            #expect(sensors.contains("\"lost\" t 0 "), "\(sensors)")
        }

        /// What is there to read of a stream is heard before what takes its place: another stream, or signals.
        @Test(arguments: [true, false]) func nothingUnreadIsLeftInAStream(_ isAnother: Bool) throws {
            let stage = try Stage(source: nil)
            let broker = try #require(stage.broker)
            let script = ["/usr/bin/python3", Programs.source("Tests/Scripts/reader.py")]
            let reader = try BackgroundProgram(tool: script + [stage.address, "\(broker.pid)"])
            _ = try reader.waitForLine { $0 == "ready" }
            try stage.until("the sensor is there") {
                try stage.property("Sensors", at: Stage.Object.broker).contains("accelerometer")
            }
            let slow = try stage.watch("\(Stage.always),name=slow", "--app", "org.example.Slow")
            let fast = try stage.watch("\(Stage.always),every=10ms,name=fast", "--app", "org.example.Fast")
            func untilReceived(_ count: Int) throws {
                try stage.until("\(count) samples were heard") {
                    let sensors = try stage.property("Sensors", at: Stage.Object.broker)
                    return sensors.contains("\"received\" t \(count) ") && sensors.contains("\"lost\" t 0 ")
                }
            }
            try untilReceived(5)
            var faster: BackgroundProgram?
            if isAnother {
                faster = try stage.watch("\(Stage.always),every=5ms,name=faster", "--app", "org.example.Faster")
            } else {
                try stage.kill(fast)
            }
            let sent = try reader.waitForLine { $0.hasPrefix("sent ") }
            #expect(sent == (isAnother ? "sent 160" : "sent 155"))
            try untilReceived(isAnother ? 160 : 155)
            _ = (slow, fast, faster)
            _ = try reader.terminate()
        }

        @Test func theExampleReads() throws {
            let stage = try Stage(broker: false, readerPolicy: Stage.fast)
            let example = Programs.source("docs/examples/stream.py")
            let result = try stage.run(["python3", example, "accelerometer", "400", "100"])
            #expect(result.status == 0, "\(result.stderr)")
            let rows = result.stdout.split(separator: "\n").map { $0.split(separator: " ").compactMap { Double($0) } }
            #expect(rows.count == 100 && rows.allSatisfy { $0.count == 4 })
            #expect(zip(rows, rows.dropFirst()).allSatisfy { abs($1[0] - $0[0] - 0.0025) < 1e-5 })
            let wrong = try stage.run(["python3", example, "accelerometer", "0"])
            #expect(wrong.status == 1 && wrong.stderr.contains("rate 0.0 Hz is outside"), "\(wrong)")
        }
    }
}
