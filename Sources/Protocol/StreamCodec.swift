import Motion

/// The packets of a stream of samples, which `OpenStream` gives: words of 8 bytes in the machine's own order.
///
/// A packet is a `u32` kind, a `u32` count and a `u64` sequence number, and for samples so many rows of a `u64` time and an
/// `f64` for each channel.
package enum StreamCodec {
    /// What a packet says.
    package enum Kind: UInt32, Sendable {
        /// So many rows; the sequence is the first one's number.
        case samples = 1
        /// So many numbers from this one on do not come.
        case gap = 2
        /// All that was there when it was asked for has come; the sequence is the number that comes next.
        case caughtUp = 3
    }

    package struct Header: Equatable, Sendable {
        package var kind: Kind
        package var count: UInt32
        package var sequence: UInt64

        package init(_ kind: Kind, count: UInt32 = 0, sequence: UInt64) {
            self.kind = kind
            self.count = count
            self.sequence = sequence
        }
    }

    private static let headerWords = 2

    /// No packet is larger, so that a reader knows how much memory it needs.
    package static let packetBytes = 64 << 10

    /// How many rows one packet holds at most.
    package static func rows(channels: Int) -> Int {
        min(SensorLimits.batch, (self.packetBytes / 8 - self.headerWords) / (1 + channels))
    }

    // MARK: Writing

    /// Replaces what is in `words` by a packet without rows.
    package static func write(_ header: Header, into words: inout [UInt64]) {
        words.removeAll(keepingCapacity: true)
        words.append(self.word(header.kind.rawValue, header.count))
        words.append(header.sequence)
    }

    /// Replaces what is in `words` by a packet of samples. There are as many values as times multiplied by channels.
    package static func write(
        first: UInt64, times: Span<Int64>, values: Span<Double>, into words: inout [UInt64]
    ) {
        self.write(Header(.samples, count: UInt32(clamping: times.count), sequence: first), into: &words)
        let channels = times.isEmpty ? 0 : values.count / times.count
        for row in times.indices {
            words.append(UInt64(bitPattern: times[row]))
            for channel in 0..<channels { words.append(values[row * channels + channel].bitPattern) }
        }
    }

    // MARK: Reading

    /// Reads a packet of so many bytes at the front of `words`; `nil` when it is not what it should be.
    ///
    /// The columns are replaced by what a packet of samples holds, and empty for others. Times beyond what we compute with
    /// come out negative, and the engine refuses them as out of order.
    package static func read(
        _ words: Span<UInt64>, bytes: Int, channels: Int, times: inout [Int64], values: inout [Double]
    ) -> Header? {
        times.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        let count = bytes / 8
        guard bytes % 8 == 0, count >= self.headerWords, count <= words.count else { return nil }
        let (kind, rows) = self.halves(words[0])
        guard let kind = Kind(rawValue: kind) else { return nil }
        let header = Header(kind, count: rows, sequence: words[1])
        guard kind == .samples else { return count == self.headerWords ? header : nil }
        let (size, overflow) = Int(rows).multipliedReportingOverflow(by: 1 + channels)
        guard !overflow, rows > 0, size == count - self.headerWords else { return nil }
        var index = self.headerWords
        for _ in 0..<rows {
            times.append(Int64(bitPattern: words[index]))
            for channel in 0..<channels { values.append(Double(bitPattern: words[index + 1 + channel])) }
            index += 1 + channels
        }
        return header
    }

    // MARK: Halves of a word, as they lie in memory

    private static func word(_ first: UInt32, _ second: UInt32) -> UInt64 {
        #if _endian(little)
            UInt64(second) << 32 | UInt64(first)
        #else
            UInt64(first) << 32 | UInt64(second)
        #endif
    }

    private static func halves(_ word: UInt64) -> (first: UInt32, second: UInt32) {
        #if _endian(little)
            (UInt32(truncatingIfNeeded: word), UInt32(truncatingIfNeeded: word >> 32))
        #else
            (UInt32(truncatingIfNeeded: word >> 32), UInt32(truncatingIfNeeded: word))
        #endif
    }
}

/// Memory for one packet after the other, as their reader needs it.
package struct StreamPacket: Sendable {
    /// Where a packet is put.
    package var words = [UInt64](repeating: 0, count: StreamCodec.packetBytes / 8)
    private var times: [Int64] = []
    private var values: [Double] = []

    package init() {}

    /// Reads what was put into `words`; `nil` when it is no packet.
    package mutating func decode(bytes: Int, channels: Int) -> StreamCodec.Header? {
        // The columns are out of our hands while the words are lent.
        var (times, values) = ([Int64](), [Double]())
        swap(&times, &self.times)
        swap(&values, &self.values)
        defer {
            swap(&times, &self.times)
            swap(&values, &self.values)
        }
        return StreamCodec.read(
            self.words.span, bytes: bytes, channels: channels, times: &times, values: &values)
    }

    /// Lends the rows of the packet that was read last.
    package func lend(_ body: (_ times: Span<Int64>, _ values: Span<Double>) -> Void) {
        body(self.times.span, self.values.span)
    }
}
