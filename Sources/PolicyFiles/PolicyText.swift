package import Arbitration

/// Writes a policy the way it was put together.
package enum PolicyText {
    /// One key as all files together make it.
    package struct Entry: Equatable, Sendable {
        package var section: String
        package var key: String
        package var value: String
        /// Where its value stands: a list may stand in several places.
        package var places: [Place]
        /// Whether a user's own file says it.
        package var isUsers: Bool
    }

    /// Every key that is set, in the order of sections.
    package static func entries(_ reading: PolicyReading) -> [Entry] { reading.sections.flatMap { self.entries($0) } }

    private static func entries(_ section: MergedSection) -> [Entry] {
        section.keys.map { key in
            let words = section[key] ?? []
            var places: [Place] = []
            for place in words.map(\.place)
            where places.last.map({ ($0.file, $0.line) != (place.file, place.line) }) ?? true {
                places.append(place)
            }
            return Entry(
                section: section.name, key: key, value: words.map(\.text).joined(separator: " "), places: places,
                isUsers: section.layer == .user)
        }
    }

    /// The policy as one file: every section as all files together make it, with where it and its keys stand.
    ///
    /// What comes out can be read again, and says the same.
    package static func show(_ reading: PolicyReading) -> String {
        var lines: [String] = []
        if reading.standsOnBuiltIn {
            lines.append(
                "# Behind this the built-in policy is in force: the rules of the phone, by the lines that verdicts name."
            )
            lines += self.builtIn.map { "# \($0)" }
        }
        for section in reading.sections {
            if !lines.isEmpty { lines.append("") }
            let whose =
                switch section.layer {
                case .system: ""
                case .user: " (user)"
                case .outside: " (outside)"
                }
            lines.append("# \(section.place.lineDescription)\(whose)")
            lines.append("[\(section.name)]")
            for entry in self.entries(section) {
                lines += self.lines(of: entry.places.map(\.lineDescription), behind: "# ", ", ")
                let line = "\(entry.key)=\(entry.value)"
                // What is too long for a line is a list, which goes on where its key stands again.
                lines +=
                    line.utf8.count <= IniParser.mostLineBytes
                    ? [line] : self.lines(of: entry.value.split(separator: " "), behind: "\(entry.key)=", " ")
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Pieces in lines that are no longer than can be read, each of which begins with this.
    private static func lines(
        of pieces: [some StringProtocol], behind start: String, _ separator: String
    ) -> [String] {
        var lines: [String] = []
        for piece in pieces {
            let length = (lines.last?.utf8.count ?? .max / 2) + separator.utf8.count + piece.utf8.count
            if length <= IniParser.mostLineBytes {
                lines[lines.count - 1] += separator + piece
            } else {
                lines.append(start + piece)
            }
        }
        return lines
    }

    /// The built-in policy, a line for each section.
    private static var builtIn: [String] {
        let policy = Policy.builtIn
        let rules = policy.rules.map { rule in
            var words = rule.priority == 0 ? [] : ["Priority=\(rule.priority)"]
            words += rule.conditions.asked.elements.map { rule.conditions.setting($0) }
            return
                "\(rule.place.lineDescription) [Rule \(rule.name)] \(words.joined(separator: " ")) Then=\(rule.effect.name)"
        }
        let classes = policy.matrix.classes.map { one in
            var words: [String] = []
            if one.isMixable { words.append("Mixable=yes") }
            if one.whenLocked == .silence { words.append("WhenLocked=silence") }
            if !one.requiredGrants.isEmpty {
                words.append("RequiresGrant=" + one.requiredGrants.elements.map(\.name).joined(separator: " "))
            }
            if one.isDefault { words.append("Default=yes") }
            return "\(one.place.lineDescription) [Class \(one.name)] \(words.joined(separator: " "))"
        }
        return rules + classes + ["built-in [Policy] Default=\(policy.otherwise.name)"]
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
