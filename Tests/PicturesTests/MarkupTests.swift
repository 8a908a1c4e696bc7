import Pictures
import Testing

/// Whatever others are named: a page stays what we wrote.
@Suite struct MarkupTests {
    private static let hostile = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='x", "&lt;b&gt;", "]]><svg/onload=x>",
        "--><!--", "</title></style></pre>", "a\u{202E}b\u{200B}c\u{0}d\u{1B}[31m", "\u{FEFF}\u{2028}x",
    ]

    @Test(arguments: hostile) func noTextBecomesMarkup(_ text: String) {
        var markup = Markup()
        markup.element("p", [("title", text)], text)
        let html = markup.html
        // One element of ours, and no other angle bracket or quote than its own.
        #expect(html.hasPrefix("<p title=\"") && html.hasSuffix("</p>"))
        #expect(html.filter { $0 == "<" }.count == 2 && html.filter { $0 == ">" }.count == 2)
        #expect(html.unicodeScalars.filter { $0 == "\"" }.count == 2)
        #expect(!html.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" && $0 != "\t" })
        #expect(!html.unicodeScalars.contains { (0x202A...0x202E).contains($0.value) || $0.value == 0x200B })
    }

    @Test func whatIsPlainStaysAsItIs() {
        #expect(Markup.escaped("org.example.App (50 Hz), ünïcode 🙂") == "org.example.App (50 Hz), ünïcode 🙂")
        #expect(Markup.escaped("a & b < c") == "a &amp; b &lt; c")
    }

    /// Every piece of a page that takes a text from outside escapes it.
    @Test(arguments: hostile) func everyPieceEscapes(_ text: String) {
        var page = Page(title: text, lead: text)
        let axis = Axis(text, from: 0, to: 1, ticks: [Axis.Tick(0, text), Axis.Tick(1, text)])
        page.section(text) { page in
            var strips = StripPicture(text, along: axis)
            strips.add(
                StripPicture.Strip(
                    text, total: text, spans: [.init(from: 0, to: 0.5, .good, text)], moments: [.init(0.7, .bad, text)],
                    counts: [.init([1, 2], .main)], note: text), group: text)
            strips.write(to: &page, key: [(.good, text)])
            var line = LinePicture(text, across: axis, up: axis)
            line.add(LinePicture.Line(text, .main, [(0, 1), (0.5, nil), (1, 0)]))
            line.add(LinePicture.Level(0.5, .warn, text))
            line.add(LinePicture.Mark(0.1, to: 0.2, .good, text))
            line.add(LinePicture.Mark(0.3, .good, text))
            line.write(to: &page)
            var matrix = MatrixPicture(text, corner: text, columns: [text])
            matrix.add(text, [MatrixPicture.Cell(text, .good, note: text)])
            matrix.write(to: &page)
            var table = DataTable(text, [text, text], sql: text)
            table.add([.text(text), .code(text)])
            table.add([.code(text), .unknown])
            table.fold(into: &page, text)
            page.figures([(text, text, .main)])
            page.command(text)
        }
        let html = page.html
        for trace in ["<script", "<img", "onerror=alert(1)>", "' onload='", "<!--", "<svg/"] {
            #expect(!html.contains(trace))
        }
        #expect(!html.contains("\"><img"))
        #expect(Wellformed.problem(in: html) == nil)
    }
}

/// A page whose elements are closed in order, as all of ours are: what a browser makes of anything else is its own affair.
enum Wellformed {
    private static let void: Set<String> = ["meta", "link", "br"]

    static func problem(in html: String) -> String? {
        var open: [String] = []
        var rest = html[...]
        while let start = rest.firstIndex(of: "<") {
            guard let end = rest[start...].firstIndex(of: ">") else { return "no end of a tag" }
            let tag = rest[rest.index(after: start)..<end]
            rest = rest[rest.index(after: end)...]
            if tag.hasPrefix("!") || tag.hasSuffix("/") { continue }
            if tag.hasPrefix("/") {
                guard let last = open.popLast(), last == tag.dropFirst() else {
                    return "</\(tag.dropFirst())> closes nothing"
                }
                continue
            }
            let name = String(tag.prefix { $0 != " " })
            if name == "style", let close = rest.range(of: "</style>") {
                rest = rest[close.upperBound...]
                continue
            }
            if !Self.void.contains(name) { open.append(name) }
        }
        return open.isEmpty ? nil : "open: \(open)"
    }
}

extension Substring {
    fileprivate func range(of text: String) -> Range<Index>? {
        var index = self.startIndex
        while index < self.endIndex {
            if self[index...].hasPrefix(text) { return index..<self.index(index, offsetBy: text.count) }
            index = self.index(after: index)
        }
        return nil
    }
}
