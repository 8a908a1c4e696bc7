/// Values over something: lines, thresholds, points and moments, with named axes.
package struct LinePicture: Sendable {
    package struct Line: Sendable {
        package var name: String
        package var tone: Tone
        /// In their order; where a value is missing the line is broken.
        package var points: [(x: Double, y: Double?)]
        /// As stairs: a value holds until the next one.
        package var isStepped: Bool

        package init(_ name: String, _ tone: Tone, _ points: [(x: Double, y: Double?)], isStepped: Bool = false) {
            self.name = name
            self.tone = tone
            self.points = points
            self.isStepped = isStepped
        }
    }

    /// A line across: a threshold.
    package struct Level: Sendable {
        package var value: Double
        package var tone: Tone
        package var text: String

        package init(_ value: Double, _ tone: Tone, _ text: String) {
            self.value = value
            self.tone = tone
            self.text = text
        }
    }

    /// A line from bottom to top, or a part that is shaded: a hit, a chosen value; a hold, a window.
    package struct Mark: Sendable {
        package var from: Double
        package var to: Double?
        package var tone: Tone
        package var text: String

        package init(_ from: Double, to: Double? = nil, _ tone: Tone, _ text: String) {
            self.from = from
            self.to = to
            self.tone = tone
            self.text = text
        }
    }

    private let title: String
    private let across: Axis
    private let up: Axis
    private var lines: [Line] = []
    private var levels: [Level] = []
    private var marks: [Mark] = []

    private static let (width, height) = (1_000.0, 400.0)

    /// - Parameters:
    ///   - across: The axis along the bottom.
    ///   - up: The axis on the left.
    package init(_ title: String, across: Axis, up: Axis) {
        self.title = title
        self.across = across
        self.up = up
    }

    package mutating func add(_ line: Line) { self.lines.append(line) }
    package mutating func add(_ level: Level) { self.levels.append(level) }
    package mutating func add(_ mark: Mark) { self.marks.append(mark) }

    /// - Parameter isSmall: One of many, without its title and with less room.
    package func write(to page: inout Markup, isSmall: Bool = false) {
        page.element("figure", [("class", isSmall ? "plot small" : "plot")]) { page in
            if !isSmall {
                page.element("figcaption", self.title)
                page.key(
                    self.lines.map { (tone: $0.tone, meaning: $0.name) }
                        + self.levels.map { (tone: $0.tone, meaning: $0.text) })
            }
            page.element("div", [("class", "frame")]) { page in
                page.element("div", [("class", "up"), ("aria-hidden", "true")]) { page in
                    PlotFrame.writeLevels(of: self.up, to: &page)
                }
                page.element(
                    "svg",
                    [
                        ("viewBox", "0 0 1000 400"), ("preserveAspectRatio", "none"), ("role", "img"),
                        ("aria-label", "\(self.title). \(self.summary)"),
                    ]
                ) { self.draw(&$0) }
                page.element("div", [("class", "across"), ("aria-hidden", "true")]) { page in
                    PlotFrame.writeTicks(of: self.across, to: &page)
                }
            }
            page.element("p", [("class", "axes")], "up: \(self.up.title) · across: \(self.across.title)")
        }
        page.line()
    }

    /// What it shows, in words.
    private var summary: String {
        var parts = self.lines.map { line in
            let values = line.points.compactMap(\.y)
            guard let low = values.min(), let high = values.max() else { return "\(line.name): nothing" }
            return "\(line.name): from \(Digits.text(low)) to \(Digits.text(high))"
        }
        parts += self.levels.map(\.text)
        parts += self.marks.prefix(8).map(\.text)
        return parts.joined(separator: "; ")
    }

    private func x(_ value: Double) -> String { Digits.text(self.across.place(value) * Self.width, atMost: 1) }
    private func y(_ value: Double) -> String { Digits.text((1 - self.up.place(value)) * Self.height, atMost: 1) }

    private func draw(_ page: inout Markup) {
        var grid = self.across.ticks.map { "M\(self.x($0.value)) 0V400" }.joined()
        grid += self.up.ticks.map { "M0 \(self.y($0.value))H1000" }.joined()
        page.shape("path", [("class", "grid"), ("d", grid)])
        for mark in self.marks { self.draw(mark, &page) }
        for level in self.levels {
            page.element(
                "path", [("class", "line dashed \(level.tone.name)"), ("d", "M0 \(self.y(level.value))H1000")]
            ) {
                $0.element("title", level.text)
            }
        }
        for line in self.lines {
            let path = self.path(line)
            if !path.isEmpty {
                page.element("path", [("class", "line \(line.tone.name)"), ("d", path)]) {
                    $0.element("title", line.name)
                }
            }
        }
    }

    private func draw(_ mark: Mark, _ page: inout Markup) {
        guard let to = mark.to else {
            return page.element("path", [("class", "moment \(mark.tone.name)"), ("d", "M\(self.x(mark.from)) 0V400")]) {
                $0.element("title", mark.text)
            }
        }
        let from = self.across.place(mark.from) * Self.width
        let width = max(1, self.across.place(to) * Self.width - from)
        page.element(
            "rect",
            [
                ("class", "shade \(mark.tone.name)"), ("x", Digits.text(from, atMost: 1)), ("y", "0"),
                ("width", Digits.text(width, atMost: 1)), ("height", "400"),
            ]
        ) { $0.element("title", mark.text) }
    }

    private func path(_ line: Line) -> String {
        var path = ""
        // Where it is, and how far it goes on at the same height: that is one step, however many points lie there.
        var last: (y: String, on: String?)?
        for point in line.points {
            guard let value = point.y, value.isFinite else {
                path += last?.on.map { "H\($0)" } ?? ""
                last = nil
                continue
            }
            let (x, y) = (self.x(point.x), self.y(value))
            if let known = last, known.y == y {
                last?.on = x
                continue
            }
            if let known = last {
                path += known.on.map { "H\($0)" } ?? ""
                path += line.isStepped ? "H\(x)V\(y)" : "L\(x) \(y)"
            } else {
                path += "M\(x) \(y)"
            }
            last = (y, nil)
        }
        return path + (last?.on.map { "H\($0)" } ?? "")
    }
}
