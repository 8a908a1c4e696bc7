/// Samples that a claimant does not read fast enough: the newest that fit, to be sent when it reads again.
///
/// What is old is of no use to anybody by then, so the oldest give way. Nothing is held while nothing waits.
package struct SampleBacklog: Sendable {
    private let channels: Int
    /// Most rows that wait.
    private let most: Int
    /// Each row's number: there may be breaks.
    private var numbers: [UInt64] = []
    private var times: [Int64] = []
    private var values: [Double] = []
    /// The rows before this one are gone.
    private var head = 0

    /// - Parameter bytes: what may wait, the rows counted with their numbers and times.
    package init(channels: Int, bytes: Int) {
        self.channels = channels
        self.most = max(1, bytes / (16 + 8 * channels))
    }

    package var count: Int { self.times.count - self.head }
    package var isEmpty: Bool { self.count == 0 }

    /// Adds samples from a number on. Returns how many of the oldest, those of the block included, gave way.
    package mutating func append(first: UInt64, times: Span<Int64>, values: Span<Double>) -> Int {
        // What of the block is no use at all does not come in.
        let skipped = max(0, times.count - self.most)
        let evicted = max(0, self.count + times.count - skipped - self.most)
        self.removeFirst(evicted)
        for row in skipped..<times.count {
            self.numbers.append(first &+ UInt64(row))
            self.times.append(times[row])
            for channel in 0..<self.channels { self.values.append(values[row * self.channels + channel]) }
        }
        return skipped + evicted
    }

    /// Lends the oldest rows that follow each other without a break, at most so many; at least one, if there is one.
    package func withFirst<Result>(
        _ most: Int, _ body: (_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Result
    ) -> Result? {
        guard !self.isEmpty else { return nil }
        var end = self.head + 1
        while end < self.times.count, end - self.head < most, self.numbers[end] == self.numbers[end - 1] &+ 1 {
            end += 1
        }
        return body(
            self.numbers[self.head], self.times.span.extracting(self.head..<end),
            self.values.span.extracting(self.head * self.channels..<end * self.channels))
    }

    /// Forgets the oldest rows: they were sent, or gave way.
    package mutating func removeFirst(_ count: Int) {
        self.head += min(count, self.count)
        if self.isEmpty {
            (self.numbers, self.times, self.values) = ([], [], [])
            self.head = 0
        } else if self.head > self.most / 4 {
            // What is gone takes no more than a quarter of what may wait, and each row costs four moves at most.
            self.numbers.removeFirst(self.head)
            self.times.removeFirst(self.head)
            self.values.removeFirst(self.head * self.channels)
            self.head = 0
        }
    }
}
