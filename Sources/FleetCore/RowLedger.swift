/// Which rows of a table are done with: all up to a cursor, and some stretches ahead of it.
///
/// What is live is done before what is of before, so there is more than one front; but few, for each moves on.
package struct RowLedger: Equatable, Sendable {
    /// All rows up to this one are done with.
    package private(set) var cursor: Int64
    /// The others, in order, with gaps between them.
    package private(set) var ahead: [ClosedRange<Int64>] = []

    /// So many stretches are kept on the disk; what is beyond them is done again.
    package static let mostKept = 64
    /// No journal comes to so many rows; who says so means something else.
    package static let mostRows: Int64 = 1 << 62

    package init(cursor: Int64, ahead: [ClosedRange<Int64>] = []) {
        self.cursor = max(0, cursor)
        for range in ahead { self.finish(range) }
    }

    package mutating func finish(_ row: Int64) { self.finish(row...row) }

    package mutating func finish(_ range: ClosedRange<Int64>) {
        guard range.upperBound > self.cursor else { return }
        var lower = max(range.lowerBound, self.cursor + 1)
        var upper = range.upperBound
        // The first that it touches or that is behind it.
        var start = self.ahead.count
        while start > 0, self.ahead[start - 1].upperBound >= lower - 1 { start -= 1 }
        var end = start
        while end < self.ahead.count, self.ahead[end].lowerBound - 1 <= upper {
            lower = min(lower, self.ahead[end].lowerBound)
            upper = max(upper, self.ahead[end].upperBound)
            end += 1
        }
        guard lower == self.cursor + 1 else {
            return self.ahead.replaceSubrange(start..<end, with: CollectionOfOne(lower...upper))
        }
        self.cursor = upper
        self.ahead.removeSubrange(start..<end)
    }

    package func isDone(_ row: Int64) -> Bool {
        row <= self.cursor || self.ahead.contains { $0.contains(row) }
    }

    /// The first row from one on that is not done.
    package func firstOpen(from row: Int64) -> Int64 {
        let row = max(row, self.cursor + 1)
        return self.ahead.first { $0.contains(row) }.map { $0.upperBound + 1 } ?? row
    }

    /// The last row of the open stretch that begins with one.
    package func lastOpen(from row: Int64) -> Int64 {
        self.ahead.first { $0.lowerBound > row }.map { $0.lowerBound - 1 } ?? .max
    }

    /// Has everything behind a row be done again.
    package mutating func rewind(to row: Int64) {
        guard row < self.cursor else { return }
        self.cursor = max(0, row)
        self.ahead = []
    }

    /// Goes back to what was done at some time before. What was kept elsewhere and is ahead of us stays undone, as what we have done
    /// and they have not: done is what both have.
    package mutating func restore(_ earlier: RowLedger) {
        var restored = RowLedger(cursor: 0)
        for theirs in earlier.done {
            for ours in self.done where ours.overlaps(theirs) { restored.finish(ours.clamped(to: theirs)) }
        }
        self = restored
    }

    /// All that is done with, in order.
    private var done: [ClosedRange<Int64>] { (self.cursor > 0 ? [1...self.cursor] : []) + self.ahead }

    /// The stretches ahead, as far as they are kept.
    package var value: DataValue {
        .list(self.ahead.prefix(Self.mostKept).map { .list([.integer($0.lowerBound), .integer($0.upperBound)]) })
    }

    /// What `value` said, and the cursor; `nil` for what makes no sense.
    package init?(cursor: Int64?, _ value: DataValue?) {
        guard let cursor, (0..<Self.mostRows).contains(cursor), let list = value?.list, list.count <= Self.mostKept
        else { return nil }
        var ahead: [ClosedRange<Int64>] = []
        for item in list {
            guard let pair = item.list, pair.count == 2, let lower = pair[0].integer, let upper = pair[1].integer,
                lower > 0, lower <= upper, upper < Self.mostRows
            else { return nil }
            ahead.append(lower...upper)
        }
        self.init(cursor: cursor, ahead: ahead)
    }

    /// The journal is another one.
    package mutating func begin(at row: Int64) {
        self.cursor = max(0, row)
        self.ahead = []
    }
}
