package import Motion

/// A checked request: what the engine evaluates, and what the app is told is in force.
package struct CompiledDetector: Sendable {
    /// The app's name for it.
    package var name: String
    /// The preset it came from, or `nil` for one with a condition of its own.
    package var preset: String?
    package var sensor: String
    /// The condition of one without a preset, as it was given.
    var source: String
    /// The values of the preset's parameters, in their order.
    var values: [Double]
    package var warnings: [DetectorWarning]
    /// The rate in Hz the sensor must run at for it.
    package var neededRate: Double
    /// The time between looks; `nil`: a look at each sample.
    package var every: TimeSpan?
    package var restMode: RestMode
    package var decimation: Decimation
    /// True: registration counts as the last hit, so that the first hit comes after a full rest.
    package var startsResting: Bool
    package var rest: TimeSpan
    /// The constant that the detector's quantity must pass, in its canonical unit; `nil` when there is not one.
    package var threshold: Double?
    /// What that quantity measures; `none` for a number, or for what has no name.
    package var dimension: Dimension

    /// It hits when its quantity is less than the threshold, as that of a fall is.
    package var asksForLittle: Bool { self.condition.formula.quantitySign < 0 }
    /// The peak of a hit that is just one; 0 where no threshold says what is.
    package var leastPeak: Double { self.threshold.map { self.asksForLittle ? $0.nextDown : $0.nextUp } ?? 0 }

    /// Distinct filters, windows and other memories of its condition.
    package var statefulFeatures: Int { self.condition.formula.nodes.reduce(0) { $0 + $1.memories } }

    /// As so many operations count its hits: what may hit with each look of a fast sensor costs more by that than by its condition.
    var hitOperations: Int {
        // What rests by itself is let through by the engine, whose rest is none.
        let own = self.condition.formula.nodes.lazy.compactMap(\.rest).max() ?? 0
        let rest = self.restMode == .none ? TimeSpan(microseconds: Int64(own)) : self.rest
        return max(rest, self.every ?? .zero) < Self.seldom ? Self.operationsOfHits : 0
    }

    /// Who hits no more often costs nothing by that.
    private static let seldom = TimeSpan.milliseconds(10)
    private static let operationsOfHits = 8

    /// How long a sample before a look can still bear on it, in µs: the time between looks, or all windows in a row.
    var memory: Int64 {
        Int64(max(Double(self.every?.microseconds ?? 0), self.condition.formula.memory))
    }

    var condition: Condition

    /// The taught gesture that it looks for.
    var gesture: TaughtGesture? { self.condition.formula.nodes.last { $0.gesture != nil }?.gesture }

    /// What is in force, in a stable order: every option with its default, times as `count` in microseconds.
    ///
    /// Made when somebody asks: there may be a million detectors, and few of them are looked at.
    package var effective: [(key: String, value: OptionValue)] {
        let preset = self.preset.flatMap { PresetCatalogue.named($0) }
        var (condition, restMode): (String?, RestMode) = (self.source, self.restMode)
        switch preset?.source {
        case nil: break
        case .condition(let text): condition = text
        // It rests by itself, and its rest cannot be changed.
        case .native: (condition, restMode) = (nil, preset?.restMode ?? restMode)
        }
        var effective: [(key: String, value: OptionValue)] = []
        if let preset { effective.append(("preset", .text(preset.name))) }
        if let condition { effective.append(("when", .text(condition))) }
        effective.append(("sensor", .text(self.sensor)))
        if let every { effective.append(("every", .count(UInt64(max(0, every.microseconds))))) }
        effective.append(("rest", .count(UInt64(max(0, self.rest.microseconds)))))
        effective.append(("rest-mode", .text(restMode.rawValue)))
        effective.append(("decimation", .text(self.decimation.rawValue)))
        for (parameter, value) in zip(preset?.parameters ?? [], self.values) {
            effective.append((parameter.name, parameter.option(value)))
        }
        if let gesture { effective.append((Self.gestureKey, .text(GestureText.write(gesture)))) }
        return effective
    }

    /// The option that brings a taught gesture.
    package static let gestureKey = "gesture"

    /// Whether the same is in force for both, however it was written.
    package func isSame(as other: CompiledDetector) -> Bool {
        self.sensor == other.sensor && self.preset == other.preset && self.source == other.source
            && self.values == other.values && self.every == other.every && self.rest == other.rest
            && self.restMode == other.restMode && self.decimation == other.decimation && self.gesture == other.gesture
    }
}
