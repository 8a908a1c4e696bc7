import Arbitration

extension PolicyCoverage {
    /// The tables for people, at most `width` columns wide where words allow it.
    package func text(width: Int) -> String {
        self.tables.map { table in
            var blocks: [String] = []
            var left = table.columns.indices[...]
            repeat {
                // As many presets beside each other as there is room for.
                var count = left.count
                var block = Self.block(table, Array(left), isMarkdown: false)
                while count > 1, block.contains(where: { $0.count > width }) {
                    count -= 1
                    block = Self.block(table, Array(left.prefix(count)), isMarkdown: false)
                }
                blocks.append(block.joined(separator: "\n"))
                left = left.dropFirst(count)
            } while !left.isEmpty
            let heading = Self.wrapped(table.apps.joined(separator: ", "), width: width)
            let legend = Self.legend(table).flatMap { Self.wrapped($0, width: width) }
            return (heading + [blocks.joined(separator: "\n\n")] + legend).joined(separator: "\n")
        }.joined(separator: "\n\n") + "\n"
    }

    /// The tables as a page takes them.
    package var markdown: String {
        self.tables.map { table in
            let heading = self.tables.count == 1 ? [] : ["**\(table.apps.joined(separator: ", "))**", ""]
            let legend = Self.legend(table)
            return
                (heading + Self.block(table, Array(table.columns.indices), isMarkdown: true)
                + (legend.isEmpty ? [] : [""] + legend)).joined(separator: "\n")
        }.joined(separator: "\n\n") + "\n"
    }

    /// A situation in the words of a reader.
    package static func words(of situation: Situation) -> (state: String, right: String) {
        let lock = situation.isLocked.map { $0 ? ", locked" : ", unlocked" } ?? ""
        return ("\(situation.state.name)\(lock)", situation.right == .nothing ? "–" : situation.right.name)
    }

    /// What stands above a column: its presets, or the first and how many more.
    package static func header(_ columns: [[String]], _ index: Int) -> String {
        let presets = columns[index]
        if columns.count == 1 { return "any detector" }
        if presets.count == 1 { return presets[0] }
        let largest = columns.map(\.count).max() ?? 0
        let isRest = presets.count == largest && columns.firstIndex { $0.count == largest } == index
        return isRest ? "other detectors" : "\(presets[0]) +\(presets.count - 1)"
    }

    package static func legend(_ table: Table) -> [String] {
        table.columns.indices.compactMap { index in
            let header = self.header(table.columns, index)
            return header.contains(" +") ? "\(header): \(table.columns[index].joined(separator: ", "))" : nil
        }
    }

    private static func block(_ table: Table, _ columns: [Int], isMarkdown: Bool) -> [String] {
        var rows = [["the app is", "and has"] + columns.map { self.header(table.columns, $0) }]
        for row in table.rows {
            let words = self.words(of: row.situation)
            rows.append([words.state, words.right] + columns.map { row.cells[$0].text })
        }
        if isMarkdown {
            var lines = rows.map { "| \($0.joined(separator: " | ")) |" }
            lines.insert("|" + String(repeating: "---|", count: rows[0].count), at: 1)
            return lines
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                line += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// Text in lines of a width, broken between words.
    private static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(lines.isEmpty ? String(word) : "  \(word)")
            }
        }
        return lines
    }
}
