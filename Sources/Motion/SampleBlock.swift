/// Consecutive samples of one sensor: times, and values row by row.
///
/// `times.count * channels == values.count` always holds; the initialisers see to it.
package struct SampleBlock: Equatable, Sendable {
    /// The number of values in a row.
    package let channels: Int
    /// Sample times in CLOCK_BOOTTIME microseconds.
    package private(set) var times: [Int64]
    /// The values, row by row.
    package private(set) var values: [Double]

    package init(channels: Int) {
        self.channels = channels
        self.times = []
        self.values = []
    }

    /// Takes over columns that were read elsewhere; `nil` when they do not fit together.
    package init?(channels: Int, times: [Int64], values: [Double]) {
        let (product, overflow) = times.count.multipliedReportingOverflow(by: channels)
        guard channels > 0, !overflow, product == values.count else { return nil }
        self.channels = channels
        self.times = times
        self.values = values
    }

    package var count: Int { self.times.count }
    package var isEmpty: Bool { self.times.isEmpty }

    /// Adds one sample. `row` must have one value per channel.
    package mutating func append(_ time: Timestamp, _ row: Span<Double>) {
        precondition(row.count == self.channels)
        self.times.append(time.microseconds)
        for index in row.indices { self.values.append(row[index]) }
    }

    /// Adds one sample whose values stand in `values` from `offset` on.
    package mutating func append(_ time: Timestamp, _ values: borrowing [Double], at offset: Int = 0) {
        self.times.append(time.microseconds)
        for index in 0..<self.channels { self.values.append(values[offset + index]) }
    }

    /// Forgets the samples and keeps the memory.
    package mutating func removeAll() {
        self.times.removeAll(keepingCapacity: true)
        self.values.removeAll(keepingCapacity: true)
    }

    package mutating func reserveCapacity(_ samples: Int) {
        self.times.reserveCapacity(samples)
        self.values.reserveCapacity(samples * self.channels)
    }
}
