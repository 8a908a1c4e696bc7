/// What stands in the schema of a file: its tables, and what hangs on them.
struct StoreSchema {
    private struct Entry: Hashable {
        let kind: String
        let name: String
        let table: String
        let text: String
    }

    private let entries: Set<Entry>

    init(of database: borrowing Database) throws(StoreError) {
        // A trigger names its table as whoever made it wrote that.
        let rows = try database.prepare("SELECT type, name, lower(tbl_name), coalesce(sql, '') FROM sqlite_schema")
        var entries: Set<Entry> = []
        while try rows.step() {
            entries.insert(Entry(kind: rows.text(0), name: rows.text(1), table: rows.text(2), text: rows.text(3)))
        }
        self.entries = entries
    }

    /// What these steps make of an empty file.
    init(madeBy steps: some Sequence<String>) throws(StoreError) {
        do throws(StoreError) {
            let database = try Database(":memory:")
            for step in steps { try database.execute(step) }
            try self.init(of: database)
        } catch {
            // That is no fault of any file.
            throw StoreError(.unavailable, error.description)
        }
    }

    /// Whether these tables are there as they are here, and nothing hangs on them that does not here. What others made
    /// beside them does no harm.
    func stands(in other: StoreSchema) -> Bool {
        let tables = Set(self.entries.map(\.table))
        return other.entries.filter { tables.contains($0.table) } == self.entries
    }
}
