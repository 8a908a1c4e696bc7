/// Counts the samples that come by their numbers, and what is missing between them.
struct SampleNumbers {
    /// The number that comes next; `nil` before the first sample of a claim.
    private var expected: UInt64?
    /// Times that samples were missing or out of step.
    private(set) var gaps: UInt64 = 0
    /// Samples that were sent to us and did not come.
    private(set) var lost: UInt64 = 0
    private(set) var received: UInt64 = 0

    /// What comes next is the first of its claim, or follows nothing.
    mutating func beginAnew() { self.expected = nil }

    /// Takes note of samples from this number on. Returns false when they do not follow what came before: some did not come when
    /// the number is higher, and the numbers began again when it is lower.
    mutating func follow(_ first: UInt64, count: Int) -> Bool {
        let next = self.expected ?? first
        if first != next { self.gaps &+= 1 }
        if first > next { self.lost &+= first - next }
        self.expected = first &+ UInt64(count)
        self.received &+= UInt64(count)
        return first == next
    }
}
