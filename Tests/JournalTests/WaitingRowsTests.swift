import Arbitration
@testable import Journal
import Motion
import Testing

/// What waits for the writer is counted until it is written.
@Suite struct WaitingRowsTests {
    private func row(_ number: UInt64) -> JournalRow {
        let content = EventContent(
            sequence: number, epoch: number, generation: 1, time: Timestamp(microseconds: 0), detector: "tap", peak: 1,
            isSimulated: false, isClipped: false)
        return JournalRow(entry: .event(JournalEvent(app: AppID("app"), content, .sent)), wall: Int64(number))
    }

    @Test func rowsWaitUntilTheTimeOrUntilTheyAreMany() {
        var waiting = WaitingRows()
        #expect(waiting.deadline == nil && !waiting.isDue(at: .max))
        let first = waiting.add(self.row(1), urgentFrom: 2, lingering: 10)
        #expect(!first)
        #expect(waiting.deadline == 10 && !waiting.isDue(at: 9) && waiting.isDue(at: 10))
        let second = waiting.add(self.row(2), urgentFrom: 2, lingering: 20)
        #expect(second && waiting.isDue(at: 0) && waiting.deadline == 10)
    }

    @Test func rowsAreCountedUntilTheyAreWritten() {
        var (waiting, taken) = (WaitingRows(), TakenRows())
        for number in 1...3 { _ = waiting.add(self.row(UInt64(number)), urgentFrom: 1, lingering: 0) }
        taken.take(from: &waiting)
        // They had been urgent; the next ones are not.
        _ = waiting.add(self.row(4), urgentFrom: 9, lingering: 10)
        #expect(!waiting.isDue(at: 0) && waiting.outstanding == 4)
        taken.drop(2)
        waiting.wrote(2)
        #expect(waiting.outstanding == 2 && waiting.written == 2)
        // Those that come behind stand behind.
        taken.take(from: &waiting)
        #expect(taken.batch(from: 0, most: 9).map(\.wall) == [3, 4])
        #expect(taken.batch(from: 1, most: 1).map(\.wall) == [4])
        #expect(waiting.isEmpty && taken.lastWall == 4)
    }

    @Test func theOldestPoliciesAreForgotten() {
        var taken = TakenRows()
        taken.add((1...65).map { JournalPolicy(generation: $0, files: [], since: 0) })
        #expect(taken.policies.count == 64 && taken.policies[1] == nil && taken.policies[65] != nil)
    }
}
