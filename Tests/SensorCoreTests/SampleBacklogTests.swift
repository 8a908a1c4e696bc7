import Randomness
import SensorCore
import Testing

@Suite struct SampleBacklogTests {
    /// All that waits, oldest first, taken a few rows at a time.
    private func drain(_ backlog: inout SampleBacklog) -> [(number: UInt64, time: Int64, value: Double)] {
        var rows: [(UInt64, Int64, Double)] = []
        while let taken = backlog.withFirst(
            3,
            { first, times, values in
                for row in times.indices { rows.append((first + UInt64(row), times[row], values[row])) }
                return times.count
            })
        {
            backlog.removeFirst(taken)
        }
        return rows
    }

    private func append(_ backlog: inout SampleBacklog, _ numbers: Range<UInt64>) -> Int {
        let times = numbers.map { Int64($0) * 10 }
        let values = numbers.map { Double($0) }
        return backlog.append(first: numbers.lowerBound, times: times.span, values: values.span)
    }

    @Test func theNewestStay() {
        // One channel: a row is 24 bytes.
        var backlog = SampleBacklog(channels: 1, bytes: 240)
        #expect(self.append(&backlog, 0..<4) == 0)
        #expect(self.append(&backlog, 4..<9) == 0)
        #expect(self.append(&backlog, 9..<12) == 2)
        #expect(backlog.count == 10)
        #expect(self.drain(&backlog).map(\.number) == Array(2..<12))
        #expect(backlog.isEmpty)
    }

    @Test func aBlockThatIsTooLargeLeavesItsEnd() {
        var backlog = SampleBacklog(channels: 1, bytes: 240)
        #expect(self.append(&backlog, 0..<4) == 0)
        #expect(self.append(&backlog, 4..<29) == 19)
        #expect(self.drain(&backlog).map(\.time) == (19..<29).map { Int64($0) * 10 })
    }

    @Test func aBreakIsNoRunOfNumbers() {
        var backlog = SampleBacklog(channels: 1, bytes: 2_400)
        _ = self.append(&backlog, 0..<3)
        _ = self.append(&backlog, 4..<6)
        let lengths = (0..<2).map { _ in
            let count = backlog.withFirst(100) { _, times, _ in times.count } ?? 0
            backlog.removeFirst(count)
            return count
        }
        #expect(lengths == [3, 2] && backlog.isEmpty)
    }

    /// Against a list of everything: what is left is always the end of it.
    @Test func whatWaitsIsTheEndOfWhatCame() {
        var chance = SeededRandom(seed: 7)
        var backlog = SampleBacklog(channels: 1, bytes: 50 * 24)
        var all: [UInt64] = []
        var next: UInt64 = 0
        for _ in 0..<2_000 {
            if chance.next() % 3 < 2 {
                next += chance.next() % 10 == 0 ? 1 : 0
                let count = chance.next() % 30
                let evicted = self.append(&backlog, next..<next + count)
                all += Array(next..<next + count)
                #expect(evicted == max(0, all.count - 50))
                all.removeFirst(evicted)
                next += count
            } else {
                let count = Int(chance.next() % 40)
                backlog.removeFirst(count)
                all.removeFirst(min(count, all.count))
            }
            #expect(backlog.count == all.count)
            let first = backlog.withFirst(1) { first, times, values in
                times[0] == Int64(first) * 10 && values[0] == Double(first) ? first : .max
            }
            #expect(first == all.first)
        }
    }
}
