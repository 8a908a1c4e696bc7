import DetectionModel
import Motion
import Testing

@testable import Detection
import Randomness

/// Detectors come, are replaced and go while samples flow.
@Suite struct RegistrationTests {
    @Test(arguments: someSeeds(1...8))
    func comingAndGoingAgreesWithPlainDetectors(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let block = Motions.accelerometer(seed: seed, .init(rate: 100, seconds: 8, shaking: 1))
        let texts: [(String, PlainDetector.Rule)] = [
            ("hypot(x, y)", .planar), ("max(abs(x), abs(y), abs(z))", .axis), ("norm(x, y, z)", .magnitude),
        ]
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        var plain: [UInt32: PlainDetector] = [:]
        var hits: [Hit] = []
        var expected: [Hit] = []
        for row in 0..<block.count {
            for _ in 0..<(row == 0 ? 400 : random.chance(0.1) ? 20 : 0) {
                let id = UInt32.random(in: 0..<320, using: &random)
                if random.chance(0.4) {
                    engine.remove(DetectorID(id))
                    plain[id] = nil
                    continue
                }
                let (text, rule) = texts.randomElement(using: &random) ?? texts[0]
                // Few different thresholds and rests, so that many entries are equal.
                let threshold = Double(Int.random(in: 2...24, using: &random)) / 4
                let rest = Int64(Int.random(in: 0...4, using: &random)) * 250_000
                let mode = RestMode.allCases.randomElement(using: &random) ?? .none
                // A second, redundant comparison makes it a compound condition.
                let suffix = random.chance(0.3) ? " and z > -100g" : ""
                engine.add(
                    try detector(
                        "\(text) > \(threshold)g\(suffix)",
                        ["rest": .count(UInt64(rest)), "rest-mode": .text(mode.rawValue)]), as: DetectorID(id),
                    at: .zero)
                plain[id] = PlainDetector(
                    id: DetectorID(id), rule: rule, threshold: threshold, every: nil, rest: rest, mode: mode)
            }
            for id in plain.keys.sorted() {
                let values = Array(block.values[row * 3..<row * 3 + 3])
                if let hit = plain[id]?.sample(block.times[row], values[0], values[1], values[2]) {
                    expected.append(hit)
                }
            }
            engine.process(
                times: block.times.span.extracting(row..<row + 1),
                values: block.values.span.extracting(row * 3..<row * 3 + 3), hits: &hits)
            if row % 200 == 0 {
                let agrees = plain.allSatisfy { id, detector in
                    let status = engine.status(of: DetectorID(id))
                    return status?.isTrue == (detector.peak != nil)
                        && status?.lastTrue?.microseconds == detector.lastTrue
                }
                #expect(agrees, "seed \(seed) row \(row)")
            }
        }
        // A peak counts from when the comparison became true, which can be before the registration; times do not.
        #expect(
            hits.map { [$0.time.microseconds, Int64($0.detector.index)] }
                == expected.map { [$0.time.microseconds, Int64($0.detector.index)] }, "seed \(seed)")
        #expect(!expected.isEmpty)
        for id in plain.keys { engine.remove(DetectorID(id)) }
        #expect(engine.neededRate == nil)
        #expect(engine.statefulFeatures == 0)
    }

    @Test func equalFeaturesExistOnceAndGoWithTheirLastUser() throws {
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        for index in 0..<UInt32(100) {
            engine.add(try detector("norm(user) > \(index + 1)g"), as: DetectorID(index), at: .zero)
        }
        #expect(engine.statefulFeatures == 3)
        engine.add(try detector("norm(user) > 1g", ["every": .text("100ms")]), as: DetectorID(100), at: .zero)
        #expect(engine.statefulFeatures == 6)
        #expect(engine.paces == 2)
        #expect(engine.hasPace(of: try preset("shake.planar")))
        #expect(!engine.hasPace(of: try preset("shake.axis")))
        for index in 0..<UInt32(100) { engine.remove(DetectorID(index)) }
        #expect(engine.statefulFeatures == 3)
        #expect(engine.neededRate == 10)
    }

    /// Who comes while others like it rest is hit as if it were alone, and so is who comes later still.
    @Test func whoComesDoesNotRestWithOthers() throws {
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        func add(_ id: UInt32) throws {
            engine.add(try preset("shake", ["rest": .text("1h")]), as: DetectorID(id), at: .zero)
        }
        func shaken(at second: Double) -> [UInt32] {
            let shake = trace(rate: 50, seconds: 1, from: second) { t in
                (3 * Mathematics.sineAndCosine(8 * .pi * t).sine, 0, 1)
            }
            return engine.run(shake).map(\.detector.index)
        }
        for id in 0..<UInt32(3) {
            try add(id)
            let hit = shaken(at: 10 + 10 * Double(id))
            #expect(hit == [id])
        }
        // These two came since the same hit, and share what they look for.
        let before = engine.statefulFeatures
        try add(3)
        let one = engine.statefulFeatures
        try add(4)
        #expect(one > before && engine.statefulFeatures == one)
        let both = shaken(at: 50)
        #expect(both == [3, 4])
        let all = shaken(at: 4_000)
        #expect(all == [0, 1, 2, 3, 4])
        for id in 0..<UInt32(5) { engine.remove(DetectorID(id)) }
        #expect(engine.statefulFeatures == 0)
    }

    @Test func theFastestDetectorSetsTheRate() throws {
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        engine.add(try preset("shake.axis"), as: DetectorID(0), at: .zero)
        engine.add(try preset("tap"), as: DetectorID(1), at: .zero)
        #expect(engine.neededRate == 200)
        engine.remove(DetectorID(1))
        #expect(engine.neededRate == 5)
    }
}
