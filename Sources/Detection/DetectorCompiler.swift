package import Motion

/// Checks and compiles a request. Pure; never traps; bounded time.
package enum DetectorCompiler {
    /// Compiles `request`; `sensor` describes the device it will run on and serves the warnings, `nil` if unknown.
    package static func compile(
        _ request: DetectorRequest, for sensor: SensorDescription?
    ) throws(DetectorProblem) -> CompiledDetector {
        let options = RequestOptions(request)
        guard let name = try options.text("preset") else {
            throw options.problem(
                "preset", "is missing: one of \(PresetCatalogue.all.map(\.name).joined(separator: ", "))")
        }
        guard let preset = PresetCatalogue.named(name) else {
            let near = Suggestion.nearest(to: name, among: PresetCatalogue.all.map(\.name))
            throw options.problem(
                "preset", "unknown preset '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
        }
        try options.refuseUnknown(besides: preset.parameters.map(\.name))

        let every = try options.time("every", in: DetectionLimits.every) ?? preset.every
        let rest = try options.time("rest", in: DetectionLimits.rest) ?? preset.rest
        let restMode = try options.word("rest-mode", RestMode.self) ?? preset.restMode
        let decimation = try options.word("decimation", Decimation.self) ?? .last
        if let asked = try options.text("sensor"), asked != preset.sensor {
            throw options.problem("sensor", "'\(preset.name)' needs '\(preset.sensor)', not '\(printable(asked))'")
        }
        if decimation != .last, every == nil {
            throw options.problem("decimation", "'\(decimation.rawValue)' needs 'every'")
        }

        var effective: [(key: String, value: OptionValue)] = [
            ("preset", .text(preset.name)), ("sensor", .text(preset.sensor)),
        ]
        if let every { effective.append(("every", .count(UInt64(max(0, every.microseconds))))) }
        effective.append(("rest", .count(UInt64(max(0, rest.microseconds)))))
        effective.append(("rest-mode", .text(restMode.rawValue)))
        effective.append(("decimation", .text(decimation.rawValue)))
        var threshold = 0.0
        for parameter in preset.parameters {
            threshold = try options.number(parameter) ?? parameter.defaultValue
            effective.append((parameter.name, .number(threshold)))
        }

        let measure: Condition.Measure =
            switch preset.name {
            case "shake.planar": .planar
            case "shake.axis": .axis
            default: .magnitude
            }
        return CompiledDetector(
            name: request.name, preset: preset.name, sensor: preset.sensor, effective: effective, warnings: [],
            neededRate: every.map { 1 / $0.seconds } ?? DetectionLimits.defaultRate, every: every, rest: rest,
            restMode: restMode, decimation: decimation, startsResting: preset.startsResting, threshold: threshold,
            condition: Condition(measure: measure, threshold: threshold))
    }
}
