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
    var visible: [String]
    var hidden: [String]
    var windows: UInt32
    /// Who said it left, and it stands for a moment yet.
    var isLeaving: Bool

    /// - Parameter broker: What the broker says of itself. Not everybody is told of sources.
    static func all(_ broker: [String: Value]) -> [FocusRow] {
        broker.rows("FocusSources").map { row in
            func number(_ key: String) -> UInt32 { if case .uint32(let number) = row[key] { number } else { 0 } }
            return FocusRow(
                source: row.text(FocusKey.source), process: number(FocusKey.reporter),
                front: row.lines(FocusKey.front), visible: row.lines(FocusKey.visible),
                hidden: row.lines(FocusKey.hidden), windows: number(FocusKey.windows),
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
        line.add("visible", self.visible)
        line.add("hidden", self.hidden)
        line.add("windows", self.windows)
        line.add("leaving", self.isLeaving)
        return line
    }
}

extension [FocusRow] {
    /// Each app in front with those who say so.
    var fronts: [(app: String, tellers: [String])] {
        var fronts: [(app: String, tellers: [String])] = []
        for row in self {
            for app in row.front {
                if let index = fronts.firstIndex(where: { $0.app == app }) {
                    fronts[index].tellers.append(row.teller)
                } else {
                    fronts.append((app, [row.teller]))
                }
            }
        }
        return fronts
    }

    /// The apps in front in words, with who says so; `nil`: none is, as far as we may know.
    var frontText: String? {
        let told = self.fronts.map { front in
            let tellers = front.tellers.filter { !$0.isEmpty }.joined(separator: " and ")
            return printable(front.app) + (tellers.isEmpty ? "" : " (\(tellers))")
        }
        return told.isEmpty ? nil : told.joined(separator: ", ")
    }

    /// What is said of an app, and by which source.
    func word(on app: String) -> (state: String, source: String)? {
        let states: [(String, KeyPath<FocusRow, [String]>)] = [
            (FocusKey.front, \.front), (FocusKey.visible, \.visible), (FocusKey.hidden, \.hidden),
        ]
        for (state, apps) in states {
            if let row = self.first(where: { $0[keyPath: apps].contains(app) }) { return (state, row.source) }
        }
        return nil
    }
}
