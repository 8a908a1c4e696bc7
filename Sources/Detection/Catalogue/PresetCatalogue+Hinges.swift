import Motion

extension PresetCatalogue {
    static let hinges: [Preset] = [
        Preset(
            name: "tablet-mode", sensor: SensorDescription.hinge,
            summary:
                "A laptop's display is folded round behind its base, or back; the hit carries 1 when it is a tablet and 2 when it is none any more.",
            whenToUse: "To put away what only makes sense with a keyboard; a tent is a tablet, too.",
            weaknesses:
                "A device that was folded round before it was first seen is one only after it has been seen at 200 to 340 degrees.",
            parameters: range(
                from: 200, 180...340, "From where on it is a tablet.", to: 360, 340...360,
                "Up to where: as far as a hinge turns.", margin: 40, 0...160),
            every: .milliseconds(50), rest: .zero, restMode: .none, source: .native(.posture)),
        Preset(
            name: "tent", sensor: SensorDescription.hinge,
            summary:
                "A laptop's display is folded round so far that it can stand, as a tent or on its keyboard; the hit carries 1 when it is, "
                + "2 when it is not any more.",
            whenToUse: "To show something large that nobody types at.",
            weaknesses: "It goes by the angle alone: a tablet that is held half open is a tent as well.",
            parameters: range(
                from: 230, 180...340, "From where on it can stand.", to: 330, 190...340, "Up to where.", margin: 10,
                0...40),
            every: .milliseconds(50), rest: .zero, restMode: .none, source: .native(.posture)),
        Preset(
            name: "closed", sensor: SensorDescription.hinge,
            summary:
                "A laptop is shut; the hit carries 1 when it is, 2 when it is open again.",
            whenToUse: "To notice that somebody ends his work, where there is no switch in the lid.",
            weaknesses:
                "The angle alone does not tell shut from folded round: one that was shut before it was first seen is told only "
                + "after it was open. Up to 20 degrees it is shut or open only as it was seen to come there.",
            parameters: range(
                from: 0, 0...10, "From where on it is shut.", to: 10, 5...40, "Up to where.", margin: 10, 0...40),
            every: .milliseconds(50), rest: .zero, restMode: .none, source: .native(.posture)),
    ]

    private static func range(
        from low: Double, _ lows: ClosedRange<Double>, _ lowMeaning: String, to high: Double,
        _ highs: ClosedRange<Double>, _ highMeaning: String, margin: Double, _ margins: ClosedRange<Double>
    ) -> [PresetParameter] {
        [
            angle("from", .atLeast, degrees: low, lows, lowMeaning),
            angle("to", .atMost, degrees: high, highs, highMeaning),
            angle("margin", .above, degrees: margin, margins, "How far outside it must be for it to end."),
            time("hold", .atLeast, 0.25, 0...5, "How long it must be so, and be trusted."),
            PresetParameter(
                name: "trust", dimension: .share, range: 0.01...1, defaultValue: 0.5, bound: .atLeast,
                meaning: "The confidence from which on an angle counts."),
        ]
    }
}
