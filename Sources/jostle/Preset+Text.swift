import DaemonSupport
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
        var table = Columns(["  OPTION", "DEFAULT", "RANGE", "WHAT IT DOES"])
        for option in self.options {
            table.add(["  \(option.name)", option.shownStandard, option.range, option.help])
        }
        return lines + table.lines(terminal)
    }

    /// An option of a detector that begins with the preset.
    struct Option {
        let name: String
        /// What holds without it, as it would be written; `nil`: it is needed, or nothing does.
        let standard: String?
        let shownStandard: String
        let range: String
        let help: String
        /// The words that it takes; empty: it takes a number.
        var words: [String] = []
    }

    var options: [Option] {
        var options = self.parameters.map { parameter in
            let standard = parameter.isRequired ? nil : parameter.shown(parameter.defaultValue)
            let (low, high) = (parameter.range.lowerBound, parameter.range.upperBound)
            return Option(
                name: parameter.name, standard: standard, shownStandard: standard ?? "needed",
                range: "\(parameter.shown(low)) to \(parameter.shown(high))", help: parameter.help)
        }
        if !self.sensitivities.isEmpty {
            let words = self.sensitivities.map(\.word)
            options.append(
                Option(
                    name: "sensitivity", standard: nil, shownStandard: "", range: words.joined(separator: " "),
                    help: self.words, words: words))
        }
        if let content = self.content {
            options.append(
                Option(
                    name: content, standard: nil, shownStandard: "needed", range: "text",
                    help: "The content of a file of 'jostle teach'; commands take the file itself with --gesture."))
        }
        func ends(_ range: ClosedRange<TimeSpan>) -> String {
            "\(range.lowerBound.readable) to \(range.upperBound.readable)"
        }
        let every = self.every
        options.append(
            Option(
                name: "every", standard: every?.text, shownStandard: every?.readable ?? "each sample",
                range: ends(DetectionLimits.every), help: "Time between looks."))
        let start = self.startsResting ? ", counted from registration on" : ""
        options.append(
            Option(
                name: "rest", standard: self.rest.text, shownStandard: self.rest.readable,
                range: ends(DetectionLimits.rest), help: "Time without another hit (\(self.restMode.rawValue)\(start))."
            ))
        return options
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
