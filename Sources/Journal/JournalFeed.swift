/// The journal as a program follows it that is to miss nothing: rows in their order, and a word when there are more.
///
/// Reads only, each time for a moment, so that the broker is never kept from anything. It belongs to one thread.
package struct JournalFeed: ~Copyable {
    /// An event that was sent.
    package struct Event: Equatable, Sendable {
        package var row: Int64
        package var epoch: UInt64
        package var app: String
        package var sequence: UInt64
        package var detector: String
        package var time: Int64
        package var wall: Int64
        package var peak: Double
        package var generation: UInt64
        package var isSimulated: Bool
        /// False: it came to its end without its app.
        package var isSent: Bool
    }

    /// A verdict as it stands there now.
    package struct Judgement: Equatable, Sendable {
        package var row: Int64
        package var epoch: UInt64
        package var app: String
        package var detector: String
        package var preset: String
        package var time: Int64
        package var wall: Int64
        package var intensity: Double
        package var reason: String
        package var isDelivered: Bool
        package var generation: UInt64
        package var rule: String?
        package var place: String?
    }

    /// The names of the files that were opened.
    private let paths: [String]
    private let database: Database
    /// The files that were opened; `nil` in the place of one that was not there.
    private let files: [FileStatus?]
    private let events: Statement
    /// Finds an event by its name.
    private let one: Statement
    private let judgements: Statement

    /// The journal, and what SQLite has beside it: what is not in its place yet, and the locks that all share who have it open.
    private static let names = ["journal.db", "journal.db-wal", "journal.db-shm"]

    /// Opens the journal in a broker's directory.
    package init(in directory: String) throws(JournalFailure) {
        let paths = Self.names.map { "\(directory)/\($0)" }
        do throws(StoreError) {
            let before = try Self.find(paths)
            let database = try JournalReader.open(paths[0])
            // These are run again and again, and each time ask for few rows.
            database.limitSteps(to: 0)
            let events = try database.prepare(
                """
                SELECT id, epoch, app, sequence, detector, time, wall, peak, generation, simulated, sent FROM event \
                WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?
                """)
            let judgements = try database.prepare(
                """
                SELECT id, epoch, app, detector, preset, time, wall, intensity, reason, delivered, generation, rule, place \
                FROM verdict WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?
                """)
            let one = try database.prepare(
                "SELECT 1 FROM event WHERE app = ? AND sequence = ? AND epoch = ? AND id <= ?")
            // SQLite makes those that are not there when something is read.
            let files = try Self.find(paths)
            guard zip(before, files).allSatisfy({ old, new in old == nil || Self.isSame(old, new) }) else {
                throw StoreError(.unavailable, "\(paths[0]) became another one while it was opened")
            }
            self.events = events
            self.one = one
            self.judgements = judgements
            self.database = database
            self.files = files
            self.paths = paths
        } catch {
            throw JournalFailure(description: error.description)
        }
    }

    /// Which files have the names.
    private static func find(_ paths: [String]) throws(StoreError) -> [FileStatus?] {
        var found: [FileStatus?] = []
        for path in paths {
            let file = try FileStatus.find(path)
            found.append(file)
        }
        return found
    }

    private static func isSame(_ file: FileStatus?, _ other: FileStatus?) -> Bool {
        switch (file, other) {
        case (let file?, let other?): file.isSame(as: other)
        case (nil, nil): true
        default: false
        }
    }

    /// Whether the names still belong to the files that are read. When not, a feed is to be opened anew.
    package borrowing func isCurrent() -> Bool {
        guard !self.database.isStruck else { return false }
        // It is asked with each answer: nothing is made for it.
        for index in self.paths.indices {
            do throws(StoreError) {
                guard Self.isSame(try FileStatus.find(self.paths[index]), self.files[index]) else { return false }
            } catch {
                return false
            }
        }
        return true
    }

    /// A number that is another one when anything was committed since it was asked for last.
    package borrowing func version() throws(JournalFailure) -> Int64 {
        try self.attempt { database throws(StoreError) in try database.number("PRAGMA data_version") ?? 0 }
    }

    /// Sees to it that what was read counts only where the files are those that the broker has. Else it may write over what is
    /// read at any moment: its locks and ours are not in the same file.
    private borrowing func check() throws(StoreError) {
        guard self.isCurrent() else {
            throw StoreError(.unshared, "the journal was cut short, or became another one, while it was read")
        }
    }

    // MARK: Rows

    /// The newest rows of events and of verdicts; 0: there is none.
    package borrowing func newest() throws(JournalFailure) -> (event: Int64, verdict: Int64) {
        try self.attempt { database throws(StoreError) in
            let event = try database.number("SELECT max(id) FROM event") ?? 0
            let verdict = try database.number("SELECT max(id) FROM verdict") ?? 0
            guard max(event, verdict) < Self.mostRows else {
                throw StoreError(.broken, "\(self.paths[0]) has rows with numbers that no journal comes to")
            }
            return (event: event, verdict: verdict)
        }
    }

    /// Whoever follows it adds to the numbers of rows.
    private static let mostRows: Int64 = 1 << 62

    /// Events from a row to another, the oldest first.
    package borrowing func events(_ rows: ClosedRange<Int64>, limit: Int) throws(JournalFailure) -> [Event] {
        try self.rows(self.events, rows, limit) { row in
            Event(
                row: row.number(0), epoch: UInt64(clamping: row.number(1)), app: row.text(2),
                sequence: UInt64(clamping: row.number(3)), detector: row.text(4), time: row.number(5),
                wall: row.number(6), peak: row.double(7), generation: UInt64(clamping: row.number(8)),
                isSimulated: row.number(9) != 0, isSent: row.number(10) != 0)
        }
    }

    /// Verdicts from a row to another, the oldest first.
    package borrowing func judgements(
        _ rows: ClosedRange<Int64>, limit: Int
    ) throws(JournalFailure) -> [Judgement] {
        try self.rows(self.judgements, rows, limit) { row in
            Judgement(
                row: row.number(0), epoch: UInt64(clamping: row.number(1)), app: row.text(2), detector: row.text(3),
                preset: row.text(4), time: row.number(5), wall: row.number(6), intensity: row.double(7),
                reason: row.text(8), isDelivered: row.number(9) != 0, generation: UInt64(clamping: row.number(10)),
                rule: row.optionalText(11), place: row.optionalText(12))
        }
    }

    private borrowing func rows<Row>(
        _ statement: borrowing Statement, _ rows: ClosedRange<Int64>, _ limit: Int,
        _ read: (borrowing Statement) -> Row
    ) throws(JournalFailure) -> [Row] {
        do throws(StoreError) {
            var all: [Row] = []
            // What is left open would keep the broker from tidying up.
            defer { statement.reset() }
            try statement.bind(1, rows.lowerBound)
            try statement.bind(2, rows.upperBound)
            try statement.bind(3, Int64(limit))
            while try statement.step() { all.append(read(statement)) }
            try self.check()
            return all
        } catch {
            throw JournalFailure(description: error.description)
        }
    }

    // MARK: Finding a place again

    /// Whether an event of an app is among those up to a row.
    package borrowing func has(
        _ app: String, epoch: UInt64, sequence: UInt64, upTo row: Int64
    ) throws(JournalFailure) -> Bool {
        try self.attempt { _ throws(StoreError) in
            defer { self.one.reset() }
            try self.one.bind(1, app)
            try self.one.bind(2, Int64(clamping: sequence))
            try self.one.bind(3, Int64(clamping: epoch))
            try self.one.bind(4, row)
            return try self.one.step()
        }
    }

    /// The highest epoch of the events up to a row.
    package borrowing func highestEpoch(upTo row: Int64) throws(JournalFailure) -> UInt64 {
        try self.attempt { database throws(StoreError) in
            UInt64(clamping: try database.number("SELECT max(epoch) FROM event WHERE id <= \(row)") ?? 0)
        }
    }

    /// The last rows of both tables before an epoch came; 0: all came behind it.
    package borrowing func rows(before epoch: UInt64) throws(JournalFailure) -> (event: Int64, verdict: Int64) {
        let epoch = Int64(clamping: epoch)
        return try self.attempt { database throws(StoreError) in
            (
                try Self.before("event", "epoch > \(epoch)", database),
                try Self.before("verdict", "epoch > \(epoch)", database)
            )
        }
    }

    /// The last rows of both tables that are older than a time, in µs of the wall clock.
    package borrowing func rows(olderThan wall: Int64) throws(JournalFailure) -> (event: Int64, verdict: Int64) {
        try self.attempt { database throws(StoreError) in
            (
                try Self.before("event", "wall >= \(wall)", database),
                try Self.before("verdict", "wall >= \(wall)", database)
            )
        }
    }

    private static func before(
        _ table: String, _ condition: String, _ database: borrowing Database
    ) throws(StoreError) -> Int64 {
        if let first = try database.number("SELECT id FROM \(table) WHERE \(condition) ORDER BY id LIMIT 1") {
            return first - 1
        }
        return try database.number("SELECT max(id) FROM \(table)") ?? 0
    }

    private borrowing func attempt<Answer>(
        _ body: (borrowing Database) throws(StoreError) -> Answer
    ) throws(JournalFailure) -> Answer {
        do throws(StoreError) {
            let answer = try body(self.database)
            try self.check()
            return answer
        } catch {
            throw JournalFailure(description: error.description)
        }
    }
}

/// Tells a loop when the journal may have more, or is another file. Nothing wakes it while the broker writes nothing.
package struct JournalBell: ~Copyable {
    private var watch: DirectoryWatch

    /// - Parameter directory: The broker's; it need not be there.
    package init(_ directory: String) { self.watch = DirectoryWatch(directory) }

    /// Readable when it may be so; `nil` while nobody can tell, because the directory is not there.
    package var descriptor: Int32? { self.watch.descriptor }

    /// Fetches what happened; whether it was about the journal.
    ///
    /// All who read have `journal.db-wal` open to write, we as well: that somebody closes it says nothing.
    package mutating func answer() -> Bool {
        let changes = self.watch.drain()
        return changes.isIncomplete || changes.written.contains("journal.db")
            || changes.written.contains("journal.db-wal") || changes.closed.contains("journal.db")
    }
}
