import Detection
import DetectionModel
import Motion

/// Conditions made by a grammar, compiled, and run over motion that no device makes; the plain evaluator checks the hits.
enum ProgramTarget {
    static func run(_ bytes: [UInt8]) -> String? {
        var choices = ByteChoices(bytes)
        let isTame = choices.pick(2) == 0
        let every = choices.one(of: [nil, 20_000, 70_000, 1_000] as [Int64?])
        let decimation = every == nil ? Decimation.last : choices.one(of: Decimation.allCases)
        let rest = choices.one(of: [0, 100_000, 1_000_000, 86_400_000_000] as [Int64])
        let mode = choices.one(of: RestMode.allCases)
        var grammar = ProgramGrammar(choices, isWild: !isTame)
        let programs = (0..<2).map { _ in grammar.program(isPaced: every != nil) }
        choices = grammar.choices

        var engine = DetectionEngine(channels: ["x", "y", "z"], range: 16)
        var plain = PlainStream()
        for (index, program) in programs.enumerated() {
            var options: [String: OptionValue] = [
                "when": .text(program.text), "rest": .count(UInt64(rest)), "rest-mode": .text(mode.rawValue),
                "decimation": .text(decimation.rawValue),
            ]
            if let every { options["every"] = .count(UInt64(every)) }
            let detector: CompiledDetector
            do {
                detector = try DetectorCompiler.compile(DetectorRequest(name: "fuzz", options: options), for: nil)
            } catch {
                _ = "\(error)"
                continue
            }
            engine.add(detector, as: DetectorID(UInt32(index)), at: .zero)
            let pace = PlainStream.Pace(every: every, decimation: decimation)
            plain.add(PlainStream.Detector(program, pace, rest: rest, mode), as: UInt32(index))
        }
        let block = self.motion(&choices, isTame: isTame)
        var hits: [Hit] = []
        engine.process(times: block.times.span, values: block.values.span, hits: &hits)
        engine.tick(to: Timestamp(microseconds: .max), hits: &hits)
        guard hits.allSatisfy({ !$0.peak.isNaN }) else { return "a hit has no peak: \(programs.map(\.text))" }
        return isTame ? self.difference(block, &plain, hits, programs) : nil
    }

    private static func difference(
        _ block: SampleBlock, _ plain: inout PlainStream, _ hits: [Hit],
        _ programs: [Program]
    ) -> String? {
        var expected: [Hit] = []
        for row in 0..<block.count {
            expected += plain.sample(block.times[row], Array(block.values[row * 3..<row * 3 + 3]))
        }
        let overflown = plain.overflown
        // The last bucket closes only here, by the clock.
        let last = block.times.last ?? 0
        func shown(_ hits: [Hit]) -> [String] {
            hits.filter { !overflown.contains($0.detector.index) && $0.time.microseconds <= last }
                .map { "\($0.time.microseconds) \($0.detector.index) \($0.peak + 0)" }
        }
        let (found, wanted) = (shown(hits), shown(expected))
        guard found != wanted else { return nil }
        let same = zip(found, wanted).prefix { $0 == $1 }.count
        let (here, there) = (found.dropFirst(same).first ?? "no hit", wanted.dropFirst(same).first ?? "no hit")
        return "\(programs.map(\.text)): found '\(here)', expected '\(there)'"
    }

    /// Forty samples: of the kind that sensors give, or of any.
    private static func motion(_ choices: inout some Choices, isTame: Bool) -> SampleBlock {
        var block = SampleBlock(channels: 3)
        var time: Int64 = 5_000_000
        let tame: [Double] = [0, 1, -1, 0.3, 2.5, -3, 1.25, -0.5]
        let wild: [Double] = [
            0, 1, 1e308, -1e308, .nan, .infinity, .leastNonzeroMagnitude, -0.0, 1e200, .greatestFiniteMagnitude,
        ]
        let steps: [Int64] = isTame ? [20_000, 10_000, 70_000, 1_500_000] : [20_000, 0, -5, 1, .max / 4, 1_500_000]
        for _ in 0..<40 {
            let row = (0..<3).map { _ in choices.one(of: isTame ? tame : wild) }
            block.append(Timestamp(microseconds: time), row)
            time = time &+ choices.one(of: steps)
        }
        return block
    }
}
