import Motion

extension PresetCatalogue {
    static let gestures: [Preset] = [
        Preset(
            name: "tap", sensor: "accelerometer",
            summary: "A short knock on a device that is at rest before and after.",
            whenToUse: "A tap on the device's back or on the table it lies on.",
            weaknesses:
                "A knock lasts some 10 ms: below 200 Hz it falls between the samples. Putting the device down looks the same.",
            parameters: [acceleration("threshold", .above, 0.5, 0.05...16, "Height of the knock without gravity.")],
            every: .milliseconds(5), rest: .milliseconds(300), restMode: .leading,
            source: .condition(
                "held(peak(norm(user), 40ms) < threshold / 3, 100ms) then peak(norm(user), 15ms) > threshold within 20ms "
                    + "then held(norm(user) < threshold / 2, 60ms) within 150ms")),
        Preset(
            name: "double-tap", sensor: "accelerometer",
            summary: "Two knocks within half a second.",
            whenToUse: "A deliberate gesture on a device at rest.",
            weaknesses:
                "Needs 200 Hz as 'tap' does; it does not ask for rest around the knocks, so a jolting ride can fire it.",
            parameters: [
                acceleration("threshold", .above, 0.5, 0.05...16, "Height of each knock without gravity."),
                time("within", .below, 0.5, 0.15...2, "The time in which both must come."),
            ],
            every: .milliseconds(5), rest: .seconds(1), restMode: .leading,
            source: .condition("count(peak(norm(user), 60ms) > threshold, within) >= 2")),
        Preset(
            name: "flip.face-down", sensor: "accelerometer",
            summary: "The device is turned over and lies still on its face.",
            whenToUse: "To silence something by turning the device over.",
            weaknesses: "The turn must take less than the given time; a device that was never face up does not fire.",
            parameters: [time("within", .atMost, 2, 0.5...10, "From leaving face up to lying still.")],
            every: .milliseconds(50), rest: .seconds(2), restMode: .leading,
            source: .condition(
                "lowpass(z, 100ms) > 0.94g then held(lowpass(z, 100ms) < -0.94g and norm(user) < 0.5g, 300ms) within within"
            )),
        Preset(
            name: "pick-up", sensor: "accelerometer",
            summary: "A device that was at rest is lifted and turned.",
            whenToUse: "To wake a display when the device is taken from a table.",
            weaknesses: "Lifting it level, without a turn, is not seen; neither is picking up what was moving already.",
            parameters: [angle("angle", .above, degrees: 20, 5...90, "The turn that counts.")],
            every: .milliseconds(50), rest: .seconds(2), restMode: .leading,
            source: .condition(
                "held(norm(user) < 0.1g, 1s) then "
                    + "angle(lowpass(vector(x, y, z), 100ms), lowpass(vector(x, y, z), 2s)) > angle within 1500ms")),
        Preset(
            name: "free-fall", sensor: "accelerometer",
            summary: "The device falls: it feels no weight.",
            whenToUse: "To protect something before the impact.",
            weaknesses: "A spinning device feels its own spin and may not read near zero; 120 ms are a fall of 7 cm.",
            parameters: [
                acceleration("threshold", .below, 0.4, 0.05...0.9, "What counts as no weight."),
                time("for", .atLeast, 0.12, 0.02...2, "How long it must last."),
            ],
            every: .milliseconds(10), rest: .seconds(1), restMode: .leading,
            source: .condition("held(norm(x, y, z) < threshold, for)")),
        Preset(
            name: "gesture", sensor: "accelerometer",
            summary:
                "A gesture that somebody taught with 'jostle teach' (docs/gestures.md); the option 'gesture' brings the content of its file. "
                + "The hit carries the score: 1 is the example itself, 0.5 the gesture's own limit.",
            whenToUse: "A motion of somebody's own, made between two calm moments.",
            weaknesses:
                "It is told 0.3 s after its end, needs a calm moment on either side, nothing half as strong in the 0.8 s before, and 25 samples a second. What is longer than 3 s is none; "
                + "who holds the device otherwise than when it was taught is rarely found.",
            parameters: [
                PresetParameter(
                    name: "threshold", dimension: .none, range: 0.1...0.95, defaultValue: 0.5, bound: .atLeast,
                    meaning: "The score that counts; 0.06 less counts when it comes twice within 3 s.")
            ],
            content: CompiledDetector.gestureKey, every: nil, rest: .seconds(1), restMode: .leading,
            source: .native(.gesture)),
    ]

    static let states: [Preset] = [
        Preset(
            name: "tilt", sensor: "accelerometer",
            summary: "The device lies differently than a few seconds ago.",
            whenToUse: "To look again at what depends on how the device lies.",
            weaknesses: "The reference follows slowly, so a very slow turn is not seen.",
            parameters: [angle("angle", .above, degrees: 35, 5...170, "The turn that counts.")],
            every: .milliseconds(100), rest: .seconds(2), restMode: .restarting,
            source: .condition(
                "angle(lowpass(vector(x, y, z), 500ms), lowpass(vector(x, y, z), 5s)) > angle")),
        Preset(
            name: "still", sensor: "accelerometer",
            summary: "The device has not been moved for a while; once, until it moves again.",
            whenToUse: "To stop what only makes sense in motion.",
            weaknesses: "A noisy sensor needs a larger threshold; a steady ride on a smooth road is still to it.",
            parameters: [
                acceleration("threshold", .below, 0.08, 0.005...1, "Largest swing of the magnitude in a second."),
                time("for", .atLeast, 5, 0.5...300, "How long it must last."),
            ],
            every: .milliseconds(100), rest: .seconds(1), restMode: .restarting,
            source: .condition("held(range(norm(x, y, z), 1s) < threshold, for)")),
        Preset(
            name: "moving", sensor: "accelerometer",
            summary: "The device is carried or driven; once, until it has been still for the rest.",
            whenToUse: "To begin what only makes sense in motion.",
            weaknesses: "Typing on the device moves it too.",
            parameters: [
                acceleration("threshold", .above, 0.08, 0.005...4, "Mean strength of motion over two seconds.")
            ],
            every: .milliseconds(100), rest: .seconds(5), restMode: .restarting,
            source: .condition("rms(norm(x, y, z) - lowpass(norm(x, y, z), 2s), 2s) > threshold")),
        Preset(
            name: "step", sensor: "accelerometer",
            summary: "A step while the device is carried.",
            whenToUse: "Where the rhythm of walking matters more than an exact count.",
            weaknesses: "It looks at one step at a time, so shaking and riding on a rough road count as steps too.",
            parameters: [acceleration("threshold", .above, 0.12, 0.02...2, "Height of the step above the mean.")],
            every: .milliseconds(20), rest: .milliseconds(300), restMode: .leading,
            source: .condition("lowpass(norm(x, y, z), 50ms) - lowpass(norm(x, y, z), 1s) > threshold")),
        Preset(
            name: "activity", sensor: "accelerometer",
            summary:
                "The device begins to be something else: the hit carries 1 for still, 2 handled, 3 walking, 4 running, 5 riding.",
            whenToUse:
                "To know how a device is carried. A condition may ask for it, too: 'activity == walking and norm(user) > 1g'.",
            weaknesses:
                "It is known 0.4 to 3 s late. Pedalling and a hand that waves in a rhythm are walking to it, a smooth ride is still.",
            parameters: [], every: .milliseconds(50), rest: .zero, restMode: .none, source: .native(.activity)),
        Preset(
            name: "orientation", sensor: "accelerometer",
            summary:
                "Another side of the device points up; the hit carries 1 for the right edge (x), 2 the left one (-x), 3 the upper one (y), "
                + "4 the lower one (-y), 5 the display (z), 6 the back (-z).",
            whenToUse: "To turn what is shown: a side counts when the device is calm, not in the rhythm of a walk.",
            weaknesses:
                "An axis must show 0.87 of gravity or more (>=), which is within 29.5 degrees of it; in between the old orientation stays. "
                + "A turn made while walking is told in a calm moment, and in a vehicle one that lasts for 1.5 s.",
            parameters: turning,
            every: .milliseconds(50), rest: .zero, restMode: .none, source: .native(.orientation)),
        Preset(
            name: "orientation.screen", sensor: "accelerometer",
            summary:
                "Another edge of the screen is up; the hit carries 1 for the right edge (x), 2 the left one (-x), 3 the upper one (y), "
                + "4 the lower one (-y).",
            whenToUse:
                "To turn a picture as 'net.hadess.SensorProxy' names its sides, but calmly; a screen may lean back.",
            weaknesses:
                "Lying flat, and on the border of two edges, the old one stays. A turn made while walking is told in a calm moment, "
                + "and in a vehicle one that lasts for 1.5 s.",
            parameters: turning + [
                angle(
                    "lean", .above, degrees: 35, 5...44,
                    "How far above the horizon an edge must point, and no other may.")
            ],
            every: .milliseconds(50), rest: .zero, restMode: .none, source: .native(.orientation)),
    ]

    /// What both ask of a turn.
    private static let turning: [PresetParameter] = [
        time("settle", nil, 0.1, 0.05...5, "Time constant with which gravity is followed."),
        time("hold", .atLeast, 0.4, 0...5, "How long the new side must be up, calmly."),
        acceleration(
            "calm", .atMost, 0.06, 0.01...1, "How far the magnitude may be from its mean of 3 s meanwhile."),
        acceleration(
            "unrest", .below, 0.15, 0.01...4, "Mean strength of motion over 3 s; steps and shakes are above it."),
        time(
            "ride", .atLeast, 1.5, 0...5,
            "How long in a vehicle that has been felt for 3 s of late, where arms and bumps turn a device for a moment."
        ),
        rhythm,
    ]
}
