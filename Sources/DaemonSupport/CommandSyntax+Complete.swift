/// A word that a shell can put at the cursor, and what it is.
package struct Candidate: Equatable, Sendable {
    package let word: String
    package let help: String

    package init(_ word: String, _ help: String = "") {
        self.word = word
        self.help = help
    }
}

/// Finds what a word can be that no table holds: what it names, how it begins, and what the command line says before it.
package typealias CompletionNaming = (_ word: CommandWord, _ start: String, _ arguments: Arguments) -> [Candidate]

extension CommandSyntax {
    /// The first word of a command line that asks what the last one can be. It is for shells, and no help names it.
    static let completing = "--complete"

    /// What `--complete WORD...` prints; the last word is the one at the cursor, as far as it is written.
    ///
    /// The first line says what the shell itself is to look for: `file`, `directory`, `program`, or nothing (`word`). A line for
    /// each candidate follows, with its help behind a tab.
    func completion(of words: [String], naming: CompletionNaming) -> String {
        let start = words.last ?? ""
        guard let place = self.place(after: Array(words.dropLast())) else { return Self.answer("word", []) }
        if start.hasPrefix("-"), !place.options.isEmpty {
            guard let equals = start.firstIndex(of: "=") else {
                return Self.answer("word", place.options.map { Candidate("--\($0.name)", $0.help) }, from: start)
            }
            let option = place.options.first { $0.placeholder != nil && "--\($0.name)" == start[..<equals] }
            let value = start.index(after: equals)
            return Self.answer(
                option?.word, String(start[value...]), place.arguments, naming, behind: String(start[..<value]))
        }
        let commands = place.commands.map { Candidate($0.name, $0.summary) }
        if !commands.isEmpty { return Self.answer("word", commands, from: start) }
        return Self.answer(place.word, start, place.arguments, naming)
    }

    /// More of a help is no help in a list.
    private static let longestHelp = 72

    private static func answer(
        _ word: CommandWord?, _ start: String, _ arguments: Arguments, _ naming: CompletionNaming,
        behind prefix: String = ""
    ) -> String {
        guard let word else { return self.answer("word", []) }
        switch word {
        case .text: return self.answer("word", [])
        case .file, .path: return self.answer("file", [])
        case .directory: return self.answer("directory", [])
        case .program: return self.answer("program", [])
        case .oneOf(let words): return self.answer("word", words.map { Candidate($0) }, from: start, behind: prefix)
        case .app, .sensor, .preset, .detector, .task:
            return self.answer("word", naming(word, start, arguments), from: start, behind: prefix)
        }
    }

    private static func answer(
        _ kind: String, _ candidates: [Candidate], from start: String = "", behind prefix: String = ""
    ) -> String {
        var text = kind + "\n"
        var told: Set<String> = []
        for candidate in candidates where candidate.word.hasPrefix(start) && self.isPlain(candidate.word) {
            guard told.insert(candidate.word).inserted else { continue }
            var help = escapedLine(candidate.help)
            if help.count > self.longestHelp { help = help.prefix(self.longestHelp - 3) + "..." }
            text += prefix + candidate.word + (help.isEmpty ? "" : "\t\(help)") + "\n"
        }
        return text
    }

    /// Whether a word means itself to every shell. Some names come from strangers, and a shell may put a word into the command
    /// line as it is.
    private static func isPlain(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "-._:,=+@/".utf8.contains(byte)
            }
    }
}
