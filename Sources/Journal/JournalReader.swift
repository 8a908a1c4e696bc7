import Detection
import Motion

/// The journal as another program reads it, also while a broker writes it. Nothing is changed.
package struct JournalReader: ~Copyable {
    private let database: Database
    /// False: a version made it that did not note changes.
    package let hasChanges: Bool
    /// False: no clip was ever kept.
    package let hasClips: Bool

    /// The versions from which on all that is asked for is there, and from which on changes are.
    private static let (oldest, withChanges): (Int64, Int64) = (5, 6)
    /// What is read of it.
    private static let tables = ["run", "policy", "verdict", "event", "change", "clip", "moment"]
    /// No value of ours is nearly as long, in bytes. A file that is nearly all hole may have some that no memory holds.
    private static let longestValue: Int32 = 16 << 20
    /// For each byte of it no question takes as many steps: a row has some dozens of bytes, and takes some dozens of steps.
    private static let stepsPerByte: Int64 = 100
    /// What is little may always take these.
    private static let fewSteps: Int64 = 10_000_000

    /// Opens the journal in a broker's directory.
    package init(in directory: String) throws(JournalFailure) {
        do throws(StoreError) {
            let database = try Self.open("\(directory)/journal.db")
            let hasClips = try ClipTable.isIn(database)
            self.hasChanges = (try database.number("PRAGMA user_version") ?? 0) >= Self.withChanges
            self.hasClips = hasClips
            self.database = database
        } catch {
            throw JournalFailure(description: error.description)
        }
    }

    /// Opens a journal to read it only. A pipe in its place would have us wait for who writes to it.
    static func open(_ path: String) throws(StoreError) -> Database {
        guard let status = try FileStatus.find(path) else {
            throw StoreError(.unavailable, "there is no journal \(path)")
        }
        guard status.isRegular else { throw StoreError(.broken, "\(path) is no journal: it is no file") }
        // SQLite would take it for new, and throw away what stands beside it, also where it is only to read.
        guard status.size > 0 else { throw StoreError(.broken, "\(path) is no journal: it is empty") }
        let database = try Database(path, readOnly: true)
        database.limitValues(to: Self.longestValue)
        // What waits beside the file is read with it. A broker writes on: it may become as much again.
        let size = status.size + (try FileStatus.find("\(path)-wal")?.size ?? 0)
        database.limitSteps(to: Int32(clamping: Self.fewSteps + min(size, 1 << 32) * Self.stepsPerByte))
        try database.execute("PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;")
        let kind = JournalStore.kind
        guard try database.number("PRAGMA application_id") == Int64(kind.applicationID) else {
            throw StoreError(.broken, "\(path) is no journal")
        }
        let version = try database.number("PRAGMA user_version") ?? 0
        guard (Self.oldest...Int64(kind.migrations.count)).contains(version) else {
            throw StoreError(.broken, "\(path) was made by another version")
        }
        // A view in the place of a table, as somebody makes it who means harm, may have rows without end. What others keep
        // beside ours is theirs, and is not read.
        let tables = "type IN ('table', 'index') AND coalesce(sql, '') NOT LIKE 'CREATE VIRTUAL%'"
        let ours = Self.tables.map { "'\($0)'" }.joined(separator: ", ")
        guard
            try database.number(
                "SELECT count(*) FROM sqlite_schema WHERE lower(tbl_name) IN (\(ours)) AND NOT (\(tables))") == 0
        else {
            throw StoreError(.broken, "\(path) is no journal: what should be its tables is more than that")
        }
        for table in Self.tables { try Self.checkColumns(of: table, in: database, path) }
        return database
    }

    /// Refuses a table with a column that is made when it is read: what it is made by may take as long as somebody likes, for each row.
    private static func checkColumns(
        of table: String, in database: borrowing Database, _ path: String
    ) throws(StoreError) {
        let columns = try database.prepare("PRAGMA table_xinfo(\(table))")
        while try columns.step() {
            // 0 is said of a column that stands there.
            guard columns.number(6) == 0 else {
                throw StoreError(.broken, "\(path) is no journal: its \(table) has a column that is made of others")
            }
        }
    }

    /// Fetches the verdicts that are asked for.
    package borrowing func answer(_ query: JournalQuery) throws(JournalFailure) -> JournalAnswer {
        try self.read { () throws(StoreError) in try query.answer(from: self.database) }
    }

    // MARK: All of a time

    /// Goes through what was decided in a time, without its details, in the order in which it was written.
    package borrowing func eachVerdict(
        from since: Int64, to until: Int64, _ body: (JournalGlance) -> Void
    ) throws(JournalFailure) {
        try self.read { () throws(StoreError) in
            let rows = try self.database.prepare(
                "SELECT id, wall, epoch, app, user, reason, delivered, coalesce(rule, ''), coalesce(place, ''), failures "
                    + "FROM verdict WHERE wall >= ? AND wall < ? ORDER BY id")
            try rows.bind(1, since)
            try rows.bind(2, until)
            var names = KnownTexts()
            while try rows.step() {
                body(
                    JournalGlance(
                        id: rows.number(0), wall: rows.number(1), epoch: rows.number(2), app: rows.text(3, &names),
                        user: rows.number(4), reason: rows.text(5, &names), isDelivered: rows.number(6) != 0,
                        rule: rows.text(7, &names), place: rows.text(8, &names), failures: rows.number(9)))
            }
        }
    }

    /// Goes through the events of a time: whose, when, and whether it went out.
    package borrowing func eachEvent(
        from since: Int64, to until: Int64, _ body: (_ app: String, _ wall: Int64, _ isSent: Bool) -> Void
    ) throws(JournalFailure) {
        try self.read { () throws(StoreError) in
            let rows = try self.database.prepare(
                "SELECT app, wall, sent FROM event WHERE wall >= ? AND wall < ? ORDER BY id")
            try rows.bind(1, since)
            try rows.bind(2, until)
            var names = KnownTexts()
            while try rows.step() { body(rows.text(0, &names), rows.number(1), rows.number(2) != 0) }
        }
    }

    /// Goes through all changes before a time, and the starts of brokers with them, in their order.
    ///
    /// From the first one on: what was the case at some time was noted before it.
    package borrowing func eachChange(
        to until: Int64, _ body: (_ run: Int64, _ wall: Int64, JournalChange) -> Void
    ) throws(JournalFailure) {
        guard self.hasChanges else { return }
        try self.read { () throws(StoreError) in
            let rows = try self.database.prepare(
                "SELECT run, wall, kind, app, user, value, rate, count FROM change WHERE wall < ? ORDER BY id")
            try rows.bind(1, until)
            var names = KnownTexts()
            while try rows.step() {
                // Whatever else stands there, a later version knows.
                guard let kind = JournalChange.Kind(rawValue: rows.text(2, &names)) else { continue }
                body(
                    rows.number(0), rows.number(1),
                    JournalChange(
                        kind, app: rows.text(3, &names), user: UInt32(truncatingIfNeeded: rows.number(4)),
                        rows.text(5, &names), rate: rows.optionalDouble(6), count: rows.optionalDouble(7)))
            }
        }
    }

    /// Goes through the clips of a time, the oldest first.
    ///
    /// - Returns: How many of them cannot be read.
    package borrowing func eachClip(
        from since: Int64, to until: Int64, _ body: (StoredClip) -> Void
    ) throws(JournalFailure) -> Int {
        guard self.hasClips else { return 0 }
        return try self.read { () throws(StoreError) in
            // One question for all: to look for each clip's moments again would be to look at all of them each time.
            let rows = try self.database.prepare(
                "SELECT c.id, c.wall, c.user, c.sensor, c.channels, c.motion, m.time, m.app, m.detector, m.preset, "
                    + "m.options, m.wall, m.peak, m.threshold, m.near FROM clip c LEFT JOIN moment m ON m.clip = c.id "
                    + "WHERE c.wall >= ? AND c.wall < ? ORDER BY c.id, m.time, m.id")
            try rows.bind(1, since)
            try rows.bind(2, until)
            var names = KnownTexts()
            var (unreadable, id): (Int, Int64?) = (0, nil)
            var clip: StoredClip?
            while try rows.step() {
                if rows.number(0) != id {
                    if let clip { body(clip) }
                    id = rows.number(0)
                    clip = Self.clip(rows, &names)
                    if clip == nil { unreadable += 1 }
                }
                // Whoever else wrote there may have written any time; a clip may have no moment.
                guard let time = rows.optionalNumber(6), (0...ClipCoding.latest).contains(time) else { continue }
                clip?.add(
                    StoredClip.Moment(
                        app: rows.text(7, &names), detector: rows.text(8, &names), preset: rows.text(9, &names),
                        options: rows.text(10, &names), time: time, wall: rows.number(11), peak: rows.double(12),
                        threshold: rows.optionalDouble(13).flatMap { $0.isFinite ? $0 : nil },
                        isNear: rows.number(14) != 0))
            }
            if let clip { body(clip) }
            return unreadable
        }
    }

    /// The clip of a row; `nil`: its motion cannot be read.
    private static func clip(_ row: borrowing Statement, _ names: inout KnownTexts) -> StoredClip? {
        let channels = row.text(4).split(separator: " ").map(String.init)
        guard let motion = ClipCoding.decode(row.bytes(5), width: channels.count), !motion.isEmpty else { return nil }
        return StoredClip(
            id: row.number(0), wall: row.number(1), user: row.number(2), sensor: row.text(3, &names),
            channels: channels, motion)
    }

    /// About how many rows of each kind there are, by their numbers.
    package borrowing func sizes() throws(JournalFailure) -> (
        verdicts: Int64, events: Int64, changes: Int64, clips: Int64
    ) {
        try self.read { () throws(StoreError) in
            func size(_ table: String) throws(StoreError) -> Int64 {
                try self.database.number("SELECT coalesce(max(id) - min(id) + 1, 0) FROM \(table)") ?? 0
            }
            return (
                try size("verdict"), try size("event"), self.hasChanges ? try size("change") : 0,
                self.hasClips ? try size("clip") : 0
            )
        }
    }

    /// When the first and the last thing in it was written, in µs of the wall clock; `nil`: it is empty.
    package borrowing func bounds() throws(JournalFailure) -> ClosedRange<Int64>? {
        try self.read { () throws(StoreError) in
            var bounds: ClosedRange<Int64>?
            for table in ["verdict", "event"] + (self.hasChanges ? ["change"] : []) {
                for order in ["ASC", "DESC"] {
                    guard let wall = try self.database.number("SELECT wall FROM \(table) ORDER BY id \(order) LIMIT 1")
                    else { continue }
                    bounds = min(bounds?.lowerBound ?? wall, wall)...max(bounds?.upperBound ?? wall, wall)
                }
            }
            return bounds
        }
    }

    private borrowing func read<R>(_ body: () throws(StoreError) -> R) throws(JournalFailure) -> R {
        do throws(StoreError) {
            let result = try body()
            if self.database.isStruck { throw StoreError(.unshared, "the journal was cut short while it was read") }
            return result
        } catch {
            throw JournalFailure(description: error.description)
        }
    }
}

/// A verdict without its details, for whoever goes through very many.
package struct JournalGlance: Sendable {
    package let id: Int64
    /// In µs of the wall clock.
    package let wall: Int64
    package let epoch: Int64
    package let app: String
    package let user: Int64
    package let reason: String
    package let isDelivered: Bool
    /// Nothing: no rule decided.
    package let rule: String
    /// The file and line of the rule.
    package let place: String
    /// How often a launch for it failed.
    package let failures: Int64
}

/// The texts that came last: in the rows of a table the same ones come again and again, and need not be made anew.
struct KnownTexts {
    private var texts: [String] = Array(repeating: "", count: KnownTexts.size)

    private static let size = 256

    /// The text with these bytes.
    mutating func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in 0..<bytes.count {
            // SAFETY: the bytes are lent for the call; so below.
            hash = (hash ^ UInt64(unsafe bytes[index])) &* 0x100_0000_01B3
        }
        let place = Int(hash % UInt64(Self.size))
        let isKnown = unsafe self.texts[place].withUTF8Equal(to: bytes)
        if !isKnown { unsafe self.texts[place] = String(decoding: bytes, as: UTF8.self) }
        return self.texts[place]
    }
}

extension String {
    fileprivate mutating func withUTF8Equal(to bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        self.withUTF8 { own in unsafe own.elementsEqual(bytes) }
    }
}
