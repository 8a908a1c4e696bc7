/// Times at a steady rate, on a grid that does not drift; those that were missed are left out.
package struct PollGrid: Sendable {
    package let rate: Double
    private let start: Int64
    /// The number of the time that comes next.
    private var next: Double = 0
    /// When `advance` was called last.
    private var last: Int64?

    /// The first time is `start`, in µs of any clock.
    package init(rate: Double, from start: Int64) {
        self.rate = rate
        self.start = start
    }

    /// A grid of another rate in place of this one. Its first time is a period of its own behind the last one of this, so that no
    /// alternation of rates is faster than the faster of them.
    package func changed(to rate: Double, at now: Int64) -> PollGrid {
        let earliest = self.last.map { $0 + Int64((1_000_000 / rate).rounded(.up)) } ?? now
        var grid = PollGrid(rate: rate, from: max(now, earliest))
        grid.last = self.last
        return grid
    }

    /// The time that comes next.
    package var due: Int64 { self.start + Int64((self.next * 1_000_000 / self.rate).rounded()) }

    /// Goes on to the first time behind `now`.
    package mutating func advance(to now: Int64) {
        let passed = (Double(now - self.start) * self.rate / 1_000_000).rounded(.down)
        self.next = max(self.next, passed) + 1
        self.last = now
    }
}
