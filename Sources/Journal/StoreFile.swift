import Glibc
import Loop
import Motion

/// One SQLite file of ours: made, brought up to date and looked over before anything is done with it.
///
/// What was committed since the last checkpoint stands in the file beside it, `-wal`. Should that one get lost, SQLite
/// would go on with what is left and say nothing. So the file itself says whether it is whole: `mark` is 0 in it between
/// two checkpoints, and 1 in what comes first after a checkpoint.
struct StoreFile: ~Copyable {
    let database: Database
    let path: String
    /// At which size of `-wal` to put what stands there in its place.
    private var nextCheckpoint: Int64
    /// The file itself, `-wal` and `-shm` as they were when we looked last.
    private var known: [FileStatus]
    /// What was done to files since then.
    private var unseen = DirectoryWatch.Changes()
    /// What we wrote to since the last look.
    private let written = Written()
    private let history: FileHistory
    private var doubt: FileDoubt
    private let kind: Kind
    /// Of the tables, counted by SQLite: another number when somebody changed them.
    private let tableVersion: Int64?

    private final class Written {
        var isFile = true
        var isBeside = true
        /// What is shared: we write to it in memory, of which the kernel tells nobody, except where it is made longer.
        var isShared = true
    }

    /// The paths of these three, and the names they have in their directory.
    private let paths: [String]
    private let names: [String]

    /// What belongs to a file.
    private static let suffixes = ["", "-wal", "-shm"]

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

    private static let mostBeside: Int64 = 4 << 20
    private static let leastBeside: Int64 = 64 << 10

    /// How large `-wal` may become beside a file until what stands there is put in its place: a small disk must not be full
    /// of it, because there would be no room to do so.
    private static func roomBeside(_ path: String) -> Int64 {
        var status = statvfs()
        // SAFETY: the path is NUL-terminated for the call, and `status` is ours.
        guard unsafe statvfs(path, &status) == 0 else { return self.mostBeside }
        let free = status.f_bavail.multipliedReportingOverflow(by: status.f_frsize)
        guard !free.overflow else { return self.mostBeside }
        return max(self.leastBeside, Int64(clamping: min(free.partialValue / 4, UInt(self.mostBeside))))
    }

    /// The first step of every kind.
    static let firstMigration = "CREATE TABLE mark (whole INTEGER NOT NULL) STRICT; INSERT INTO mark VALUES (1);"

    /// Opens a file. One that is broken is set aside, and a new one made; `setAside` says why.
    ///
    /// - Parameters:
    ///   - history: Which file it is, and what is known of it.
    ///   - pause: How long to leave at least between two times that it is looked over.
    ///   - held: The directory that it is in.
    static func open(
        _ history: FileHistory, _ kind: Kind, pause: TimeSpan, in held: inout HeldDirectory?, setAside: inout String?
    ) throws(StoreError) -> StoreFile {
        let path = history.path
        if history.isLost {
            if try self.isAnythingThere(path) {
                setAside = try self.setAside(path, StoreError(.lost, "\(path) is not what was written"))
            }
            history.beginAnew()
        }
        let strikes = MappingGuard.strikes
        do throws(StoreError) {
            return try StoreFile(history, kind, pause, &held)
        } catch {
            // What was read then is not what is there.
            guard MappingGuard.strikes == strikes else { throw StoreError(.unshared, "\(path)-shm was cut short") }
            // What refuses a statement of ours, and nobody else has had open since, is not what we wrote.
            let isUnread =
                error.code == .unread
                && history.couldNotBeRead(at: Clock.monotonic.now(), pause: pause.microseconds)
            guard error.code == .broken || error.code == .touched || isUnread else { throw error }
            setAside = try self.setAside(path, error)
            history.beginAnew()
            return try StoreFile(history, kind, pause, &held)
        }
    }

    /// Reads a file as this version makes it where nothing can be written, not even what SQLite shares with others: that is
    /// in memory then, and nobody else may have the file open. Throws when it is not whole, or nobody can tell.
    static func read<R>(
        _ history: FileHistory, _ kind: Kind, _ body: (borrowing Database) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let path = history.path
        guard !history.isLost, self.size(path) ?? 0 > 0 else { throw StoreError(.unavailable, "there is no \(path)") }
        try history.checkBeside()
        let database = try Database(path)
        database.leaveAllInPlace(true)
        try database.execute(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        try database.quickCheck(path)
        guard try database.number("PRAGMA application_id") == Int64(kind.applicationID),
            try database.number("PRAGMA user_version") == Int64(kind.migrations.count),
            try StoreSchema(madeBy: kind.migrations).stands(in: StoreSchema(of: database))
        else { throw StoreError(.broken, "\(path) is not as it is made now") }
        try kind.check(database)
        // What we have committed something to was whole. Otherwise the mark tells, or that nothing stands beside.
        var isWhole = history.beside != nil || self.size(path + "-wal") ?? 0 <= self.smallestWAL
        if !isWhole { isWhole = try database.number("SELECT whole FROM mark") == 1 }
        guard isWhole else { throw StoreError(.broken, "\(path) may lack what was written last") }
        return try body(database)
    }

    /// Whether there is a file, or something that belongs to it.
    private static func isAnythingThere(_ path: String) throws(StoreError) -> Bool {
        for suffix in self.suffixes where try FileStatus.find(path + suffix, isFollowed: false) != nil { return true }
        return false
    }

    /// Renames a file and what belongs to it, in place of what was set aside before. What has that name and cannot be replaced
    /// stays, and the next name is tried. Returns what to tell people.
    static func setAside(_ path: String, _ reason: StoreError, try number: Int = 1) throws(StoreError) -> String {
        let place = number > 1 ? "\(path).broken.\(number)" : "\(path).broken"
        do throws(StoreError) {
            try self.clear(place)
        } catch {
            guard number < self.mostBroken else { throw error }
            return try self.setAside(path, reason, try: number + 1)
        }
        for suffix in self.suffixes {
            // SAFETY: the paths are NUL-terminated for the call.
            guard unsafe rename(path + suffix, place + suffix) == 0 || errno == ENOENT else {
                throw .system("rename \(path)\(suffix)")
            }
        }
        return "\(reason); it stands as \(place) now"
    }

    /// How many names there are for what is set aside.
    private static let mostBroken = 9

    /// Removes what was set aside before; throws when it may not be removed, or is no file, and so nothing of ours.
    private static func clear(_ place: String) throws(StoreError) {
        for suffix in self.suffixes {
            guard let status = try FileStatus.find(place + suffix, isFollowed: false) else { continue }
            guard status.isRegular else { throw StoreError(.unavailable, "\(place)\(suffix) is in the way") }
        }
        for suffix in self.suffixes {
            // SAFETY: the path is NUL-terminated for the call.
            guard unsafe unlink(place + suffix) == 0 || errno == ENOENT else {
                throw .system("remove \(place)\(suffix)")
            }
        }
    }

    private init(
        _ history: FileHistory, _ kind: Kind, _ pause: TimeSpan, _ held: inout HeldDirectory?
    ) throws(StoreError) {
        let path = history.path
        let before = try Self.prepare(path)
        // What is left of it begins as it did, so that the mark says nothing of this.
        if let before, before > 0, before < history.beside ?? 0 {
            throw StoreError(.broken, "\(path)-wal was cut short")
        }
        let name = String(path.split(separator: "/").last ?? "")
        let names = Self.suffixes.map { name + $0 }
        // Whoever closes one of them from here on is somebody else, and may have written to it while we look it over and write
        // to it ourselves.
        held?.forget(names)
        let database = try Database(path)
        // Whoever looks into a broken one later needs what stands beside it, whatever that is; and SQLite puts it in its place
        // without a look at whether what is shared was there meanwhile.
        database.leaveAllInPlace(true)
        try Self.configure(database, path, kind)
        let tableVersion = try Self.migrate(database, path, kind)
        let paths = Self.suffixes.map { path + $0 }
        var known: [FileStatus] = []
        for (index, path) in paths.enumerated() {
            guard let status = try FileStatus.find(path) else {
                throw StoreError(index < 2 ? .lost : .unshared, "\(path) is gone")
            }
            known.append(status)
        }
        let shared = SharedFile(path: paths[2], status: known[2])
        let mark = try database.number("SELECT whole FROM mark")
        // Behind a checkpoint `-wal` is empty until the mark is in it; a whole one has the mark that came first, and then a
        // checkpoint was broken off. One that we committed something to is empty only where somebody else emptied it.
        let isEmpty: Bool
        if let beside = history.beside {
            isEmpty = beside == 0
        } else {
            isEmpty = before.map { $0 <= Self.smallestWAL } ?? false
        }
        var isWhole = mark == 1 || (mark == 0 && isEmpty)
        if mark == 0, !isEmpty { isWhole = try Self.isCheckpointBrokenOff(database, shared, history) }
        guard isWhole else {
            throw StoreError(.broken, "\(path) lacks what was written last: \(path)-wal is not what it was")
        }
        // Others have put in its place what stood beside, and removed it: the mark came with it.
        if mark == 1, before ?? 0 == 0 { history.isInPlace() }
        try kind.check(database)
        if mark == 0 { try Self.setMark(1, in: database, history) }
        // Where the disk refuses that, each try to open the file would add a mark.
        if let beside = Self.size(paths[1]), beside > Self.mostBeside {
            _ = try Self.putInPlace(database, shared, history)
        }
        // Tables that stood beside alone would be no tables without it; and from now on the file is to know when what stands
        // beside it is lost.
        try Self.checkpoint(database, shared, history)
        for index in 0..<2 { known[index] = try FileStatus.check(paths[index], known[index]) }
        known[2] = try shared.check(for: database)
        self.known = known
        self.paths = paths
        self.names = names
        self.doubt = FileDoubt(pause: pause.microseconds)
        self.kind = kind
        self.tableVersion = tableVersion
        self.nextCheckpoint = Self.roomBeside(path)
        self.path = path
        self.history = history
        self.database = database
    }

    /// What begins `-wal`, and one page with what stands before it.
    private static let smallestWAL: Int64 = 32 + 24 + 4_096

    /// Whether there is something in `-wal` that SQLite believes. It is put in its place then, so that `-wal` is empty.
    private static func isCheckpointBrokenOff(
        _ database: borrowing Database, _ shared: SharedFile, _ history: FileHistory
    ) throws(StoreError) -> Bool {
        let statement = try database.prepare("PRAGMA wal_checkpoint(FULL)")
        guard try statement.step() else { return false }
        let frames = statement.number(1)
        statement.reset()
        // SQLite counts nothing while somebody else does this.
        guard frames >= 0 else {
            throw StoreError(.unavailable, "\(history.path): another program puts in its place what stands beside")
        }
        guard frames > 0 else { return false }
        _ = try self.putInPlace(database, shared, history)
        return true
    }

    private static func configure(
        _ database: borrowing Database, _ path: String, _ kind: Kind
    ) throws(StoreError) {
        // Said of a file that has something in it, it is written there. Nothing is lost with an empty one, so that what undoes its
        // first page need not stand beside it: a file that could not be removed from there would undo it later.
        if try database.number("PRAGMA page_count") == 0 {
            try database.execute("PRAGMA journal_mode = MEMORY; PRAGMA auto_vacuum = INCREMENTAL")
        }
        // Asked of the file itself, because what SQLite says below is the same on a disk that may be written again later.
        try database.checkFormat(path)
        try database.execute(
            """
            PRAGMA trusted_schema = OFF;
            PRAGMA mmap_size = 0;
            PRAGMA cell_size_check = ON;
            PRAGMA temp_store = MEMORY;
            PRAGMA cache_size = -512;
            PRAGMA synchronous = \(kind.isDurable ? "FULL" : "NORMAL");
            PRAGMA wal_autocheckpoint = 0;
            """)
        guard try database.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(.unavailable, "\(path) cannot be written and read at the same time")
        }
        try database.quickCheck(path)
    }

    /// Makes the file, for us alone. Returns how much there is in `-wal`; `nil` without one.
    private static func prepare(_ path: String) throws(StoreError) -> Int64? {
        for suffix in self.suffixes {
            guard let status = try FileStatus.find(path + suffix, isFollowed: false), !status.isRegular else {
                continue
            }
            throw StoreError(.broken, "\(path)\(suffix) is no file")
        }
        // Its companions take after it. One that is there is not opened: closing it would drop all locks of this process.
        // SAFETY: the path is NUL-terminated for the call.
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 || errno == EEXIST else { throw .system("make \(path)") }
        if descriptor >= 0 { close(descriptor) }
        let beside = try FileStatus.find(path + "-wal")?.size
        // SQLite would take it for new, and throw away what stands beside it.
        if try FileStatus.find(path)?.size == 0, let beside, beside > 0 {
            throw StoreError(.broken, "\(path) is empty")
        }
        return beside
    }

    /// The size of a file; `nil` when it is not there, or cannot be looked at.
    static func size(_ path: String) -> Int64? { (try? FileStatus.find(path))?.size }

    // MARK: Whether it is there

    /// Does something whole or not at all. When it returns it stands in the file that has our name.
    borrowing func transaction<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        self.written.isBeside = true
        let result = try self.database.transaction { () throws(StoreError) in
            // Nobody else puts in its place what stands beside from here on.
            try self.checkNames()
            let result = try body()
            // Before it is committed: while nobody can tell whose the name is, nothing is, and nothing comes twice later.
            try self.checkNames()
            try self.checkShared()
            return result
        }
        self.history.committed()
        do throws(StoreError) {
            try self.checkNames()
            // Others need not find what was committed with one that is theirs no more.
            try self.shared.checkName()
        } catch {
            // What became invisible in this very moment is committed; the next look tells.
            guard error.code == .unavailable else { throw error }
        }
        guard self.database.hasWALHeader else { throw StoreError(.emptied, "\(self.path)-wal was emptied") }
        return result
    }

    /// Looks whether what we write to still has its names, and all that we committed.
    private borrowing func checkNames() throws(StoreError) {
        let now = try FileStatus.check(self.path, self.known[0])
        try self.history.check(FileStatus.check(self.paths[1], self.known[1]).size)
        // Nothing but a checkpoint makes the file shorter, and that was none. What was committed to it is not counted.
        guard now.size >= self.known[0].size || self.written.isFile else {
            throw StoreError(.touched, "\(self.path) was cut short")
        }
    }

    /// Looks whether the file and what stands beside it are as we left them. What cannot be looked at now is looked at the
    /// next time, with all that happened until then.
    ///
    /// - Parameter changes: What was done to files since the last look, by us or by others.
    mutating func check(_ changes: DirectoryWatch.Changes) throws(StoreError) {
        self.unseen.merge(changes)
        let (wroteFile, wroteBeside) = (self.written.isFile, self.written.isBeside)
        var found = self.known
        found[0] = try FileStatus.check(self.path, self.known[0])
        found[1] = try FileStatus.check(self.paths[1], self.known[1])
        try self.history.check(found[1].size)
        found[2] = try self.shared.check(for: self.database)
        // We cut the file short, too, in a checkpoint.
        let isShorter = found[0].size < self.known[0].size && !wroteFile
        let wroteShared = self.written.isShared || found[2].size > self.known[2].size
        let changes = self.unseen
        (self.known, self.unseen) = (found, DirectoryWatch.Changes())
        (self.written.isFile, self.written.isBeside, self.written.isShared) = (false, false, false)
        if wroteFile || wroteBeside { self.doubt.wrote() }
        let isOthers =
            !changes.written.isEmpty
            && zip(self.names, [wroteFile, wroteBeside, wroteShared]).contains { name, isOurs in
                changes.written.contains(name) && !isOurs
            }
        guard !isShorter, !isOthers else { throw StoreError(.touched, "somebody wrote to \(self.path)") }
        // Locks stand in what is shared, so that all who read have that open to write.
        let isClosed = self.names[..<2].contains { changes.closed.contains($0) }
        if isClosed || changes.isIncomplete { self.doubt.othersClosed() }
        try self.lookOver()
    }

    private var shared: SharedFile { SharedFile(path: self.paths[2], status: self.known[2]) }

    /// Looks whether what was read until now is what is there.
    borrowing func checkShared() throws(StoreError) { try self.shared.check(for: self.database) }

    /// When to look again, even if nothing happens.
    var deadline: Int64? { self.doubt.deadline }

    /// Finds out whether the file is in order, when others may have written to it in a moment in which we did so, too.
    private mutating func lookOver() throws(StoreError) {
        let start = Clock.monotonic.now()
        guard self.doubt.isTimeToLook(at: start) else { return }
        try self.database.quickCheck(self.path)
        guard try self.database.number("PRAGMA schema_version") == self.tableVersion,
            try self.database.number("PRAGMA user_version") == Int64(self.kind.migrations.count)
        else {
            throw StoreError(.touched, "somebody changed the tables of \(self.path)")
        }
        try self.kind.check(self.database)
        self.doubt.looked(from: start, to: Clock.monotonic.now())
    }

    /// What a failure really was: SQLite blames the file for what was missing beside it.
    borrowing func explain(_ error: StoreError) -> StoreError {
        guard self.database.isStruck, error.code != .lost else { return error }
        return StoreError(.unshared, "\(self.path)-shm was cut short")
    }

    /// Puts all in its place, and has nothing stand beside when this goes. Otherwise all stays as it is then.
    borrowing func putAway() {
        guard let isInPlace = try? Self.putInPlace(self.database, self.shared, self.history), isInPlace else { return }
        self.database.leaveAllInPlace(false)
    }

    /// Brings the tables up to date. Returns how often they were changed, as SQLite counts.
    private static func migrate(
        _ database: borrowing Database, _ path: String, _ kind: Kind
    ) throws(StoreError) -> Int64? {
        // Before anybody looks at them: what others change meanwhile shows as another number later.
        let tableVersion = try database.number("PRAGMA schema_version")
        let version = try database.number("PRAGMA user_version") ?? 0
        let id = try database.number("PRAGMA application_id") ?? 0
        let isEmpty = try database.number("SELECT count(*) FROM sqlite_schema") == 0
        guard isEmpty ? version == 0 : id == kind.applicationID else {
            throw StoreError(.broken, "\(path) is something else's")
        }
        guard version >= 0, version <= kind.migrations.count else {
            throw StoreError(.broken, "\(path) was made by a later version")
        }
        let done = try StoreSchema(madeBy: kind.migrations.prefix(Int(version)))
        guard done.stands(in: try StoreSchema(of: database)) else {
            throw StoreError(.broken, "\(path) has other tables than it was made with")
        }
        let rest = kind.migrations.dropFirst(Int(version))
        guard !rest.isEmpty else { return tableVersion }
        return try database.transaction { () throws(StoreError) in
            guard try database.number("PRAGMA schema_version") == tableVersion else {
                throw StoreError(.unavailable, "somebody changes the tables of \(path)")
            }
            for step in rest { try database.execute(step) }
            try database.execute(
                "PRAGMA application_id = \(kind.applicationID); PRAGMA user_version = \(kind.migrations.count)")
            return try database.number("PRAGMA schema_version")
        }
    }

    // MARK: Checkpoints

    /// Not behind a strike: SQLite would write over what it believes to be in its place.
    private static func setMark(
        _ mark: Int, in database: borrowing Database, _ history: FileHistory
    ) throws(StoreError) {
        try database.transaction { () throws(StoreError) in
            try history.checkBeside()
            try database.execute("UPDATE mark SET whole = \(mark)")
        }
        history.committed()
        // A checkpoint would put in the file what stands where somebody emptied it.
        guard database.hasWALHeader else { throw StoreError(.emptied, "\(history.path)-wal was emptied") }
    }

    /// Writes something that changes nothing, to see whether that is possible.
    borrowing func probe() throws(StoreError) {
        try self.transaction { () throws(StoreError) in try self.database.execute("UPDATE mark SET whole = 1") }
    }

    /// Puts what stands in `-wal` in its place in the file; false when somebody who reads keeps it from being done whole.
    @discardableResult
    mutating func checkpoint() throws(StoreError) -> Bool {
        (self.written.isFile, self.written.isBeside) = (true, true)
        let isWhole = try Self.checkpoint(self.database, self.shared, self.history)
        self.nextCheckpoint = (Self.size(self.path + "-wal") ?? 0) + Self.roomBeside(self.path)
        return isWhole
    }

    /// Does so where nothing more is to be written before, not even the mark: on a disk that has no room left, for one.
    mutating func makeRoom() throws(StoreError) -> Bool {
        (self.written.isFile, self.written.isBeside) = (true, true)
        guard try Self.putInPlace(self.database, self.shared, self.history) else { return false }
        return try self.checkpoint()
    }

    /// Puts all in its place; false when somebody who reads keeps SQLite from that, which is no failure to it.
    ///
    /// What stands beside is thrown away in a second step: SQLite reads in what is shared which pages there are, and leaves those
    /// out that it does not find there because somebody cut it short, or put another one in its place.
    private static func putInPlace(
        _ database: borrowing Database, _ shared: SharedFile, _ history: FileHistory
    ) throws(StoreError) -> Bool {
        try history.checkBeside()
        for step in ["FULL", "TRUNCATE"] {
            guard try database.number("PRAGMA wal_checkpoint(\(step))") == 0 else { return false }
            try shared.check(for: database)
            history.isInPlace()
        }
        return true
    }

    @discardableResult
    private static func checkpoint(
        _ database: borrowing Database, _ shared: SharedFile, _ history: FileHistory
    ) throws(StoreError) -> Bool {
        let mode = try database.number("PRAGMA synchronous") ?? 1
        defer { try? database.execute("PRAGMA synchronous = \(mode)") }
        let isWhole: Bool
        do {
            // A checkpoint has all of `-wal` on the disk before it writes to the file, so this need not be there by itself.
            try database.execute("PRAGMA synchronous = OFF")
            try self.setMark(0, in: database, history)
            try database.execute("PRAGMA synchronous = FULL")
            isWhole = try self.putInPlace(database, shared, history)
        } catch {
            try? database.execute("PRAGMA synchronous = FULL")
            try? self.setMark(1, in: database, history)
            throw error
        }
        // Should the power fail, what comes behind it may be lost, but the file is not to look as if all of it were.
        try self.setMark(1, in: database, history)
        return isWhole
    }

    /// Does so when there is enough of it. To be called after a commit.
    mutating func checkpointIfDue() throws(StoreError) {
        guard let beside = Self.size(self.paths[1]), beside >= self.nextCheckpoint else { return }
        try self.checkpoint()
    }

    /// Sees to it that what is written next finds room beside the file: somebody who reads may have kept what stands there from its
    /// place for so long that it is more than `limit`. To be called before anything is written.
    mutating func makeRoomBeside(limit: Int64) throws(StoreError) {
        guard let beside = Self.size(self.paths[1]), beside > max(limit, Self.mostBeside) else { return }
        guard try self.makeRoom() else {
            throw StoreError(.unavailable, "\(self.path): another program has been reading for too long")
        }
    }
}
