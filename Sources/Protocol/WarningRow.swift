package import DBus

/// What is allowed and probably not meant, as the bus carries it.
package struct WarningRow: Equatable, Sendable {
    /// A word for programs.
    package var id: String
    /// A sentence for people.
    package var text: String

    private enum Key {
        static let id = "id"
        static let text = "text"
    }

    package init(id: String, text: String) {
        self.id = id
        self.text = text
    }

    package static func value(of rows: [WarningRow]) -> Value {
        .array(
            of: "a{sv}", rows.map { Value(options: [Key.id: .string($0.id), Key.text: .string($0.text)]) })
    }

    /// The rows of such a value; what is none is left out.
    package static func rows(of value: Value) -> [WarningRow] {
        guard case .array(_, let rows) = value else { return [] }
        return rows.compactMap { row in
            let known = row.asOptions
            guard case .string(let id) = known[Key.id], case .string(let text) = known[Key.text] else { return nil }
            return WarningRow(id: id, text: text)
        }
    }
}
