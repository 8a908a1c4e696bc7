import DetectionModel
import Glibc
import Motion
import Testing

@testable import Detection
import Randomness

/// What a stream may do to the engine, and what not.
@Suite struct StreamTests {
    private func engine(_ condition: String, _ options: [String: OptionValue] = ["rest-mode": .text("none")]) throws
        -> DetectionEngine
    {
        DetectionEngine([try detector(condition, options)])
    }

    private func feed(
        _ engine: inout DetectionEngine, _ rows: [(Int64, Double)], arrival: Timestamp? = nil
    ) -> [Int64] {
        var hits: [Hit] = []
        let times = rows.map(\.0)
        let values = rows.flatMap { row -> [Double] in [row.1, 0, 0] }
        engine.process(times: times.span, values: values.span, arrival: arrival, hits: &hits)
        return hits.map(\.time.microseconds)
    }

    @Test func repeatedBackwardFutureAndUndefinedSamplesAreRefused() throws {
        var engine = try self.engine("x > 1g")
        let hits = self.feed(
            &engine,
            [
                (1_000, 2), (1_000, 2), (900, 2), (2_000, .nan), (3_000, .infinity), (4_000, -.infinity), (5_000, 2),
                (-7, 2), (.min, 2), (.max, 2), (1_500_000, 2), (6_000, 2),
            ], arrival: Timestamp(microseconds: 400_000))
        #expect(hits == [1_000, 5_000, 6_000])
        #expect(engine.counters.refusedSamples == 9 - 0)
    }

    @Test func incompleteRowsAreRefused() throws {
        var engine = try self.engine("x > 1g")
        var hits: [Hit] = []
        let times: [Int64] = [1, 2, 3]
        let values: [Double] = [2, 0, 0, 2, 0]
        engine.process(times: times.span, values: values.span, hits: &hits)
        #expect(hits.count == 1)
        #expect(engine.counters.refusedSamples == 2)
        var empty = DetectionEngine(channels: [])
        empty.process(times: times.span, values: values.span, hits: &hits)
        #expect(empty.counters.refusedSamples == 3)
    }

    @Test func aMissingChannelIsUndefined() throws {
        var engine = DetectionEngine(channels: ["x"])
        engine.add(try detector("norm(x, y, z) < 5g"), as: DetectorID(0), at: .zero)
        var hits: [Hit] = []
        let times: [Int64] = [1]
        engine.process(times: times.span, values: [1.0].span, hits: &hits)
        #expect(hits.isEmpty)
    }

    @Test func nothingIsDetectedAcrossAGap() throws {
        var engine = try self.engine("held(x > 1g, 1s)")
        #expect(self.feed(&engine, [(0, 2), (600_000, 2), (1_200_000, 2)]) == [1_200_000])
        #expect(self.feed(&engine, [(2_300_000, 2), (2_900_000, 2)]) == [])
        #expect(engine.counters.gaps == 1)
        #expect(self.feed(&engine, [(3_300_000, 2)]) == [3_300_000])
        engine.gap()
        #expect(self.feed(&engine, [(3_400_000, 2)]) == [])
    }

    @Test func aGapBeginsANewGrid() throws {
        var engine = try self.engine("x > 1g", ["every": .text("100ms"), "rest-mode": .text("none")])
        #expect(
            self.feed(&engine, [(0, 2), (40_000, 2), (110_000, 2), (190_000, 2), (200_000, 2)]) == [
                0, 110_000, 200_000,
            ])
        #expect(self.feed(&engine, [(2_050_000, 2), (2_140_000, 2), (2_150_000, 2)]) == [2_050_000, 2_150_000])
    }

    @Test func restsOutliveGapsAndIdleTime() throws {
        var engine = try self.engine("x > 1g", ["rest": .text("24h")])
        #expect(self.feed(&engine, [(1, 2), (600_000_000, 2), (86_400_000_000, 2)]) == [1])
        #expect(self.feed(&engine, [(86_400_000_001, 2), (86_400_000_002, 2)]) == [86_400_000_001])
        #expect(self.feed(&engine, [(.max / 2, 2)]) == [.max / 2])
    }

    @Test func meanAndPeakLookWhenTheirBucketCloses() throws {
        let options: [String: OptionValue] = ["every": .text("100ms"), "rest-mode": .text("none")]
        var mean = try self.engine("x > 1g", options.merging(["decimation": .text("mean")]) { $1 })
        var peak = try self.engine("x < -1g", options.merging(["decimation": .text("peak")]) { $1 })
        let rows: [(Int64, Double)] = [(0, 2), (50_000, 0.5), (100_000, 0), (150_000, -3), (320_000, 4)]
        #expect(self.feed(&mean, rows) == [100_000])
        #expect(self.feed(&peak, rows) == [200_000])
        var hits: [Hit] = []
        mean.tick(to: Timestamp(microseconds: 399_999), hits: &hits)
        #expect(hits.isEmpty)
        mean.tick(to: Timestamp(microseconds: 400_000), hits: &hits)
        #expect(hits == [Hit(detector: DetectorID(0), time: Timestamp(microseconds: 400_000), peak: 4)])
        mean.tick(to: Timestamp(microseconds: .max), hits: &hits)
        #expect(hits.count == 1)
    }

    @Test func bucketsCloseInTheOrderOfTimeAndId() throws {
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        for (index, every) in [70, 30, 50, 70].enumerated() {
            engine.add(
                try detector(
                    "x > 1g",
                    ["every": .count(UInt64(every) * 1_000), "decimation": .text("mean"), "rest-mode": .text("none")]),
                as: DetectorID(UInt32(index)), at: .zero)
        }
        engine.add(try detector("x > 1g", ["rest-mode": .text("none")]), as: DetectorID(4), at: .zero)
        var hits: [Hit] = []
        let times: [Int64] = [0, 70_000]
        engine.process(times: times.span, values: [2.0, 0, 0, 2, 0, 0].span, hits: &hits)
        #expect(
            hits.map { [$0.time.microseconds, Int64($0.detector.index)] } == [
                [0, 4], [30_000, 1], [50_000, 2], [70_000, 0], [70_000, 3], [70_000, 4],
            ])
    }

    @Test func mutedSamplesAreNotSeen() throws {
        var engine = try self.engine("x > 1g")
        engine.mute(until: Timestamp(microseconds: 5_000))
        engine.mute(until: Timestamp(microseconds: 3_000))
        #expect(self.feed(&engine, [(1_000, 2), (4_999, 2), (5_000, 2)]) == [5_000])
        #expect(engine.counters.mutedSamples == 2)
    }

    /// A hit says whether a sample that bears on it lay at the limit of the range.
    @Test func samplesAtTheLimitMarkTheHits() throws {
        func clipped(_ condition: String, _ rows: [(Int64, Double)], range: Double? = 4) throws -> [Bool] {
            var engine = DetectionEngine(channels: ["x", "y", "z"], range: range)
            engine.add(try detector(condition, ["rest-mode": .text("none")]), as: DetectorID(0), at: .zero)
            var hits: [Hit] = []
            let times = rows.map(\.0)
            let values = rows.flatMap { row -> [Double] in [0, row.1, 0] }
            engine.process(times: times.span, values: values.span, hits: &hits)
            return hits.map(\.isClipped)
        }
        let rows: [(Int64, Double)] = [(0, 2), (20_000, 3.95), (40_000, -3.97), (60_000, 4), (80_000, 3), (500_000, 3)]
        #expect(try clipped("abs(y) > 1g", rows) == [false, false, true, true, false, false])
        #expect(try clipped("peak(y, 100ms) > 1g", rows) == [false, false, true, true, true, false])
        #expect(try clipped("held(peak(y, 100ms) > 1g, 400ms)", rows) == [true])
        #expect(try clipped("abs(y) > 1g", rows, range: nil) == Array(repeating: false, count: 6))
        #expect(try clipped("abs(y) > 1g", [(0, 4), (2_000_000, 2)]) == [true, false])
        for range in [0, -1, .nan, .infinity] as [Double] {
            #expect(try clipped("abs(y) > 1g", rows, range: range) == Array(repeating: false, count: 6))
        }

        // A bucket that held such a sample is one; the range can become known later.
        var engine = DetectionEngine([
            try detector(
                "abs(y) > 1g", ["every": .text("100ms"), "decimation": .text("mean"), "rest-mode": .text("none")])
        ])
        engine.setRange(4)
        var hits: [Hit] = []
        let times: [Int64] = [0, 10_000, 110_000, 250_000]
        let values = [0.0, 4, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0]
        engine.process(times: times.span, values: values.span, hits: &hits)
        #expect(hits.map(\.isClipped) == [true, false])
    }

    @Test func aClockThatStartsAtRegistrationDelaysTheFirstHit() throws {
        for mode in ["leading", "restarting"] {
            var engine = DetectionEngine(channels: ["x", "y", "z"])
            engine.add(
                try preset("shake.axis", ["every": .text("1ms"), "rest-mode": .text(mode)]), as: DetectorID(0),
                at: Timestamp(microseconds: 10_000_000))
            let early = self.feed(&engine, [(10_500_000, 0), (10_900_000, 3), (10_999_999, 0), (11_000_000, 3)])
            #expect(early == (mode == "leading" ? [11_000_000] : []))
        }
    }

    /// A clock that is two in a hundred off, and a sensor that changes its rate, show the shakes that there are.
    @Test(arguments: ["shake", "shake.planar", "shake.magnitude"], [UInt64(1), 2, 3])
    func neitherDriftNorAnotherRateLosesAShake(_ name: String, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let peaks = (0..<100).map { _ in random.chance(0.5) ? random.uniform(2.3...4) : random.uniform(0.2...1.9) }
        let expected = peaks.indices.filter { peaks[$0] > 2 }
        /// The shakes that are found: one each four seconds, of a second.
        func found(clock: Double, _ rate: (_ time: Double) -> Double) throws -> [Int] {
            let options: [String: OptionValue] = [
                "threshold": .number(2), "every": .text("5ms"), "rest": .text("1200ms"),
            ]
            var engine = DetectionEngine([try preset(name, options)])
            var block = SampleBlock(channels: 3)
            var time = 0.0
            while time < 400 {
                let (index, phase) = (Int(time / 4), time.truncatingRemainder(dividingBy: 4))
                let x = phase < 1 ? peaks[index] * sin(2 * .pi * 2.5 * phase) : 0
                block.append(Timestamp.zero + (TimeSpan(seconds: time * clock) ?? .zero), [x, 0, 0])
                time += 1 / rate(time)
            }
            let hits = engine.run(block).map { Int(Double($0.time.microseconds) / clock / 4_000_000) }
            #expect(engine.counters.gaps == 0 && engine.counters.refusedSamples == 0)
            return Set(hits).sorted()
        }
        #expect(try found(clock: 1) { _ in 100 } == expected)
        for clock in [0.98, 1.02] { #expect(try found(clock: clock) { _ in 100 } == expected, "clock \(clock)") }
        // To and fro, in the middle of shakes, too.
        #expect(try found(clock: 1) { Int($0 * 10) % 7 < 3 ? 50 : 200 } == expected)
        #expect(try found(clock: 1) { $0 < 200.5 ? 50 : 200 } == expected)
    }

    /// Detectors defined by time constants give the same answer whatever the rate and its jitter.
    @Test(arguments: [10.0, 25, 50, 100, 400], [0.0, 0.3])
    func timeConstantsDoNotDependOnTheRate(rate: Double, jitter: Double) throws {
        // A step of 2 g passes 1.2641 g, that is 2·(1 - 1/e), after one time constant; half of it after ln 2 of it.
        var engine = DetectionEngine([
            try detector("lowpass(x, 500ms) > 1.2641g"), try detector("lowpass(x, 500ms) > 1g"),
            try detector("held(x > 1g, 600ms)"), try detector("fraction(x > 1g, 500ms) > 50%"),
            try detector("mean(x, 1s) > 1g"),
        ])
        var random = SeededRandom(seed: 77)
        var block = SampleBlock(channels: 3)
        var time = 0.0
        while time < 6 {
            block.append(Timestamp.zero + (TimeSpan(seconds: time) ?? .zero), [time < 3 ? 0 : 2, 0, 1])
            time += (1 + random.uniform(-jitter...jitter)) / rate
        }
        let hits = engine.run(block)
        for (index, delay) in [0.5, 0.3466, 0.6, 0.25, 0.5].enumerated() {
            let first = hits.first { $0.detector.index == UInt32(index) }
            let late = Double(first?.time.microseconds ?? 0) / 1_000_000 - 3 - delay
            // One interval to see the step and one to see the crossing; a window's slices are 1/32 of it.
            #expect(late > -1.3 / rate - 0.035 && late < 2.6 / rate + 0.035, "detector \(index) is \(late) s late")
        }
    }
}
