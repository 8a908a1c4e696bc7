import Motion

/// What the open bucket of a claim's grid holds so far, for a claim that wants the mean or the peak of it.
struct OpenBucket: Sendable {
    private(set) var row: [Double] = []
    private var count = 0
    /// The time of the last sample in it.
    private(set) var time = Timestamp.zero

    /// Takes a sample in.
    @inline(__always)
    mutating func gather(_ time: Timestamp, _ row: Span<Double>, _ decimation: Decimation) {
        if self.count == 0 {
            self.row.removeAll(keepingCapacity: true)
            for _ in row.indices { self.row.append(0) }
        }
        self.count += 1
        self.time = time
        let isMean = decimation == .mean
        for channel in row.indices {
            let value = row[channel]
            if isMean {
                self.row[channel] += value
            } else if value.magnitude > self.row[channel].magnitude {
                self.row[channel] = value
            }
        }
    }

    /// Closes the bucket: `row` is its sample then. Returns false when nothing is in it.
    @inline(__always)
    mutating func close(_ decimation: Decimation) -> Bool {
        guard self.count > 0 else { return false }
        if decimation == .mean {
            for channel in self.row.indices { self.row[channel] /= Double(self.count) }
        }
        self.count = 0
        return true
    }

    /// Forgets what is in it.
    mutating func empty() { self.count = 0 }
}
