import Glibc

/// One SQLite file of ours: made, brought up to date and looked over before anything is done with it.
///
/// What was committed since the last checkpoint stands in the file beside it, `-wal`. Should that one get lost, SQLite
/// would go on with what is left and say nothing. So the file itself says whether it is whole: `mark` is 0 in it between
/// two checkpoints, and 1 in what comes first after a checkpoint.
struct StoreFile: ~Copyable {
    let database: Database
    let path: String
    /// At which size of `-wal` to put what stands there in its place.
    private var nextCheckpoint = StoreFile.checkpointBytes

    /// What a file of ours is: its tables, and how much is lost when the power fails.
    struct Kind: Sendable {
        /// In the header of the file, for `file` and for us.
        let applicationID: Int32
        /// How each version is made of the one before, from none on. What stands here once stays as it is.
        let migrations: [String]
        /// True: a commit is on the disk when it returns. False: it may be lost with the power, but nothing else.
        let isDurable: Bool
        /// Finds out whether what stands in it can be; throws `broken` when it cannot.
        var check: @Sendable (borrowing Database) throws(StoreError) -> Void = { _ throws(StoreError) in }
    }

    private static let checkpointBytes: Int64 = 4 << 20

    /// The first step of every kind.
    static let firstMigration = "CREATE TABLE mark (whole INTEGER NOT NULL) STRICT; INSERT INTO mark VALUES (1);"

    /// Opens a file. One that is broken is set aside, and a new one made; `setAside` says why.
    static func open(_ path: String, _ kind: Kind, setAside: inout String?) throws(StoreError) -> StoreFile {
        let lock = try FileLock(for: path)
        defer { _ = lock }
        do {
            return try StoreFile(path, kind)
        } catch {
            guard error.code == .broken else { throw error }
            setAside = try self.setAside(path, error)
            return try StoreFile(path, kind)
        }
    }

    /// Renames a file and what belongs to it, in place of what was set aside before. Returns what to tell people.
    static func setAside(_ path: String, _ reason: StoreError) throws(StoreError) -> String {
        for suffix in ["", "-wal", "-shm"] {
            let (from, to) = (path + suffix, path + ".broken" + suffix)
            // SAFETY: the paths are NUL-terminated for the calls; so below.
            guard unsafe unlink(to) == 0 || errno == ENOENT else { throw .system("remove \(to)") }
            guard unsafe rename(from, to) == 0 || errno == ENOENT else { throw .system("rename \(from)") }
        }
        return "\(reason); it stands as \(path).broken now"
    }

    private init(_ path: String, _ kind: Kind) throws(StoreError) {
        let before = try Self.prepare(path)
        let database = try Database(path)
        // Whoever looks into a broken one later needs what stands beside it, whatever that is.
        database.keepWAL(true)
        try Self.configure(database, path, kind)
        let isChanged = try Self.migrate(database, path, kind)
        let mark = try database.number("SELECT whole FROM mark")
        // Behind a checkpoint `-wal` is empty until the mark is in it; a whole one has the mark that came first, and then a
        // checkpoint was broken off.
        let isEmpty = before.map { $0 < Self.smallestWAL } ?? false
        var isWhole = mark == 1 || (mark == 0 && isEmpty)
        if mark == 0, !isEmpty { isWhole = try Self.isCheckpointBrokenOff(database) }
        guard isWhole else {
            throw StoreError(.broken, "\(path) lacks what was written last: \(path)-wal is not what it was")
        }
        try kind.check(database)
        if mark == 0 { try Self.setMark(1, in: database) }
        // Tables that stood beside alone would be no tables without it, and nobody would know that there were some.
        if isChanged { try Self.checkpoint(database) }
        database.keepWAL(false)
        self.path = path
        self.database = database
    }

    /// What begins `-wal`, and one page with what stands before it.
    private static let smallestWAL: Int64 = 32 + 24 + 4_096

    /// Whether there is something in `-wal` that SQLite believes. It is put in its place then, so that `-wal` is empty.
    private static func isCheckpointBrokenOff(_ database: borrowing Database) throws(StoreError) -> Bool {
        let statement = try database.prepare("PRAGMA wal_checkpoint(PASSIVE)")
        guard try statement.step(), statement.number(1) > 0 else { return false }
        statement.reset()
        try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return true
    }

    private static func configure(
        _ database: borrowing Database, _ path: String, _ kind: Kind
    ) throws(StoreError) {
        // Said of a file that has something in it, it is written there.
        if try database.number("PRAGMA page_count") == 0 { try database.execute("PRAGMA auto_vacuum = INCREMENTAL") }
        try database.execute(
            """
            PRAGMA trusted_schema = OFF;
            PRAGMA cell_size_check = ON;
            PRAGMA temp_store = MEMORY;
            PRAGMA cache_size = -512;
            PRAGMA synchronous = \(kind.isDurable ? "FULL" : "NORMAL");
            PRAGMA wal_autocheckpoint = 0;
            """)
        guard try database.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(.unavailable, "\(path) cannot be written and read at the same time")
        }
        guard try database.text("PRAGMA quick_check(1)") == "ok" else {
            throw StoreError(.broken, "\(path) is damaged")
        }
    }

    /// Makes the file, for us alone. Returns how much there is in `-wal`; `nil` without one.
    private static func prepare(_ path: String) throws(StoreError) -> Int64? {
        // Its companions take after it. One that is there is not opened: closing it would drop all locks of this process.
        // SAFETY: the path is NUL-terminated for the call.
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 || errno == EEXIST else { throw .system("make \(path)") }
        if descriptor >= 0 { close(descriptor) }
        let beside = self.size(path + "-wal")
        // SQLite would take it for new, and throw away what stands beside it.
        if self.size(path) == 0, let beside, beside > 0 { throw StoreError(.broken, "\(path) is empty") }
        return beside
    }

    /// The size of a file; `nil` when it is not there.
    static func size(_ path: String) -> Int64? {
        var status = stat()
        // SAFETY: the path is NUL-terminated for the call, and `status` is ours.
        return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Brings the tables up to date; false when they were.
    private static func migrate(
        _ database: borrowing Database, _ path: String, _ kind: Kind
    ) throws(StoreError) -> Bool {
        let version = try database.number("PRAGMA user_version") ?? 0
        let id = try database.number("PRAGMA application_id") ?? 0
        let isEmpty = try database.number("SELECT count(*) FROM sqlite_schema") == 0
        guard isEmpty ? version == 0 : id == kind.applicationID else {
            throw StoreError(.broken, "\(path) is something else's")
        }
        guard version >= 0, version <= kind.migrations.count else {
            throw StoreError(.broken, "\(path) was made by a later version")
        }
        let rest = kind.migrations.dropFirst(Int(version))
        guard !rest.isEmpty else { return false }
        try database.transaction { () throws(StoreError) in
            for step in rest { try database.execute(step) }
            try database.execute(
                "PRAGMA application_id = \(kind.applicationID); PRAGMA user_version = \(kind.migrations.count)")
        }
        return true
    }

    // MARK: Checkpoints

    private static func setMark(_ mark: Int, in database: borrowing Database) throws(StoreError) {
        try database.execute("UPDATE mark SET whole = \(mark)")
    }

    /// Writes something that changes nothing, to see whether that is possible.
    borrowing func probe() throws(StoreError) { try Self.setMark(1, in: self.database) }

    /// Puts what stands in `-wal` in its place in the file.
    mutating func checkpoint() throws(StoreError) {
        let lock = try FileLock(for: self.path)
        defer { _ = lock }
        try Self.checkpoint(self.database)
        self.nextCheckpoint = (Self.size(self.path + "-wal") ?? 0) + Self.checkpointBytes
    }

    private static func checkpoint(_ database: borrowing Database) throws(StoreError) {
        do {
            try self.setMark(0, in: database)
            // Somebody who reads may keep it from being done whole.
            try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            try? self.setMark(1, in: database)
            throw error
        }
        // Should the power fail, what comes behind it may be lost, but the file is not to look as if all of it were.
        let mode = try database.number("PRAGMA synchronous") ?? 1
        try database.execute("PRAGMA synchronous = FULL")
        defer { try? database.execute("PRAGMA synchronous = \(mode)") }
        try self.setMark(1, in: database)
    }

    /// Does so when there is enough of it. To be called after a commit.
    ///
    /// - Parameter limit: When somebody who reads has kept it from being done for so long that more stands there, nothing more
    ///   is to be written.
    mutating func checkpointIfDue(limit: Int64) throws(StoreError) {
        guard let beside = Self.size(self.path + "-wal"), beside >= self.nextCheckpoint else { return }
        try self.checkpoint()
        guard Self.size(self.path + "-wal") ?? 0 <= limit else {
            throw StoreError(.unavailable, "\(self.path): another program has been reading for too long")
        }
    }
}
