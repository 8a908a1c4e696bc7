import Detection
import Motion

extension Preset {
    /// All a program needs to offer the preset, as `DescribePresets` tells it on the bus.
    var json: String {
        var line = JSONLine()
        line.add("preset", self.name)
        line.add("sensor", self.sensor)
        line.add("summary", self.summary)
        line.add("when_to_use", self.whenToUse)
        line.add("weaknesses", self.weaknesses)
        if case .condition(let condition) = self.source { line.add("when", condition) }
        if let every = self.every { line.add("every_us", every.microseconds) }
        line.add("rest_us", self.rest.microseconds)
        line.add("rest_mode", self.restMode.rawValue)
        line.add("starts_resting", self.startsResting)
        line.add("parameters", self.parameters.map(\.json))
        line.add(
            "sensitivities",
            self.sensitivities.map { sensitivity in
                var word = JSONLine()
                word.add("word", sensitivity.word)
                for parameter in self.parameters {
                    if let value = sensitivity.values[parameter.name] { word.add(parameter.name, value) }
                }
                return word
            })
        return line.text
    }

    /// What `jostle presets NAME` shows.
    func page(_ terminal: Terminal) -> [String] {
        var lines = [
            terminal.styled(self.name, .bold), "  \(self.summary)", "", "  When to use: \(self.whenToUse)",
            "  Weaknesses:  \(self.weaknesses)",
        ]
        if case .condition(let condition) = self.source { lines.append("  Condition:   \(condition)") }
        lines.append("")
        var table = Table(["  OPTION", "DEFAULT", "RANGE", "WHAT IT DOES"])
        for parameter in self.parameters {
            table.add([
                "  \(parameter.name)", parameter.isRequired ? "needed" : parameter.shown(parameter.defaultValue),
                "\(parameter.shown(parameter.range.lowerBound)) to \(parameter.shown(parameter.range.upperBound))",
                parameter.help,
            ])
        }
        if !self.sensitivities.isEmpty {
            table.add(["  sensitivity", "", self.sensitivities.map(\.word).joined(separator: " "), self.words])
        }
        let every = DetectionLimits.every
        table.add([
            "  every", self.every?.readable ?? "each sample",
            "\(every.lowerBound.readable) to \(every.upperBound.readable)", "Time between looks.",
        ])
        let rest = DetectionLimits.rest
        let start = self.startsResting ? ", counted from registration on" : ""
        table.add([
            "  rest", self.rest.readable, "\(rest.lowerBound.readable) to \(rest.upperBound.readable)",
            "Time without another hit (\(self.restMode.rawValue)\(start)).",
        ])
        return lines + table.lines(terminal)
    }

    /// What the words of `sensitivity` stand for.
    private var words: String {
        let meanings = self.sensitivities.map { sensitivity in
            let values = self.parameters.compactMap { parameter in
                sensitivity.values[parameter.name].map { "\(parameter.name)=\(parameter.shown($0))" }
            }
            return "\(sensitivity.word): \(values.joined(separator: " "))"
        }
        return meanings.joined(separator: "; ") + "."
    }
}

extension PresetParameter {
    fileprivate var json: JSONLine {
        var line = JSONLine()
        line.add("name", self.name)
        line.add("unit", self.unit)
        line.add("lowest", self.range.lowerBound)
        line.add("highest", self.range.upperBound)
        line.add("default", self.defaultValue)
        line.add("whole", self.isWhole)
        line.add("required", self.isRequired)
        line.add("help", self.help)
        return line
    }

    /// A value as one can write it in an option: angles in degrees.
    fileprivate func shown(_ value: Double) -> String {
        let isAngle = self.dimension == .angle && !self.isInDegrees
        var text = rounded(isAngle ? value * 180 / .pi : value, 3)
        while text.last == "0" { text.removeLast() }
        if text.last == "." { text.removeLast() }
        return text + (self.dimension == .angle ? "deg" : self.unit)
    }
}
