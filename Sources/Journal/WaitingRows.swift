/// Rows that wait for the writer, and how many there are of them until they are written.
struct WaitingRows: Sendable {
    private var rows: [JournalRow] = []
    /// Rows that are not written yet: these, and those that the writer has taken.
    private(set) var outstanding = 0
    /// Until when to wait for more rows.
    private var lingerUntil: Int64 = 0
    /// True: not to wait for more.
    private var isUrgent = false
    private(set) var written: UInt64 = 0
    private(set) var dropped: UInt64 = 0

    var isEmpty: Bool { self.rows.isEmpty }

    // MARK: From the loop's thread

    /// Counts a row that finds no room.
    mutating func leaveOut() { self.dropped &+= 1 }

    /// Adds a row. True when it is not to wait for more: it must last, or that many are together.
    ///
    /// - Parameter end: Until when to wait for more, if it is the first.
    mutating func add(_ row: consuming JournalRow, urgentFrom many: Int, lingering end: @autoclosure () -> Int64)
        -> Bool
    {
        if self.rows.isEmpty { self.lingerUntil = end() }
        let isPersistent = row.entry.isPersistent
        self.rows.append(row)
        self.outstanding += 1
        let isUrgent = isPersistent || self.rows.count == many
        if isUrgent { self.isUrgent = true }
        return isUrgent
    }

    // MARK: From the writer

    /// When the rows are to be written; `nil` without any.
    var deadline: Int64? { self.rows.isEmpty ? nil : self.lingerUntil }

    /// Whether there are rows to be written now.
    func isDue(at now: Int64) -> Bool { !self.rows.isEmpty && (self.isUrgent || now >= self.lingerUntil) }

    /// Hands the rows over, behind those that the writer has.
    mutating func take(into taken: inout [JournalRow]) {
        if taken.isEmpty {
            // Both keep their memory.
            swap(&taken, &self.rows)
        } else {
            taken += self.rows
            self.rows.removeAll(keepingCapacity: true)
        }
        self.isUrgent = false
    }

    /// Rows that were handed over are written.
    mutating func wrote(_ count: Int) {
        self.outstanding -= count
        self.written &+= UInt64(count)
    }
}
