package import Motion

/// A checked request: what the engine evaluates, and what the app is told is in force.
package struct CompiledDetector: Sendable {
    /// The app's name for it.
    package var name: String
    /// The preset it came from, or `nil` for one with a condition of its own.
    package var preset: String?
    package var sensor: String
    /// What is in force, in a stable order: every option with its default, times as `count` in microseconds.
    package var effective: [(key: String, value: OptionValue)]
    package var warnings: [DetectorWarning]
    /// The rate in Hz the sensor must run at for it.
    package var neededRate: Double
    /// The time between looks; `nil`: a look at each sample.
    package var every: TimeSpan?
    package var rest: TimeSpan
    package var restMode: RestMode
    package var decimation: Decimation
    /// True: registration counts as the last hit, so that the first hit comes after a full rest.
    package var startsResting: Bool
    /// The constant that the detector's quantity must pass, in its canonical unit; `nil` when there is not one.
    package var threshold: Double?
    /// What that quantity measures; `none` for a number, or for what has no name.
    package var dimension: Dimension

    /// Distinct filters, windows and other memories of its condition.
    package var statefulFeatures: Int { self.condition.formula.nodes.count { $0.operation.stateSize > 0 } }

    /// How long a sample before a look can still bear on it, in µs: the time between looks, or all windows in a row.
    var memory: Int64 {
        Int64(max(Double(self.every?.microseconds ?? 0), self.condition.formula.memory))
    }

    var condition: Condition
}
