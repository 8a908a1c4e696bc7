import Detection
import Motion

/// Clips in the journal: a row for each and user, and one for each moment in it.
///
/// The tables are there once a clip was kept, and belong to no version of the file: what knows nothing of them leaves them alone.
struct ClipTable: ~Copyable {
    private let limits: StoreLimits
    private let clip: Statement
    private let moment: Statement
    private let size: Statement
    /// What clips and moments take.
    private var bytes: Int64

    /// Clips may have this part of the journal's room.
    private static let share: Int64 = 4

    /// Makes the tables, in a transaction of whoever calls; `nil` when something else has their names.
    static func make(in database: borrowing Database, _ limits: StoreLimits) throws(StoreError) -> ClipTable? {
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS clip (
                id INTEGER PRIMARY KEY, run INTEGER NOT NULL, wall INTEGER NOT NULL, app TEXT NOT NULL,
                user INTEGER NOT NULL, sensor TEXT NOT NULL, channels TEXT NOT NULL, motion BLOB NOT NULL) STRICT;
            CREATE TABLE IF NOT EXISTS moment (
                id INTEGER PRIMARY KEY, clip INTEGER NOT NULL, wall INTEGER NOT NULL, time INTEGER NOT NULL,
                app TEXT NOT NULL, user INTEGER NOT NULL, detector TEXT NOT NULL, preset TEXT NOT NULL,
                options TEXT NOT NULL, peak REAL NOT NULL, threshold REAL, near INTEGER NOT NULL) STRICT;
            """)
        guard try Self.isIn(database) else { return nil }
        try database.execute(Self.index)
        return try ClipTable(in: database, limits)
    }

    /// To count what clips take is to look for the moments of each.
    private static let index = "CREATE INDEX IF NOT EXISTS moment_clip ON moment (clip)"

    static func isIn(_ database: borrowing Database) throws(StoreError) -> Bool {
        try database.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('clip', 'moment')")
            == 2
    }

    /// `nil` when there are none.
    static func find(in file: borrowing StoreFile, _ limits: StoreLimits) throws(StoreError) -> ClipTable? {
        guard try Self.isIn(file.database) else { return nil }
        try file.transaction { () throws(StoreError) in try file.database.execute(Self.index) }
        return try ClipTable(in: file.database, limits)
    }

    private init(in database: borrowing Database, _ limits: StoreLimits) throws(StoreError) {
        let clip = try database.prepare(
            "INSERT INTO clip (run, wall, app, user, sensor, channels, motion) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id"
        )
        let moment = try database.prepare(
            """
            INSERT INTO moment (clip, wall, time, app, user, detector, preset, options, peak, threshold, near) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        let size = try database.prepare(RoomTable.clips.row)
        let bytes = try RoomTable.clips.bytes(in: database)
        self.limits = limits
        self.bytes = bytes
        self.clip = clip
        self.moment = moment
        self.size = size
    }

    // MARK: In

    /// Puts in a clip, once for each user who has a moment in it: to each belongs what its apps heard, and nothing else.
    mutating func insert(_ row: ClipRow, run: Int64) throws(StoreError) {
        let motion = ClipCoding.encode(row.clip)
        var users: [UInt32] = []
        for moment in row.clip.moments where !users.contains(moment.user) { users.append(moment.user) }
        for user in users { try self.insert(row, motion, of: user, run: run) }
    }

    private mutating func insert(
        _ row: ClipRow, _ motion: [UInt8], of user: UInt32, run: Int64
    ) throws(StoreError) {
        let moments = row.clip.moments.filter { $0.user == user }
        guard let first = moments.first else { return }
        try self.clip.bind(1, run)
        try self.clip.bind(2, Self.wall(of: first.time, row))
        try self.clip.bind(3, first.app.description)
        try self.clip.bind(4, UInt64(user))
        try self.clip.bind(5, row.clip.sensor)
        try self.clip.bind(6, row.clip.channels.joined(separator: " "))
        try self.clip.bind(7, motion)
        guard try self.clip.step() else { throw StoreError(.broken, "a clip has no number") }
        let number = self.clip.number(0)
        try self.clip.run()
        // Moments of a clip are of few detectors, mostly of one.
        var known: (detector: CompiledDetector, text: String)?
        for moment in moments {
            if known?.detector.isSame(as: moment.detector) != true {
                known = (moment.detector, DetectorText.write(moment.detector))
            }
            try self.moment.bind(1, number)
            try self.moment.bind(2, Self.wall(of: moment.time, row))
            try self.moment.bind(3, moment.time.microseconds)
            try self.moment.bind(4, moment.app.description)
            try self.moment.bind(5, UInt64(user))
            try self.moment.bind(6, moment.detector.name)
            try self.moment.bind(7, moment.detector.preset ?? "")
            try self.moment.bind(8, known?.text ?? "")
            try self.moment.bind(9, moment.peak.isFinite ? moment.peak : 0)
            try self.moment.bind(10, moment.detector.threshold.flatMap { $0.isFinite ? $0 : nil })
            try self.moment.bind(11, moment.isNear)
            try self.moment.run()
        }
        try self.size.bind(1, number)
        if try self.size.step() { self.bytes += self.size.number(0) }
        self.size.reset()
    }

    /// When something was by the wall clock. A trace may run ahead of it.
    private static func wall(of time: Timestamp, _ row: ClipRow) -> Int64 {
        let age = row.now.microseconds.subtractingReportingOverflow(time.microseconds)
        guard !age.overflow, age.partialValue > 0 else { return row.wall }
        return row.wall - min(age.partialValue, row.wall)
    }

    // MARK: Bounds

    /// Removes the moments of clips that are gone.
    static let sweep = "DELETE FROM moment WHERE clip NOT IN (SELECT id FROM clip)"

    /// Some clips were removed.
    mutating func someAreGone(from database: borrowing Database) throws(StoreError) {
        self.bytes = try RoomTable.clips.bytes(in: database)
    }

    /// Removes the oldest of whoever has most when there is too much: an app that moves all the time pushes out its own.
    mutating func makeRoom(in file: borrowing StoreFile) throws(StoreError) {
        let most = self.limits.journalBytes / Self.share
        while self.bytes > most {
            let part = Double(self.bytes - (most - most / 8)) / Double(self.bytes)
            guard try RoomTable.remove(part, of: [.clips], from: file) else { break }
            try self.someAreGone(from: file.database)
        }
    }

    /// Removes what is too old at `wall`.
    mutating func removeOld(before wall: Int64, from file: borrowing StoreFile) throws(StoreError) {
        let cut = wall.subtractingReportingOverflow(self.limits.journalAge.microseconds)
        guard !cut.overflow else { return }
        let old = try file.database.number("SELECT count(*) FROM clip WHERE wall < \(cut.partialValue)") ?? 0
        guard old > 0 else { return }
        try file.transaction { () throws(StoreError) in
            try file.database.execute("DELETE FROM clip WHERE wall < \(cut.partialValue); \(Self.sweep)")
        }
        try self.someAreGone(from: file.database)
    }

    /// Forgets the clips of these users, in a transaction of whoever calls; `nil`: of all.
    mutating func forget(_ users: [UInt32?], in database: borrowing Database) throws(StoreError) {
        for user in users { try database.execute("DELETE FROM clip" + (user.map { " WHERE user = \($0)" } ?? "")) }
        try database.execute(Self.sweep)
        try self.someAreGone(from: database)
    }
}
