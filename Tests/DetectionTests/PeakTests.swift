import Motion
import Testing

@testable import Detection

/// What a hit says of how strong the motion was, when its condition compares several things.
@Suite struct PeakTests {
    /// Hits of a condition over rows of x, y and z, 10 ms apart.
    private func peaks(
        _ condition: String, _ rows: [(Double, Double, Double)], _ options: [String: OptionValue] = [:]
    ) throws -> [Double] {
        var options = options
        if options["rest"] == nil { options["rest"] = .count(0) }
        var engine = DetectionEngine([try detector(condition, options)])
        return engine.run(trace(rate: 100, seconds: Double(rows.count) / 100) { rows[Int(($0 * 100).rounded())] })
            .map(\.peak)
    }

    private static let several: [(String, SIMD3<Double>, Double)] = [
        ("x > 1g or y > 2g", SIMD3(0.0, 2.5, 0.0), 2.5), ("x > 1g or y > 2g", SIMD3(1.5, 2.5, 0), 1.5),
        ("x > 1g or y > 2g", SIMD3(1.5, 3.5, 0), 3.5), ("x > 1g and y > 2g", SIMD3(1.2, 5, 0), 5),
        ("y > 2g and x > 1g", SIMD3(1.2, 5, 0), 5), ("1g < x or 2g <= y", SIMD3(0, 2, 0), 2),
        ("z > 4g or x > 1g or y > 2g", SIMD3(1.1, 2.4, 4.2), 2.4),
        // What asks for little never is, however far below it is, and what is negated asks for the opposite.
        ("x < 1g and y > 2g", SIMD3(-9, 2.5, 0), 2.5), ("y > 2g and x < 1g", SIMD3(-9, 2.5, 0), 2.5),
        ("not x > 1g and y > 2g", SIMD3(0.1, 2.5, 0), 2.5), ("not (x <= 1g or y <= 2g)", SIMD3(1.5, 2.5, 0), 1.5),
        // A threshold of 0 is no measure, and neither is what changes itself.
        ("x > 0g and y > 2g", SIMD3(9, 2.5, 0), 2.5), ("x > y and x > 2g", SIMD3(3, 1, 0), 3),
        ("x > 0g and y > 0g", SIMD3(3, 9, 0), 3),
        // The first one says what is measured.
        ("norm(x, y, z) > 1g and atan2(x, y) > 1deg", SIMD3(3, 4, 0), 5),
        ("atan2(x, y) > 45deg and norm(x, y, z) > 1g", SIMD3(3, 0, 0), .pi / 2),
        // Where nothing asks for much, the least.
        ("norm(x, y, z) < 0.4g", SIMD3(0.1, 0, 0), 0.1), ("x < 1g and y < 1g", SIMD3(0.5, 0.2, 0), 0.5),
    ]

    /// Of several comparisons that ask for much, the one that is furthest beyond its threshold by proportion.
    @Test(arguments: several)
    func ofSeveral(_ condition: String, _ row: SIMD3<Double>, _ peak: Double) throws {
        let found = try self.peaks(condition, [(row.x, row.y, row.z)])
        #expect(found.count == 1 && found[0] == peak, "\(condition): \(found)")
    }

    /// What is too large to be reckoned with has no value, and a hit that comes of another comparison tells the least there is: to a
    /// detector that joins as to one that is there.
    @Test(arguments: [
        ("norm(x, y, z) - norm(x, y, z) > 1g or z > -1g", -1.0), ("1g > norm(x, y, z) - norm(x, y, z) or z < 1g", 1),
    ])
    func ofWhatOverflows(_ condition: String, _ sign: Double) throws {
        let found = try self.peaks(condition, [(1e200, 0, 0), (1e200, 0, 5 * sign), (1e200, 0, 0)])
        #expect(found == [sign * .infinity, sign * .infinity])
    }

    /// It is the largest since the condition became true, of each of them.
    @Test func whileItLasts() throws {
        let rows = [(0.0, 0.0, 0.0), (1.2, 0, 0), (3, 0, 0), (1.1, 2.2, 0), (0, 9, 0), (0, 0, 0), (0, 2.4, 0)]
        let found = try self.peaks("x > 1g or y > 2g", rows, ["rest-mode": .text("none")])
        #expect(found == [1.2, 3, 3, 9, 2.4])
    }

    private static let stages: [(String, [Double], Double)] = [
        // A push to the right, and then one to the left.
        ("x > 0.7g then x < -0.7g within 300ms", [1.0, 1.4, 0.9, 0, -2], 1.4),
        // Of two runs the last.
        ("x > 0.7g then x < -0.7g within 300ms", [2.0, 0.1, 0.9, 0, -2], 0.9),
        ("x > 0.7g then x > 2g within 300ms", [1.5, 0, 2.1], 2.1),
        ("x > 1g then x > 2g within 300ms", [1.5, 0, 4], 4),
        // The strongest of three stages, also the first, and over a quiet end.
        ("abs(x) > 1g and x < 0g then x > 2g within 300ms then x < 0.1g within 300ms", [-1.8, 0, 2.1, 0], 1.8),
        ("x > 1g then x > 2g within 300ms then x < 0.1g within 300ms", [1.2, 0, 2.4, 3, 0], 3),
        ("(x < 0.5g then x > 1g within 300ms) and x < 9g", [0, 1.2], 1.2),
        ("held(x > 1g, 20ms) then x < 0.2g within 300ms", [1.2, 1.3, 1.4, 1.5, 0], 1.5),
        ("count(x > 1g, 1s) >= 2 then x < 0.2g within 300ms", [1.2, 1.0, 1.7, 1.6, 0], 1.7),
        // Only quiet: the least of the last stage.
        ("x < 0.5g then y < 0.5g within 300ms", [0.3, 0.1], 0),
    ]

    /// What came first is remembered: its largest value in the last run in which it was true.
    @Test(arguments: stages)
    func ofStages(_ condition: String, _ values: [Double], _ peak: Double) throws {
        let found = try self.peaks(condition, values.map { ($0, 0, 0) })
        #expect(found.first == peak, "\(condition): \(found)")
    }

    /// A gap forgets what was before it, and a detector that comes later sees what it can.
    @Test func aGapForgets() throws {
        var engine = DetectionEngine([
            try detector("x > 1g then x < 0.1g within 5s", ["rest": .count(0), "rest-mode": .text("none")])
        ])
        var block = SampleBlock(channels: 3)
        for (time, x) in [(0, 3.0), (1, 1.2), (2, 0), (5_000, 0), (5_001, 1.5), (5_002, 0)] {
            block.append(Timestamp(microseconds: 10_000_000 + Int64(time) * 1_000), [x, 0, 0])
        }
        #expect(engine.run(block).map(\.peak) == [3, 1.5])
    }

    /// What is remembered costs one more memory, and only where something stands before `then` that asks for much.
    @Test(arguments: [
        ("x > 1g", 0), ("x > 1g or y > 2g", 0), ("x < 1g then y > 2g within 1s", 1),
        ("x > 1g then y < 1g within 1s", 2),
        ("x > 1g then y > 1g within 1s then z > 1g within 1s", 5),
    ])
    func whatItCosts(_ condition: String, _ memories: Int) throws {
        #expect(try detector(condition).statefulFeatures == memories)
    }

    // MARK: Presets

    /// A motion that fires a preset, and the least and most that its hit may say.
    struct Gesture: CustomTestStringConvertible, Sendable {
        var preset: String
        var seconds: Double
        var peak: ClosedRange<Double>
        var motion: @Sendable (Double) -> (Double, Double, Double)
        var testDescription: String { self.preset }
    }

    /// A knock of 2 g, and of 1.5 g, on a device that lies.
    private static func knock(_ t: Double, at start: Double, _ size: Double = 2) -> Double {
        t >= start && t < start + 0.012 ? size : 0
    }

    private static let gestures: [Gesture] = [
        Gesture(preset: "shake", seconds: 2, peak: 3...3.2) { t in
            ((Int(t * 6) % 2 == 0 ? 1 : -1) * (t < 0.3 ? 3.2 : 3), 0, 0)
        },
        Gesture(preset: "system.shake", seconds: 2, peak: 3...3) { t in (Int(t * 6) % 2 == 0 ? 3 : -3, 0, 0) },
        Gesture(preset: "shake.planar", seconds: 2, peak: 2.5...2.5) { t in (t > 1 ? 1.5 : 0, t > 1 ? 2 : 0, 9) },
        Gesture(preset: "shake.axis", seconds: 3, peak: 4...4) { t in (0, t > 2 ? -4 : 0, 1) },
        Gesture(preset: "shake.lowpass", seconds: 3, peak: 0.5...0.6) { t in (t > 2 ? 5 : 0, 0, 0) },
        Gesture(preset: "shake.user", seconds: 1, peak: 0.4...0.5) { t in (t > 0.5 ? 0.5 : 0, 0, 1) },
        Gesture(preset: "shake.magnitude", seconds: 1, peak: 3...3) { t in (0, 0, t > 0.5 ? 3 : 1) },
        Gesture(preset: "shake.tilted", seconds: 2, peak: 3...3) { t in (0, t > 1 ? 3 : 0.9, 0) },
        Gesture(preset: "tap", seconds: 2, peak: 1.8...2) { t in (0, 0, 1 + knock(t, at: 1)) },
        Gesture(preset: "double-tap", seconds: 3, peak: 1.4...1.6) { t in
            (0, 0, 1 + knock(t, at: 1) + knock(t, at: 1.25, 1.5))
        },
        Gesture(preset: "flip.face-down", seconds: 5, peak: 0.95...1) { t in
            let share = min(max((t - 2) / 0.6, 0), 1)
            return (0, 1 - abs(1 - 2 * share), 1 - 2 * share)
        },
        Gesture(preset: "pick-up", seconds: 6, peak: 0.34...0.5) { t in
            let share = min(max((t - 3) / 0.5, 0), 1)
            return (0, 0.8 * share, 1 - 0.4 * share)
        },
        Gesture(preset: "gesture", seconds: 4, peak: 0.9...1) { t in MadeGesture.circle.at(t - 1) },
        // The only ones that ask for quiet alone: theirs is the least.
        Gesture(preset: "free-fall", seconds: 3, peak: 0.02...0.02) { t in (0, 0, t >= 2 ? 0.02 : 1) },
        Gesture(preset: "still", seconds: 8, peak: 0...0.01) { t in (0, 0, t < 1 ? 1 + t : 1) },
        Gesture(preset: "tilt", seconds: 20, peak: 0.61...0.8) { t in t < 15 ? (0, 0, 1) : (0, 1, 0) },
        Gesture(preset: "moving", seconds: 3, peak: 0.08...0.5) { t in (0, 0, Int(t * 8) % 2 == 0 ? 1.4 : 0.6) },
        Gesture(preset: "step", seconds: 3, peak: 0.12...0.5) { t in (0, 0, t > 2 && t < 2.2 ? 1.6 : 1) },
        Gesture(preset: "activity", seconds: 3, peak: 1...1) { _ in (0, 0, 1) },
        Gesture(preset: "orientation", seconds: 4, peak: 3...3) { t in t < 2 ? (0, 0, 1) : (0, 1, 0) },
        Gesture(preset: "orientation.screen", seconds: 4, peak: 3...3) { t in t < 2 ? (1, 0, 0) : (0, 1, 0) },
    ]

    @Test(arguments: gestures)
    func ofEachPreset(_ gesture: Gesture) throws {
        var engine = DetectionEngine([try preset(gesture.preset)])
        let found = engine.run(trace(rate: 400, seconds: gesture.seconds, gesture.motion)).map(\.peak)
        let first = try #require(found.first)
        #expect(gesture.peak.contains(first), "\(found)")
    }

    @Test func eachPresetOfMotionIsThere() {
        let motions = PresetCatalogue.all.filter { $0.sensor == "accelerometer" }.map(\.name)
        #expect(Set(motions) == Set(Self.gestures.map(\.preset)))
    }

    /// A detector is known by the comparison that names its peak: what ranks it is what it asks for, not the quiet around it.
    @Test(arguments: [("tap", 0.5), ("double-tap", 0.5), ("flip.face-down", 0.94), ("free-fall", 0.4), ("still", 0.08)])
    func theThresholdIsThatOfThePeak(_ name: String, _ threshold: Double) throws {
        #expect(try preset(name).threshold == threshold)
    }
}
