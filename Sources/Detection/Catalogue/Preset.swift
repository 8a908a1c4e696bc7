package import Motion

/// A named, documented detector with parameters and defaults.
package struct Preset: Sendable {
    package enum Source: Equatable, Sendable {
        /// A condition in the detector language, in which the parameters' names are constants.
        case condition(String)
        /// A function that the language cannot express.
        case native(NativeFunction)
    }

    /// A word that stands for values of some parameters.
    package struct Sensitivity: Equatable, Sendable {
        package var word: String
        package var values: [String: Double]
    }

    package var name: String
    package var sensor: String
    package var summary: String
    package var whenToUse: String
    package var weaknesses: String
    package var parameters: [PresetParameter]
    /// An option that is a text without a default, which only the app can bring.
    package var content: String?
    /// The words that the option `sensitivity` takes; none: there is no such option.
    package var sensitivities: [Sensitivity] = []
    /// The time between looks; `nil`: a look at each sample.
    package var every: TimeSpan?
    package var rest: TimeSpan
    package var restMode: RestMode
    /// True: registration counts as the last hit.
    package var startsResting = false
    package var source: Source
}

/// A number that a preset takes from the request.
package struct PresetParameter: Equatable, Sendable {
    package var name: String
    /// The canonical unit, as the dimension has it; degrees for what everybody gives in degrees.
    package var unit: String { self.isInDegrees ? "deg" : self.dimension.canonicalUnit }
    package var dimension: Dimension
    package var range: ClosedRange<Double>
    package var defaultValue: Double
    /// True for a count.
    package var isWhole = false
    /// True for a place on earth: values are in degrees.
    package var isInDegrees = false
    /// True for what nobody but the app can know; there is no default then.
    package var isRequired = false
    /// Which side of the value counts, for one that something is compared with.
    package var bound: Bound?
    /// What the value is.
    var meaning: String

    /// What people are told of it: also whether the value itself counts.
    package var help: String { self.bound.map { "\(self.meaning) \($0.sentence)" } ?? self.meaning }

    /// A value as options carry it: times as microseconds, counts whole.
    func option(_ value: Double) -> OptionValue {
        if self.dimension == .time { return .count(UInt64(max(0, TimeSpan(seconds: value)?.microseconds ?? 0))) }
        // The range bounds a whole parameter far below what UInt32 holds.
        return self.isWhole ? .whole(UInt32(max(0, min(value, 1_000_000)))) : .number(value)
    }
}

/// Which side of a value counts, and whether the value itself does.
package enum Bound: String, Sendable, CaseIterable {
    case above = ">"
    case atLeast = ">="
    case below = "<"
    case atMost = "<="

    var sentence: String {
        switch self {
        case .above: "What is above it counts (>)."
        case .atLeast: "What is at least that counts (>=)."
        case .below: "What is below it counts (<)."
        case .atMost: "What is at most that counts (<=)."
        }
    }
}

/// The functions of the catalogue that the language cannot express. They keep their rests themselves.
package enum NativeFunction: String, Sendable, CaseIterable {
    /// Lobes that reverse each other; the hit clears them.
    case shake
    /// A jolt that counts only when the filtered values lie at an angle, filtering again at each jolt.
    case tilted
    /// A change of the axis that points up.
    case orientation
    /// A range of a hinge's angle that begins or ends.
    case posture
    /// A change of what the device is doing.
    case activity
    /// A distance that follows the speed.
    case adaptive
    /// A distance since the last hit.
    case distance
    /// A stay that begins or ends.
    case visit
    /// A circle that is entered or left.
    case geofence
    /// A gesture that was taught, which the request brings.
    case gesture
}
