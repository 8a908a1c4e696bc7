/// A table of the journal as it takes room: how much each row takes, and whose it is.
///
/// Room is counted in bytes for all of them, so that who fills one with a few large rows has as much as who does so with many.
struct RoomTable: Sendable {
    let name: String
    /// The columns that tell whose a row is: an event does not say of which user its app is.
    let columns: [String]
    /// What a row takes, as SQLite finds it out.
    private let taken: String
    /// Its newest row stays, so that no number comes again.
    private let keepsNewest: Bool
    /// Removes what belonged to rows that are gone, if anything does.
    private let sweep: String?

    private init(
        _ name: String, _ columns: [String], bytes: String = "bytes", keepsNewest: Bool = true, sweep: String? = nil
    ) {
        self.name = name
        self.columns = columns
        self.taken = "min(max(\(bytes), \(Self.leastRow)), \(Self.mostRow))"
        self.keepsNewest = keepsNewest
        self.sweep = sweep
    }

    static let verdicts = RoomTable("verdict", ["app", "user"])
    static let events = RoomTable("event", ["app"])
    /// What concerns no app is an app of the broker's user here.
    static let changes = RoomTable("change", ["app", "user"])
    /// A clip takes, besides, what its moments take. Of clips there are few, which are looked at each time.
    ///
    /// Nobody goes on behind a number of theirs, and one alone may be too much.
    static let clips = RoomTable(
        "clip", ["app", "user"],
        bytes: """
            \(leastRow) + length(CAST(app || sensor || channels AS BLOB)) + length(motion) \
            + (SELECT coalesce(sum(\(leastRow) + length(CAST(app || detector || preset || options AS BLOB))), 0) \
            FROM moment WHERE moment.clip = clip.id)
            """, keepsNewest: false, sweep: ClipTable.sweep)

    /// About what a row takes besides its texts, in its table and in indexes.
    private static let leastRow = 96
    /// No row that we write takes more. Whatever else stands there, sums of it are numbers.
    private static let mostRow = 1 << 20

    /// What a row of an app takes whose other texts have so many bytes; its app stands in an index, too.
    static func bytes(of app: String, _ others: Int) -> Int64 { Int64(self.leastRow + 2 * app.utf8.count + others) }

    // MARK: Who has how much

    /// How much each has.
    ///
    /// Grouped by what is no column it would be sorted in memory, all of it.
    var sums: String {
        "SELECT sum(\(self.taken)), \(self.columns.joined(separator: ", ")) FROM \(self.name) "
            + "GROUP BY \(self.columns.joined(separator: ", "))"
    }

    /// What a row takes that has this number.
    var row: String { "SELECT \(self.taken) FROM \(self.name) WHERE id = ?" }

    /// What all rows take.
    func bytes(in database: borrowing Database) throws(StoreError) -> Int64 {
        try database.number("SELECT coalesce(sum(\(self.taken)), 0) FROM \(self.name)") ?? 0
    }

    /// How much each has that may go.
    private func held(in database: borrowing Database) throws(StoreError) -> [JournalShares.Holder: Int] {
        var held: [JournalShares.Holder: Int] = [:]
        let sums = try database.prepare(self.sums)
        while try sums.step() { held[self.holder(in: sums)] = Int(sums.number(0)) }
        guard self.keepsNewest else { return held }
        let newest = try database.prepare(
            "SELECT \(self.taken), \(self.columns.joined(separator: ", ")) FROM \(self.name) ORDER BY id DESC LIMIT 1")
        guard try newest.step() else { return held }
        let holder = self.holder(in: newest)
        // It stands behind all others of its holder, who gives up no more than these.
        if let bytes = held[holder] {
            let others = bytes - Int(newest.number(0))
            held[holder] = others > 0 ? others : nil
        }
        return held
    }

    /// Whose a row is that tells so behind its first column.
    private func holder(in row: borrowing Statement) -> JournalShares.Holder {
        JournalShares.Holder(app: row.text(1), user: self.isOfUser ? row.number(2) : 0)
    }

    private var isOfUser: Bool { self.columns.count > 1 }

    /// Stands for all that the table has.
    private var whole: JournalShares.Holder { JournalShares.Holder(app: self.name, user: 0) }

    // MARK: Making room

    /// Removes a part of some tables, the oldest rows of whoever has most; false when there are none to remove.
    ///
    /// A table has as much right to room as another: who fills one pushes nothing out of one that is small.
    static func remove(
        _ part: Double, of tables: [RoomTable], from file: borrowing StoreFile
    ) throws(StoreError) -> Bool {
        var held: [[JournalShares.Holder: Int]] = []
        var totals: [JournalShares.Holder: Int] = [:]
        for table in tables {
            let bytes = try table.held(in: file.database)
            held.append(bytes)
            totals[table.whole] = bytes.values.reduce(0, +)
        }
        let all = totals.values.reduce(0, +)
        guard all > 0 else { return false }
        let parts = JournalShares.cuts(totals, excess: max(1, Int(Double(all) * part)))
        for (table, bytes) in zip(tables, held) {
            guard let excess = parts[table.whole] else { continue }
            try table.remove(JournalShares.cuts(bytes, excess: excess), from: file)
        }
        return true
    }

    /// Removes the oldest rows of each until all together have given up so much.
    ///
    /// Rows go whole. Of what is left when nobody's part is as much as a row, the oldest of their rows go: else thousands who have
    /// one each lost all of them.
    private func remove(
        _ cuts: [JournalShares.Holder: Int], from file: borrowing StoreFile
    ) throws(StoreError) {
        let oldest = try file.database.prepare(
            "SELECT id, \(self.taken) FROM \(self.name) WHERE \(self.own) ORDER BY id LIMIT ?3")
        let delete = try file.database.prepare("DELETE FROM \(self.name) WHERE \(self.own) AND id <= ?3")
        let deleteOne = try file.database.prepare("DELETE FROM \(self.name) WHERE id = ?")
        try file.transaction { () throws(StoreError) in
            var rest: Int64 = 0
            var next: [(id: Int64, bytes: Int64)] = []
            for (holder, cut) in cuts {
                try self.bind(holder, to: oldest)
                // So many rows have that much in any case; to sort more of them takes memory.
                try oldest.bind(3, Int64(cut / Self.leastRow + 1))
                var last: Int64?
                var left = Int64(cut)
                while left > 0, try oldest.step() {
                    let (id, bytes) = (oldest.number(0), oldest.number(1))
                    guard bytes <= left else {
                        rest += left
                        next.append((id: id, bytes: bytes))
                        break
                    }
                    last = id
                    left -= bytes
                }
                oldest.reset()
                if let last {
                    try self.bind(holder, to: delete)
                    try delete.bind(3, last)
                    try delete.run()
                }
            }
            for (id, bytes) in next.sorted(by: { $0.id < $1.id }) where rest > 0 {
                try deleteOne.bind(1, id)
                try deleteOne.run()
                rest -= bytes
            }
            if let sweep = self.sweep { try file.database.execute(sweep) }
        }
    }

    /// The rows of one of them.
    private var own: String {
        self.columns.indices.map { "\(self.columns[$0]) = ?\($0 + 1)" }.joined(separator: " AND ")
    }

    private func bind(_ holder: JournalShares.Holder, to statement: borrowing Statement) throws(StoreError) {
        try statement.bind(1, holder.app)
        if self.isOfUser { try statement.bind(2, holder.user) }
    }
}
