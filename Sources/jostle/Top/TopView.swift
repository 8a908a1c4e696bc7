import DBus
import DaemonSupport
import Motion
import Protocol

/// What `jostle top` shows, and what keys do there.
///
/// A value: tables, keys and the size of the screen in, lines of text out.
struct TopView {
    /// What a key wants of whoever owns the view.
    enum Effect: Equatable {
        case quit
        /// The last verdict of an app.
        case explain(String)
    }

    /// What is on the screen.
    private enum Page {
        case list
        /// Of an app, from a line on; `nil` until it is there.
        case explanation(app: String, lines: [String]?, first: Int)
    }

    private var table: TopTable?
    /// The rows that fit the filter, in their order.
    private(set) var rows: [TopTable.Row] = []
    private var column: TopColumn
    private var isReversed = false
    private var filter: String
    /// The filter is being typed; what it was before.
    private var typedOver: String?
    /// The app that was chosen; `nil`: whichever is the first.
    private var chosen: ObjectPath?
    private var page = Page.list
    /// What is wrong at present.
    var trouble: String?
    var size: (width: Int, height: Int) = (80, 24)

    private static let mark = 2
    private static let help = [
        "q quit", "up/down choose", "e explain", "s sort", "r reverse", "/ filter",
    ]

    init(sortedBy column: TopColumn = .hits, filter: String = "") {
        self.column = column
        self.filter = filter
    }

    // MARK: What happens

    mutating func take(_ table: TopTable) {
        self.table = table
        self.trouble = nil
        self.arrange()
    }

    /// What was asked for with `explain` is there.
    mutating func explain(_ app: String, _ lines: [String]) {
        guard case .explanation(app, nil, _) = self.page else { return }
        self.page = .explanation(app: app, lines: lines, first: 0)
    }

    private mutating func arrange() {
        let wanted = self.filter.lowercased()
        let rows = (self.table?.rows ?? []).filter {
            wanted.isEmpty || $0.title.lowercased().contains(wanted) || $0.app.state.contains(wanted)
        }
        let (column, isReversed) = (self.column, self.isReversed)
        self.rows = rows.sorted { isReversed ? column.isBefore($1, $0) : column.isBefore($0, $1) }
    }

    // MARK: Keys

    mutating func press(_ key: KeyStroke) -> Effect? {
        if self.typedOver != nil {
            self.type(key)
            return nil
        }
        if case .explanation = self.page { return self.pressInExplanation(key) }
        switch key {
        case .character("q"): return .quit
        case .character("e"), .enter:
            guard let row = self.selection.map({ self.rows[$0] }) else { return nil }
            self.page = .explanation(app: row.app.app, lines: nil, first: 0)
            return .explain(row.app.app)
        case .character("s"):
            let all = TopColumn.allCases
            let next = (all.firstIndex(of: self.column) ?? 0) + 1
            self.column = all[next % all.count]
            self.arrange()
        case .character("r"):
            self.isReversed.toggle()
            self.arrange()
        case .character("/"): self.typedOver = self.filter
        case .escape:
            self.filter = ""
            self.chosen = nil
            self.arrange()
        case .up, .character("k"): self.choose(by: -1)
        case .down, .character("j"): self.choose(by: 1)
        case .pageUp: self.choose(by: -self.room)
        case .pageDown: self.choose(by: self.room)
        case .home: self.choose(by: -self.rows.count)
        case .end: self.choose(by: self.rows.count)
        default: break
        }
        return nil
    }

    /// Takes a key of the filter. What it finds is shown as it grows.
    private mutating func type(_ key: KeyStroke) {
        switch key {
        case .character(let character) where self.filter.count < 64: self.filter.append(character)
        case .backspace: _ = self.filter.popLast()
        case .enter: self.typedOver = nil
        case .escape:
            self.filter = self.typedOver ?? ""
            self.typedOver = nil
        default: break
        }
        self.arrange()
    }

    private mutating func pressInExplanation(_ key: KeyStroke) -> Effect? {
        guard case .explanation(let app, let lines, let first) = self.page else { return nil }
        let last = max(0, (lines.map { self.wrapped($0).count } ?? 0) - self.size.height + 3)
        func scroll(_ step: Int) -> Page {
            .explanation(app: app, lines: lines, first: min(max(0, first + step), last))
        }
        switch key {
        case .character("q"), .character("e"), .escape, .enter, .backspace: self.page = .list
        case .up, .character("k"): self.page = scroll(-1)
        case .down, .character("j"): self.page = scroll(1)
        case .pageUp: self.page = scroll(-self.room)
        case .pageDown: self.page = scroll(self.room)
        case .home: self.page = scroll(-last)
        case .end: self.page = scroll(last)
        default: break
        }
        return nil
    }

    private mutating func choose(by step: Int) {
        guard let selection else { return }
        self.chosen = self.rows[min(max(0, selection + step), self.rows.count - 1)].app.object
    }

    /// The row that keys mean.
    private var selection: Int? {
        guard !self.rows.isEmpty else { return nil }
        return self.chosen.flatMap { chosen in self.rows.firstIndex { $0.app.object == chosen } } ?? 0
    }

    // MARK: Lines

    /// How many apps there is room for.
    private var room: Int { max(1, self.size.height - self.heading.count - 2) }

    /// The whole screen: as many lines as it has, none wider than it is.
    func lines(_ terminal: Terminal) -> [String] {
        let (width, height) = (max(1, self.size.width - 1), max(1, self.size.height))
        let all: [(text: String, style: Terminal.Style?)] =
            switch self.page {
            case .list: self.list(terminal)
            case .explanation(let app, let lines, let first): self.explanation(app, lines, first)
            }
        var shown = all.prefix(height - 1).map { $0 }
        shown += Array(repeating: ("", nil), count: height - 1 - shown.count)
        shown.append((self.footer, .dim))
        // Cut by what is seen: what is escaped is longer.
        return shown.map { line in
            let text = String(escapedLine(line.text).prefix(width))
            return line.style.map { terminal.styled(text, $0) } ?? text
        }
    }

    /// What stands above the apps. On a low screen only what is most important.
    private var heading: [(text: String, style: Terminal.Style?)] {
        guard let table else { return [(self.trouble ?? "the broker is asked", nil)] }
        var lines: [(text: String, style: Terminal.Style?)] = [(table.totalText, .bold)]
        if self.size.height >= 8 { lines.append((table.sensorText, nil)) }
        let notices = (self.trouble.map { [$0] } ?? []) + table.notices
        if !notices.isEmpty { lines.append((notices.joined(separator: "; "), .yellow)) }
        if self.size.height >= 12 { lines.append(("", nil)) }
        return lines
    }

    private func list(_ terminal: Terminal) -> [(text: String, style: Terminal.Style?)] {
        var lines = self.heading
        guard let table else { return lines }
        let columns = TopColumn.fitting(self.size.width - 1 - Self.mark)
        lines.append((self.columnLine(columns), .bold))
        guard let selection else {
            let none = self.filter.isEmpty ? "no app is registered" : "no app fits the filter"
            return lines + [("  \(none)", nil)]
        }
        // Page by page: what is chosen moves, and not the whole list under it.
        let first = selection / self.room * self.room
        for (index, row) in self.rows.enumerated().dropFirst(first).prefix(self.room) {
            var line = index == selection ? "> " : "  "
            for (place, (column, width)) in columns.enumerated() {
                let cell = escapedLine(column.cell(of: row, isMeasured: table.span != nil))
                line += (place == 0 ? "" : " ") + Self.fit(cell, width, column, terminal)
            }
            lines.append((line, index == selection ? .cyan : row.app.state == "dead" ? .dim : nil))
        }
        return lines
    }

    /// The names of columns; the one that counts for the order has a mark.
    private func columnLine(_ columns: [(column: TopColumn, width: Int)]) -> String {
        var line = String(repeating: " ", count: Self.mark)
        for (place, (column, width)) in columns.enumerated() {
            let mark = column == self.column ? (self.isReversed ? "-" : "+") : ""
            let separator = place == 0 ? "" : " "
            if column.isNumber {
                // The mark stands in the gap before the name.
                let room = width + separator.count
                let title = String((mark + column.title).prefix(room))
                line += String(repeating: " ", count: room - title.count) + title
            } else {
                let title = String((column.title + mark).prefix(width))
                line += separator + title + String(repeating: " ", count: width - title.count)
            }
        }
        return line
    }

    /// A cell in its width. Of a name its end says most.
    private static func fit(_ cell: String, _ width: Int, _ column: TopColumn, _ terminal: Terminal) -> String {
        guard cell.count > width else {
            let padding = String(repeating: " ", count: width - cell.count)
            return column.isNumber ? padding + cell : cell + padding
        }
        let dots = terminal.isUnicode ? "…" : "~"
        return column == .app ? dots + cell.suffix(width - 1) : cell.prefix(width - 1) + dots
    }

    private func explanation(
        _ app: String, _ lines: [String]?, _ first: Int
    ) -> [(text: String, style: Terminal.Style?)] {
        let heading: [(text: String, style: Terminal.Style?)] = [
            ("the last verdict of \(AppID.shown(app))", .bold), ("", nil),
        ]
        guard let lines else { return heading + [("the broker is asked", .dim)] }
        return heading + self.wrapped(lines).dropFirst(first).map { ($0, nil) }
    }

    /// Lines broken between words, the rest of each a little further in.
    private func wrapped(_ lines: [String]) -> [String] {
        let width = max(10, self.size.width - 1)
        return lines.flatMap { line -> [String] in
            var rest = Substring(escapedLine(line))
            let margin = rest.prefix { $0 == " " }.count
            let indent = String(repeating: " ", count: min(margin + 2, width / 2))
            var parts: [String] = []
            while rest.count > width {
                // What stands before the first word is no place to break at.
                let beginning = parts.isEmpty ? margin : indent.count
                let cut = rest.prefix(width + 1).lastIndex(of: " ")
                    .flatMap { rest.distance(from: rest.startIndex, to: $0) > beginning ? $0 : nil }
                let end = cut ?? rest.index(rest.startIndex, offsetBy: width)
                parts.append(String(rest[..<end]))
                rest = Substring(indent + rest[end...].drop { $0 == " " })
            }
            return parts + [String(rest)]
        }
    }

    /// The last line: what keys do, or what is typed.
    private var footer: String {
        if self.typedOver != nil { return "filter: \(self.filter)_  (enter keeps it, escape takes it back)" }
        if case .explanation = self.page { return "q back  up/down scroll" }
        let filter = self.filter.isEmpty ? [] : ["filter: \(self.filter) (escape ends it)"]
        return (filter + Self.help).joined(separator: "  ")
    }
}
