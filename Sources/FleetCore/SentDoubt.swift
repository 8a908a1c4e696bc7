/// Which rows may have been sent before, without anybody knowing whether they came: it is said of each that is sent again.
package struct SentDoubt: Equatable, Sendable {
    /// All up to this one.
    var through: Int64
    /// And these.
    private var rows: Set<Int64> = []

    /// Of so many it is known one by one.
    package static let most = 4_096

    init(through: Int64) { self.through = through }

    func contains(_ row: Int64) -> Bool { row <= self.through || self.rows.contains(row) }

    mutating func add(_ row: Int64) {
        self.rows.insert(row)
        guard self.rows.count > Self.most else { return }
        // A server may refuse for months. Of a few rows that nobody has got it is said in vain then.
        self.through = max(self.through, self.rows.max() ?? 0)
        self.rows = []
    }

    /// There are some behind those that all are.
    var hasRows: Bool { self.rows.contains { $0 > self.through } }

    mutating func remove(_ rows: ClosedRange<Int64>) {
        guard !self.rows.isEmpty else { return }
        if rows.count == 1 {
            self.rows.remove(rows.lowerBound)
        } else {
            self.rows = self.rows.filter { !rows.contains($0) }
        }
    }

    mutating func forget(through row: Int64) {
        if !self.rows.isEmpty { self.rows = self.rows.filter { $0 > row } }
    }
}
