import DBus
import Motion
import Protocol

/// What a source says that the user sees, as `FocusSources` shows it.
struct FocusRow: Equatable {
    /// Empty for one without a name.
    var source: String
    /// Whose word it is; 0: not known.
    var process: UInt32
    var front: [String]
    /// Those of which it said so before the others.
    var first: [String]
    var visible: [String]
    var hidden: [String]
    var playing: [String]
    var frozen: [String]
    var windows: UInt32
    /// Who said it left, and it stands for a moment yet.
    var isLeaving: Bool

    /// - Parameter broker: What the broker says of itself. Not everybody is told of sources.
    static func all(_ broker: [String: Value]) -> [FocusRow] {
        broker.rows("FocusSources").map { row in
            func number(_ key: String) -> UInt32 { if case .uint32(let number) = row[key] { number } else { 0 } }
            return FocusRow(
                source: row.text(FocusKey.source), process: number(FocusKey.reporter),
                front: row.lines(FocusKey.front), first: row.lines(FocusKey.first),
                visible: row.lines(FocusKey.visible), hidden: row.lines(FocusKey.hidden),
                playing: row.lines(FocusKey.playing), frozen: row.lines(FocusKey.frozen),
                windows: number(FocusKey.windows),
                isLeaving: row.flag(FocusKey.leaving))
        }
    }

    /// Who says it, as people are told.
    var teller: String {
        let name = self.source.isEmpty ? (self.process > 0 ? "process \(self.process)" : "") : printable(self.source)
        guard self.isLeaving else { return name }
        return name.isEmpty ? "it has left" : "\(name), which has left"
    }

    var json: JSONLine {
        var line = JSONLine()
        line.add("source", self.source)
        line.add("process", self.process)
        line.add("front", self.front)
        line.add("first", self.first)
        line.add("visible", self.visible)
        line.add("hidden", self.hidden)
        line.add("playing", self.playing)
        line.add("frozen", self.frozen)
        line.add("windows", self.windows)
        line.add("leaving", self.isLeaving)
        return line
    }
}

extension [FocusRow] {
    /// Each app in front with those who say so.
    var fronts: [(app: String, tellers: [String])] { self.tellers(\.front) }

    /// Each app in a list with those who say so.
    func tellers(_ apps: KeyPath<FocusRow, [String]>) -> [(app: String, tellers: [String])] {
        var told: [(app: String, tellers: [String])] = []
        for row in self {
            for app in row[keyPath: apps] {
                if let index = told.firstIndex(where: { $0.app == app }) {
                    told[index].tellers.append(row.teller)
                } else {
                    told.append((app, [row.teller]))
                }
            }
        }
        return told
    }

    /// The apps in front in words, with who says so; `nil`: none is, as far as we may know.
    var frontText: String? {
        let told = self.fronts.map { front in
            let tellers = front.tellers.filter { !$0.isEmpty }.joined(separator: " and ")
            return printable(front.app) + (tellers.isEmpty ? "" : " (\(tellers))")
        }
        return told.isEmpty ? nil : told.joined(separator: ", ")
    }

    /// What is said of an app, and by which source: of those that say the same, the one that said it first.
    func word(on app: String) -> (state: String, source: String)? {
        let states: [(String, KeyPath<FocusRow, [String]>)] = [
            (FocusKey.frozen, \.frozen), (FocusKey.front, \.front), (FocusKey.visible, \.visible),
            (FocusKey.hidden, \.hidden),
        ]
        for (state, apps) in states {
            let rows = self.filter { $0[keyPath: apps].contains(app) }
            if let row = rows.first(where: { $0.first.contains(app) }) ?? rows.first { return (state, row.source) }
        }
        return nil
    }
}
