import Arbitration

/// Writes a policy the way it was put together.
package enum PolicyText {
    /// The policy as one file: every section as all files together make it, and above each where it stands first.
    ///
    /// What comes out can be read again, and says the same.
    package static func show(_ reading: PolicyReading) -> String {
        var lines: [String] = []
        for section in reading.sections {
            let name = section.argument.map { "\(section.kind) \($0.text)" } ?? section.kind
            if !lines.isEmpty { lines.append("") }
            lines.append("# \(section.place.lineDescription)\(section.layer == .user ? " (user)" : "")")
            lines.append("[\(name)]")
            for key in section.keys {
                let words = section[key] ?? []
                lines.append("\(key)=\(words.map(\.text).joined(separator: " "))")
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The table of all sections and keys, as the documentation has it.
    package static func keyTable() -> String {
        var lines: [String] = []
        for section in Schema.sections {
            let header = section.argument.isEmpty ? section.name : "\(section.name) \(section.argument)"
            lines += [
                "### `[\(header)]`", "", section.help, "", "| key | value | unit | default | example | meaning |",
                "|---|---|---|---|---|---|",
            ]
            for key in section.keys {
                let standard = key.standard.isEmpty ? "–" : "`\(key.standard)`"
                let units = key.type.units.isEmpty ? "–" : key.type.units
                let example = Schema.examples[section.name]?[key.name] ?? ""
                lines.append(
                    "| `\(key.name)` | \(key.type.rawValue) | \(units) | \(standard) | `\(example)` | \(key.help) |")
            }
            lines.append("")
        }
        return lines.joined(separator: "\n")
    }

    /// The table of all checks, as the documentation has it.
    package static func checkTable() -> String {
        var lines = ["| id | what it finds |", "|---|---|"]
        for check in Check.allCases { lines.append("| `\(check.rawValue)` | \(check.title) |") }
        return lines.map { $0 + "\n" }.joined()
    }
}
