import Motion

/// Gathers the samples between two looks of a `mean` or `peak` lane into one.
struct SampleBucket {
    private let decimation: Decimation
    /// When the open bucket closes; `nil` while none is open.
    private(set) var end: Int64?
    private var count = 0.0
    /// The sums or extremes of the channels, and what a closed bucket held.
    private(set) var values: [Double]

    init(_ decimation: Decimation, channels: Int) {
        self.decimation = decimation
        self.values = [Double](repeating: 0, count: channels)
    }

    mutating func open(until end: Int64) {
        self.end = end
        self.count = 0
        for channel in self.values.indices { self.values[channel] = 0 }
    }

    /// Adds the sample whose values begin at `first`.
    mutating func add(_ values: Span<Double>, at first: Int) {
        self.count += 1
        for channel in self.values.indices {
            let value = values[first + channel]
            if self.decimation == .mean {
                self.values[channel] += value
            } else if value.magnitude > self.values[channel].magnitude {
                self.values[channel] = value
            }
        }
    }

    /// Closes the bucket, after which `values` is what it held; returns when it was to close, `nil` when none is open.
    mutating func close() -> Int64? {
        guard let end = self.end else { return nil }
        self.end = nil
        if self.decimation == .mean {
            for channel in self.values.indices { self.values[channel] /= max(1, self.count) }
        }
        return end
    }

    /// Forgets what was gathered.
    mutating func discard() { self.end = nil }
}
