/// Rows that wait for the writer, and how many there are of them until they are written.
struct WaitingRows: Sendable {
    /// When rows are written.
    struct Pace: Sendable {
        /// How long one that comes after a quiet time waits for others, in µs.
        let linger: Int64
        /// How long after others the next ones are written at the earliest, in µs.
        let spacing: Int64
        /// So many do not wait.
        let many: Int
    }

    private let pace: Pace
    private var rows: [JournalRow] = []
    /// How many of them each user has; known only since there was no room.
    private var held: [UInt32: Int]?
    /// What is noted besides, which is little and seldom, and not counted.
    private var changes: [ChangeRow] = []
    /// Rows that are not written yet: these, and those that the writer has taken.
    private(set) var outstanding = 0
    /// Until when to wait for more rows.
    private var lingerUntil: Int64 = 0
    /// When rows were handed over last.
    private var takenAt: Int64?
    /// True: not to wait for more.
    private var isUrgent = false
    private(set) var written: UInt64 = 0
    private(set) var dropped: UInt64 = 0
    /// The memory of clips, which have a way of their own.
    var clips = ClipLoans()

    init(_ pace: Pace) { self.pace = pace }

    var isEmpty: Bool { self.rows.isEmpty && self.changes.isEmpty }

    /// More changes than this do not wait: the oldest of whoever has most go.
    static let mostChanges = 4_096

    // MARK: From the loop's thread

    /// Has whoever has most rows that wait give up the latest of them, half of what it has more than a user who has one more.
    ///
    /// Returns false when that user has hardly less: then the new row is the one that is left out. Either is counted.
    mutating func makeRoom(for user: UInt32) -> Bool {
        var held = self.held ?? self.rows.reduce(into: [:]) { $0[$1.entry.user, default: 0] += 1 }
        defer { self.held = held }
        // By number among equals, so that the same is decided every time.
        let heaviest = held.max { ($0.value, $0.key) < ($1.value, $1.key) }
        guard let heaviest, heaviest.value - (held[user] ?? 0) >= Self.leastDifference else {
            self.dropped &+= 1
            return false
        }
        let count = (heaviest.value - (held[user] ?? 0)) / 2
        var left = heaviest.value - count
        self.rows.removeAll { row in
            guard row.entry.user == heaviest.key else { return false }
            left -= 1
            return left < 0
        }
        held[heaviest.key] = heaviest.value - count
        self.outstanding -= count
        self.dropped &+= UInt64(count)
        return true
    }

    /// It takes a look at all rows to remove some: not for the sake of one.
    private static let leastDifference = 16

    /// Adds a row. True when it is not to wait for more: it must last, or many are together.
    mutating func add(_ row: consuming JournalRow, at now: @autoclosure () -> Int64) -> Bool {
        if self.isEmpty { self.beginToLinger(at: now()) }
        let isPersistent = row.entry.isPersistent
        self.held?[row.entry.user, default: 0] += 1
        self.rows.append(consume row)
        self.outstanding += 1
        let isUrgent = isPersistent || self.rows.count == self.pace.many
        if isUrgent { self.isUrgent = true }
        return isUrgent
    }

    /// Adds a change, which waits for others as a row does.
    mutating func add(_ change: ChangeRow, at now: Int64) {
        if self.isEmpty { self.beginToLinger(at: now) }
        if self.changes.count >= Self.mostChanges { self.changes.removeOldest(self.changes.count / 2) }
        self.changes.append(change)
    }

    private mutating func beginToLinger(at now: Int64) {
        let soonest = now + self.pace.linger
        self.lingerUntil = self.takenAt.map { max($0 + self.pace.spacing, soonest) } ?? soonest
    }

    // MARK: From the writer

    /// When the rows are to be written; `nil` without any.
    var deadline: Int64? { self.isEmpty ? nil : self.lingerUntil }

    /// Whether there are rows to be written now.
    func isDue(at now: Int64) -> Bool { !self.isEmpty && (self.isUrgent || now >= self.lingerUntil) }

    /// Hands the rows over, behind those that the writer has.
    mutating func take(into taken: inout [JournalRow], _ changes: inout [ChangeRow], at now: Int64) {
        if !self.isEmpty { self.takenAt = now }
        self.held = nil
        changes += self.changes
        self.changes = []
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
