/// Puts rows into a table, several with one statement: to begin and end one costs as much as a row.
struct RowInsert: ~Copyable {
    private let single: SteadyStatement
    private let several: SteadyStatement
    private let columns: Int

    /// How many rows go into one statement.
    static let several = 8

    init(_ table: String, _ columns: [String], in database: borrowing Database) throws(StoreError) {
        let row = "(" + columns.map { _ in "?" }.joined(separator: ", ") + ")"
        // A failure undoes all of the transaction, as its owner would: to be able to undo a statement alone costs a copy of each page.
        let name = "INSERT INTO \(table) "
        let insert = "INSERT OR ROLLBACK INTO \(table) (\(columns.joined(separator: ", "))) VALUES "
        let rows = Array(repeating: row, count: Self.several).joined(separator: ", ")
        let single = try database.prepare(insert + row, as: name)
        let several = try database.prepare(insert + rows, as: name)
        self.single = SteadyStatement(single, parameters: columns.count)
        self.several = SteadyStatement(several, parameters: columns.count * Self.several)
        self.columns = columns.count
    }

    /// Puts in rows in their order.
    ///
    /// - Parameter bind: Tells a statement one of them, from this parameter on.
    borrowing func insert(
        _ rows: [Int], _ bind: (Int, borrowing SteadyStatement, _ first: Int32) throws(StoreError) -> Void
    ) throws(StoreError) {
        var next = 0
        while rows.count - next >= Self.several {
            for place in 0..<Self.several {
                try bind(rows[next + place], self.several, Int32(place * self.columns + 1))
            }
            try self.several.run()
            next += Self.several
        }
        for row in rows[next...] {
            try bind(row, self.single, 1)
            try self.single.run()
        }
    }
}
