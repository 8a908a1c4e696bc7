package import Motion

/// Who says what is in front, or that an app cannot run, for people: it decides nothing. Immutable, and shared by all verdicts of its time.
package final class FocusTestimony: Sendable {
    /// What one of them says.
    package struct Line: Equatable, Sendable {
        /// The name of the source; empty for one that has none.
        package var source: String
        /// What it shows in front; `nil`: no app.
        package var app: AppID?

        package init(source: String, app: AppID?) {
            self.source = source
            self.app = app
        }
    }

    /// Who said it first about each app that is in front, as far as that is told; or who says that none is.
    package let lines: [Line]
    /// How many more apps are in front.
    package let others: Int
    /// The first line says of the app itself that it cannot run.
    package let isOfFrozen: Bool
    /// What it takes to keep it, about.
    package let bytes: Int

    private static let mostLines = 3

    /// - Parameter lines: One for each app in front.
    package convenience init(_ lines: [Line]) {
        self.init(Array(lines.prefix(Self.mostLines)), others: max(0, lines.count - Self.mostLines))
    }

    /// A source says that the app cannot run.
    package static func frozen(by source: String) -> FocusTestimony {
        FocusTestimony([Line(source: source, app: nil)], others: 0, isOfFrozen: true)
    }

    init(_ lines: [Line], others: Int, isOfFrozen: Bool = false) {
        self.lines = lines
        self.others = others
        self.isOfFrozen = isOfFrozen
        self.bytes = lines.reduce(64) { $0 + 64 + $1.source.utf8.count + ($1.app?.name.utf8.count ?? 0) }
    }

    /// The same with the names of those apps that may be told.
    func naming(_ isKnown: (AppID) -> Bool) -> FocusTestimony {
        if self.lines.allSatisfy({ $0.app.map(isKnown) ?? true }) { return self }
        let lines = self.lines.map { line in
            Line(source: line.source, app: line.app.map { isKnown($0) ? $0 : .anotherApp })
        }
        return FocusTestimony(lines, others: self.others, isOfFrozen: self.isOfFrozen)
    }
}

extension FocusTestimony: Equatable {
    package static func == (a: FocusTestimony, b: FocusTestimony) -> Bool {
        a === b || (a.lines == b.lines && a.others == b.others && a.isOfFrozen == b.isOfFrozen)
    }
}

extension FocusTestimony: CustomStringConvertible {
    /// In words: `x11::0 shows org.example.Other in front`.
    package var description: String {
        if self.isOfFrozen {
            let source = self.lines.first?.source ?? ""
            return "\(source.isEmpty ? "somebody" : source) says that it is frozen"
        }
        var said = self.lines.map { line in
            let app = line.app.map(Explanation.shown) ?? "no app"
            return line.source.isEmpty
                ? "somebody says that \(app) is in front" : "\(line.source) shows \(app) in front"
        }
        if self.others > 0 { said.append("and \(self.others) more are") }
        return said.joined(separator: ", ")
    }
}
