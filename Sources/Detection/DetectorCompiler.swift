package import Motion

/// Checks and compiles a request. Pure; never traps; bounded time.
package enum DetectorCompiler {
    /// Compiles `request`; `sensor` describes the device it will run on and serves the warnings, `nil` if unknown.
    package static func compile(
        _ request: DetectorRequest, for sensor: SensorDescription?
    ) throws(DetectorProblem) -> CompiledDetector {
        let options = RequestOptions(request)
        switch (try options.text("preset"), try options.text("when")) {
        case (let name?, nil):
            guard let preset = PresetCatalogue.named(name) else {
                let near = Suggestion.nearest(to: name, among: PresetCatalogue.all.map(\.name))
                throw options.problem(
                    "preset", "unknown preset '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
            }
            return try self.compile(preset, options, sensor)
        case (nil, let condition?):
            return try self.compile(condition: condition, options, sensor)
        case (.some, .some):
            throw options.problem("when", "give 'preset' or 'when', not both")
        case (nil, nil):
            try options.refuseUnknown(besides: [])
            throw options.problem(nil, "give 'preset' or 'when'")
        }
    }

    private static func compile(
        _ preset: Preset, _ options: RequestOptions, _ sensor: SensorDescription?
    ) throws(DetectorProblem) -> CompiledDetector {
        var parameters = preset.parameters.map(\.name)
        if !preset.sensitivities.isEmpty { parameters.append("sensitivity") }
        if let content = preset.content { parameters.append(content) }
        try options.refuseUnknown(besides: parameters)
        if let asked = try options.text("sensor"), asked != preset.sensor {
            throw options.problem("sensor", "'\(preset.name)' needs '\(preset.sensor)', not '\(printable(asked))'")
        }
        let pace = Pace(
            every: try options.time("every", in: DetectionLimits.every) ?? preset.every,
            rest: try options.time("rest", in: DetectionLimits.rest) ?? preset.rest,
            restMode: try options.word("rest-mode", RestMode.self) ?? preset.restMode,
            decimation: try options.word("decimation", Decimation.self) ?? .last, startsResting: preset.startsResting)
        try pace.check(options)
        var values = try self.values(of: preset, options)
        // The system's shake is the shake with its defaults and nothing to set.
        if preset.source == .native(.shake), values.isEmpty {
            values = PresetCatalogue.named("shake")?.parameters.map(\.defaultValue) ?? []
        }

        let scope: ConditionScope
        let result: ConditionParser.Result
        var native: NativeFunction?
        switch preset.source {
        case .condition(let text):
            var own = try self.scope(preset.sensor, sensor, isPaced: pace.every != nil, options)
            for (parameter, value) in zip(preset.parameters, values) {
                own.constants[parameter.name] = Quantity(value, parameter.dimension)
            }
            scope = own
            result = try self.parse(text, scope, options, key: "preset")
        case .native(let function):
            scope = try self.scope(preset.sensor, sensor, isPaced: pace.every != nil, options)
            if preset.restMode != pace.restMode {
                throw options.problem(
                    "rest-mode", "'\(preset.name)' keeps its own rest, which is '\(preset.restMode.rawValue)'")
            }
            native = function
            result = try self.native(function, values, pace, scope, options)
        }

        // A native function rests by itself: the engine lets each of its true looks through.
        let detector = CompiledDetector(
            name: options.name, preset: preset.name, sensor: preset.sensor, source: "", values: values, warnings: [],
            neededRate: self.rate(pace, of: preset.sensor, for: result.condition.formula), every: pace.every,
            restMode: native == nil ? pace.restMode : .none, decimation: pace.decimation,
            startsResting: pace.startsResting, rest: pace.rest, threshold: result.threshold,
            dimension: result.dimension,
            condition: result.condition)
        return self.warned(detector, scope, sensor)
    }

    private static func compile(
        condition text: String, _ options: RequestOptions, _ sensor: SensorDescription?
    ) throws(DetectorProblem) -> CompiledDetector {
        try options.refuseUnknown(besides: [])
        let name = try options.text("sensor") ?? sensor?.name ?? "accelerometer"
        guard name.utf8.count <= DetectionLimits.sensorName else {
            throw DetectorProblem(
                .limitExceeded("sensor-name-bytes"), detector: options.name, key: "sensor",
                "the name is longer than \(DetectionLimits.sensorName) bytes")
        }
        let pace = Pace(
            every: try options.time("every", in: DetectionLimits.every),
            rest: try options.time("rest", in: DetectionLimits.rest) ?? DetectionLimits.defaultRest(of: name),
            restMode: try options.word("rest-mode", RestMode.self) ?? .leading,
            decimation: try options.word("decimation", Decimation.self) ?? .last, startsResting: false)
        try pace.check(options)
        let scope = try self.scope(name, sensor, isPaced: pace.every != nil, options)
        let result = try self.parse(text, scope, options, key: "when")
        let detector = CompiledDetector(
            name: options.name, preset: nil, sensor: name, source: text, values: [], warnings: [],
            neededRate: self.rate(pace, of: name, for: result.condition.formula), every: pace.every,
            restMode: pace.restMode, decimation: pace.decimation, startsResting: false, rest: pace.rest,
            threshold: result.threshold, dimension: result.dimension, condition: result.condition)
        return self.warned(detector, scope, sensor)
    }

    // MARK: Parts

    /// A detector's looks and rests.
    struct Pace {
        var every: TimeSpan?
        var rest: TimeSpan
        var restMode: RestMode
        var decimation: Decimation
        var startsResting: Bool

        func check(_ options: RequestOptions) throws(DetectorProblem) {
            if self.decimation != .last, self.every == nil {
                throw options.problem("decimation", "'\(self.decimation.rawValue)' needs 'every'")
            }
        }
    }

    /// The rate that the looks need. Decimations that gather need something to gather; and samples that are too far apart are each
    /// behind a gap, across which nobody looks back.
    private static func rate(_ pace: Pace, of sensor: String, for formula: Formula) -> Double {
        guard let every = pace.every else { return DetectionLimits.defaultRate(of: sensor) }
        let looks = 1 / max(every.seconds, 0.000_001)
        let gathers = pace.decimation != .last
        let looksBack = gathers || formula.nodes.contains { $0.memories > 0 }
        let wanted = max(looks * (gathers ? 4 : 1), looksBack ? DetectionLimits.slowestRate(of: sensor) : 0)
        return min(wanted, SensorLimits.rates.upperBound)
    }

    private static func values(of preset: Preset, _ options: RequestOptions) throws(DetectorProblem) -> [Double] {
        var values = preset.parameters.map(\.defaultValue)
        let word = preset.sensitivities.isEmpty ? nil : try options.text("sensitivity")
        var named: Preset.Sensitivity?
        if let word {
            named = preset.sensitivities.first { $0.word == word }
            guard named != nil else {
                let words = preset.sensitivities.map { "'\($0.word)'" }.joined(separator: ", ")
                throw options.problem("sensitivity", "expected one of \(words), found '\(printable(word))'")
            }
        }
        for (index, parameter) in preset.parameters.enumerated() {
            let own = try options.number(parameter)
            if let value = named?.values[parameter.name] {
                guard own == nil else {
                    throw options.problem(parameter.name, "give '\(parameter.name)' or 'sensitivity', not both")
                }
                values[index] = value
            } else if let own {
                values[index] = own
            } else if parameter.isRequired {
                throw options.problem(parameter.name, "'\(preset.name)' needs '\(parameter.name)'")
            }
        }
        return values
    }

    private static func parse(
        _ text: String, _ scope: ConditionScope, _ options: RequestOptions, key: String
    ) throws(DetectorProblem) -> ConditionParser.Result {
        do {
            return try ConditionParser.parse(text, in: scope)
        } catch {
            throw options.problem(error, key: key)
        }
    }

    /// What names mean on a sensor: its own channels, or those that such a sensor has when it is not there.
    private static func scope(
        _ name: String, _ sensor: SensorDescription?, isPaced: Bool, _ options: RequestOptions
    ) throws(DetectorProblem) -> ConditionScope {
        let usual = self.usual[SensorDescription.kind(of: name)]
        if let sensor, sensor.name == name, sensor.channels.count <= SensorLimits.channels, usual == nil {
            let kind = Unit.named(sensor.unit).map { Kind($0.dimension) } ?? .number
            return ConditionScope(channels: sensor.channels, kind: kind, hasGravity: false, isPaced: isPaced)
        }
        guard var scope = usual else {
            let known = self.usual.keys.sorted()
            throw options.problem(
                "sensor", "unknown sensor '\(printable(name))'\(Suggestion.advice(on: name, among: known))")
        }
        scope.isPaced = isPaced
        return scope
    }

    /// What names mean on the sensors that we know, by their kinds. Made once: a million detectors ask.
    private static let usual: [String: ConditionScope] = {
        let kinds: KeyValuePairs<String, Kind> = [
            SensorDescription.accelerometer: Kind(.acceleration), SensorDescription.motion: Kind(.acceleration),
            "gyroscope": Kind(.angularVelocity), "light": Kind(.illuminance), "proximity": .number,
            SensorDescription.location: .number, SensorDescription.hinge: .number,
        ]
        let scopes = kinds.map { name, kind in
            let scope = ConditionScope(
                channels: SensorDescription.channels(of: name), kind: kind,
                otherUnits: SensorDescription.otherUnits(of: name), hasGravity: kind == Kind(.acceleration),
                isPaced: false)
            return (name, scope)
        }
        return Dictionary(uniqueKeysWithValues: scopes)
    }()

    private static func warned(
        _ detector: CompiledDetector, _ scope: ConditionScope, _ sensor: SensorDescription?
    ) -> CompiledDetector {
        var detector = detector
        detector.warnings = DetectorReview(detector, scope, sensor).warnings
        return detector
    }
}
