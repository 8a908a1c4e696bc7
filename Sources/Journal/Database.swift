import CLinux
import CSQLite

/// An open SQLite file, closed with its owner. Belongs to one thread.
@safe
struct Database: ~Copyable {
    private let handle: OpaquePointer
    /// What had struck all files before.
    private let strikes: UInt32

    /// How long to wait for somebody who looks at the file with another program, in ms.
    private static let patience: Int32 = 250

    /// Nobody asks SQLite how much memory it has, and to count it locks with each piece. Where it runs already it goes on to.
    private static let countsNoMemory = CSQLite_count_no_memory() == SQLITE_OK

    /// Opens a file, and makes it if it is not there unless it is only to be read.
    ///
    /// The corresponding C function is `sqlite3_open_v2`.
    init(_ path: String, readOnly: Bool = false) throws(StoreError) {
        _ = Self.countsNoMemory
        try MappingGuard.turnOn()
        let strikes = MappingGuard.strikes
        var handle: OpaquePointer?
        let access = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        // SAFETY: the path is NUL-terminated for the call; a handle comes back also from most failures.
        let result = unsafe sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let handle = unsafe handle else {
            let message = unsafe handle.map { unsafe Self.message(of: $0) } ?? "no memory"
            unsafe sqlite3_close_v2(handle)
            throw StoreError(result, message, while: "open \(path)")
        }
        self.strikes = strikes
        unsafe self.handle = handle
        // SAFETY: the handle is open.
        unsafe sqlite3_busy_timeout(handle, Self.patience)
    }

    deinit {
        // A statement that still lives keeps the file until it goes.
        // SAFETY: the handle is ours, and nobody has closed it.
        unsafe sqlite3_close_v2(self.handle)
    }

    /// Whether closing the file leaves all as it is, in it and beside it. Otherwise the last one who closes it puts what stands
    /// beside in its place, and removes that.
    ///
    /// The corresponding C function is `sqlite3_db_config` with `SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE`.
    borrowing func leaveAllInPlace(_ isLeft: Bool) {
        // SAFETY: the handle is open.
        _ = unsafe CSQLite_keep_wal_unmerged(self.handle, isLeft ? 1 : 0)
    }

    /// Has no value be longer than so many bytes, neither one that stands there nor one that is made.
    ///
    /// The corresponding C function is `sqlite3_limit`.
    borrowing func limitValues(to bytes: Int32) {
        // SAFETY: the handle is open.
        _ = unsafe sqlite3_limit(self.handle, SQLITE_LIMIT_LENGTH, bytes)
    }

    /// Has no statement take more steps of SQLite's machine than these, in all that it is run; 0: any number. Nothing else bounds what
    /// a file holds in which many a page leads to the same one.
    ///
    /// The corresponding C function is `sqlite3_progress_handler`.
    borrowing func limitSteps(to steps: Int32) {
        // SAFETY: the handle is open.
        unsafe CSQLite_limit_steps(self.handle, steps)
    }

    /// Whether `-wal` begins as one does, or is empty. It does not when somebody emptied it and SQLite, which knows nothing of
    /// that, went on behind what was there.
    var hasWALHeader: Bool {
        var magic: UInt32 = 0
        // SAFETY: the handle is open, and there is room for as many bytes.
        let result = unsafe CSQLite_read(
            self.handle, SQLITE_FCNTL_JOURNAL_POINTER, &magic, Int32(MemoryLayout<UInt32>.size), 0)
        // Its last bit says in which order the sums are made.
        return result != SQLITE_OK || UInt32(bigEndian: magic) & ~1 == 0x377F_0682
    }

    /// Has all be read from the file again, and finds out whether it is in order.
    ///
    /// The corresponding C function is `sqlite3_db_release_memory`.
    borrowing func quickCheck(_ path: String) throws(StoreError) {
        // SAFETY: the handle is open.
        _ = unsafe sqlite3_db_release_memory(self.handle)
        let answer = try self.text("PRAGMA quick_check(1)")
        guard answer == "ok" else {
            // A page that cannot be read it only tells of; of one that is free or holds a long value it does not say why.
            let words = ["error code=\(CSQLite_unread)", "failed to get page"]
            let isUnread = words.contains { answer?.contains($0) == true }
            throw StoreError(isUnread ? .unread : .broken, "\(path) \(isUnread ? "cannot be read" : "is damaged")")
        }
        try self.checkFormat(path)
    }

    /// Finds out whether a file of which something was read may be written.
    borrowing func checkFormat(_ path: String) throws(StoreError) {
        guard !self.isOfLaterFormat else {
            throw StoreError(.broken, "\(path) is of a format that this SQLite reads and does not write")
        }
    }

    /// Whether the file says that it is of a format to come: SQLite writes nothing to it then, as on a disk that is only to be read.
    ///
    /// The corresponding C function is `sqlite3_db_readonly`.
    private var isOfLaterFormat: Bool {
        // SAFETY: the handle is open.
        guard unsafe sqlite3_db_readonly(self.handle, "main") == 1 else { return false }
        var format: UInt8 = 0
        // SAFETY: the handle is open, and there is room for one byte.
        let result = unsafe CSQLite_read(self.handle, SQLITE_FCNTL_FILE_POINTER, &format, 1, Self.placeOfFormat)
        return result == SQLITE_OK && format > Self.latestFormat
    }

    /// Where a file says which format it is to be written in, and the latest that there is: https://sqlite.org/fileformat2.html
    private static let placeOfFormat: Int64 = 18
    private static let latestFormat: UInt8 = 2

    /// Whether what is shared with others was cut short since the file was opened; also where SQLite made it longer again, so that
    /// nothing that was missing was touched.
    var isStruck: Bool {
        // SAFETY: the handle is open, and SQLite keeps its pieces mapped until it is closed.
        guard let first = unsafe CSQLite_shared_piece(self.handle, 0) else { return false }
        guard unsafe CSQLite_begins_as_shared(first) != 0 else { return true }
        // It may have been another file's of this thread.
        guard MappingGuard.strikes != self.strikes else { return false }
        var index: Int32 = 0
        while let piece = unsafe CSQLite_shared_piece(self.handle, index) {
            if unsafe CLinux_mapping_is_struck(piece) != 0 { return true }
            index += 1
        }
        return false
    }

    private static func message(of handle: OpaquePointer) -> String {
        // SAFETY: a NUL-terminated text, copied before anything else is done with the handle.
        unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? ""
    }

    /// What to throw for a result of this file.
    borrowing func error(_ result: Int32, while action: String) -> StoreError {
        // SAFETY: the handle is open.
        StoreError(result, unsafe Self.message(of: self.handle), while: action)
    }

    /// Runs one statement or several, and forgets what they answer.
    borrowing func execute(_ text: String) throws(StoreError) {
        // SAFETY: the text is NUL-terminated for the call.
        let result = unsafe sqlite3_exec(self.handle, text, nil, nil, nil)
        guard result == SQLITE_OK else { throw self.error(result, while: Self.shortened(text)) }
    }

    /// Prepares a statement. The corresponding C function is `sqlite3_prepare_v3`.
    ///
    /// - Parameter name: What it is called where it fails; `nil`: by its beginning.
    borrowing func prepare(_ text: String, as name: String? = nil) throws(StoreError) -> Statement {
        var statement: OpaquePointer?
        // SAFETY: the text is NUL-terminated for the call, which keeps a copy.
        let result = unsafe sqlite3_prepare_v3(
            self.handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard result == SQLITE_OK, let statement = unsafe statement else {
            throw self.error(result, while: Self.shortened(name ?? text))
        }
        return unsafe Statement(adopting: statement, Self.shortened(name ?? text))
    }

    /// The number that a question is answered with; `nil` when there is no answer.
    borrowing func number(_ question: String) throws(StoreError) -> Int64? {
        let statement = try self.prepare(question)
        return try statement.step() ? statement.optionalNumber(0) : nil
    }

    /// The text that a question is answered with.
    borrowing func text(_ question: String) throws(StoreError) -> String? {
        let statement = try self.prepare(question)
        return try statement.step() ? statement.text(0) : nil
    }

    /// Does something whole or not at all.
    borrowing func transaction<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        try self.execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            let result = try body()
            // What was read meanwhile may have been something else than what is there.
            if self.isStruck { throw StoreError(.unshared, "what is shared with others was cut short") }
            try self.execute("COMMIT")
            return result
        } catch {
            // The file is not damaged for what was read in an index that was not there.
            let isStruck = error.code == .broken && self.isStruck
            // Some failures have rolled it back already.
            try? self.execute("ROLLBACK")
            throw isStruck ? StoreError(.unshared, "what is shared with others was cut short") : error
        }
    }

    private static func shortened(_ text: String) -> String {
        String(text.prefix { $0 != "(" && $0 != "\n" }.prefix(60))
    }
}
