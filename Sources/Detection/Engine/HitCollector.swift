import Motion

/// Brings the hits of one moment into the order of their ids: a set of bits instead of a sort.
struct HitCollector {
    private var bits: [UInt64] = []
    /// A bit for each word of `bits` that is not zero.
    private var summary: [UInt64] = []
    private var peaks: [Double] = []
    /// Not zero when there are hits.
    private var count = 0

    /// Makes room for ids below `limit`.
    mutating func reserve(_ limit: Int) {
        guard limit > self.peaks.count else { return }
        let size = (max(limit, self.peaks.count * 2) + 4_095) / 4_096 * 4_096
        self.peaks.append(contentsOf: repeatElement(0, count: size - self.peaks.count))
        self.bits.append(contentsOf: repeatElement(0, count: size / 64 - self.bits.count))
        self.summary.append(contentsOf: repeatElement(0, count: size / 4_096 - self.summary.count))
    }

    /// Gives back the room for ids that are gone; false while there are hits.
    mutating func shrink(to limit: Int) -> Bool {
        guard self.count == 0 else { return false }
        self = HitCollector()
        self.reserve(limit)
        return true
    }

    mutating func add(_ id: UInt32, peak: Double) {
        let index = Int(id)
        self.bits[index >> 6] |= 1 << UInt64(index & 63)
        self.summary[index >> 12] |= 1 << UInt64((index >> 6) & 63)
        self.peaks[index] = peak
        self.count += 1
    }

    /// Adds those of up to 64 ids from `start` on whose bit is set, with one peak.
    mutating func add(_ chosen: UInt64, of ids: borrowing [UInt32], at start: Int, peak: Double) {
        Self.mark(chosen, ids, start, peak, &self.bits, &self.summary, &self.peaks)
        self.count += 1
    }

    private static func mark(
        _ chosen: UInt64, _ ids: borrowing [UInt32], _ start: Int, _ peak: Double, _ bits: inout [UInt64],
        _ summary: inout [UInt64], _ peaks: inout [Double]
    ) {
        let ids = ids.span.extracting(start..<min(start + 64, ids.count))
        var bits = bits.mutableSpan
        var summary = summary.mutableSpan
        var peaks = peaks.mutableSpan
        var left = chosen
        while left != 0 {
            // SAFETY: each bit stands for an id, and `reserve` has made room for each that was given out.
            let index = Int(ids[unchecked: left.trailingZeroBitCount])
            left &= left &- 1
            bits[unchecked: index >> 6] |= 1 << UInt64(truncatingIfNeeded: index & 63)
            summary[unchecked: index >> 12] |= 1 << UInt64(truncatingIfNeeded: (index >> 6) & 63)
            peaks[unchecked: index] = peak
        }
    }

    /// Appends the collected hits and forgets them.
    mutating func flush(at time: Int64, into hits: inout [Hit]) {
        guard self.count > 0 else { return }
        self.count = 0
        for high in self.summary.indices where self.summary[high] != 0 {
            var words = self.summary[high]
            self.summary[high] = 0
            while words != 0 {
                let word = high << 6 | words.trailingZeroBitCount
                words &= words - 1
                let ids = self.bits[word]
                self.bits[word] = 0
                Self.append(ids, word << 6, self.peaks, time, &hits)
            }
        }
    }

    private static func append(
        _ ids: UInt64, _ first: Int, _ peaks: borrowing [Double], _ time: Int64, _ hits: inout [Hit]
    ) {
        let peaks = peaks.span.extracting(first..<first + 64)
        hits.append(addingCapacity: ids.nonzeroBitCount) { span in
            var left = ids
            while left != 0 {
                let bit = left.trailingZeroBitCount
                left &= left &- 1
                // SAFETY: there are peaks for whole words of ids.
                span.append(
                    Hit(
                        detector: DetectorID(UInt32(truncatingIfNeeded: first &+ bit)),
                        time: Timestamp(microseconds: time), peak: peaks[unchecked: bit]))
            }
        }
    }
}
