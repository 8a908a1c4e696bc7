/// Times at a steady rate, on a grid that does not drift; those that were missed are left out.
package struct PollGrid: Sendable {
    package let rate: Double
    private let start: Int64
    /// The number of the time that comes next.
    private var next: Double = 0

    /// The first time is `start`, in µs of any clock.
    package init(rate: Double, from start: Int64) {
        self.rate = rate
        self.start = start
    }

    /// The time that comes next.
    package var due: Int64 { self.start + Int64((self.next * 1_000_000 / self.rate).rounded()) }

    /// Goes on to the first time behind `now`.
    package mutating func advance(to now: Int64) {
        let passed = (Double(now - self.start) * self.rate / 1_000_000).rounded(.down)
        self.next = max(self.next, passed) + 1
    }
}
