import DetectionModel
import Motion
import Testing

@testable import Detection
import Randomness

/// The engine's hits are those of the plain evaluator, whatever the conditions, paces, rests and motion.
@Suite struct RandomProgramTests {
    /// Detectors that compile, from a seed.
    private struct Maker {
        var grammar: ProgramGrammar<SeededChoices>
        private(set) var refused = 0

        init(seed: UInt64) { self.grammar = ProgramGrammar(SeededChoices(seed: seed), isWild: false) }

        mutating func next() -> (plain: PlainStream.Detector, compiled: CompiledDetector) {
            while true {
                // Few paces, so that detectors share them.
                let every = self.grammar.choices.one(of: [nil, nil, 20_000, 50_000, 70_000] as [Int64?])
                let decimation =
                    every == nil ? Decimation.last : self.grammar.choices.one(of: [.last, .last, .mean, .peak])
                let program = self.grammar.program(isPaced: every != nil)
                let rest = Int64(self.grammar.choices.pick(6)) * 200_000
                let mode = self.grammar.choices.one(of: RestMode.allCases)
                var options: [String: OptionValue] = [
                    "rest": .count(UInt64(rest)), "rest-mode": .text(mode.rawValue),
                    "decimation": .text(decimation.rawValue),
                ]
                if let every { options["every"] = .count(UInt64(every)) }
                // Conditions that cross a limit, or compare constants, are made again.
                guard let compiled = try? detector(program.text, options) else {
                    self.refused += 1
                    continue
                }
                let pace = PlainStream.Pace(every: every, decimation: decimation)
                return (PlainStream.Detector(program, pace, rest: rest, mode), compiled)
            }
        }
    }

    private static func motion(_ seed: UInt64, seconds: Double) -> SampleBlock {
        Motions.accelerometer(
            seed: seed,
            Motions.Options(
                rate: [25, 50, 100][Int(seed % 3)], seconds: seconds, jitter: seed % 2 == 0 ? 0.3 : 0, shaking: 0.8,
                gaps: seed % 4 == 0 ? 0.004 : 0))
    }

    private static func name(_ hit: Hit, withPeak: Bool = true) -> String {
        "\(hit.time.microseconds) \(hit.detector.index)" + (withPeak ? " \(hit.peak + 0)" : "")
    }

    /// What limits are held against is what the engine has, whatever comes and goes.
    @Test(arguments: Array(UInt64(1)...10))
    func theCensusCountsAsTheEngineShares(seed: UInt64) {
        var maker = Maker(seed: seed)
        var random = SeededRandom(seed: seed)
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        var census = FeatureCensus()
        var present: [UInt32: CompiledDetector] = [:]
        for step in 0..<300 {
            let id = UInt32.random(in: 0..<40, using: &random)
            if let old = present.removeValue(forKey: id) {
                engine.remove(DetectorID(id))
                census.remove(old)
            } else {
                let detector = maker.next().compiled
                engine.add(detector, as: DetectorID(id), at: .zero)
                census.add(detector)
                // As the broker keeps it; it must be counted out all the same.
                let compact = census.compact(detector)
                #expect(compact.condition == detector.condition)
                #expect(compact.effective.map(\.key) == detector.effective.map(\.key))
                present[id] = compact
            }
            #expect(census.stateful == engine.statefulFeatures, "seed \(seed) step \(step)")
        }
        var anew = FeatureCensus()
        for detector in present.values { anew.add(detector) }
        #expect(census.operations == anew.operations && census.operations > 0, "seed \(seed)")
        for detector in present.values { census.remove(detector) }
        #expect(census.operations == 0 && census.stateful == 0, "seed \(seed)")
    }

    @Test(arguments: someSeeds(1...40))
    func randomProgramsAgree(seed: UInt64) throws {
        var maker = Maker(seed: seed)
        let block = Self.motion(seed, seconds: 8)
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        var plain = PlainStream()
        var texts: [String] = []
        for id in 0..<UInt32(30) {
            let (detector, compiled) = maker.next()
            engine.add(compiled, as: DetectorID(id), at: .zero)
            plain.add(detector, as: id)
            texts.append("\(detector.pace) \(detector.program.text)")
        }
        var expected: [Hit] = []
        for row in 0..<block.count {
            expected += plain.sample(block.times[row], Array(block.values[row * 3..<row * 3 + 3]))
        }
        let overflown = Set(plain.overflown)
        let hits = engine.run(block).filter { !overflown.contains($0.detector.index) }.map { Self.name($0) }
        let wanted = expected.filter { !overflown.contains($0.detector.index) }.map { Self.name($0) }
        let difference = zip(hits, wanted).first { $0 != $1 } ?? ("\(hits.count) hits", "\(wanted.count) hits")
        let at = [difference.0, difference.1].compactMap { $0.split(separator: " ").dropFirst().first }.compactMap {
            Int($0)
        }
        let agrees = hits == wanted
        #expect(
            agrees,
            "seed \(seed): \(difference) \(at.map { texts.indices.contains($0) ? texts[$0] : "" }), \(maker.refused) refused"
        )
        #expect(wanted.count > 20, "seed \(seed)")
        #expect(overflown.count < 3, "seed \(seed)")
    }

    /// Detectors come, are replaced and go; features that others have already are shared as they stand.
    @Test(arguments: someSeeds(101...124))
    func randomProgramsAgreeWhileTheyComeAndGo(seed: UInt64) throws {
        var maker = Maker(seed: seed)
        let block = Self.motion(seed, seconds: 6)
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        var plain = PlainStream()
        // Few programs, so that equal ones meet.
        let pool = (0..<24).map { _ in maker.next() }
        var texts: [UInt32: String] = [:]
        var hits: [Hit] = []
        var expected: [Hit] = []
        var overflown: Set<UInt32> = []
        for row in 0..<block.count {
            for _ in 0..<(row == 0 ? 20 : maker.grammar.choices.happens(onceIn: 12) ? 4 : 0) {
                let id = UInt32(maker.grammar.choices.pick(40))
                if maker.grammar.choices.pick(3) == 0 {
                    engine.remove(DetectorID(id))
                    plain.remove(id)
                } else {
                    let (detector, compiled) = maker.grammar.choices.one(of: pool)
                    engine.add(compiled, as: DetectorID(id), at: .zero)
                    plain.add(detector, as: id)
                    texts[id] = detector.program.text
                }
            }
            expected += plain.sample(block.times[row], Array(block.values[row * 3..<row * 3 + 3]))
            engine.process(
                times: block.times.span.extracting(row..<row + 1),
                values: block.values.span.extracting(row * 3..<row * 3 + 3), hits: &hits)
            overflown.formUnion(plain.overflown)
        }
        // A peak counts from when the condition became true, which can be before the registration; times do not.
        func names(_ hits: [Hit]) -> [String] {
            hits.filter { !overflown.contains($0.detector.index) }.map { Self.name($0, withPeak: false) }
        }
        let difference = zip(names(hits), names(expected)).first { $0 != $1 }
        let id = difference.flatMap { UInt32($0.0.split(separator: " ").last ?? "") }
        let agrees = names(hits) == names(expected)
        #expect(
            agrees,
            "seed \(seed): \(difference.map { "\($0)" } ?? "") \(id.flatMap { texts[$0] } ?? "")")
        #expect(expected.count > 20, "seed \(seed)")
    }
}
