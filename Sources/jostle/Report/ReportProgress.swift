import Journal
import Loop

/// How far a report is, which goes through one table of the journal after the other.
struct ReportProgress {
    /// The tables in their order.
    enum Table: Int, CaseIterable {
        case verdicts, events, changes, clips

        /// How much longer a row of it takes than a verdict.
        fileprivate var cost: Int64 { self == .clips ? 30 : 1 }
    }

    private let progress: Progress
    private let until: Int64
    /// How much there is of each.
    private let shares: [Int64]
    private var table: Table?
    /// The time of its first row, in µs of the wall clock.
    private var first: Int64 = 0

    init(_ reader: borrowing JournalReader, to until: Int64, _ terminal: Terminal) throws(JournalFailure) {
        let sizes = try reader.sizes()
        let rows = [sizes.verdicts, sizes.events, sizes.changes, sizes.clips]
        self.shares = zip(rows, Table.allCases).map { min($0, 1 << 40) * $1.cost }
        self.progress = Progress("report", of: self.shares.reduce(0, +), terminal)
        self.until = until
    }

    /// A row was read that was written then. All of a table are as far apart as their times are.
    mutating func read(_ table: Table, _ wall: Int64) {
        guard self.progress.isWanted else { return }
        // Whoever else wrote there may have written any time.
        let wall = max(0, wall)
        if self.table != table { (self.table, self.first) = (table, wall) }
        let before = self.shares[..<table.rawValue].reduce(0, +)
        let share = Double(max(0, wall - self.first)) / Double(max(1, self.until - self.first))
        self.progress.advance(to: before + Int64(min(1, share) * Double(self.shares[table.rawValue])))
    }

    func end() { self.progress.end() }
}
