/// Rows with aligned columns.
package struct Columns {
    private var rows: [[String]]
    /// Columns that hold numbers stand to the right.
    private let right: Set<Int>

    package init(_ header: [String], right: Set<Int> = []) {
        self.rows = [header]
        self.right = right
    }

    package var isEmpty: Bool { self.rows.count == 1 }

    /// As they are shown, so that their widths are right.
    package mutating func add(_ row: [String]) { self.rows.append(row.map(escapedLine)) }

    /// The header and the rows.
    package var lines: [String] {
        let count = self.rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            self.rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return self.rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                line += self.right.contains(column) ? padding + cell : cell + padding
                if column + 1 < row.count { line += "  " }
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
