import Motion
import Testing

@testable import Detection

/// The presets of a hinge: when a range begins, and when it ends.
struct HingePresetTests {
    /// What a hinge tells: degrees, and percent of confidence.
    private func hits(
        _ name: String, _ options: [String: OptionValue] = [:], rate: Double = 20, seconds: Double,
        _ hinge: (Double) -> (angle: Double, confidence: Double)
    ) throws -> [(time: Double, peak: Double)] {
        var block = SampleBlock(channels: 2)
        for index in 0..<Int(rate * seconds) {
            let time = Double(index) / rate
            let (angle, confidence) = hinge(time)
            block.append(Timestamp(microseconds: 10_000_000 + Int64(time * 1_000_000)), [angle, confidence])
        }
        var engine = DetectionEngine(channels: SensorDescription.channels(of: SensorDescription.hinge))
        engine.add(try preset(name, options), as: DetectorID(0), at: .zero)
        return engine.run(block).map { (Double($0.time.microseconds) / 1_000_000 - 10, $0.peak) }
    }

    /// From shut to folded round and back, 90 degrees a second.
    private func sweep(_ time: Double) -> Double { time < 4 ? 90 * time : max(0, 360 - 90 * (time - 4)) }

    @Test(arguments: [
        ("tablet-mode", [(2.2, 1.0), (6.25, 2)]), ("tent", [(2.6, 1), (3.8, 2), (4.4, 1), (5.6, 2)]),
        ("closed", [(7.9, 1.0)]),
    ])
    func beginsAndEndsWithItsRange(_ name: String, _ expected: [(Double, Double)]) throws {
        let found = try self.hits(name, seconds: 9) { (self.sweep($0), 100) }
        #expect(found.map(\.peak) == expected.map(\.1), "\(found)")
        // As soon as the range has been there for the hold.
        for (hit, wanted) in zip(found, expected) { #expect((hit.time - wanted.0 - 0.25).magnitude < 0.15, "\(found)") }
    }

    /// 200 degrees begin it, 160 do not end it, and what is shorter than the hold does neither.
    @Test func theBoundsAreWhatTheySay() throws {
        func states(_ angles: [Double], _ confidence: Double = 100) throws -> [Double] {
            try self.hits("tablet-mode", seconds: Double(angles.count)) { (angles[Int($0)], confidence) }.map(\.peak)
        }
        #expect(try states([100, 199.9, 100]) == [])
        #expect(try states([100, 200, 160, 161]) == [1])
        #expect(try states([100, 200, 159.9]) == [1, 2])
        #expect(try states([360]) == [1])
        #expect(try states([360], 49) == [])
        #expect(try states([360], 50) == [1])
        let short = try self.hits("tablet-mode", seconds: 4) { ($0 > 1 && $0 < 1.2 ? 300 : 100, 100) }
        #expect(short.isEmpty)
        let own = try self.hits("tablet-mode", ["from": .text("190deg"), "margin": .text("0deg")], seconds: 3) {
            ($0 < 1 ? 100 : $0 < 2 ? 195 : 180, 100)
        }
        #expect(own.map(\.peak) == [1, 2])
    }

    /// What is not trusted changes nothing, and a gap does not make a tablet a laptop.
    @Test func whatIsNotTrustedChangesNothing() throws {
        let flickering = try self.hits("tablet-mode", seconds: 6) { time in
            (300, Int(time * 5) % 2 == 0 ? 100 : 0)
        }
        #expect(flickering.isEmpty)
        let silent = try self.hits("tablet-mode", seconds: 8) { time in
            time < 1 ? (300, 100) : (20, time < 6 ? 0 : 100)
        }
        #expect(silent.map(\.peak) == [1, 2] && (silent.last?.time ?? 0) > 6)

        var watch = try HingeWatch(["preset": .text("tablet-mode")])
        let angles: [(time: Int64, angle: Double, isNew: Bool)] = [
            (0, 250, false), (300, 250, true), (5_000, 250, false), (5_300, 20, false), (5_600, 20, true),
        ]
        for (time, angle, isNew) in angles {
            if time == 5_000 { watch.gap() }
            let changed = watch.take(angle: angle, confidence: 100, at: Timestamp(microseconds: time * 1_000))
            #expect(changed == isNew)
        }
        #expect(!watch.isIn)
        // What is forgotten is no tablet, and is seen as one anew.
        for start in [6_000, 7_000] as [Int64] {
            watch.forget()
            #expect(!watch.isIn)
            for time in [start, start + 300] {
                let changed = watch.take(angle: 250, confidence: 100, at: Timestamp(microseconds: time * 1_000))
                #expect(changed == (time > start))
            }
            #expect(watch.isIn)
        }
        #expect(throws: DetectorProblem.self) {
            _ = try HingeWatch(["preset": .text("tablet-mode"), "from": .text("20deg")])
        }
    }

    /// A condition of one's own reads degrees and a share.
    @Test func conditionsMayAskForIt() throws {
        var engine = DetectionEngine(channels: ["angle", "confidence"])
        engine.add(
            try detector("held(angle > 120deg and confidence > 80%, 1s)", ["sensor": .text("hinge")]),
            as: DetectorID(0), at: .zero)
        var block = SampleBlock(channels: 2)
        for index in 0..<100 as Range<Int64> {
            block.append(Timestamp(microseconds: 10_000_000 + index * 50_000), [index < 50 ? 119 : 121, 81])
        }
        let first = try #require(engine.run(block).first)
        #expect(first.time == Timestamp(microseconds: 13_500_000))
    }
}
