extension CommandSyntax {
    /// What every program and command takes.
    static let standardOptions = [
        CommandOption.flag("help", "show this help and end"),
        CommandOption.flag("version", "show the version and end"),
    ]

    /// What `--help` prints. `path` names the program and the commands above this one; `inherited` are their options.
    func help(path: [String], inherited: [CommandOption]) -> String {
        var usage = (path + [self.name]).joined(separator: " ") + " [OPTION]..."
        if !self.commands.isEmpty { usage += " COMMAND [ARGUMENT]..." }
        for argument in self.arguments { usage += " " + argument.usage }
        if let trailing { usage += " -- " + trailing.usage }
        var text = wrap(usage, after: "Usage: ", indent: 7) + "\n" + wrap(self.summary, after: "", indent: 0) + "\n"
        text += Self.table("Commands", self.commands.map { ($0.name, $0.summary) })
        text += Self.table(
            "Arguments", (self.arguments + (self.trailing.map { [$0] } ?? [])).map { ($0.name, $0.help) })
        text += Self.table("Options", (self.options + inherited + Self.standardOptions).map { ($0.usage, $0.help) })
        for note in self.notes { text += Self.table(note.title, note.rows.map { ($0.name, $0.help) }) }
        text += Self.table("Exit status", self.exits.map { ("\($0.code.rawValue)", $0.meaning) })
        return text
    }

    private static func table(_ title: String, _ rows: [(left: String, right: String)]) -> String {
        guard !rows.isEmpty else { return "" }
        // A long left side gets a line to itself rather than pushing everything to the right.
        let column = min(rows.map { $0.left.count }.max() ?? 0, 24) + 4
        var text = "\n\(title):\n"
        for row in rows {
            var left = "  " + row.left
            if left.count + 2 > column {
                text += left + "\n"
                left = ""
            }
            left += String(repeating: " ", count: column - left.count)
            text += wrap(row.right, after: left, indent: column) + "\n"
        }
        return text
    }
}

/// Breaks a text between words into lines of at most 80 characters, the first after `prefix`, the others indented.
private func wrap(_ text: String, after prefix: String, indent: Int) -> String {
    var lines: [String] = []
    var line = prefix
    var isEmpty = true
    for word in text.split(separator: " ") {
        if !isEmpty, line.count + 1 + word.count > 80 {
            lines.append(line)
            line = String(repeating: " ", count: indent) + word
        } else {
            line += (isEmpty ? "" : " ") + word
        }
        isEmpty = false
    }
    return (lines + [line]).joined(separator: "\n")
}
