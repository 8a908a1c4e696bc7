import Arbitration
import FleetCore
import Motion

/// What only `bridge.conf` has.
extension Values {
    private static func only(_ words: [PlacedText]) -> PlacedText {
        words.first ?? PlacedText(text: "", place: Place(file: "", line: 0))
    }

    private static func wrong(_ word: PlacedText, _ expected: String) -> ValueProblem {
        ValueProblem(
            place: word.place, message: "expected \(expected), found '\(printable(word.text))'",
            advice: "write \(expected)")
    }

    /// A file, or `credential:NAME`, which the unit says with `LoadCredential=`.
    static func place(_ words: [PlacedText]) throws(ValueProblem) -> BridgeConfiguration.Place {
        let word = self.only(words)
        let prefix = "credential:"
        if word.text.hasPrefix(prefix) {
            let rest = word.from(prefix.utf8.count)
            guard let name = try? self.name(rest) else {
                throw self.misplaced(rest, "a name of at most 64 letters, digits, '-', '_' and '.'")
            }
            return .credential(name)
        }
        guard word.text.hasPrefix("/"), word.text.utf8.count < 4_096 else {
            throw self.misplaced(word, "a path that begins with '/', or credential:NAME")
        }
        return .path(word.text)
    }

    /// What stands in the place of a file may be the password or the key itself. Others read the log: it is not repeated there.
    private static func misplaced(_ word: PlacedText, _ expected: String) -> ValueProblem {
        ValueProblem(
            place: word.place, message: "expected \(expected)",
            advice: "what is secret stands in a file of its own; write where that is")
    }

    /// The name or the address of a host.
    static func host(_ words: [PlacedText]) throws(ValueProblem) -> String {
        let word = self.only(words)
        let isHost = word.text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
                || [0x2D, 0x2E, 0x3A, 0x25, 0x5F].contains(byte)
        }
        guard isHost, !word.text.isEmpty, word.text.utf8.count <= 253, !word.text.hasPrefix("-") else {
            throw self.wrong(word, "the name or the address of a host")
        }
        return word.text
    }

    /// One of some words.
    static func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ words: [PlacedText], _ what: String
    ) throws(ValueProblem) -> Choice {
        let word = self.only(words)
        guard let choice = Choice(rawValue: word.text) else {
            throw self.unknown(word, what, among: Choice.allCases.map(\.rawValue))
        }
        return choice
    }

    /// Some of some words, each once.
    static func choices<Choice: CaseIterable & RawRepresentable<String> & Equatable>(
        _ words: [PlacedText], _ what: String
    ) throws(ValueProblem) -> [Choice] {
        var choices: [Choice] = []
        for word in words {
            let choice: Choice = try self.choice([word], what)
            guard !choices.contains(choice) else {
                throw ValueProblem(
                    check: .duplicate, place: word.place, message: "'\(word.text)' stands here twice",
                    advice: "remove one")
            }
            choices.append(choice)
        }
        return choices
    }

    /// Ids of apps, with stars or not.
    static func apps(_ words: [PlacedText]) throws(ValueProblem) -> NameList {
        var apps = NameList()
        for word in words { try apps.add(word, of: .app) }
        return apps
    }
}
