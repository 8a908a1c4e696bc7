import Motion

/// The samples of one claim that wait to travel together, and the numbers that they get.
///
/// The block stays readable after it was handed over, until the next sample due to the claimant overwrites it. So a
/// block costs no copy, and its memory is used again.
struct ClaimBlock: Sendable {
    private let channels: Int
    /// The sequence number of the block's first sample.
    private var first: UInt64 = 0
    private var times: [Int64] = []
    private var values: [Double] = []
    /// When the first waiting sample must be on its way; `nil` when none waits.
    private(set) var deadline: Timestamp?
    private var nextSequence: UInt64 = 0
    private var isHandedOver = true
    /// False until a sample comes that the next one could follow on from.
    private var isFollowing = false

    init(channels: Int) { self.channels = channels }

    /// How many samples are in it, those that were handed over included.
    var count: Int { self.times.count }

    /// Makes room for so many samples.
    mutating func reserve(_ room: Int) {
        self.times.reserveCapacity(room)
        self.values.reserveCapacity(room * self.channels)
    }

    /// Puts a sample in. The first of a block says until when the block can wait.
    @inline(__always)
    mutating func append(_ time: Timestamp, _ row: Span<Double>, by deadline: Timestamp?) {
        if self.isHandedOver {
            self.isHandedOver = false
            self.first = self.nextSequence
            self.times.removeAll(keepingCapacity: true)
            self.values.removeAll(keepingCapacity: true)
            self.deadline = deadline
        }
        self.nextSequence &+= 1
        self.isFollowing = true
        self.times.append(time.microseconds)
        for index in row.indices { self.values.append(row[index]) }
    }

    /// Lets what waits wait no longer.
    mutating func hurry() {
        if self.deadline != nil { self.deadline = .zero }
    }

    /// Declares the waiting samples due. Returns false when none wait.
    mutating func handOver() -> Bool {
        guard !self.isHandedOver else { return false }
        self.isHandedOver = true
        self.deadline = nil
        return true
    }

    /// Leaves out a number if there is a sample before it.
    mutating func leaveGap() {
        if self.isFollowing { self.nextSequence &+= 1 }
        self.isFollowing = false
    }

    /// Counts from 0 again.
    mutating func beginAnew() {
        self.nextSequence = 0
        self.isFollowing = false
    }

    /// Lends the samples out, if there ever were any.
    func lend(_ body: (_ first: UInt64, _ times: Span<Int64>, _ values: Span<Double>) -> Void) -> Bool {
        if self.times.isEmpty { return false }
        body(self.first, self.times.span, self.values.span)
        return true
    }
}
