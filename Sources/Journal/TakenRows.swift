/// Rows that the writer has taken and not written yet, and the policies that they name.
struct TakenRows {
    private var rows: [JournalRow] = []
    private(set) var policies: [UInt64: JournalPolicy] = [:]

    private static let mostPolicies = 64

    var isEmpty: Bool { self.rows.isEmpty }
    var count: Int { self.rows.count }
    /// When the last one was made.
    var lastWall: Int64? { self.rows.last?.wall }

    mutating func take(from waiting: inout WaitingRows, at now: Int64) { waiting.take(into: &self.rows, at: now) }

    mutating func add(_ policies: [JournalPolicy]) {
        for policy in policies { self.policies[policy.generation] = policy }
        // Verdicts of longer ago are written.
        while self.policies.count > Self.mostPolicies, let oldest = self.policies.keys.min() {
            self.policies[oldest] = nil
        }
    }

    /// At most `most` rows, from the one with this index on.
    func batch(from first: Int, most: Int) -> ArraySlice<JournalRow> {
        self.rows[first..<min(first + most, self.rows.count)]
    }

    /// Forgets the first rows. Their memory is kept for the next ones.
    mutating func drop(_ count: Int) {
        if count == self.rows.count {
            self.rows.removeAll(keepingCapacity: true)
        } else {
            self.rows.removeFirst(count)
        }
    }
}
