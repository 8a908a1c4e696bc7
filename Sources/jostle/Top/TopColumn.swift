import DBus
import Protocol

/// What `jostle top` shows of an app, and sorts by.
enum TopColumn: String, CaseIterable, Sendable {
    case app, state, hits, events, refused, queue, launches, dropped, reason

    /// The columns of each picture, with the first the one that gives way in length, and those behind them where there is room.
    private static let usual: [TopColumn] = [.app, .state, .hits, .events, .refused, .queue, .launches]
    private static let more: [TopColumn] = [.reason, .dropped]
    /// The least and the best that is left for names.
    private static let names = (least: 12, best: 30)

    var title: String {
        switch self {
        case .app: "APP"
        case .state: "STATE"
        case .hits: "HITS/S"
        case .events: "EVENTS/S"
        case .refused: "REFUSED/S"
        case .queue: "QUEUED"
        case .launches: "LAUNCHES"
        case .dropped: "DROPPED"
        case .reason: "LAST REFUSAL"
        }
    }

    var isNumber: Bool { ![.app, .state, .reason].contains(self) }

    /// How wide it is; names take what is left.
    private var width: Int {
        switch self {
        case .state: 10
        case .reason: 18
        case .dropped: 8
        default: self.title.count
        }
    }

    /// The columns that fit, with their widths.
    static func fitting(_ room: Int) -> [(column: TopColumn, width: Int)] {
        func rest(_ columns: [TopColumn]) -> Int {
            room - columns.reduce(0) { $0 + ($1 == .app ? 0 : $1.width + 1) }
        }
        var columns = self.usual
        while columns.count > 1, rest(columns) < self.names.least { columns.removeLast() }
        if columns == self.usual {
            for column in self.more where rest(columns + [column]) >= self.names.best { columns.append(column) }
        }
        let names = max(1, min(rest(columns), 60))
        return columns.map { ($0, $0 == .app ? names : $0.width) }
    }

    /// What stands there of an app.
    func cell(of row: TopTable.Row, isMeasured: Bool) -> String {
        func rate(_ value: Double) -> String { isMeasured ? TopTable.rate(value) : "-" }
        return switch self {
        case .app: row.title
        case .state: row.app.state
        case .hits: rate(row.hits)
        case .events: rate(row.events)
        case .refused: rate(row.refused)
        case .queue: TopTable.bytes(row.app.queuedBytes)
        case .launches: "\(row.app.launches)" + (row.app.launchFailures > 0 ? "/\(row.app.launchFailures)" : "")
        case .dropped: "\(row.app.dropped)"
        case .reason: row.app.lastRefusal.isEmpty ? "-" : row.app.lastRefusal
        }
    }

    /// Whether an app stands before another: by names from A on, by numbers the largest first. Those that are alike stand in the
    /// order of their names, so that they stay where they are.
    func isBefore(_ a: TopTable.Row, _ b: TopTable.Row) -> Bool {
        func names() -> Bool { (a.title, a.app.object.text) < (b.title, b.app.object.text) }
        func larger<T: Comparable>(_ first: T, _ second: T) -> Bool { first == second ? names() : first > second }
        return switch self {
        case .app: names()
        case .state: a.app.state == b.app.state ? names() : a.app.state < b.app.state
        case .reason: a.app.lastRefusal == b.app.lastRefusal ? names() : a.app.lastRefusal > b.app.lastRefusal
        case .hits: larger(a.hits, b.hits)
        case .events: larger(a.events, b.events)
        case .refused: larger(a.refused, b.refused)
        case .queue: larger(a.app.queuedBytes, b.app.queuedBytes)
        case .launches: larger(a.app.launches, b.app.launches)
        case .dropped: larger(a.app.dropped, b.app.dropped)
        }
    }
}
