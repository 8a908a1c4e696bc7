import Arbitration
import Detection
import Motion

/// Finds what sections of apps say to no effect.
enum AppLinter {
    static func check(_ policy: Policy, _ sections: [MergedSection]) -> [Finding] {
        let given = [
            (key: "MayPush", toAll: policy.everyApp.mayPush),
            (key: "MayReportForeground", toAll: policy.everyApp.mayReportForeground),
        ].filter(\.toAll).map(\.key)
        return sections.filter { $0.kind == "App" }.flatMap { section in
            (section["Thresholds"] ?? []).compactMap { self.unfit($0) }
                + given.compactMap { self.kept($0, in: section) }
        }
    }

    /// A threshold that a preset cannot have leaves the detector with the one that its app asks for.
    private static func unfit(_ word: PlacedText) -> Finding? {
        guard let colon = word.text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let (name, value) = (String(word.text[..<colon]), String(word.text[colon...].dropFirst()))
        // What an app has to bring is not known here.
        guard let preset = PresetCatalogue.named(name), preset.content == nil else { return nil }
        let options: [String: OptionValue] = ["preset": .text(name), "threshold": .text(value)]
        do throws(DetectorProblem) {
            _ = try DetectorCompiler.compile(DetectorRequest(name: name, options: options), for: nil)
            return nil
        } catch {
            return Finding(
                .withoutEffect, at: word.place, "'\(printable(word.text))' changes nothing: \(error.message)",
                advice: "see 'jostle presets \(name)'")
        }
    }

    /// Whoever is let do it by the rule for all cannot be told by its name: it may go without one.
    private static func kept(_ key: String, in section: MergedSection) -> Finding? {
        guard section.argument?.text != "*", section[key]?.first?.text == "no" else { return nil }
        return Finding(
            .withoutEffect, at: section.place(of: key),
            "\(key)=no does nothing in [\(printable(section.name))], as [App *] says yes for whoever calls",
            advice: "take it out of [App *], and name those who may")
    }
}
