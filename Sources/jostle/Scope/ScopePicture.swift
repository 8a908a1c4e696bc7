import DaemonSupport
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
        /// It hits below that, as a fall does.
        var asksForLittle = false
        var hits = 0
        var lastHit: Timestamp?
        /// Hits that were none in the rhythm that they came in.
        var held: UInt64 = 0

        /// What it hits, as people read it; `nil` where that is not drawn.
        func limit(in unit: String) -> String? {
            self.threshold.map { "\(self.asksForLittle ? "below" : "over") \(rounded($0)) \(unit)" }
        }
    }

    /// The signal in one step of time: from its lowest to its highest, and who was hit.
    private struct Column {
        var low = Double.infinity
        var high = -Double.infinity
        var marks: Set<Int> = []

        var isEmpty: Bool { self.low > self.high }

        mutating func add(_ value: Double) {
            self.low = min(self.low, value)
            self.high = max(self.high, value)
        }

        /// Both as one.
        func joined(_ other: Column) -> Column {
            Column(
                low: min(self.low, other.low), high: max(self.high, other.high), marks: self.marks.union(other.marks))
        }
    }

    /// The characters that it is drawn with.
    enum Strokes: Sendable {
        /// Dots, two by four of them in each place: Braille.
        case fine
        /// A place is a stroke or nothing, in ASCII.
        case plain

        fileprivate var threshold: String { self == .fine ? "┄" : "." }
        fileprivate var edge: String { self == .fine ? "│" : "|" }
        /// How many dots stand above each other in a place.
        fileprivate var dots: Int { self == .fine ? 4 : 1 }
    }

    /// The time that a place stands for, and that one of its columns of dots does.
    static let step = TimeSpan.milliseconds(100)
    private static let columnsPerPlace = 2
    private static var columnStep: Int64 { Self.step.microseconds / Int64(Self.columnsPerPlace) }
    /// Columns that are kept: more than any terminal shows.
    private static let most = 2_048
    /// Two samples that are further apart are not joined by a line: there is a gap between them.
    private static let bridged = Int64(1_000_000)
    /// Columns beside the drawing: the scale and its edge.
    private static let margin = 9
    /// Detectors that have a line of their own below; the rest share one.
    static let legend = 5

    let heading: String
    let unit: String
    private(set) var watched: [Watched]
    let nobody: String
    private let strokes: Strokes
    private var columns: [Column] = []
    /// The step of the last column.
    private var bucket: Int64 = 0
    private var origin: Timestamp?
    private var latest = Timestamp.zero
    /// The sample before, if it can be drawn.
    private var last: (time: Timestamp, value: Double)?
    private(set) var value: Double?
    private(set) var gaps = 0

    /// - Parameter nobody: what stands where no detector does, if not that none listens.
    init(heading: String, unit: String, watched: [Watched], nobody: String? = nil, strokes: Strokes = .fine) {
        self.heading = heading
        self.unit = unit
        self.watched = watched
        self.nobody = nobody ?? "no detector listens to it"
        self.strokes = strokes
    }

    // MARK: What happens

    mutating func sample(at time: Timestamp, _ value: Double) {
        let origin = self.origin ?? time
        self.origin = origin
        let bucket = (time - origin).microseconds / Self.columnStep
        if self.columns.isEmpty { self.columns.append(Column()) }
        let added = Int(min(max(0, bucket - self.bucket), Int64(Self.most)))
        for _ in 0..<added { self.columns.append(Column()) }
        if self.columns.count > Self.most { self.columns.removeFirst(self.columns.count - Self.most) }
        self.bucket = max(self.bucket, bucket)
        self.latest = max(self.latest, time)
        self.value = value
        guard value.isFinite, let last = self.columns.indices.last else {
            self.last = nil
            return
        }
        self.columns[last].add(value)
        if added > 1 { self.bridge(added - 1, to: time, value) }
        self.last = (time, value)
    }

    /// Draws through so many columns between two samples of a slow sensor; after a gap nothing is drawn.
    private mutating func bridge(_ count: Int, to time: Timestamp, _ value: Double) {
        guard let last, (0...Self.bridged).contains((time - last.time).microseconds) else { return }
        for back in 1...count {
            let index = self.columns.count - 1 - back
            guard index >= 0 else { return }
            self.columns[index].add(value + (last.value - value) * Double(back) / Double(count + 1))
        }
    }

    mutating func hit(_ detector: Int, at time: Timestamp) {
        self.watched[detector].hits += 1
        self.watched[detector].lastHit = time
        guard let origin = self.origin else { return }
        let back = self.bucket - (time - origin).microseconds / Self.columnStep
        guard back >= 0, back < Int64(self.columns.count) else { return }
        self.columns[self.columns.count - 1 - Int(back)].marks.insert(detector)
    }

    /// So many hits of a detector were held by activity until now. Returns true when that is news.
    mutating func holds(_ detector: Int, _ count: UInt64) -> Bool {
        defer { self.watched[detector].held = count }
        return count > self.watched[detector].held
    }

    mutating func gap() {
        self.gaps += 1
        self.last = nil
    }

    /// The time since the first sample.
    func since(_ time: Timestamp) -> TimeSpan { self.origin.map { time - $0 } ?? .zero }

    // MARK: What it looks like

    /// Exactly `height` lines, none wider than `width`.
    func lines(width: Int, height: Int, _ terminal: Terminal) -> [String] {
        let room = max(10, width - Self.margin)
        let legend = self.legendLines(width)
        let rows = max(3, height - 3 - legend.count)
        let (shown, places) = self.shown(room)
        let scale = self.scale(of: shown)
        let drawing = self.drawing(shown, places, scale, rows)
        let thresholds = self.watched.compactMap(\.threshold)
            .map { self.row(of: $0, scale, rows) }
        var lines = [terminal.styled(self.title(width), .bold)]
        for row in 0..<rows {
            var line = self.label(row, scale, rows) + self.strokes.edge
            let isThreshold = thresholds.contains(row)
            for index in 0..<room {
                let place = index - (room - places.count)
                if place >= 0, let stroke = drawing[row][place] {
                    line += places[place].marks.isEmpty ? stroke : terminal.styled(stroke, .yellow)
                } else {
                    line += isThreshold ? terminal.styled(self.strokes.threshold, .dim) : " "
                }
            }
            lines.append(Self.trimmed(line))
        }
        lines.append(Self.trimmed(self.markLine(places, room)))
        lines.append(terminal.styled(self.timeLine(room), .dim))
        lines += legend
        return Array(lines.prefix(height))
    }

    private func title(_ width: Int) -> String {
        let value = self.value.map { "  now \(rounded($0)) \(self.unit)" } ?? "  no sample yet"
        let gaps = self.gaps > 0 ? "  \(self.gaps) gaps" : ""
        return String((self.heading + value + gaps).prefix(width))
    }

    /// The columns that so many places show, and the places. A column stays on its side of its place while time goes on.
    private func shown(_ room: Int) -> (columns: [Column], places: [Column]) {
        guard !self.columns.isEmpty else { return ([], []) }
        let isOpen = self.bucket % Int64(Self.columnsPerPlace) == 0
        var columns = Array((self.columns + (isOpen ? [Column()] : [])).suffix(room * Self.columnsPerPlace))
        if !columns.count.isMultiple(of: Self.columnsPerPlace) { columns.insert(Column(), at: 0) }
        let places = stride(from: 0, to: columns.count, by: Self.columnsPerPlace)
            .map { columns[$0].joined(columns[$0 + 1]) }
        return (columns, places)
    }

    /// What stands in each place of each row, from the top; `nil` where nothing is drawn.
    private func drawing(
        _ columns: [Column], _ places: [Column], _ scale: ClosedRange<Double>, _ rows: Int
    ) -> [[String?]] {
        let width = self.strokes == .fine ? columns : places
        let height = rows * self.strokes.dots
        var spans = width.map { column -> ClosedRange<Int>? in
            column.isEmpty ? nil : self.row(of: column.high, scale, height)...self.row(of: column.low, scale, height)
        }
        guard self.strokes == .fine else {
            return (0..<rows).map { row in
                spans.map { span in span.flatMap { $0.contains(row) ? ($0.count == 1 ? "-" : "|") : nil } }
            }
        }
        Self.join(&spans)
        return (0..<rows).map { row in
            places.indices.map { place in
                var pattern: UInt32 = 0
                for side in 0..<Self.columnsPerPlace {
                    guard let span = spans[place * Self.columnsPerPlace + side] else { continue }
                    for dot in 0..<4 where span.contains(row * 4 + dot) { pattern |= Self.braille[side][dot] }
                }
                return pattern == 0 ? nil : Unicode.Scalar(0x2800 + pattern).map { String($0) }
            }
        }
    }

    /// The bit of each dot in the characters from U+2800 on: those on the left from the top, then those on the right.
    private static let braille: [[UInt32]] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]]

    /// Has each column reach to the one before it, so that dots make a line.
    private static func join(_ spans: inout [ClosedRange<Int>?]) {
        let alone = spans
        for index in spans.indices.dropFirst() {
            guard let span = alone[index], let before = alone[index - 1] else { continue }
            if before.upperBound < span.lowerBound - 1 {
                spans[index] = before.upperBound + 1...span.upperBound
            } else if before.lowerBound > span.upperBound + 1 {
                spans[index] = span.lowerBound...before.lowerBound - 1
            }
        }
    }

    /// From the lowest to the highest that is shown or marked, and a little more.
    private func scale(of columns: [Column]) -> ClosedRange<Double> {
        let seen = columns.filter { !$0.isEmpty }
        var low = min(0, seen.map(\.low).min() ?? 0)
        var high = max(0, seen.map(\.high).max() ?? 0)
        for threshold in self.watched.compactMap(\.threshold) {
            low = min(low, threshold)
            high = max(high, threshold)
        }
        // Between what is further away there is no distance.
        (low, high) = (max(low, -Self.furthest), min(high, Self.furthest))
        if high - low < 1e-9 { high = low + 1 }
        if low < 0 { low -= (high - low) * 0.05 }
        return low...(high + (high - low) * 0.1)
    }

    private static let furthest = 1e300

    /// The row of a value, from the top.
    private func row(of value: Double, _ scale: ClosedRange<Double>, _ rows: Int) -> Int {
        let value = min(scale.upperBound, max(scale.lowerBound, value))
        let share = (value - scale.lowerBound) / (scale.upperBound - scale.lowerBound)
        return min(max(rows - 1 - Int((share * Double(rows)).rounded(.down)), 0), rows - 1)
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

    /// Under each place the number of the detector that was hit there; `*` for several.
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
        if self.watched.isEmpty { return [self.nobody] }
        var lines = self.watched.prefix(Self.legend).indices.map { index in
            let one = self.watched[index]
            let threshold = one.limit(in: self.unit).map { "  \($0)" } ?? ""
            let last = one.lastHit.map { ", last \(rounded(max(0, (self.latest - $0).seconds), 1)) s ago" } ?? ""
            let held = one.held > 0 ? ", \(one.held) held by activity" : ""
            return String(
                "\(index + 1) \(one.title)\(threshold)  \(one.hits) hit\(one.hits == 1 ? "" : "s")\(last)\(held)"
                    .prefix(width))
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
