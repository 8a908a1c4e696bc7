/// What was the case along a time, in strips above each other: spans of it, moments, and counts in equal parts.
///
/// Strips are stretched to the page, and what is written stands beside them as text: so it is readable at any width.
package struct StripPicture: Sendable {
    /// From when to when something was the case.
    package struct Span: Sendable {
        package var from: Double
        package var to: Double
        package var tone: Tone
        package var text: String
        /// How high it stands in its strip, from 0 to 1.
        package var height: Double

        package init(from: Double, to: Double, _ tone: Tone, _ text: String, height: Double = 1) {
            self.from = from
            self.to = to
            self.tone = tone
            self.text = text
            self.height = height
        }
    }

    /// Something that happened at a time.
    package struct Moment: Sendable {
        package var time: Double
        package var tone: Tone
        package var text: String

        package init(_ time: Double, _ tone: Tone, _ text: String) {
            self.time = time
            self.tone = tone
            self.text = text
        }
    }

    /// How much there was of something in each of equal parts of the time.
    package struct Counts: Sendable {
        package var values: [Int]
        package var tone: Tone

        package init(_ values: [Int], _ tone: Tone) {
            self.values = values
            self.tone = tone
        }
    }

    package struct Strip: Sendable {
        package var name: String
        /// Beside the name: how much of it there was in all.
        package var total: String
        package var spans: [Span]
        package var moments: [Moment]
        /// Stacked on each other.
        package var counts: [Counts]
        /// What stands there when there is nothing to draw.
        package var note: String

        package init(
            _ name: String, total: String = "", spans: [Span] = [], moments: [Moment] = [], counts: [Counts] = [],
            note: String = ""
        ) {
            self.name = name
            self.total = total
            self.spans = spans
            self.moments = moments
            self.counts = counts
            self.note = note
        }
    }

    private let title: String
    private let axis: Axis
    private var strips: [(group: String?, strip: Strip)] = []

    /// So wide is a strip, in its own units, and so high.
    private static let (width, height) = (1_000.0, 24.0)

    package init(_ title: String, along axis: Axis) {
        self.title = title
        self.axis = axis
    }

    /// Adds a strip, or several that belong together below a name.
    package mutating func add(_ strips: Strip..., group: String? = nil) { self.add(strips, group: group) }

    package mutating func add(_ strips: [Strip], group: String? = nil) {
        for (index, strip) in strips.enumerated() { self.strips.append((index == 0 ? group : nil, strip)) }
    }

    package func write(to page: inout Markup, key: [(tone: Tone, meaning: String)] = []) {
        page.element("figure", [("class", "strips")]) { page in
            page.element("figcaption", self.title)
            page.key(key)
            for (group, strip) in self.strips {
                if let group { page.element("h3", group) }
                self.write(strip, to: &page)
                page.line()
            }
            self.writeAxis(to: &page)
        }
        page.line()
    }

    private func write(_ strip: Strip, to page: inout Markup) {
        page.element("div", [("class", "strip")]) { page in
            page.element("div", [("class", "name")]) { page in
                page.element("span", strip.name)
                if !strip.total.isEmpty { page.element("small", strip.total) }
            }
            page.element("div", [("class", "band")]) { page in
                if !strip.note.isEmpty { page.element("span", [("class", "note")], strip.note) }
                page.element(
                    "svg",
                    [
                        ("viewBox", "0 0 1000 24"), ("preserveAspectRatio", "none"), ("role", "img"),
                        ("aria-label", "\(strip.name): \(Self.summary(strip))"),
                    ]
                ) { page in
                    self.drawTicks(&page)
                    self.drawCounts(strip.counts, &page)
                    for span in strip.spans { self.draw(span, &page) }
                    for moment in strip.moments { self.draw(moment, &page) }
                }
            }
        }
    }

    /// What a strip shows, in words.
    private static func summary(_ strip: Strip) -> String {
        if !strip.note.isEmpty { return strip.note }
        var parts: [String] = strip.total.isEmpty ? [] : [strip.total]
        if !strip.spans.isEmpty { parts.append("\(strip.spans.count) spans") }
        if !strip.moments.isEmpty { parts.append("\(strip.moments.count) moments") }
        let most = Self.stacked(strip.counts).max() ?? 0
        if !strip.counts.isEmpty { parts.append("at most \(most) at a time") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }

    private static func stacked(_ counts: [Counts]) -> [Int] {
        let length = counts.map(\.values.count).max() ?? 0
        return (0..<length).map { index in counts.reduce(0) { $0 + (index < $1.values.count ? $1.values[index] : 0) } }
    }

    private func x(_ time: Double) -> Double { self.axis.place(time) * Self.width }

    private func drawTicks(_ page: inout Markup) {
        let path = self.axis.ticks.map { "M\(Digits.text(self.x($0.value), atMost: 1)) 0V24" }.joined()
        if !path.isEmpty { page.shape("path", [("class", "grid"), ("d", path)]) }
    }

    private func draw(_ span: Span, _ page: inout Markup) {
        guard span.to >= self.axis.low, span.from <= self.axis.high, span.from <= span.to else { return }
        let from = self.x(span.from)
        // What is short can be seen.
        let width = max(1.5, self.x(span.to) - from)
        let height = Self.height * min(1, max(0.1, span.height))
        page.element(
            "rect",
            [
                ("class", span.tone.name), ("x", Digits.text(from, atMost: 1)),
                ("y", Digits.text(Self.height - height, atMost: 1)), ("width", Digits.text(width, atMost: 1)),
                ("height", Digits.text(height, atMost: 1)),
            ]
        ) { if !span.text.isEmpty { $0.element("title", span.text) } }
    }

    private func draw(_ moment: Moment, _ page: inout Markup) {
        guard (self.axis.low...self.axis.high).contains(moment.time) else { return }
        page.element(
            "path",
            [("class", "moment \(moment.tone.name)"), ("d", "M\(Digits.text(self.x(moment.time), atMost: 1)) 1V23")]
        ) { if !moment.text.isEmpty { $0.element("title", moment.text) } }
    }

    /// One path for each tone: many rectangles would make a large page.
    private func drawCounts(_ counts: [Counts], _ page: inout Markup) {
        let most = Self.stacked(counts).max() ?? 0
        guard most > 0 else { return }
        var below = [Double](repeating: 0, count: counts.map(\.values.count).max() ?? 0)
        for one in counts {
            let width = Self.width / Double(max(1, one.values.count))
            var (path, bars) = ("", Bars())
            for (index, value) in one.values.enumerated() {
                guard value > 0 else {
                    path += bars.end()
                    continue
                }
                // A single one among very many is seen.
                let height = max(1.5, Double(value) / Double(most) * (Self.height - 2))
                let (from, bottom) = (Double(index) * width, Self.height - below[index])
                bars.add(from: from, to: from + width, bottom: bottom, top: bottom - height)
                below[index] += height
            }
            path += bars.end()
            if !path.isEmpty { page.shape("path", [("class", one.tone.name), ("d", path)]) }
        }
    }

    private func writeAxis(to page: inout Markup) {
        page.element("div", [("class", "strip scale"), ("aria-hidden", "true")]) { page in
            page.element("div", [("class", "name")], self.axis.title)
            page.element("div", [("class", "band")]) { page in
                PlotFrame.writeTicks(of: self.axis, to: &page)
            }
        }
    }
}

/// Bars that stand side by side, as one shape: a rectangle for each would take twice the bytes.
private struct Bars {
    private var bars: [(from: String, to: String, bottom: String, top: String)] = []

    mutating func add(from: Double, to: Double, bottom: Double, top: Double) {
        func text(_ value: Double) -> String { Digits.text(value, atMost: 1) }
        self.bars.append((text(from), text(to), text(bottom), text(top)))
    }

    /// The way around those that there are, which are forgotten.
    mutating func end() -> String {
        guard let first = self.bars.first else { return "" }
        defer { self.bars.removeAll() }
        return "M\(first.from) \(first.bottom)" + Self.stairs(self.bars.map { ($0.top, $0.to) })
            + Self.stairs(self.bars.reversed().map { ($0.bottom, $0.from) }) + "z"
    }

    private static func stairs(_ steps: [(level: String, to: String)]) -> String {
        var path = ""
        for (index, step) in steps.enumerated() {
            if index == 0 || steps[index - 1].level != step.level { path += "V\(step.level)" }
            if index + 1 == steps.count || steps[index + 1].level != step.level { path += "H\(step.to)" }
        }
        return path
    }
}
