import Foundation
import Motion
import Testing

@testable import Detection

/// The reference page says what is so.
@Suite struct DocumentationTests {
    private static let page: String = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return (try? String(contentsOf: root.appending(path: "docs/detectors.md"), encoding: .utf8)) ?? ""
    }()

    /// The lines of all blocks of a kind.
    private static func lines(_ kind: String) -> [String] {
        var lines: [String] = []
        var isInside = false
        for line in self.page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("```") {
                isInside = line == "```\(kind)"
            } else if isInside, !line.isEmpty {
                lines.append(line)
            }
        }
        return lines
    }

    @Test func thePageIsThere() {
        #expect(Self.lines("condition").count > 20)
        #expect(Self.lines("options").count > 5)
        for function in ConditionFunction.allCases {
            #expect(
                Self.lines("condition").contains { $0.contains("\(function.rawValue)(") }, "\(function) has no example")
        }
    }

    /// An example that is never true, or always, explains nothing.
    @Test(arguments: lines("condition"))
    func eachConditionIsSometimesTrue(_ text: String) throws {
        let block = Motions.accelerometer(seed: 4, .init(rate: 100, seconds: 60, shaking: 0.5, amplitude: 1.5...5))
        var engine = DetectionEngine([try detector(text, ["rest-mode": .text("none"), "rest": .count(0)])])
        let hits = engine.run(block)
        #expect(hits.count > 0 && hits.count < block.count)
    }

    @Test(arguments: lines("options"))
    func eachSetOfOptionsCompiles(_ line: String) throws {
        var options: [String: OptionValue] = [:]
        for pair in line.split(separator: " ") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            try #require(parts.count == 2)
            options[String(parts[0])] = .text(String(parts[1]))
        }
        let compiled = try DetectorCompiler.compile(DetectorRequest(name: "d", options: options), for: nil)
        for (key, value) in options where key == "preset" || key == "when" || key == "sensor" {
            #expect(compiled.effective.contains { $0.key == key && $0.value == value })
        }
    }

    @Test(arguments: PresetCatalogue.all.map(\.name))
    func eachPresetIsDescribedAsItIs(_ name: String) throws {
        let preset = try #require(PresetCatalogue.named(name))
        let isThere = Self.page.contains(Self.section(preset))
        #expect(isThere, "docs/detectors.md lacks this section:\n\(Self.section(preset))")
    }

    @Test func eachWarningIsListed() {
        for id in DetectorWarning.ID.allCases { #expect(Self.page.contains("| `\(id.rawValue)` |")) }
    }

    /// The page's text for a preset.
    static func section(_ preset: Preset) -> String {
        var text =
            "**`\(preset.name)`** \(preset.summary) *Use it when:* \(preset.whenToUse) *Weak:* \(preset.weaknesses)\n"
        if case .condition(let condition) = preset.source { text += "\n    \(condition)\n" }
        let pace = preset.every.map { "every \($0.readable)" } ?? "each sample"
        let rest = preset.restMode == .none ? "no rest" : "rest \(preset.rest.readable) \(preset.restMode.rawValue)"
        text += "\n- \(pace), \(rest)" + (preset.startsResting ? ", the clock starts at registration" : "") + "\n"
        for parameter in preset.parameters {
            func shown(_ value: Double) -> String {
                let canonical = parameter.dimension == .angle && !parameter.isInDegrees ? value * 180 / .pi : value
                let number = (canonical * 1_000).rounded() / 1_000
                let plain = number == number.rounded() ? "\(Int(number))" : "\(number)"
                return plain
                    + (parameter.dimension == .angle ? "°" : parameter.unit.isEmpty ? "" : " \(parameter.unit)")
            }
            text += "- `\(parameter.name)` \(parameter.isRequired ? "needed" : shown(parameter.defaultValue)) "
            text +=
                "(\(shown(parameter.range.lowerBound)) to \(shown(parameter.range.upperBound))): \(parameter.help)\n"
        }
        if !preset.sensitivities.isEmpty {
            let words = preset.sensitivities.map { sensitivity in
                let values = preset.parameters.compactMap { parameter in
                    sensitivity.values[parameter.name].map { "\(parameter.name) \($0.formatted())" }
                }
                return "\(sensitivity.word) (\(values.joined(separator: ", ")))"
            }
            text += "- `sensitivity` " + words.joined(separator: ", ") + "\n"
        }
        return text
    }
}
