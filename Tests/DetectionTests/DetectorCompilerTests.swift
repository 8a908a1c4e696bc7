import Motion
import Testing

@testable import Detection

@Suite struct DetectorCompilerTests {
    private func compile(_ options: [String: OptionValue]) throws(DetectorProblem) -> CompiledDetector {
        try DetectorCompiler.compile(DetectorRequest(name: "d", options: options), for: nil)
    }

    @Test func aPresetFillsInItsDefaults() throws {
        let detector = try self.compile(["preset": .text("shake.axis")])
        #expect(detector.every == .milliseconds(200))
        #expect(detector.rest == .seconds(1))
        #expect(detector.restMode == .leading)
        #expect(detector.startsResting)
        #expect(detector.threshold == 2.45)
        #expect(detector.neededRate == 5)
        #expect(detector.effective.contains { $0.key == "threshold" && $0.value == .number(2.45) })
        #expect(detector.effective.contains { $0.key == "every" && $0.value == .count(200_000) })
    }

    /// However seldom a detector looks, its samples are so near to each other that it can look back.
    @Test(arguments: ["last", "mean", "peak"]) func whoLooksSeldomLooksBack(_ decimation: String) throws {
        let detector = try self.compile([
            "when": .text("held(x > 1g, 20s)"), "every": .text("10s"), "decimation": .text(decimation),
        ])
        var engine = DetectionEngine([detector])
        let hits = engine.run(trace(rate: detector.neededRate, seconds: 80) { _ in (2, 0, 0) })
        #expect(!hits.isEmpty && engine.counters.gaps == 0)
        // What goes by one sample needs those alone that it looks at.
        #expect(try self.compile(["when": .text("x > 1g"), "every": .text("10s")]).neededRate == 0.1)
        // Fixes may be minutes apart.
        let seldom: [String: OptionValue] = [
            "when": .text("held(speed < 1km/h, 5min)"), "sensor": .text("location"), "every": .text("1min"),
        ]
        #expect(try self.compile(seldom).neededRate == 1 / 60.0)
    }

    @Test func theNameOfASensorIsBounded() throws {
        func options(_ bytes: Int) -> [String: OptionValue] {
            let name = "accelerometer-" + String(repeating: "x", count: bytes - 14)
            return ["when": .text("x > 1g"), "sensor": .text(name)]
        }
        #expect(try self.compile(options(128)).sensor.utf8.count == 128)
        let expected = DetectorProblem(
            .limitExceeded("sensor-name-bytes"), detector: "d", key: "sensor", "the name is longer than 128 bytes")
        #expect(throws: expected) { _ = try self.compile(options(129)) }
    }

    @Test(arguments: [OptionValue.text("2300mg"), .text("2.3"), .text("2.3 g"), .number(2.3)])
    func parametersTakeUnits(_ value: OptionValue) throws {
        let detector = try self.compile(["preset": .text("shake.planar"), "threshold": value])
        #expect(abs((detector.threshold ?? 0) - 2.3) < 1e-12)
    }

    @Test(
        arguments: [
            (
                ["preset": .text("shake.planer")],
                "detector 'd', preset: unknown preset 'shake.planer', did you mean 'shake.planar'?"
            ),
            (
                ["preset": .text("shake.planar"), "treshold": .number(2)],
                "detector 'd', treshold: unknown option 'treshold', did you mean 'threshold'?"
            ),
            (
                ["preset": .text("shake.planar"), "threshold": .number(-1)],
                "detector 'd', threshold: -1.0g is outside 0.0g to 64.0g"
            ),
            (
                ["preset": .text("shake.planar"), "threshold": .number(.nan)],
                "detector 'd', threshold: expected a finite number"
            ),
            (
                ["preset": .text("shake.planar"), "threshold": .text("2s")],
                "detector 'd', threshold: expected an acceleration in g, found a time"
            ),
            (
                ["preset": .text("shake.planar"), "every": .text("100")],
                "detector 'd', every: expected a time such as '100ms', found '100'"
            ),
            (["preset": .text("shake.planar"), "every": .count(0)], "detector 'd', every: 0s is outside 1ms to 60s"),
            (
                ["preset": .text("shake.planar"), "every": .count(.max)],
                "detector 'd', every: 9223372036854775807us is outside 1ms to 60s"
            ),
            (
                ["preset": .text("shake.planar"), "rest": .text("1xs")],
                "detector 'd', rest, column 2: unknown unit 'xs', did you mean 'ms'?"
            ),
            (
                ["preset": .text("shake.planar"), "rest-mode": .text("late")],
                "detector 'd', rest-mode: expected one of 'leading', 'restarting', 'none', found 'late'"
            ),
            (["preset": .flag(true)], "detector 'd', preset: expected a text"),
        ] as [([String: OptionValue], String)])
    func problemsSayWhatHelps(_ options: [String: OptionValue], _ message: String) {
        #expect {
            try self.compile(options)
        } throws: { error in
            (error as? DetectorProblem)?.description == message
        }
    }

    /// Equal conditions are looked up by their hashes: where many had one, each would be compared with all others.
    @Test func conditionsThatDifferInOneNumberHaveHashesOfTheirOwn() throws {
        let hashes = try (0..<1_000).map { step in
            try self.compile(["preset": .text("shake"), "within": .count(UInt64(100_000 + step))])
                .condition.formula.hashValue
        }
        #expect(Set(hashes).count == hashes.count)
        let node = FormulaNode(operation: .shake)
        let operands: [WritableKeyPath<FormulaNode, Int32>] = [\.a, \.b, \.c, \.d]
        let constants: [WritableKeyPath<FormulaNode, Double>] = [\.p, \.q, \.r, \.s, \.t, \.u]
        var nodes = [node]
        for path in operands {
            var other = node
            other[keyPath: path] = 7
            nodes.append(other)
        }
        for path in constants {
            var other = node
            other[keyPath: path] = 7
            nodes.append(other)
        }
        #expect(Set(nodes.map(\.hashValue)).count == nodes.count)
    }
}
