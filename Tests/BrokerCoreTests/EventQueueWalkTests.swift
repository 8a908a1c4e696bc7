import Arbitration
import BrokerCore
import Motion
import Testing
import Randomness

/// What holds for every queue, over random lives of an app: it reads and does not, acknowledges and does not, is
/// suspended, leaves, comes back and subscribes.
@Suite struct EventQueueWalkTests {
    private struct Chance {
        var state: UInt64

        mutating func callAsFunction(_ bound: UInt64) -> UInt64 {
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (self.state >> 33) % bound
        }
    }

    private static func walk(_ seed: UInt64) -> QueueBench {
        var chance = Chance(state: seed)
        let limits = [0, 600, 4 * QueueBench.bytes, 20 * QueueBench.bytes, 1 << 20]
        let total = limits[Int(chance(UInt64(limits.count)))]
        var bench = QueueBench(keeping: total, isSubscribed: chance(2) == 0)
        for _ in 0..<400 {
            switch chance(32) {
            case 0..<14:
                let lifespan = [200, 1_000, 3_000, 20_000][Int(chance(4))]
                bench.add(
                    chance(2) == 0 ? .ack : .bestEffort, lifespan: Int64(lifespan),
                    kind: chance(2) == 0 ? .store : .live, chance(4) == 0 ? .persistent : .volatile,
                    detector: chance(4) == 0 ? "e" : "d")
            case 14..<20: bench.pass(to: bench.now + Int64(chance(900)))
            case 20..<23: bench.room = Int(chance(3_000))
            case 23..<25: bench.read(chance(2) == 0 ? .max : Int(chance(5_000)))
            case 25..<28: _ = bench.ack(chance(bench.queue.lastSequence + 2))
            case 28: bench.perform { $0.setReachable(chance(2) == 0, at: $1, &$2) }
            case 29 where chance(3) == 0: bench.perform { $0.remove(detector: "e", at: $1, &$2) }
            case 30 where chance(2) == 0:
                bench.room = nil
                bench.perform { queue, _, actions in queue.detach(&actions) }
            default:
                let since = EventName(sequence: chance(50), epoch: chance(50))
                let isDone = chance(2) == 0
                bench.perform {
                    if isDone { _ = $0.acknowledge(since, at: $1, &$2) }
                    _ = $0.subscribe(at: $1, &$2)
                }
            }
            Self.check(bench, seed)
        }
        // At last the app is there, reads and listens, and everything comes to its end.
        bench.perform { $0.setReachable(true, at: $1, &$2) }
        bench.perform { _ = $0.subscribe(at: $1, &$2) }
        bench.read()
        bench.pass(to: bench.now + 60_000)
        return bench
    }

    private static func check(_ bench: QueueBench, _ seed: UInt64) {
        let queue = bench.queue
        #expect(queue.bytes <= queue.limit && queue.bytes >= 0, "seed \(seed)")
        // An event that wants to be acknowledged says so, which takes some bytes more.
        let count = queue.waitingCount + queue.unacknowledgedCount
        #expect((count * QueueBench.bytes...count * (QueueBench.bytes + 88)).contains(queue.bytes), "seed \(seed)")
        #expect(queue.unacknowledgedCount <= EventQueue.creditWindow, "seed \(seed)")
        if queue.waitingCount + queue.unacknowledgedCount > 0 {
            #expect(queue.deadline != nil, "seed \(seed): nothing would end what is kept")
        }
    }

    @Test(arguments: 1...400)
    func everyEventEndsOnceAndEveryNumberIsToldOnce(_ seed: UInt64) {
        print("queue seed \(seed)")
        let bench = Self.walk(seed)
        #expect(bench.queue.isIdle && bench.queue.bytes == 0 && bench.queue.deadline == nil, "seed \(seed)")
        let last = bench.queue.lastSequence
        #expect(last > 50, "seed \(seed)")

        // Each number is sent for the first time or is in a gap, in the order of the numbers.
        var expected: UInt64 = 1
        var firsts = bench.sent.filter { !$0.isRedelivered }.map(\.sequence)[...]
        var gaps: [Gap] = []
        for mark in bench.marks { if case .gap(let gap) = mark { gaps.append(gap) } }
        for gap in gaps {
            let losses = gap.losses
            let count = UInt64(losses.dropped) + UInt64(losses.expired) + UInt64(losses.removed)
            #expect(count == gap.last - gap.first + 1, "seed \(seed): \(gap)")
            while let next = firsts.first, next < gap.first {
                #expect(next == expected, "seed \(seed)")
                expected = next + 1
                firsts = firsts.dropFirst()
            }
            #expect(gap.first == expected, "seed \(seed): \(gap)")
            expected = gap.last + 1
        }
        for next in firsts {
            #expect(next == expected, "seed \(seed)")
            expected = next + 1
        }
        #expect(expected == last + 1, "seed \(seed)")

        // Each ends exactly once: best effort with its sending, all others with a word.
        let ends = Dictionary(grouping: bench.ended) { $0.event.sequence }
        #expect(ends.values.allSatisfy { $0.count == 1 }, "seed \(seed)")
        let sent = Dictionary(grouping: bench.sent, by: \.sequence)
        let missing = Set(gaps.flatMap { $0.first...$0.last })
        for sequence in 1...last {
            let copies = sent[sequence] ?? []
            let end = ends[sequence]?.first?.end
            if missing.contains(sequence) {
                #expect(copies.isEmpty && end != nil && end != .acknowledged, "seed \(seed): \(sequence)")
            } else if copies.first?.wantsAck == true {
                #expect(end != nil, "seed \(seed): \(sequence)")
            } else {
                #expect(copies.count == 1 && end == nil, "seed \(seed): \(sequence)")
            }
            // The first copy is new, each further one says that it is not.
            #expect(copies.map(\.isRedelivered) == copies.indices.map { $0 > 0 }, "seed \(seed): \(sequence)")
        }

        // What is on the disk is taken from there, and nothing else is.
        #expect(bench.forgotten.allSatisfy { $0.terms.durability == .persistent }, "seed \(seed)")
        #expect(
            Set(bench.persisted.map(\.sequence)).isSubset(of: bench.forgotten.map(\.sequence)), "seed \(seed)")
    }

    @Test(arguments: someSeeds(1...400))
    func nothingStaleIsSentAndCaughtUpKeepsItsWord(_ seed: UInt64) {
        var chance = Chance(state: seed)
        print("queue seed \(seed)")
        var bench = QueueBench(keeping: 64 * QueueBench.bytes, isSubscribed: false)
        for round in 0..<20 {
            for _ in 0...chance(30) {
                bench.add(chance(3) == 0 ? .ack : .bestEffort, lifespan: Int64(chance(4_000)) + 1, kind: .store)
                bench.pass(to: bench.now + Int64(chance(300)))
            }
            let last = bench.queue.lastSequence
            _ = bench.take()
            bench.perform { _ = $0.subscribe(at: $1, &$2) }
            for _ in 0..<40 {
                bench.room = Int(chance(2_000))
                bench.add(lifespan: 2_000)
                let before = bench.sent.count
                bench.pass(to: bench.now + Int64(chance(200)))
                if let sent = bench.sent.last(where: \.wantsAck) { _ = bench.ack(sent.sequence) }
                bench.read(Int(chance(4_000)))
                #expect(bench.sent[before...].allSatisfy { $0.ends > bench.time }, "seed \(seed)")
            }
            bench.read()
            if let sent = bench.sent.last(where: \.wantsAck) { _ = bench.ack(sent.sequence) }
            // Once, after all that was kept, and before all that came since.
            let said = bench.take().filter { $0.hasPrefix("send ") || $0.hasPrefix("caught up ") }
            let parts = said.split(separator: "caught up \(last)", omittingEmptySubsequences: false)
            #expect(parts.count == 2, "seed \(seed), round \(round)")
            for (index, part) in parts.enumerated() {
                for line in part where !line.hasSuffix(" again") {
                    let isOld = UInt64(line.dropFirst("send ".count)).map { $0 <= last }
                    #expect(isOld == (index == 0), "seed \(seed), round \(round): \(line)")
                }
            }
            bench.perform { queue, _, actions in queue.detach(&actions) }
        }
    }
}
