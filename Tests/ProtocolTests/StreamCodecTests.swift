import Motion
import Testing

@testable import Protocol

@Suite struct StreamCodecTests {
    private func read(
        _ words: [UInt64], bytes: Int? = nil, channels: Int
    ) -> (header: StreamCodec.Header, times: [Int64], values: [Double])? {
        var times: [Int64] = [99]
        var values: [Double] = [99]
        let header = StreamCodec.read(
            words.span, bytes: bytes ?? words.count * 8, channels: channels, times: &times, values: &values)
        return header.map { ($0, times, values) }
    }

    @Test(arguments: [1, 3, 16], [1, 2, 300])
    func samplesRoundTrip(channels: Int, count: Int) throws {
        let times = (0..<count).map { Int64($0) * 2_500 }
        let values = (0..<count * channels).map { Double($0) / 8 }
        var words: [UInt64] = [7]
        StreamCodec.write(first: .max - 5, times: times.span, values: values.span, into: &words)
        let packet = try #require(self.read(words, channels: channels))
        #expect(packet.header == StreamCodec.Header(.samples, count: UInt32(count), sequence: .max - 5))
        #expect(packet.times == times && packet.values == values)
        #expect(StreamCodec.rows(channels: channels) >= count)
    }

    /// What the interface file promises of the bytes.
    @Test func theBytesAreAsDescribed() {
        var words: [UInt64] = []
        StreamCodec.write(first: 5, times: [6].span, values: [1.5].span, into: &words)
        let bytes = words.span.bytes
        #expect(words.count == 4)
        #expect(unsafe bytes.unsafeLoad(fromByteOffset: 0, as: UInt32.self) == 1)
        #expect(unsafe bytes.unsafeLoad(fromByteOffset: 4, as: UInt32.self) == 1)
        #expect(unsafe bytes.unsafeLoad(fromByteOffset: 8, as: UInt64.self) == 5)
        #expect(unsafe bytes.unsafeLoad(fromByteOffset: 16, as: UInt64.self) == 6)
        #expect(unsafe bytes.unsafeLoad(fromByteOffset: 24, as: Double.self) == 1.5)
    }

    @Test(arguments: 1...SensorLimits.channels)
    func noPacketIsLargerThanSaid(channels: Int) {
        let rows = StreamCodec.rows(channels: channels)
        #expect(rows > 0 && rows <= SensorLimits.batch)
        #expect(16 + rows * 8 * (1 + channels) <= StreamCodec.packetBytes)
        #expect(rows == SensorLimits.batch || 16 + (rows + 1) * 8 * (1 + channels) > StreamCodec.packetBytes)
    }

    @Test(arguments: [StreamCodec.Header(.gap, count: 3, sequence: 7), StreamCodec.Header(.caughtUp, sequence: 12)])
    func wordsRoundTrip(_ header: StreamCodec.Header) throws {
        var words: [UInt64] = []
        StreamCodec.write(header, into: &words)
        let packet = try #require(self.read(words, channels: 3))
        #expect(packet.header == header && packet.times.isEmpty && packet.values.isEmpty)
    }

    @Test func whatIsNoPacketIsRefused() {
        var samples: [UInt64] = []
        StreamCodec.write(first: 0, times: [1, 2].span, values: [1, 2].span, into: &samples)
        var gap: [UInt64] = []
        StreamCodec.write(StreamCodec.Header(.gap, count: 1, sequence: 1), into: &gap)
        #expect(self.read(samples, channels: 1) != nil)
        #expect(self.read(samples, channels: 2) == nil)
        #expect(self.read(samples, channels: 0) == nil)
        #expect(self.read(samples, bytes: 47, channels: 1) == nil)
        #expect(self.read(samples, bytes: 40, channels: 1) == nil)
        // Longer than there was room for.
        #expect(self.read(samples, bytes: 56, channels: 1) == nil)
        #expect(self.read(samples + [0], channels: 1) == nil)
        #expect(self.read(gap + [0], channels: 1) == nil)
        #expect(self.read([], channels: 1) == nil)
        #expect(self.read([0], channels: 1) == nil)
        for kind: UInt64 in [0, 4, 0xffff_ffff] { #expect(self.read([kind, 0], channels: 1) == nil) }
        // As many rows as can be said, and none.
        #expect(self.read([0xffff_ffff_0000_0001, 0], channels: Int.max - 1) == nil)
        #expect(self.read([0xffff_ffff_0000_0001, 0], channels: 16) == nil)
        #expect(self.read([1, 0], channels: 1) == nil)
    }
}
