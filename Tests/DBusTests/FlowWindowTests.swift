import Testing

@testable import DBus
import Randomness

@Suite struct FlowWindowTests {
    private let kib = 1 << 10

    @Test func aPingIsDueAfterSoMuch() {
        var window = FlowWindow()
        #expect(window.offer(63 * self.kib) == .send)
        #expect(!window.needsPing)
        #expect(window.offer(self.kib) == .sendAndPing)
        #expect(window.isPingOpen && !window.needsPing)
        #expect(window.offer(100 * self.kib) == .send)
        window.pingAnswered()
        // What went after the ping is not confirmed by it.
        #expect(window.unconfirmed == 100 * self.kib && !window.isPingOpen)
        #expect(window.offer(1) == .sendAndPing)
    }

    @Test func aPeerThatDoesNotReadGetsNoMore() {
        var window = FlowWindow()
        var sent = 0
        for _ in 0..<1_000 where window.offer(1_000) != .drop { sent += 1 }
        #expect(sent == FlowWindow.limit / 1_000)
        #expect(window.dropped == UInt64(1_000 - sent))
        window.pingAnswered()
        #expect(window.offer(1_000) != .drop)
    }

    @Test func withoutAPlaceForAPingItIsAskedForLater() {
        var window = FlowWindow()
        #expect(window.offer(64 * self.kib, mayPing: false) == .send)
        #expect(window.needsPing && !window.isPingOpen)
        window.pingSent()
        #expect(!window.needsPing)
        window.pingFailed()
        #expect(window.needsPing && window.unconfirmed == 64 * self.kib)
        window.assumeRead()
        #expect(window.unconfirmed == 0 && !window.needsPing)
    }

    @Test func anOpenPingIsWaitedFor() {
        var window = FlowWindow()
        #expect(window.offer(64 * self.kib) == .sendAndPing)
        window.assumeRead()
        #expect(window.unconfirmed == 64 * self.kib)
    }

    @Test func aMessageBeyondTheLimitGoesAlone() {
        var window = FlowWindow()
        #expect(window.offer(300 * self.kib) == .sendAndPing)
        #expect(window.offer(1) == .drop)
        window.pingAnswered()
        #expect(window.offer(300 * self.kib) == .sendAndPing)
    }

    @Test func whatIsLeftOutIsAskedForToo() {
        // Little is out, but the next message does not fit: without a ping it never would.
        var window = FlowWindow()
        #expect(window.offer(10 * self.kib) == .send)
        #expect(window.offer(250 * self.kib) == .drop)
        #expect(window.needsPing)
        window.pingSent()
        window.pingAnswered()
        #expect(!window.needsPing)
        #expect(window.offer(250 * self.kib) == .sendAndPing)
    }

    @Test func hugeSizesDoNotTrap() {
        var window = FlowWindow()
        #expect(window.offer(1) == .send)
        #expect(window.offer(.max) == .drop)
        #expect(window.dropped == 1)
    }

    @Test(arguments: [7, 8, 9] as [UInt64])
    func neverMoreOutThanTheLimitAndAlwaysAWayOn(seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var window = FlowWindow()
        // What the peer has not read, as the peer would count it, and what of it stands behind the ping.
        var (out, afterPing) = (0, 0)
        for _ in 0..<20_000 {
            if window.isPingOpen, Int.random(in: 0..<8, using: &generator) == 0 {
                out = afterPing
                window.pingAnswered()
            }
            let size = Int.random(in: 1...80_000, using: &generator)
            let mayPing = Bool.random(using: &generator)
            let verdict = window.offer(size, mayPing: mayPing)
            if verdict != .drop {
                out += size
                afterPing += size
            }
            if verdict == .sendAndPing { afterPing = 0 }
            if window.needsPing, mayPing {
                window.pingSent()
                afterPing = 0
            }
            #expect(out == window.unconfirmed && out <= FlowWindow.limit)
            #expect(verdict != .drop || window.isPingOpen || !mayPing)
        }
    }
}
