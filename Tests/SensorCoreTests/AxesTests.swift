import Detection
import Foundation
import Motion
import SensorCore
import Testing
import Traces

/// One definition of the axes: a device that is held in six ways is held so for whoever is asked.
@Suite struct AxesTests {
    /// A way to hold the device, as the trace's own words have it, and what everybody says of it.
    struct Posture: CustomTestStringConvertible, Sendable {
        /// From when to when, in s.
        var span: ClosedRange<Double>
        var words: String
        var up: SIMD3<Double>
        /// The peak of the preset `orientation`.
        var side: Double
        /// The words of `net.hadess.SensorProxy`; an orientation stays while the device lies.
        var orientation: String
        var tilt: String
        /// In degrees; `nil` where the angle means nothing.
        var roll: Double?
        var pitch: Double
        /// What a script says for it.
        var gravity: String

        var testDescription: String { self.words }
    }

    static let postures: [Posture] = [
        Posture(
            span: 0...2.96, words: "lies on its back, display up", up: SIMD3(0, 0, 1), side: 5,
            orientation: "undefined", tilt: "face-up", roll: 0, pitch: 0, gravity: "z"),
        Posture(
            span: 3.48...6.44, words: "is held upright, upper edge up", up: SIMD3(0, 1, 0), side: 3,
            orientation: "normal", tilt: "vertical", roll: nil, pitch: 90, gravity: "y"),
        Posture(
            span: 6.96...9.92, words: "is held upside down, lower edge up", up: SIMD3(0, -1, 0), side: 4,
            orientation: "bottom-up", tilt: "vertical", roll: nil, pitch: -90, gravity: "-y"),
        Posture(
            span: 10.44...13.4, words: "is held on its right edge, left edge up", up: SIMD3(-1, 0, 0), side: 2,
            orientation: "left-up", tilt: "vertical", roll: 90, pitch: 0, gravity: "-x"),
        Posture(
            span: 13.92...16.88, words: "is held on its left edge, right edge up", up: SIMD3(1, 0, 0), side: 1,
            orientation: "right-up", tilt: "vertical", roll: -90, pitch: 0, gravity: "x"),
        Posture(
            span: 17.4...20.36, words: "lies on its face, display down", up: SIMD3(0, 0, -1), side: 6,
            orientation: "right-up", tilt: "face-down", roll: 180, pitch: 0, gravity: "-z"),
    ]

    private static let text: String = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return (try? String(contentsOf: root.appending(path: "Traces/held.csv"), encoding: .utf8)) ?? ""
    }()

    /// The accelerometer's samples and the gyroscope's.
    private static func trace() throws -> (accelerometer: SampleBlock, gyroscope: SampleBlock) {
        var reader = TraceReader()
        try reader.feed(Array(text.utf8).span)
        try reader.finish()
        try #require(reader.header?.sensors.map(\.name) == ["accelerometer", "gyroscope"])
        return (reader.blocks[0], reader.blocks[1])
    }

    private static func vector(_ block: SampleBlock, _ row: Int) -> SIMD3<Double> {
        SIMD3(block.values[row * 3], block.values[row * 3 + 1], block.values[row * 3 + 2])
    }

    /// The last row of a posture.
    private static func end(_ posture: Posture) -> Int { Int((posture.span.upperBound * 25).rounded()) }

    @Test(arguments: postures)
    func theTraceSaysHowTheDeviceIsHeld(_ posture: Posture) throws {
        func seconds(_ value: Double) -> String { String(format: "%.2f s", value) }
        let line =
            "# from \(seconds(posture.span.lowerBound)) to \(seconds(posture.span.upperBound)) it \(posture.words)\n"
        #expect(Self.text.contains(line))
        let (accelerometer, _) = try Self.trace()
        for row in Int((posture.span.lowerBound * 25).rounded())...Self.end(posture) {
            #expect(Self.vector(accelerometer, row) == posture.up)
        }
    }

    /// A script and a trace mean the same.
    @Test(arguments: postures)
    func aScriptSaysTheSame(_ posture: Posture) throws {
        let script = try SyntheticMotion(script: "gravity=\(posture.gravity)")
        #expect(script.sample(at: .seconds(1)) == posture.up)
    }

    @Test func thePresetNamesTheSide() throws {
        let (accelerometer, _) = try Self.trace()
        let found = try Self.hits([["preset": .text("orientation")]], accelerometer, sensor: "accelerometer")
        for posture in Self.postures.dropFirst() {
            let last = found.last { Double($0.time.microseconds) / 1_000_000 <= posture.span.upperBound }
            #expect(last?.peak == posture.side, "\(posture.words)")
        }
    }

    /// Each axis, its opposite and the angles, in conditions over the accelerometer and over `motion`.
    @Test(arguments: [
        ("x > 0.9g", 1.0), ("x < -0.9g", 2), ("y > 0.9g", 3), ("y < -0.9g", 4), ("z > 0.9g", 5), ("z < -0.9g", 6),
        ("lowpass(y, 100ms) > 0.9g", 3), ("pitch > 80deg", 3), ("pitch < -80deg", 4),
        ("roll < -80deg and roll > -100deg and abs(pitch) < 10deg", 1),
        ("roll > 80deg and roll < 100deg and abs(pitch) < 10deg", 2),
        ("abs(roll) < 10deg and abs(pitch) < 10deg", 5), ("abs(roll) > 170deg and abs(pitch) < 10deg", 6),
    ])
    func conditionsNameTheSide(_ condition: String, _ side: Double) throws {
        let isOfMotion = condition.contains("pitch") || condition.contains("roll")
        for isFollowed in isOfMotion ? [true, false] : [false] {
            let (accelerometer, gyroscope) = try Self.trace()
            let block = isOfMotion ? Self.fused(accelerometer, gyroscope, isFollowed) : accelerometer
            let sensor = isOfMotion ? "motion" : "accelerometer"
            let options: [String: OptionValue] = [
                "when": .text(condition), "sensor": .text(sensor), "rest": .count(0), "rest-mode": .text("none"),
            ]
            let times = try Set(Self.hits([options], block, sensor: sensor).map(\.time.microseconds))
            for posture in Self.postures {
                let isTrue = times.contains(block.times[Self.end(posture)])
                #expect(isTrue == (posture.side == side), "\(condition), \(posture.words), \(isFollowed)")
            }
        }
    }

    @Test func theScreensWordsNameTheSide() throws {
        let (accelerometer, _) = try Self.trace()
        var state = ProxyState()
        var actions: [ProxyState.Action] = []
        for row in 0..<accelerometer.count {
            state.accelerated(Self.vector(accelerometer, row), &actions)
            guard let posture = Self.postures.first(where: { Self.end($0) == row }) else { continue }
            #expect(state.orientation.rawValue == posture.orientation, "\(posture.words)")
            #expect(state.tilt.rawValue == posture.tilt, "\(posture.words)")
        }
    }

    /// With a gyroscope and without one.
    @Test(arguments: [true, false])
    func theAttitudeNamesTheSide(isFollowed: Bool) throws {
        let (accelerometer, gyroscope) = try Self.trace()
        let made = Self.fused(accelerometer, gyroscope, isFollowed)
        #expect(made.count == accelerometer.count)
        for posture in Self.postures {
            let row = Array(made.values[Self.end(posture) * 12..<Self.end(posture) * 12 + 12])
            let gravity = SIMD3(row[3], row[4], row[5])
            #expect((gravity * posture.up).sum() > 0.98, "\(posture.words): \(gravity)")
            let (roll, pitch) = (row[9] * 180 / .pi, row[10] * 180 / .pi)
            #expect((pitch - posture.pitch).magnitude < 8, "\(posture.words): pitch \(pitch)")
            if let expected = posture.roll {
                let off = (roll - expected + 540).truncatingRemainder(dividingBy: 360) - 180
                #expect(off.magnitude < 8, "\(posture.words): roll \(roll)")
            }
        }
    }

    /// On Linux x and y stand the other way round, and a hub that speaks HID shows the opposite: both come to what is held here.
    @Test(arguments: postures)
    func otherAxesComeToOurs(_ posture: Posture) {
        let up = posture.up
        var linux = [-up.x, -up.y, up.z]
        DeviceAxes.turn(&linux)
        var hub = [-up.x, -up.y, -up.z]
        DeviceAxes.oppose(&hub)
        for row in [linux, hub] {
            #expect(SIMD3(row[0], row[1], row[2]) == up)
            #expect(row.allSatisfy { $0.sign == .plus || $0 != 0 }, "-0 in \(row)")
        }
    }

    /// A compass says where the upper edge points, or the back of a device that is held upright: here north.
    @Test func theCompassGoesByTheUpperEdge() {
        let down = -40.0
        #expect(Heading.degrees(SIMD3(0, 20, down), up: SIMD3(0, 0, 1)) == 0)
        #expect(Heading.degrees(SIMD3(0, down, -20), up: SIMD3(0, 1, 0)) == 0)
        #expect(Heading.degrees(SIMD3(20, 0, down), up: SIMD3(0, 0, 1)) == 270)
    }

    // MARK: Tools

    private static func hits(
        _ requests: [[String: OptionValue]], _ block: SampleBlock, sensor: String
    ) throws -> [Hit] {
        var engine = DetectionEngine(channels: SensorDescription.channels(of: sensor))
        for (index, options) in requests.enumerated() {
            let compiled = try DetectorCompiler.compile(DetectorRequest(name: "d", options: options), for: nil)
            engine.add(compiled, as: DetectorID(UInt32(index)), at: .zero)
        }
        var hits: [Hit] = []
        engine.process(times: block.times.span, values: block.values.span, hits: &hits)
        return hits
    }

    private static func fused(_ accelerometer: SampleBlock, _ gyroscope: SampleBlock, _ isFollowed: Bool) -> SampleBlock
    {
        var fusion = MotionFusion()
        fusion.isFollowed = isFollowed
        var block = SampleBlock(channels: 12)
        for row in 0..<accelerometer.count {
            let time = Timestamp(microseconds: accelerometer.times[row])
            fusion.rotate(self.vector(gyroscope, row), at: time)
            fusion.accelerate(self.vector(accelerometer, row), at: time)
            while let made = fusion.next() { block.append(made, fusion.row) }
        }
        return block
    }
}
