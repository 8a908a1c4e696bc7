import Motion

/// Brings the hits of one moment into the order of their ids: a set of bits instead of a sort.
struct HitCollector {
    private var bits: [UInt64] = []
    /// A bit for each word of `bits` that is not zero.
    private var summary: [UInt64] = []
    private var peaks: [Double] = []
    private var count = 0

    /// Makes room for ids below `limit`.
    mutating func reserve(_ limit: Int) {
        guard limit > self.peaks.count else { return }
        let size = (max(limit, self.peaks.count * 2) + 4_095) / 4_096 * 4_096
        self.peaks.append(contentsOf: repeatElement(0, count: size - self.peaks.count))
        self.bits.append(contentsOf: repeatElement(0, count: size / 64 - self.bits.count))
        self.summary.append(contentsOf: repeatElement(0, count: size / 4_096 - self.summary.count))
    }

    mutating func add(_ id: UInt32, peak: Double) {
        let index = Int(id)
        self.bits[index >> 6] |= 1 << UInt64(index & 63)
        self.summary[index >> 12] |= 1 << UInt64((index >> 6) & 63)
        self.peaks[index] = peak
        self.count += 1
    }

    /// Adds several hits with one peak.
    mutating func add(_ ids: borrowing [UInt32], peak: Double) {
        Self.mark(ids, peak, &self.bits, &self.summary, &self.peaks)
        self.count += ids.count
    }

    private static func mark(
        _ ids: borrowing [UInt32], _ peak: Double, _ bits: inout [UInt64], _ summary: inout [UInt64],
        _ peaks: inout [Double]
    ) {
        let ids = ids.span
        var bits = bits.mutableSpan
        var summary = summary.mutableSpan
        var peaks = peaks.mutableSpan
        for place in ids.indices {
            let index = Int(ids[place])
            bits[index >> 6] |= 1 << UInt64(index & 63)
            summary[index >> 12] |= 1 << UInt64((index >> 6) & 63)
            peaks[index] = peak
        }
    }

    /// Appends the collected hits and forgets them.
    mutating func flush(at time: Int64, into hits: inout [Hit]) {
        guard self.count > 0 else { return }
        for high in self.summary.indices {
            var words = self.summary[high]
            guard words != 0 else { continue }
            self.summary[high] = 0
            while words != 0 {
                let word = high << 6 | words.trailingZeroBitCount
                words &= words - 1
                var ids = self.bits[word]
                self.bits[word] = 0
                while ids != 0 {
                    let index = word << 6 | ids.trailingZeroBitCount
                    ids &= ids - 1
                    hits.append(
                        Hit(
                            detector: DetectorID(UInt32(index)), time: Timestamp(microseconds: time),
                            peak: self.peaks[index]))
                }
            }
        }
        self.count = 0
    }
}
