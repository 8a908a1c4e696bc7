import Detection
import Motion
import Randomness
import Replay
import SensorCore
import Testing

/// The sensor `motion` of traces that have none: as the reader makes it.
@Suite struct FusedTraceTests {
    private struct Row {
        var time: Int64
        var acceleration: SIMD3<Double>
        var rotation: SIMD3<Double>?
    }

    /// Motion at 50 Hz of a device that is turned and shaken, with a gap of 3 s in it.
    private func rows(_ seed: UInt64, turned: Bool) -> [Row] {
        var random = SeededRandom(seed: seed)
        var time: Int64 = 1_000_000
        return (0..<600).map { index in
            time += index == 400 ? 3_000_000 : 20_000
            func value(_ size: Double) -> SIMD3<Double> {
                SIMD3(random.uniform(-size...size), random.uniform(-size...size), random.uniform(-size...size))
            }
            return Row(time: time, acceleration: value(0.8) + SIMD3(0, 0, 1), rotation: turned ? value(3) : nil)
        }
    }

    private func text(_ rows: [Row], turned: Bool) -> String {
        let names = ["accelerometer"] + (turned ? ["gyroscope"] : [])
        let columns = names.flatMap { name in ["x", "y", "z"].map { "\(name).\($0)" } }
        var text = "# jostle trace 1\n# accelerometer.unit: g\n" + (turned ? "# gyroscope.unit: rad/s\n" : "")
        text += "t,\(columns.joined(separator: ","))\n"
        for row in rows {
            let values = [row.acceleration] + (row.rotation.map { [$0] } ?? [])
            text += "\(row.time)," + values.map { "\($0.x),\($0.y),\($0.z)" }.joined(separator: ",") + "\n"
        }
        return text
    }

    private static let requests = [
        DetectorRequest(name: "jolt", options: ["when": .text("norm(user) > 0.9g"), "sensor": .text("motion")]),
        DetectorRequest(
            name: "turned", options: ["when": .text("abs(roll) > 100deg"), "sensor": .text("motion")]),
    ]

    /// What the fusion makes of the rows, and the engine of that.
    private func expected(_ rows: [Row], turned: Bool) throws -> [Hit] {
        let channels = SensorDescription.channels(of: SensorDescription.motion)
        var engine = DetectionEngine(channels: channels)
        for (index, request) in Self.requests.enumerated() {
            engine.add(
                try DetectorCompiler.compile(request, for: nil), as: DetectorID(UInt32(index)),
                at: Timestamp(microseconds: rows[0].time))
        }
        var fusion = MotionFusion()
        fusion.isFollowed = turned
        var (block, last) = (SampleBlock(channels: channels.count), rows[0].time)
        for row in rows {
            if let rotation = row.rotation { fusion.rotate(rotation, at: Timestamp(microseconds: row.time)) }
            if row.time - last > 1_000_000 { fusion.gap() }
            last = row.time
            fusion.accelerate(row.acceleration, at: Timestamp(microseconds: row.time))
            while let time = fusion.next() { block.append(time, fusion.row.span) }
        }
        fusion.isFollowed = false
        while let time = fusion.next() { block.append(time, fusion.row.span) }
        var hits: [Hit] = []
        engine.process(times: block.times.span, values: block.values.span, hits: &hits)
        return hits
    }

    @Test(arguments: someSeeds(UInt64(1)...6), [false, true])
    func itIsMadeAsTheReaderMakesIt(_ seed: UInt64, _ turned: Bool) throws {
        let rows = self.rows(seed, turned: turned)
        let expected = try self.expected(rows, turned: turned)
        #expect(expected.count > 5)
        let bytes = Array(self.text(rows, turned: turned).utf8)
        for chunk in [bytes.count, 4_096, 77] {
            var replay = TraceReplay(Self.requests)
            var hits: [TraceReplay.NamedHit] = []
            for start in stride(from: 0, to: bytes.count, by: chunk) {
                try replay.feed(bytes.span.extracting(start..<min(bytes.count, start + chunk))) { hits.append($0) }
            }
            try replay.finish { hits.append($0) }
            #expect(hits.map(\.time) == expected.map(\.time), "seed \(seed), \(chunk) bytes")
            #expect(hits.map(\.detector) == expected.map { Self.requests[Int($0.detector.index)].name })
            #expect(replay.samples == rows.count && replay.refused == 0)
        }
    }

    /// Beside the accelerometer itself, in the order of their times; and a shake that only it finds.
    @Test func aGentleShakeIsFoundWhereGravityHidesIt() throws {
        let trace = try Made.trace("gravity=y; rest 3s; shake 1500ms peak=0.8g axis=x; rest 3s", seconds: 8)
        let requests = ["shake", "shake.sensitive", "shake.gentle"].map { name in
            name == "shake.sensitive"
                ? DetectorRequest(
                    name: name, options: ["preset": .text("shake"), "sensitivity": .text("sensitive")])
                : DetectorRequest(name: name, options: ["preset": .text(name)])
        }
        var replay = TraceReplay(requests)
        var times: [Timestamp] = []
        try replay.feed(trace.span) { times.append($0.time) }
        try replay.finish { times.append($0.time) }
        #expect(replay.tallies.map(\.hits) == [0, 0, 1])
        #expect(times.allSatisfy { $0 > .seconds(3) && $0 < .seconds(5) })
    }

    @Test func whatHasNoAccelerometerHasNoMotion() {
        var replay = TraceReplay(Self.requests)
        let bytes = Array("# jostle trace 1\n# light.unit: lx\nt,light.lux\n0,1\n".utf8)
        #expect(throws: TraceReplay.Problem.self) { try replay.feed(bytes.span) { _ in } }
    }
}

extension Timestamp {
    fileprivate static func seconds(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }
}
