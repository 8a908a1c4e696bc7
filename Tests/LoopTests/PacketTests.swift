import Glibc
import Loop
import Testing

@Suite struct PacketTests {
    @Test func packetsComeWholeAndInOrder() throws {
        let pair = try PacketPair(room: 64 << 10)
        var words = [UInt64](repeating: 0, count: 4)
        #expect(try pair.given.receive(packet: &words) == nil)
        for packet: [UInt64] in [[1], [2, 3], [4, 5, 6]] {
            #expect(try pair.own.send(packet: packet.span))
        }
        #expect(try pair.given.receive(packet: &words) == 8 && words[0] == 1)
        #expect(try pair.given.receive(packet: &words) == 16 && words[..<2] == [2, 3])
        #expect(try pair.given.receive(packet: &words) == 24 && words[..<3] == [4, 5, 6])
        #expect(try pair.given.receive(packet: &words) == nil)
        // And the other way round.
        #expect(try pair.given.send(packet: [UInt64(7)].span))
        #expect(try pair.own.receive(packet: &words) == 8 && words[0] == 7)
    }

    @Test func aPacketThatIsTooLongSaysHowLong() throws {
        let pair = try PacketPair(room: 64 << 10)
        #expect(try pair.own.send(packet: [UInt64](repeating: 9, count: 100).span))
        var words = [UInt64](repeating: 0, count: 2)
        #expect(try pair.given.receive(packet: &words) == 800 && words == [9, 9])
        #expect(try pair.given.receive(packet: &words) == nil)
    }

    @Test func aFullSocketTakesNoMoreAndNeverWaits() throws {
        let pair = try PacketPair(room: 32 << 10)
        let packet = [UInt64](repeating: 1, count: 128)
        var sent = 0
        while try pair.own.send(packet: packet.span) { sent += 1 }
        #expect(sent > 4 && sent * 1_024 <= 32 << 10)
        var words = packet
        for _ in 0..<sent { #expect(try pair.given.receive(packet: &words) == 1_024) }
        #expect(try pair.own.send(packet: packet.span))
    }

    @Test func theEndIsToldToBoth() throws {
        var words: [UInt64] = [0]
        let pair = try PacketPair(room: 32 << 10)
        let own = try pair.split { own, given throws(SystemError) in
            _ = consume given
            return Kept(own)
        }
        #expect(try own.descriptor.receive(packet: &words) == 0)
        // Nobody is killed for it.
        #expect { _ = try own.descriptor.send(packet: words.span) } throws: {
            ($0 as? SystemError)?.code == EPIPE
        }
    }

    private final class Kept {
        let descriptor: OwnedDescriptor
        init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
    }

    @Test func descriptorsThatAreSpareStaySo() throws {
        let pair = try PacketPair(room: 4_096)
        var own = stat()
        try #require(fstat(pair.own.raw, &own) == 0)
        /// How many descriptors of this file are open; other tests open and close others meanwhile.
        func copies() -> Int {
            (0..<Int32(4_096)).count {
                var other = stat()
                return fstat($0, &other) == 0 && other.st_dev == own.st_dev && other.st_ino == own.st_ino
            }
        }
        #expect(copies() == 1)
        try pair.own.checkSpare(16)
        #expect(copies() == 1)
        let copy = try pair.own.duplicate()
        #expect(copies() == 2)
        try pair.own.checkSpare(16)
        #expect(copies() == 2)
        _ = consume copy
    }
}
