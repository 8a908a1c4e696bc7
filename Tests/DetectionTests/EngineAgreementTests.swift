import DetectionModel
import Motion
import Testing

@testable import Detection
import Randomness

/// The engine's hits are those of one plain object per detector, whatever the parameters, paces and motion.
@Suite struct EngineAgreementTests {
    @Test(arguments: someSeeds(1...16))
    func presetsAgreeWithPlainDetectors(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let block = Motions.accelerometer(
            seed: seed,
            .init(
                rate: [25, 50, 100, 200][Int(seed % 4)], jitter: seed % 3 == 0 ? 0.3 : 0,
                gaps: seed % 5 == 0 ? 0.002 : 0))
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        var plain: [PlainDetector] = []
        let start = Timestamp(microseconds: 4_700_000)
        for index in 0..<UInt32(60) {
            let rule: (name: String, PlainDetector.Rule) =
                [("shake.planar", .planar), ("shake.axis", .axis), ("shake.magnitude", .magnitude)].randomElement(
                    using: &random) ?? ("shake.planar", .planar)
            let threshold = random.uniform(0.5...6)
            let every = Int64.random(in: 1...300, using: &random) * 1_000
            let rest = random.chance(0.2) ? every : Int64.random(in: 0...1_500_000, using: &random)
            let mode = RestMode.allCases.randomElement(using: &random) ?? .none
            let detector = try DetectorCompiler.compile(
                DetectorRequest(
                    name: "d",
                    options: [
                        "preset": .text(rule.name), "threshold": .number(threshold), "every": .count(UInt64(every)),
                        "rest": .count(UInt64(rest)), "rest-mode": .text(mode.rawValue),
                    ]), for: nil)
            let id = DetectorID(index)
            engine.add(detector, as: id, at: start)
            let clock = rule.1 == .axis ? start.microseconds : nil
            plain.append(
                PlainDetector(
                    id: id, rule: rule.1, threshold: threshold, every: every, rest: rest, mode: mode, lastFired: clock,
                    lastTrue: clock))
        }
        var expected: [Hit] = []
        for row in 0..<block.count {
            for index in plain.indices {
                let values = block.values[row * 3..<row * 3 + 3]
                guard
                    let hit = plain[index].sample(
                        block.times[row], values[row * 3], values[row * 3 + 1], values[row * 3 + 2])
                else { continue }
                expected.append(hit)
            }
        }
        var hits: [Hit] = []
        var row = 0
        while row < block.count {
            let end = min(block.count, row + Int.random(in: 1...16, using: &random))
            engine.process(
                times: block.times.span.extracting(row..<end), values: block.values.span.extracting(row * 3..<end * 3),
                hits: &hits)
            row = end
        }
        #expect(hits == expected, "seed \(seed)")
        #expect(!expected.isEmpty, "seed \(seed)")
        #expect(engine.counters.refusedSamples == 0)
    }
}
