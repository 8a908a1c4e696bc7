import Motion

/// Samples of one sensor that wait for those of another, the oldest first.
struct WaitingVectors {
    typealias Sample = (time: Timestamp, value: SIMD3<Double>)

    /// So many may wait.
    static let room = 2 * SensorLimits.batch

    private var samples: [Sample] = []
    private var taken = 0

    var count: Int { self.samples.count - self.taken }
    var first: Sample? { self.count > 0 ? self.samples[self.taken] : nil }
    var second: Sample? { self.count > 1 ? self.samples[self.taken + 1] : nil }
    var last: Sample? { self.count > 0 ? self.samples.last : nil }
    var isFull: Bool { self.count >= Self.room }

    mutating func append(_ value: SIMD3<Double>, at time: Timestamp) {
        if self.taken > Self.room / 2 {
            self.samples.removeFirst(self.taken)
            self.taken = 0
        }
        self.samples.append((time, value))
    }

    /// The same, and what nobody takes is given up, the oldest first.
    mutating func push(_ value: SIMD3<Double>, at time: Timestamp) {
        if self.isFull { self.drop() }
        self.append(value, at: time)
    }

    mutating func drop() {
        self.taken += 1
        if self.count == 0 { self.removeAll() }
    }

    mutating func removeAll() {
        self.samples.removeAll(keepingCapacity: true)
        self.taken = 0
    }
}
