import Motion
import Testing

@testable import Detection

@Suite struct WarningTests {
    private func sensor(range: Double, rates: [Double] = [10, 50, 100, 400]) -> SensorDescription {
        SensorDescription(
            name: "accelerometer", channels: ["x", "y", "z"], unit: "g", range: range, rates: rates, source: "test",
            isSimulated: true)
    }

    private func warnings(_ options: [String: OptionValue], _ sensor: SensorDescription? = nil) throws
        -> [DetectorWarning.ID]
    {
        try DetectorCompiler.compile(DetectorRequest(name: "d", options: options), for: sensor).warnings.map(\.id)
    }

    @Test(
        arguments: [
            ("norm(x, y, z) > 3.4g", 2.0, [DetectorWarning.ID]()),
            ("norm(x, y, z) > 3.5g", 2, [.thresholdUnreachable]),
            ("hypot(x, y) > 2.9g", 2, [.thresholdUnreachable]),
            ("max(abs(x), abs(y), abs(z)) > 2.45g", 2, [.thresholdUnreachable]),
            ("max(abs(x), abs(y), abs(z)) > 2.45g", 4, []),
            ("x < -3g", 2, [.thresholdUnreachable]),
            ("range(x, 1s) > 5g", 2, [.thresholdUnreachable]),
            ("reversals(x, y, z, over: 4g, within: 1s) >= 3", 2, [.thresholdUnreachable]),
            ("reversals(x, y, z, over: 2g, within: 1s) >= 20", 4, [.thresholdUnreachable]),
        ] as [(String, Double, [DetectorWarning.ID])])
    func aThresholdBeyondTheRangeIsTold(_ condition: String, _ range: Double, _ ids: [DetectorWarning.ID]) throws {
        #expect(try self.warnings(["when": .text(condition)], self.sensor(range: range)) == ids)
    }

    @Test func theFilteredShakeWarnsOnASmallSensor() throws {
        #expect(try self.warnings(["preset": .text("shake.lowpass")], self.sensor(range: 2)) == [.thresholdUnreachable])
        #expect(try self.warnings(["preset": .text("shake.lowpass")], self.sensor(range: 8)) == [])
        let hard: [String: OptionValue] = ["preset": .text("shake.lowpass"), "threshold": .number(0.88)]
        #expect(try self.warnings(hard, self.sensor(range: 4)) == [.thresholdUnreachable])
    }

    @Test(
        arguments: [
            ("norm(x, y, z) > 0.9g", [DetectorWarning.ID.thresholdInGravity]), ("norm(x, y, z) > 1.5g", []),
            ("max(abs(x), abs(y), abs(z)) > 0.75g", [.thresholdInGravity]),
            ("hypot(x, y) > 0.8g", [.thresholdInGravity]),
            ("norm(x, y, z) > 1.01g", [.noise]), ("norm(user) > 0.02g", [.noise]), ("norm(user) > 0.2g", []),
            ("norm(x, y, z) < 0.4g", []), ("range(norm(x, y, z), 1s) < 0.08g", []), ("z > 0.9g", []), ("x > 0.1g", []),
        ] as [(String, [DetectorWarning.ID])])
    func gravityAndNoiseAreTold(_ condition: String, _ ids: [DetectorWarning.ID]) throws {
        #expect(try self.warnings(["when": .text(condition)]) == ids)
    }

    @Test func theSensitivityBelowGravityWarns() throws {
        #expect(
            try self.warnings(["preset": .text("shake.axis"), "sensitivity": .text("high")]) == [.thresholdInGravity])
        #expect(try self.warnings(["preset": .text("shake.axis"), "sensitivity": .text("normal")]) == [])
    }

    @Test func slowSensorsAndShortWindowsAreTold() throws {
        #expect(
            try self.warnings(["preset": .text("tap")], self.sensor(range: 8, rates: [10, 100])).contains(.rateTooLow))
        #expect(!(try self.warnings(["preset": .text("tap")], self.sensor(range: 8))).contains(.rateTooLow))
        let short: [String: OptionValue] = ["when": .text("mean(x, 150ms) > 1g"), "every": .text("100ms")]
        #expect(try self.warnings(short) == [.windowTooShort])
        #expect(try self.warnings(short.merging(["every": .text("75ms")]) { $1 }) == [])
    }

    /// No preset warns with its defaults on a usual sensor.
    @Test(arguments: PresetCatalogue.all.map(\.name))
    func presetsDoNotWarn(_ name: String) throws {
        // The sensor `motion` is made of others, and says nothing of a range.
        let isMotion = PresetCatalogue.named(name)?.sensor == SensorDescription.motion
        let motion = SensorDescription(
            name: SensorDescription.motion, channels: SensorDescription.channels(of: SensorDescription.motion),
            unit: "",
            rates: [10, 50, 100, 400], source: "test", isSimulated: true)
        let sensor = isMotion ? motion : self.sensor(range: 16)
        #expect(try self.warnings(needs(of: name).merging(["preset": .text(name)]) { $1 }, sensor) == [])
    }

    @Test(arguments: [-Double.infinity, -1, 0, .nan, .infinity, 1e308])
    func absurdSensorsDoNoHarm(_ value: Double) throws {
        for preset in PresetCatalogue.all {
            let options = needs(of: preset.name).merging(["preset": .text(preset.name)]) { $1 }
            _ = try self.warnings(options, self.sensor(range: value, rates: [value]))
        }
    }
}
