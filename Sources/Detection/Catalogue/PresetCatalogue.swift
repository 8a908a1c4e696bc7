import Motion

/// All presets, by name.
package enum PresetCatalogue {
    /// Every preset, in the order in which a person should read them.
    package static let all: [Preset] = shakes + articles + gestures + states + hinges + locations

    private static let byName: [String: Preset] = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The preset of that name.
    package static func named(_ name: String) -> Preset? { self.byName[name] }

    static func acceleration(
        _ name: String, _ bound: Bound, _ value: Double, _ range: ClosedRange<Double> = 0...64, _ meaning: String
    ) -> PresetParameter {
        PresetParameter(
            name: name, dimension: .acceleration, range: range, defaultValue: value, bound: bound, meaning: meaning)
    }

    static func time(
        _ name: String, _ bound: Bound?, _ value: Double, _ range: ClosedRange<Double>, _ meaning: String
    ) -> PresetParameter {
        PresetParameter(
            name: name, dimension: .time, range: range, defaultValue: value, bound: bound, meaning: meaning)
    }

    /// Whether the rhythm of a walk or a run keeps a turn from being told.
    static let rhythm = PresetParameter(
        name: "rhythm", dimension: .none, range: 0...1, defaultValue: 1, isWhole: true,
        meaning: "1: no turn in the rhythm of a walk or a run; 0: neither it nor a ride holds anything back.")

    static func angle(
        _ name: String, _ bound: Bound?, degrees: Double, _ range: ClosedRange<Double>, _ meaning: String
    ) -> PresetParameter {
        let unit = Double.pi / 180
        return PresetParameter(
            name: name, dimension: .angle, range: range.lowerBound * unit...range.upperBound * unit,
            defaultValue: degrees * unit, bound: bound, meaning: meaning)
    }
}
