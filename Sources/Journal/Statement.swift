import CSQLite

/// A prepared statement, finalized with its owner. Parameters count from 1, columns from 0.
@safe
struct Statement: ~Copyable {
    private let handle: OpaquePointer
    /// For people who read of its failure.
    private let name: String

    /// Takes over a statement.
    @unsafe
    init(adopting handle: OpaquePointer, _ name: String) {
        unsafe self.handle = handle
        self.name = name
    }

    deinit {
        // SAFETY: the statement is ours, and nobody has finalized it.
        unsafe sqlite3_finalize(self.handle)
    }

    private borrowing func check(_ result: Int32) throws(StoreError) {
        guard result != SQLITE_OK else { return }
        // SAFETY: the statement is alive, and so is its database; the message is copied at once.
        let text = unsafe sqlite3_errmsg(sqlite3_db_handle(self.handle)).map { unsafe String(cString: $0) } ?? ""
        throw StoreError(result, text, while: self.name)
    }

    // MARK: In

    borrowing func bind(_ index: Int32, _ number: Int64) throws(StoreError) {
        // SAFETY: the statement is alive; so in all that follows.
        try self.check(unsafe sqlite3_bind_int64(self.handle, index, number))
    }

    borrowing func bind(_ index: Int32, _ number: UInt64) throws(StoreError) {
        try self.bind(index, Int64(clamping: number))
    }

    borrowing func bind(_ index: Int32, _ number: Int64?) throws(StoreError) {
        if let number { return try self.bind(index, number) }
        try self.check(unsafe sqlite3_bind_null(self.handle, index))
    }

    borrowing func bind(_ index: Int32, _ flag: Bool) throws(StoreError) { try self.bind(index, Int64(flag ? 1 : 0)) }

    borrowing func bind(_ index: Int32, _ number: Double) throws(StoreError) {
        try self.check(unsafe sqlite3_bind_double(self.handle, index, number))
    }

    borrowing func bind(_ index: Int32, _ number: Double?) throws(StoreError) {
        if let number { return try self.bind(index, number) }
        try self.check(unsafe sqlite3_bind_null(self.handle, index))
    }

    borrowing func bind(_ index: Int32, _ text: String) throws(StoreError) {
        var text = text
        let result = text.withUTF8 { bytes in
            // SAFETY: as many bytes as it says, copied before the call returns.
            unsafe bytes.withMemoryRebound(to: CChar.self) {
                unsafe CSQLite_bind_text(self.handle, index, $0.baseAddress, sqlite3_uint64($0.count))
            }
        }
        try self.check(result)
    }

    borrowing func bind(_ index: Int32, _ text: String?) throws(StoreError) {
        if let text { return try self.bind(index, text) }
        try self.check(unsafe sqlite3_bind_null(self.handle, index))
    }

    borrowing func bind(_ index: Int32, _ bytes: [UInt8]) throws(StoreError) {
        let result = unsafe bytes.withUnsafeBytes { bytes in
            // SAFETY: as many bytes as it says, copied before the call returns.
            unsafe CSQLite_bind_blob(self.handle, index, bytes.baseAddress, sqlite3_uint64(bytes.count))
        }
        try self.check(result)
    }

    // MARK: Running

    /// Goes on to the next row; false when there is none. The corresponding C function is `sqlite3_step`.
    borrowing func step() throws(StoreError) -> Bool {
        let result = unsafe sqlite3_step(self.handle)
        if result == SQLITE_ROW { return true }
        guard result == SQLITE_DONE else {
            do {
                try self.check(result)
            } catch {
                // What a failed statement holds would keep the transaction from ending.
                unsafe sqlite3_reset(self.handle)
                throw error
            }
            return false
        }
        return false
    }

    /// Runs it to its end, and makes it ready for the next time.
    borrowing func run() throws(StoreError) {
        while try self.step() {}
        self.reset()
    }

    /// Makes it ready for the next time. A failure was told by `step` already.
    borrowing func reset() {
        _ = unsafe sqlite3_reset(self.handle)
    }

    // MARK: Out

    borrowing func number(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(self.handle, column) }

    borrowing func optionalNumber(_ column: Int32) -> Int64? {
        unsafe sqlite3_column_type(self.handle, column) == SQLITE_NULL ? nil : self.number(column)
    }

    borrowing func double(_ column: Int32) -> Double { unsafe sqlite3_column_double(self.handle, column) }

    borrowing func optionalDouble(_ column: Int32) -> Double? {
        unsafe sqlite3_column_type(self.handle, column) == SQLITE_NULL ? nil : self.double(column)
    }

    borrowing func text(_ column: Int32) -> String {
        // SAFETY: SQLite's own memory with as many bytes as it says, copied before the next step.
        guard let start = unsafe sqlite3_column_text(self.handle, column) else { return "" }
        let count = Int(unsafe sqlite3_column_bytes(self.handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The same for what is often a text that was there just now.
    borrowing func text(_ column: Int32, _ known: inout KnownTexts) -> String {
        // SAFETY: SQLite's own memory with as many bytes as it says, compared or copied before the next step.
        guard let start = unsafe sqlite3_column_text(self.handle, column) else { return "" }
        let count = Int(unsafe sqlite3_column_bytes(self.handle, column))
        return unsafe known.text(UnsafeBufferPointer(start: start, count: count))
    }

    /// `nil` for nothing at all.
    borrowing func optionalText(_ column: Int32) -> String? {
        unsafe sqlite3_column_type(self.handle, column) == SQLITE_NULL ? nil : self.text(column)
    }

    borrowing func bytes(_ column: Int32) -> [UInt8] {
        // SAFETY: SQLite's own memory with as many bytes as it says, copied before the next step.
        guard let start = unsafe sqlite3_column_blob(self.handle, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(self.handle, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}
