import Motion

extension PresetCatalogue {
    private static let lobes = [
        acceleration("threshold", .above, 1.5, 1...64, "How hard each swing must be, gravity included."),
        PresetParameter(
            name: "count", dimension: .none, range: 2...16, defaultValue: 3, isWhole: true, bound: .atLeast,
            meaning: "How many swings, each against the one before."),
        time("within", .atMost, 1.2, 0.1...10, "The time in which the swings must come."),
        PresetParameter(
            name: "rhythm", dimension: .none, range: 0...10, defaultValue: 1.5, bound: .above,
            meaning:
                "In the steady rhythm of steps, how many times its usual strength a swing must be, unless the swings break "
                + "the rhythm; 0: a rhythm holds nothing back."),
    ]

    static let shakes: [Preset] = [
        Preset(
            name: "shake", sensor: "accelerometer",
            summary: "The device is shaken to and fro: the raw vector reverses several times a second.",
            whenToUse:
                "Always, unless an article's detector is wanted: steps and jumps swing the vector but rarely turn it round.",
            weaknesses:
                "A slow shake while somebody runs is taken for running; a gentle shake below 1.5 g needs 'shake.gentle'. "
                + "1.3 false hits an hour of walking with the phone in a pocket, recall 0.93.",
            parameters: lobes,
            sensitivities: [
                Preset.Sensitivity(word: "normal", values: ["threshold": 1.5, "count": 3, "rhythm": 1.5]),
                Preset.Sensitivity(word: "pocket", values: ["threshold": 2, "count": 3, "rhythm": 2]),
                Preset.Sensitivity(word: "sensitive", values: ["threshold": 1.5, "count": 2, "rhythm": 1.25]),
            ],
            every: .milliseconds(50), rest: .seconds(1), restMode: .leading, source: .native(.shake)),
        Preset(
            name: "system.shake", sensor: "accelerometer",
            summary:
                "The shake that the system offers: 'shake' at its defaults (swings above 1.5 g, >), no parameters, the foreground app only by "
                + "shipped policy.",
            whenToUse: "An app reacts to a shake while it is in front, as undo does.",
            weaknesses: "Those of 'shake'; apps in the background do not get it whatever rights they hold.",
            parameters: [], every: .milliseconds(50), rest: .seconds(1), restMode: .leading, source: .native(.shake)),
        Preset(
            name: "shake.gentle", sensor: SensorDescription.motion,
            summary:
                "The device is shaken so gently that gravity hides it: what is left without gravity reverses several times a second.",
            whenToUse: "A small shake is to be enough, in the hand of whoever sits or stands.",
            weaknesses:
                "Who walks or runs is not heard, nor is the first second of all; after a shake of 2 s nothing is for 3 s. "
                + "No false hit in 80 min of walking, 4.8 an hour of other things.",
            parameters: [
                acceleration("threshold", .above, 0.35, 0.1...64, "How hard each swing must be, without gravity."),
                PresetParameter(
                    name: "count", dimension: .none, range: 2...16, defaultValue: 6, isWhole: true, bound: .atLeast,
                    meaning: "How many swings, each against the one before."),
                time("span", .atMost, 1, 0.1...10, "The time in which the swings must come."),
            ],
            every: .milliseconds(50), rest: .seconds(1), restMode: .leading,
            source: .condition(
                "reversals(user, over: threshold, within: span) >= count and activity != unknown and activity != walking "
                    + "and activity != running")),
    ]

    /// The articles' detectors with the articles' numbers and order of operations.
    static let articles: [Preset] = [
        Preset(
            name: "shake.planar", sensor: "accelerometer",
            summary: "A jolt in the plane of the display; the axis through the display is ignored.",
            whenToUse: "The phone lies flat in the hand and is shaken sideways.",
            weaknesses:
                "In a trouser pocket gravity and heel strikes lie in that plane: 149 false hits an hour of walking, recall 0.83.",
            parameters: [
                acceleration("threshold", .above, 2.3, 0...64, "Acceleration in the plane that counts as a shake.")
            ],
            every: .milliseconds(100), rest: .seconds(1), restMode: .restarting,
            source: .condition("hypot(x, y) > threshold")),
        Preset(
            name: "shake.axis", sensor: "accelerometer",
            summary: "A jolt along any one axis, looked at five times a second.",
            whenToUse: "Few false hits matter more than catching each shake.",
            weaknesses:
                "Five looks a second miss a third of the shakes (recall 0.66); 37 false hits an hour of walking in a pocket. "
                + "Below 1 g gravity alone makes it true.",
            parameters: [
                acceleration("threshold", .above, 2.45, 0...64, "Acceleration along an axis that counts as a shake.")
            ],
            sensitivities: [
                Preset.Sensitivity(word: "high", values: ["threshold": 0.75]),
                Preset.Sensitivity(word: "normal", values: ["threshold": 1.5]),
                Preset.Sensitivity(word: "low", values: ["threshold": 2.5]),
            ],
            every: .milliseconds(200), rest: .seconds(1), restMode: .leading, startsResting: true,
            source: .condition("max(abs(x), abs(y), abs(z)) > threshold")),
        Preset(
            name: "shake.lowpass", sensor: "accelerometer",
            summary: "A step of the filtered acceleration along any axis.",
            whenToUse: "Only very hard jolts should count, on a sensor of ±8 g or more.",
            weaknesses:
                "0.38 g of the filtered value is a jump of 3.8 g of the raw one: recall 0.34 at ten looks a second, and the "
                + "result changes with the pace because the filter counts looks.",
            parameters: [
                acceleration(
                    "threshold", .above, 0.38, 0.33...0.88, "Step of the filtered value, a tenth of the raw jump.")
            ],
            every: .milliseconds(200), rest: .seconds(1), restMode: .leading, startsResting: true,
            source: .condition(
                "max(abs(delta(lowpass(x, weight: 0.1, from: 0g), from: 0g)), "
                    + "abs(delta(lowpass(y, weight: 0.1, from: 0g), from: 0g)), "
                    + "abs(delta(lowpass(z, weight: 0.1, from: 0g), from: 0g))) > threshold")),
        Preset(
            name: "shake.user", sensor: "accelerometer",
            summary: "The device is moved at all: acceleration without gravity along any axis.",
            whenToUse: "To notice that the device is touched or picked up.",
            weaknesses:
                "It fires at each true look, 2813 times an hour of walking when limited to one a second; gravity is removed by "
                + "one pole at 0.25 Hz, so turning the device over counts as motion.",
            parameters: [acceleration("threshold", .above, 0.3, 0...64, "Acceleration without gravity that counts.")],
            every: TimeSpan(microseconds: 16_667), rest: .zero, restMode: .none,
            source: .condition(
                "max(abs(highpass(x, 636620us)), abs(highpass(y, 636620us)), abs(highpass(z, 636620us))) > threshold")),
        Preset(
            name: "shake.magnitude", sensor: "accelerometer",
            summary: "A jolt in any direction.",
            whenToUse: "The phone rests, or each strong movement is meant.",
            weaknesses: "Walking in a pocket fires 1146 times an hour at 1.6 g, 451 at 2 g and 53 at 3 g.",
            parameters: [
                acceleration(
                    "threshold", .above, 1.6, 0...64,
                    "Acceleration in any direction, gravity included; 2 to 3 g is reasonable."
                )
            ],
            every: .milliseconds(100), rest: .seconds(1), restMode: .leading,
            source: .condition("norm(x, y, z) > threshold")),
        Preset(
            name: "shake.tilted", sensor: "accelerometer",
            summary: "A jolt along x or y while the filtered x and y lie at an angle.",
            whenToUse: "A phone held flat should not react, one held upright should.",
            weaknesses:
                "A phone upright in a pocket has the angle already, so it protects nothing there: 1916 false hits an hour of "
                + "walking at 1.5 g and 30 looks a second. Filtering again at each jolt is the article's order of operations.",
            parameters: [
                acceleration("threshold", .atLeast, 1.5, 0...64, "Acceleration along x or y that counts as a jolt."),
                angle("angle", .above, degrees: 70, 0...180, "Angle of the filtered (x, y) beyond which a jolt fires."),
            ],
            every: .milliseconds(100), rest: .seconds(1), restMode: .leading, source: .native(.tilted)),
    ]
}
