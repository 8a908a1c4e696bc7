/// A table with a caption, and the question to the journal that gives the same rows.
package struct DataTable: Sendable {
    package enum Cell: Sendable {
        case text(String)
        /// What stands in a file or on a command line.
        case code(String)
        /// A number, and how people read it.
        case number(Double, String)
        /// Nobody knows: it was not recorded.
        case unknown

        package static func count(_ value: Int) -> Cell { .number(Double(value), Digits.grouped(value)) }

        package static func value(_ value: Double?, digits: Int = 2) -> Cell {
            value.map { .number($0, Digits.text($0, atMost: digits)) } ?? .unknown
        }
    }

    private let caption: String
    private let columns: [String]
    private var rows: [[Cell]] = []
    /// Gives the rows as they are; `nil`: nothing asks for them.
    private let sql: String?
    private let empty: String

    /// - Parameters:
    ///   - empty: What is said when there is no row.
    package init(_ caption: String, _ columns: [String], sql: String? = nil, empty: String = "nothing") {
        self.caption = caption
        self.columns = columns
        self.sql = sql
        self.empty = empty
    }

    package var isEmpty: Bool { self.rows.isEmpty }

    /// Adds a row, the first cell of which names it.
    package mutating func add(_ row: [Cell]) { self.rows.append(row) }

    /// The table itself. It can be moved where it is wider than the page.
    package func write(to page: inout Markup) {
        page.element(
            "div", [("class", "wide"), ("tabindex", "0"), ("role", "region"), ("aria-label", self.caption)]
        ) { page in
            page.element("table") { page in
                page.element("caption", self.caption)
                page.element("thead") { page in
                    page.element("tr") { page in
                        for (index, column) in self.columns.enumerated() {
                            let name: String? = self.isNumber(index) ? "n" : nil
                            page.element("th", [("scope", "col"), ("class", name)], column)
                        }
                    }
                }
                page.element("tbody") { page in
                    if self.rows.isEmpty {
                        page.element("tr", [("class", "none")]) {
                            $0.element("td", [("colspan", "\(max(1, self.columns.count))")], self.empty)
                        }
                    }
                    for row in self.rows { Self.write(row, to: &page) }
                }
            }
        }
        if let sql { Self.write(sql: sql, to: &page) }
        page.line()
    }

    /// Whether a column holds numbers, which stand to the right.
    private func isNumber(_ column: Int) -> Bool {
        guard let row = self.rows.first, column < row.count, column > 0 else { return false }
        switch row[column] {
        case .number, .unknown: return true
        case .text, .code: return false
        }
    }

    /// The same behind a word that opens it: a picture's table.
    package func fold(into page: inout Markup, _ word: String = "Table") {
        page.element("details", [("class", "fold")]) { page in
            page.element("summary") { page in
                page.add(word)
                page.element("span", [("class", "unseen")], ": \(self.caption)")
            }
            self.write(to: &page)
        }
    }

    /// The question that gives numbers, behind a word.
    package static func write(sql: String, to page: inout Markup) {
        page.element("details", [("class", "sql")]) { page in
            page.element("summary", "SQL")
            page.element("pre", sql)
        }
    }

    private static func write(_ row: [Cell], to page: inout Markup) {
        page.element("tr") { page in
            for (index, cell) in row.enumerated() {
                switch cell {
                case .text(let text):
                    if index == 0 {
                        page.element("th", [("scope", "row")], text)
                    } else {
                        page.element("td", text)
                    }
                case .code(let text):
                    if index == 0 {
                        page.element("th", [("scope", "row")]) { $0.element("code", text) }
                    } else {
                        page.element("td") { $0.element("code", text) }
                    }
                case .number(let value, let text):
                    page.element("td", [("class", "n"), ("data-v", "\(value)")], text)
                case .unknown: page.element("td", [("class", "n none")], "not recorded")
                }
            }
        }
        page.line()
    }
}
