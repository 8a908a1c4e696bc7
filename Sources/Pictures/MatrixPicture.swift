/// Who meets whom, and what comes of it: a table whose cells have tones.
package struct MatrixPicture: Sendable {
    package struct Cell: Sendable {
        package var text: String
        package var tone: Tone?
        /// What is said of it besides, when it is pointed at.
        package var note: String

        package init(_ text: String, _ tone: Tone? = nil, note: String = "") {
            self.text = text
            self.tone = tone
            self.note = note
        }
    }

    private let title: String
    private let corner: String
    private let columns: [String]
    private var rows: [(name: String, cells: [Cell])] = []

    /// - Parameter corner: What rows and columns are: `rule \ app`.
    package init(_ title: String, corner: String, columns: [String]) {
        self.title = title
        self.corner = corner
        self.columns = columns
    }

    package mutating func add(_ name: String, _ cells: [Cell]) { self.rows.append((name, cells)) }

    package func write(to page: inout Markup) {
        page.element(
            "div", [("class", "wide"), ("tabindex", "0"), ("role", "region"), ("aria-label", self.title)]
        ) { page in
            page.element("table", [("class", "matrix")]) { page in
                page.element("caption", self.title)
                page.element("thead") { page in
                    page.element("tr") { page in
                        page.element("td", self.corner)
                        for column in self.columns { page.element("th", [("scope", "col")], column) }
                    }
                }
                page.element("tbody") { page in
                    for row in self.rows { Self.write(row.name, row.cells, to: &page) }
                }
            }
        }
        page.line()
    }

    private static func write(_ name: String, _ cells: [Cell], to page: inout Markup) {
        page.element("tr") { page in
            page.element("th", [("scope", "row")], name)
            for cell in cells {
                let tone: String? = cell.tone.map { $0.name }
                let note: String? = cell.note.isEmpty ? nil : cell.note
                page.element("td", [("class", tone), ("title", note)], cell.text)
            }
        }
        page.line()
    }
}
