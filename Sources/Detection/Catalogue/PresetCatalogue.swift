import Motion

/// All presets, by name.
package enum PresetCatalogue {
    package static let all: [Preset] = [planar, axis, magnitude]

    package static func named(_ name: String) -> Preset? { self.all.first { $0.name == name } }

    private static func threshold(_ value: Double, _ help: String) -> PresetParameter {
        PresetParameter(
            name: "threshold", dimension: .acceleration, range: 0...64, defaultValue: value, help: help)
    }

    private static let planar = Preset(
        name: "shake.planar", sensor: "accelerometer",
        summary: "A jolt in the plane of the display; the axis through the display is ignored.",
        whenToUse: "The phone lies flat in the hand and is shaken sideways.",
        weaknesses:
            "In a trouser pocket gravity and heel strikes lie in that plane: 149 false hits an hour of walking.",
        parameters: [threshold(2.3, "Acceleration in the plane that counts as a shake.")],
        every: .milliseconds(100), rest: .seconds(1), restMode: .restarting, startsResting: false,
        source: .condition("hypot(x, y) > threshold"))

    private static let axis = Preset(
        name: "shake.axis", sensor: "accelerometer",
        summary: "A jolt along any one axis, looked at five times a second.",
        whenToUse: "Few false hits matter more than catching each shake.",
        weaknesses: "Five looks a second miss a third of the shakes; 37 false hits an hour of walking in a pocket.",
        parameters: [threshold(2.45, "Acceleration along an axis that counts as a shake.")],
        every: .milliseconds(200), rest: .seconds(1), restMode: .leading, startsResting: true,
        source: .condition("max(abs(x), abs(y), abs(z)) > threshold"))

    private static let magnitude = Preset(
        name: "shake.magnitude", sensor: "accelerometer",
        summary: "A jolt in any direction.",
        whenToUse: "The phone rests, or each strong movement is meant.",
        weaknesses: "Walking in a pocket fires 1146 times an hour at 1.6 g and 53 times at 3 g.",
        parameters: [threshold(1.6, "Acceleration in any direction, gravity included, that counts as a shake.")],
        every: .milliseconds(100), rest: .seconds(1), restMode: .leading, startsResting: false,
        source: .condition("norm(x, y, z) > threshold"))
}
