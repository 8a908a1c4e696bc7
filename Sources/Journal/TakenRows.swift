/// Rows that the writer has taken and not written yet, and the policies that they name.
struct TakenRows {
    private var rows: [JournalRow] = []
    private(set) var changes: [ChangeRow] = []
    var clips: [ClipRow] = []
    /// Whose clips are to be forgotten, and the numbers of those who asked.
    var clipsToForget: [(number: UInt64, user: UInt32?)] = []
    private(set) var policies: [UInt64: JournalPolicy] = [:]

    static let mostPolicies = 64

    var isEmpty: Bool { self.rows.isEmpty }
    var count: Int { self.rows.count }
    /// When the last one was made.
    var lastWall: Int64? { self.rows.last?.wall ?? self.changes.last?.wall }

    mutating func take(from waiting: inout WaitingRows, at now: Int64) {
        waiting.take(into: &self.rows, &self.changes, at: now)
        waiting.clips.take(into: &self.clips, &self.clipsToForget)
        // While the disk fails.
        self.changes.removeOldest(self.changes.count - WaitingRows.mostChanges)
    }

    /// Forgets all changes, which are written.
    mutating func dropChanges() { self.changes.removeAll(keepingCapacity: true) }

    mutating func add(_ policies: [JournalPolicy]) {
        for policy in policies { self.policies[policy.generation] = policy }
        // Verdicts of longer ago are written.
        while self.policies.count > Self.mostPolicies, let oldest = self.policies.keys.min() {
            self.policies[oldest] = nil
        }
    }

    /// At most `most` rows, from the one with this index on.
    func batch(from first: Int, most: Int) -> Range<Int> { first..<min(first + most, self.rows.count) }

    /// Whether policy wants one of these on the disk before the power can fail.
    func isPersistent(_ batch: Range<Int>) -> Bool {
        batch.contains { self.rows[$0].entry.isPersistent }
    }

    func kind(of index: Int) -> JournalEntry.Kind { self.rows[index].entry.kind }

    /// Does something with what a row says, of which user's app, and when it was made. It is taken from its place for the time: where it
    /// stands, to look at it copies it.
    mutating func with(
        _ index: Int, _ body: (JournalEntry.Content, _ user: UInt32, _ wall: Int64) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard let content = self.rows[index].entry.content.take() else { return }
        do throws(StoreError) {
            try body(content, self.rows[index].entry.user, self.rows[index].wall)
        } catch {
            self.rows[index].entry.content = content
            throw error
        }
        self.rows[index].entry.content = content
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
