import Motion

/// What `jostle scope` draws: the signal of the last seconds, the thresholds of detectors, and where they were hit.
///
/// A value: samples and hits in, lines of text out.
struct ScopePicture {
    /// A detector as it is marked.
    struct Watched {
        var title: String
        /// Where its line is; `nil` when it measures something else than what is drawn.
        var threshold: Double?
        var hits = 0
        var lastHit: Timestamp?
    }

    /// The signal in one step of time: from its lowest to its highest, and who was hit.
    private struct Column {
        var low = Double.infinity
        var high = -Double.infinity
        var marks: Set<Int> = []
    }

    /// The characters that it is drawn with.
    struct Strokes: Sendable {
        var range: String
        var point: String
        var threshold: String
        var edge: String

        static let fine = Strokes(range: "┃", point: "━", threshold: "┄", edge: "│")
        static let plain = Strokes(range: "|", point: "-", threshold: ".", edge: "|")
    }

    /// The time that a column stands for.
    static let step = TimeSpan.milliseconds(100)
    /// Columns that are kept: more than any terminal shows.
    private static let most = 1_024
    /// Columns beside the drawing: the scale and its edge.
    private static let margin = 9
    /// Detectors that have a line of their own below; the rest share one.
    static let legend = 5

    let heading: String
    let unit: String
    private(set) var watched: [Watched]
    private let strokes: Strokes
    private var columns: [Column] = []
    /// The step of the last column.
    private var bucket: Int64 = 0
    private var origin: Timestamp?
    private(set) var value: Double?
    private(set) var gaps = 0

    init(heading: String, unit: String, watched: [Watched], strokes: Strokes = .fine) {
        self.heading = heading
        self.unit = unit
        self.watched = watched
        self.strokes = strokes
    }

    // MARK: What happens

    mutating func sample(at time: Timestamp, _ value: Double) {
        let origin = self.origin ?? time
        self.origin = origin
        let bucket = (time - origin).microseconds / Self.step.microseconds
        if self.columns.isEmpty { self.columns.append(Column()) }
        // Where no sample came, nothing is drawn.
        for _ in 0..<min(max(0, bucket - self.bucket), Int64(Self.most)) { self.columns.append(Column()) }
        if self.columns.count > Self.most { self.columns.removeFirst(self.columns.count - Self.most) }
        self.bucket = max(self.bucket, bucket)
        self.value = value
        guard value.isFinite, let last = self.columns.indices.last else { return }
        self.columns[last].low = min(self.columns[last].low, value)
        self.columns[last].high = max(self.columns[last].high, value)
    }

    mutating func hit(_ detector: Int, at time: Timestamp) {
        self.watched[detector].hits += 1
        self.watched[detector].lastHit = time
        guard let origin = self.origin else { return }
        let back = self.bucket - (time - origin).microseconds / Self.step.microseconds
        guard back >= 0, back < Int64(self.columns.count) else { return }
        self.columns[self.columns.count - 1 - Int(back)].marks.insert(detector)
    }

    mutating func gap() { self.gaps += 1 }

    /// The time since the first sample.
    func since(_ time: Timestamp) -> TimeSpan { self.origin.map { time - $0 } ?? .zero }

    // MARK: What it looks like

    /// Exactly `height` lines, none wider than `width`.
    func lines(width: Int, height: Int, _ terminal: Terminal) -> [String] {
        let room = max(10, width - Self.margin)
        let legend = self.legendLines(width)
        let rows = max(3, height - 3 - legend.count)
        let shown = Array(self.columns.suffix(room))
        let scale = self.scale(of: shown)
        let thresholds = self.watched.compactMap(\.threshold)
            .map { self.row(of: $0, scale, rows) }
        var lines = [terminal.styled(self.title(width), .bold)]
        for row in 0..<rows {
            var line = self.label(row, scale, rows) + self.strokes.edge
            let isThreshold = thresholds.contains(row)
            for index in 0..<room {
                let column = index - (room - shown.count)
                let stroke = column < 0 ? nil : self.stroke(shown[column], row, scale, rows)
                if let stroke {
                    line += column < 0 || shown[column].marks.isEmpty ? stroke : terminal.styled(stroke, .yellow)
                } else {
                    line += isThreshold ? terminal.styled(self.strokes.threshold, .dim) : " "
                }
            }
            lines.append(Self.trimmed(line))
        }
        lines.append(Self.trimmed(self.markLine(shown, room)))
        lines.append(terminal.styled(self.timeLine(room), .dim))
        lines += legend
        return Array(lines.prefix(height))
    }

    private func title(_ width: Int) -> String {
        let value = self.value.map { "  now \(rounded($0)) \(self.unit)" } ?? "  no sample yet"
        let gaps = self.gaps > 0 ? "  \(self.gaps) gaps" : ""
        return String((self.heading + value + gaps).prefix(width))
    }

    /// From the lowest to the highest that is shown or marked, and a little more.
    private func scale(of columns: [Column]) -> ClosedRange<Double> {
        let seen = columns.filter { $0.low <= $0.high }
        var low = min(0, seen.map(\.low).min() ?? 0)
        var high = max(0, seen.map(\.high).max() ?? 0)
        for threshold in self.watched.compactMap(\.threshold) {
            low = min(low, threshold)
            high = max(high, threshold)
        }
        if high - low < 1e-9 { high = low + 1 }
        if low < 0 { low -= (high - low) * 0.05 }
        return low...(high + (high - low) * 0.1)
    }

    /// The row of a value, from the top.
    private func row(of value: Double, _ scale: ClosedRange<Double>, _ rows: Int) -> Int {
        let share = (value - scale.lowerBound) / (scale.upperBound - scale.lowerBound)
        return min(max(rows - 1 - Int((share * Double(rows)).rounded(.down)), 0), rows - 1)
    }

    private func stroke(_ column: Column, _ row: Int, _ scale: ClosedRange<Double>, _ rows: Int) -> String? {
        guard column.low <= column.high else { return nil }
        let top = self.row(of: column.high, scale, rows)
        let bottom = self.row(of: column.low, scale, rows)
        guard (top...bottom).contains(row) else { return nil }
        return top == bottom ? self.strokes.point : self.strokes.range
    }

    /// The scale beside a row: thresholds first, the ends, and zero.
    private func label(_ row: Int, _ scale: ClosedRange<Double>, _ rows: Int) -> String {
        var text = ""
        if let index = self.watched.firstIndex(where: { $0.threshold.map { self.row(of: $0, scale, rows) } == row }) {
            text = rounded(self.watched[index].threshold ?? 0)
        } else if row == 0 {
            text = rounded(scale.upperBound)
        } else if row == self.row(of: 0, scale, rows) {
            text = "0"
        } else if row == rows - 1 {
            text = rounded(scale.lowerBound)
        }
        return String(repeating: " ", count: max(0, Self.margin - 2 - text.count))
            + String(text.prefix(Self.margin - 2)) + " "
    }

    /// Under each column the number of the detector that was hit there; `*` for several.
    private func markLine(_ shown: [Column], _ room: Int) -> String {
        var line = String(repeating: " ", count: Self.margin + room - shown.count)
        for column in shown {
            let mark = column.marks.first.map { $0 < 9 ? "\($0 + 1)" : "+" } ?? " "
            line += column.marks.count > 1 ? "*" : mark
        }
        return line
    }

    /// How long ago: a word for every five seconds.
    private func timeLine(_ room: Int) -> String {
        var line = [Character](repeating: " ", count: Self.margin + room)
        let steps = Int(1_000_000 / Self.step.microseconds)
        for seconds in stride(from: 0, to: room / steps + 1, by: 5) {
            let text = seconds == 0 ? "now" : "-\(seconds) s"
            let end = line.count - seconds * steps
            guard end - text.count >= Self.margin else { break }
            for (offset, character) in text.enumerated() { line[end - text.count + offset] = character }
        }
        return Self.trimmed(String(line))
    }

    private func legendLines(_ width: Int) -> [String] {
        if self.watched.isEmpty { return ["no detector listens to it"] }
        var lines = self.watched.prefix(Self.legend).indices.map { index in
            let one = self.watched[index]
            let threshold = one.threshold.map { "  over \(rounded($0)) \(self.unit)" } ?? ""
            let last = one.lastHit.map { ", last at \(rounded(self.since($0).seconds, 1)) s" } ?? ""
            return String(
                "\(index + 1) \(one.title)\(threshold)  \(one.hits) hit\(one.hits == 1 ? "" : "s")\(last)".prefix(width)
            )
        }
        let rest = self.watched.dropFirst(Self.legend)
        if !rest.isEmpty { lines.append("and \(rest.count) more, \(rest.reduce(0) { $0 + $1.hits }) hits") }
        return lines
    }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return line
    }
}
