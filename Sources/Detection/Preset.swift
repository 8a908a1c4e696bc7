package import Motion

/// A named, documented detector with parameters and defaults.
package struct Preset: Sendable {
    package enum Source: Equatable, Sendable {
        /// A condition in the detector language, in which the parameters' names are constants.
        case condition(String)
        /// A function that the language cannot express.
        case native(String)
    }

    package var name: String
    package var sensor: String
    package var summary: String
    package var whenToUse: String
    package var weaknesses: String
    package var parameters: [PresetParameter]
    /// The time between looks; `nil`: a look at each sample.
    package var every: TimeSpan?
    package var rest: TimeSpan
    package var restMode: RestMode
    /// True: registration counts as the last hit.
    package var startsResting: Bool
    package var source: Source
}

/// A number that a preset takes from the request.
package struct PresetParameter: Equatable, Sendable {
    package var name: String
    /// The canonical unit, as the dimension has it.
    package var unit: String { self.dimension.canonicalUnit }
    package var dimension: Dimension
    package var range: ClosedRange<Double>
    package var defaultValue: Double
    package var help: String
}
