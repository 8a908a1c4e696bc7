import Motion

extension PresetCatalogue {
    static let locations: [Preset] = [
        Preset(
            name: "location.adaptive", sensor: "location",
            summary: "The device has moved as far as it does in 10 s; each 50 m while it is slow.",
            whenToUse:
                "A track of a journey: by time while it moves, by distance while it is slow, nothing while it is still.",
            weaknesses:
                "The article's rule has a step the wrong way: 50 m at 2.9 m/s, 30 m at 3 m/s and 50 m again at 5 m/s. From 3.3 "
                + "to 3.6 and from 4.4 to 4.5 m/s it sets its filter at each fix, and so reports each fix. 'smoothing' cures both.",
            parameters: [
                PresetParameter(
                    name: "smoothing", dimension: .share, range: 0...1, defaultValue: 0,
                    meaning:
                        "0: the article's rule. More: never below 50 m, and the filter is set only when it is off by more than "
                        + "this share (>); 25% is good.")
            ],
            every: nil, rest: .zero, restMode: .none, source: .native(.adaptive)),
        Preset(
            name: "location.distance", sensor: "location",
            summary: "The device has moved so far since it last did.",
            whenToUse: "Something depends on where the device is, and a certain distance matters.",
            weaknesses:
                "A fix that is far off counts as a way; a distance below the receiver's accuracy fires at rest.",
            parameters: [length("distance", .atLeast, 100, 1...100_000, "The distance from the last hit that counts.")],
            every: nil, rest: .zero, restMode: .none, source: .native(.distance)),
        Preset(
            name: "location.visit", sensor: "location",
            summary: "The device stays at a place, or leaves one where it stayed; the hit carries how long it did.",
            whenToUse: "To know where somebody spends time, and not how they got there.",
            weaknesses:
                "A stay is known when its time has passed, and while fixes come; a place that is larger than the radius is several.",
            parameters: [
                length(
                    "radius", .atMost, 100, 10...10_000, "How far one may move without leaving, besides the accuracy."),
                time("for", .atLeast, 300, 10...86_400, "How long one must stay for it to be a visit."),
            ],
            every: nil, rest: .zero, restMode: .none, source: .native(.visit)),
        Preset(
            name: "geofence", sensor: "location",
            summary: "The device enters or leaves a circle; who begins to listen inside is told that it entered.",
            whenToUse: "Something is to happen at a place.",
            weaknesses:
                "A circle passed between two fixes is not seen. One is inside when the accuracy leaves no doubt (up to half the "
                + "radius), and outside likewise: with poor accuracy both come late.",
            parameters: [
                degrees("latitude", -90...90, "Of the centre, north positive."),
                degrees("longitude", -180...180, "Of the centre, east positive."),
                length(
                    "radius", nil, 100, 10...100_000,
                    "Of the circle. Nearer is inside (<), further is outside (>), and just as far changes nothing."),
            ],
            every: nil, rest: .zero, restMode: .none, source: .native(.geofence)),
    ]

    private static func length(
        _ name: String, _ bound: Bound?, _ value: Double, _ range: ClosedRange<Double>, _ meaning: String
    ) -> PresetParameter {
        PresetParameter(
            name: name, dimension: .length, range: range, defaultValue: value, bound: bound, meaning: meaning)
    }

    private static func degrees(_ name: String, _ range: ClosedRange<Double>, _ meaning: String) -> PresetParameter {
        PresetParameter(
            name: name, dimension: .angle, range: range, defaultValue: 0, isInDegrees: true, isRequired: true,
            meaning: meaning)
    }
}
