import Arbitration
import Motion

/// What stands between the brackets of a section, and whose it is: what makes two sections the same one.
struct SectionName: Hashable {
    let layer: PolicyLayer
    let kind: String
    let argument: String

    init(_ kind: String, _ argument: String, _ layer: PolicyLayer = .system) {
        self.layer = layer
        self.kind = kind
        self.argument = argument
    }

    var text: String { self.argument.isEmpty ? self.kind : "\(self.kind) \(self.argument)" }

    /// What to do about what files from outside may not say.
    static let adviceToOutside = "a device lets others say what it does not say itself: rules, groups and apps"

    /// What to do about what a user's own files may not say.
    static let adviceToUsers = "these may deny and make limits smaller; ask the administrator for more"

    /// What a header names, and where its argument stands.
    static func read(
        _ header: [PlacedText], _ place: Place, _ layer: PolicyLayer
    ) throws(ValueProblem) -> (SectionName, PlacedText?) {
        guard let kind = header.first else {
            throw ValueProblem(check: .syntax, place: place, message: "the section has no name", advice: "name it")
        }
        guard let wantedArgument = Schema.arguments[kind.text] else {
            throw Values.unknown(kind, "section", among: Schema.sections.map(\.name))
        }
        if layer == .user, ["Group", "Class", "Interaction"].contains(kind.text) {
            throw ValueProblem(
                check: .notForUsers, place: kind.place,
                message: "[\(kind.text)] sections are not for a user's own files",
                advice: Self.adviceToUsers)
        }
        if layer == .outside, !["Rule", "Group", "App"].contains(kind.text) {
            throw ValueProblem(
                check: .notForOutside, place: kind.place,
                message: "[\(kind.text)] sections are not for files from outside", advice: Self.adviceToOutside)
        }
        let wanted = wantedArgument.isEmpty ? 1 : kind.text == "Interaction" ? 3 : 2
        guard header.count == wanted else {
            let expected = wantedArgument.isEmpty ? kind.text : "\(kind.text) \(wantedArgument)"
            throw ValueProblem(
                check: .syntax, place: header.count > wanted ? header[wanted].place : kind.place,
                message: "expected [\(expected)]", advice: "write it that way")
        }
        let words = header.dropFirst()
        for word in words { try Self.check(word, of: kind.text) }
        let argument = words.first.map {
            PlacedText(text: words.map(\.text).joined(separator: " "), place: $0.place)
        }
        return (SectionName(kind.text, argument?.text ?? "", layer), argument)
    }

    private static func check(_ argument: PlacedText, of kind: String) throws(ValueProblem) {
        guard kind == "App" else {
            _ = try Values.name(argument)
            return
        }
        guard argument.text == "*" || AppID.isValid(argument.text) else {
            throw ValueProblem(
                place: argument.place, message: "expected an app id or '*', found '\(printable(argument.text))'",
                advice: "name the app in full")
        }
    }
}
