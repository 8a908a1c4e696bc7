import Randomness
import Testing

@testable import DBus

@Suite struct CallQueueTests {
    /// Takes all that can be taken; each call ends at once.
    private func drain(_ queue: inout CallQueue<String>) -> [String] {
        var taken: [String] = []
        while let call = queue.next() {
            taken.append(call)
            queue.ended(String(call.prefix(1)))
        }
        return taken
    }

    @Test func sendersTakeTurnsAndEachKeepsItsOrder() {
        var queue = CallQueue<String>()
        for call in ["a1", "a2", "a3", "b1", "c1", "b2"] {
            #expect(queue.offer(call, from: String(call.prefix(1)), bytes: 10) == [])
        }
        #expect(self.drain(&queue) == ["a1", "b1", "c1", "a2", "b2", "a3"])
        #expect(queue.isIdle && queue.outstanding(of: "a") == 0)
    }

    @Test func aSenderHasABoundedNumberOutstanding() {
        var queue = CallQueue<String>()
        for number in 0..<CallLimits.outstanding { #expect(queue.offer("a\(number)", from: "a", bytes: 1) == []) }
        #expect(queue.offer("one too many", from: "a", bytes: 1) == ["one too many"])
        // Others are not concerned, and what was taken counts until it ends.
        #expect(queue.offer("b", from: "b", bytes: 1) == [])
        #expect(queue.next() == "a0")
        #expect(queue.offer("a", from: "a", bytes: 1) == ["a"])
        #expect(queue.begin("a") == false)
        queue.ended("a")
        #expect(queue.begin("a") == true)
        #expect(queue.outstanding(of: "a") == CallLimits.outstanding)
    }

    @Test func whoeverHasMostWaitingMakesRoom() {
        var queue = CallQueue<String>()
        let big = CallLimits.waitingBytes / 4 - CallLimits.overhead
        for number in 0..<3 { #expect(queue.offer("a\(number)", from: "a", bytes: big) == []) }
        #expect(queue.offer("b0", from: "b", bytes: big) == [])
        // All is taken: a call of somebody else costs the one who has most his latest.
        #expect(queue.offer("c0", from: "c", bytes: 100) == ["a2"])
        // That one gets no more himself.
        #expect(queue.offer("a3", from: "a", bytes: big) == ["a3"])
        #expect(queue.outstanding(of: "a") == 2)
        #expect(self.drain(&queue) == ["a0", "b0", "c0", "a1"])
        // One that is larger than all that may wait never does.
        #expect(queue.offer("d", from: "d", bytes: CallLimits.waitingBytes) == ["d"])
        #expect(queue.outstanding(of: "d") == 0)
    }

    @Test func aHeldSenderIsPassedOver() {
        var queue = CallQueue<String>()
        for call in ["a1", "b1", "a2"] { _ = queue.offer(call, from: String(call.prefix(1)), bytes: 1) }
        queue.hold("a")
        #expect(queue.isHeld("a"))
        #expect(self.drain(&queue) == ["b1"])
        #expect(queue.isIdle)
        _ = queue.offer("a3", from: "a", bytes: 1)
        #expect(queue.next() == nil)
        queue.release("a")
        #expect(self.drain(&queue) == ["a1", "a2", "a3"])
    }

    @Test func theCallsOfWhoLeftAreForgotten() {
        var queue = CallQueue<String>()
        for call in ["a1", "a2", "b1"] { _ = queue.offer(call, from: String(call.prefix(1)), bytes: 1) }
        #expect(queue.next() == "a1")
        #expect(queue.drop("a") == ["a2"])
        #expect(queue.outstanding(of: "a") == 1)
        queue.ended("a")
        #expect(queue.outstanding(of: "a") == 0)
        #expect(self.drain(&queue) == ["b1"])
        #expect(queue.drop("nobody") == [])
    }

    /// What is offered is taken once or refused once, never more waits than may, and nobody waits for another.
    @Test(arguments: [1, 2, 3] as [UInt64]) func nothingIsLostOrDoubled(seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var queue = CallQueue<Int>()
        var (open, taken) = ([Int: String](), Set<Int>())
        var latest: [String: Int] = [:]
        for number in 0..<20_000 {
            let sender = "abcdefgh".randomElement(using: &generator).map(String.init) ?? "a"
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5:
                open[number] = sender
                for refused in queue.offer(number, from: sender, bytes: Int.random(in: 0...200_000, using: &generator))
                {
                    #expect(open.removeValue(forKey: refused) != nil)
                }
            case 5..<8:
                guard let call = queue.next() else { continue }
                #expect(taken.insert(call).inserted)
                guard let owner = open.removeValue(forKey: call) else {
                    Issue.record("\(call) was refused and taken")
                    continue
                }
                #expect(call > latest[owner] ?? -1)
                latest[owner] = call
                #expect(!queue.isHeld(owner))
                queue.ended(owner)
            case 8: if Bool.random(using: &generator) { queue.hold(sender) } else { queue.release(sender) }
            default:
                for call in queue.drop(sender) { #expect(open.removeValue(forKey: call) == sender) }
            }
            let waiting = "abcdefgh".reduce(0) { $0 + queue.waiting(of: String($1)) }
            #expect(waiting == open.count)
        }
    }
}
