import Arbitration
import Detection
import Motion

/// Finds what rules say of presets that no detector can have.
enum PresetLinter {
    /// For so many names the one that was meant is looked for.
    private static let mostSuggested = 64

    static func check(_ sections: [MergedSection]) -> [Finding] {
        let presets = Set(PresetCatalogue.all.map(\.name))
        var findings: [Finding] = []
        for section in sections where section.kind == "Rule" {
            for word in section["WhenPreset"] ?? [] {
                let bare = word.text.hasPrefix("!") ? word.from(1) : word
                let pattern = NamePattern(bare.text)
                guard !(pattern.isLiteral ? presets.contains(bare.text) : presets.contains(where: pattern.matches))
                else {
                    continue
                }
                let isHelped = findings.count < self.mostSuggested
                let near = isHelped ? Suggestion.nearest(to: bare.text, among: presets) : nil
                findings.append(
                    Finding(
                        .noSuchPreset, at: bare.place, "there is no preset '\(printable(bare.text))'",
                        advice: near.map { "did you mean '\($0)'?" } ?? "see them with 'jostle presets'"))
            }
        }
        return findings
    }
}
