import Pictures
import PolicyFiles

/// What a policy makes of every app in every state, as a page: a matrix for each kind of app.
struct CoverageReport {
    private var page: Page

    init(_ coverage: PolicyCoverage, of policy: [String]) {
        self.page = Page(
            title: "Policy coverage",
            lead: "Which app hears what in which state"
                + (policy.isEmpty ? "." : ", by \(policy.joined(separator: ", "))."))
        for table in coverage.tables { self.add(table) }
    }

    var html: String { self.page.html }

    private mutating func add(_ table: PolicyCoverage.Table) {
        let named = table.apps.prefix(3).joined(separator: ", ")
        let title = table.apps.count > 3 ? "\(named) and \(table.apps.count - 3) more" : named
        self.page.section(title) { page in
            if table.apps.count > 3 { page.paragraph(table.apps.joined(separator: ", "), class: "soft") }
            page.key([
                (.good, "yes: an event"), (.second, "woken: started for it"), (.main, "stored: kept for later"),
                (.warn, "by …: it depends on that"), (.calm, "no"),
            ])
            let columns = table.columns.indices.map { PolicyCoverage.header(table.columns, $0) }
            var matrix = MatrixPicture("What becomes of a hit", corner: "the app is, and has", columns: columns)
            var rules = DataTable(
                "The rules behind each cell", ["the app is", "and has", "detector", "outcome", "rules"])
            for row in table.rows {
                let (state, right) = PolicyCoverage.words(of: row.situation)
                matrix.add(
                    right == "–" ? state : "\(state), \(right)",
                    row.cells.map {
                        MatrixPicture.Cell($0.text, Self.tone($0), note: $0.rules.joined(separator: "\n"))
                    })
                for (column, cell) in zip(columns, row.cells) {
                    rules.add([
                        .text(state), .text(right), .text(column), .text(cell.text),
                        .code(cell.rules.isEmpty ? "the default" : cell.rules.joined(separator: ", ")),
                    ])
                }
            }
            matrix.write(to: &page)
            for line in PolicyCoverage.legend(table) { page.paragraph(line, class: "soft") }
            rules.fold(into: &page, "Rules")
        }
    }

    private static func tone(_ outcome: PolicyCoverage.Outcome) -> Tone {
        let text = outcome.text
        if text.hasPrefix("by ") { return .warn }
        if text.hasPrefix("woken") { return .second }
        if text.hasPrefix("stored") { return .main }
        return text.hasPrefix("no") ? .calm : .good
    }
}
