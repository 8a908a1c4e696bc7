import Arbitration
@testable import Journal
import Motion
import Testing

/// What waits for the writer is counted until it is written.
@Suite struct WaitingRowsTests {
    private func row(_ number: UInt64, user: UInt32 = 1_000) -> JournalRow {
        let content = EventContent(
            sequence: number, epoch: number, generation: 1, time: Timestamp(microseconds: 0), detector: "tap", peak: 1,
            isSimulated: false, isClipped: false)
        return JournalRow(
            entry: .event(JournalEvent(app: AppID("app"), content, .sent), user: user), wall: Int64(number))
    }

    private func waiting(many: Int) -> WaitingRows {
        WaitingRows(WaitingRows.Pace(linger: 10, spacing: 100, many: many))
    }

    @Test func rowsWaitUntilTheTimeOrUntilTheyAreMany() {
        var waiting = self.waiting(many: 2)
        #expect(waiting.deadline == nil && !waiting.isDue(at: .max))
        let first = waiting.add(self.row(1), at: 0)
        #expect(!first)
        #expect(waiting.deadline == 10 && !waiting.isDue(at: 9) && waiting.isDue(at: 10))
        let second = waiting.add(self.row(2), at: 5)
        #expect(second && waiting.isDue(at: 0) && waiting.deadline == 10)
    }

    /// What comes all the time is written now and then; what comes after a quiet time, at once.
    @Test func rowsKeepTheirDistance() {
        var (waiting, taken) = (self.waiting(many: 9), TakenRows())
        _ = waiting.add(self.row(1), at: 0)
        taken.take(from: &waiting, at: 10)
        _ = waiting.add(self.row(2), at: 11)
        #expect(waiting.deadline == 110)
        // A look with nothing there is none.
        taken.take(from: &waiting, at: 110)
        taken.take(from: &waiting, at: 200)
        _ = waiting.add(self.row(3), at: 205)
        #expect(waiting.deadline == 215)
    }

    @Test func rowsAreCountedUntilTheyAreWritten() throws(StoreError) {
        var (waiting, taken) = (self.waiting(many: 3), TakenRows())
        for number in 1...3 { _ = waiting.add(self.row(UInt64(number)), at: 0) }
        #expect(waiting.isDue(at: 0))
        taken.take(from: &waiting, at: 0)
        // They had been urgent; the next ones are not.
        _ = waiting.add(self.row(4), at: 0)
        #expect(!waiting.isDue(at: 0) && waiting.outstanding == 4)
        taken.drop(2)
        waiting.wrote(2)
        #expect(waiting.outstanding == 2 && waiting.written == 2)
        // Those that come behind stand behind.
        taken.take(from: &waiting, at: 100)
        let (all, last) = (taken.batch(from: 0, most: 9), taken.batch(from: 1, most: 1))
        let walls = (all: try self.walls(of: &taken, all), last: try self.walls(of: &taken, last))
        #expect(walls == ([3, 4], [4]))
        #expect(waiting.isEmpty && taken.lastWall == 4)
    }

    private func walls(of rows: inout TakenRows, _ batch: Range<Int>) throws(StoreError) -> [Int64] {
        var walls: [Int64] = []
        for index in batch { try rows.with(index) { walls.append($2) } }
        return walls
    }

    /// Who has many rows that wait gives up half of what it has more; where it has hardly more the new one is left out.
    @Test func whoHasMostMakesRoom() throws(StoreError) {
        var (waiting, taken) = (self.waiting(many: 1_000), TakenRows())
        for number in 1...100 { _ = waiting.add(self.row(UInt64(number), user: number % 20 == 0 ? 1 : 2), at: 0) }
        #expect(!waiting.makeRoom(for: 2) && waiting.dropped == 1 && waiting.outstanding == 100)
        #expect(waiting.makeRoom(for: 3) && waiting.dropped == 48 && waiting.outstanding == 53)
        _ = waiting.add(self.row(101, user: 3), at: 0)
        // 48 of the one, 5 of the other and 1: what came meanwhile is counted.
        #expect(waiting.makeRoom(for: 3) && waiting.dropped == 71 && waiting.outstanding == 31)
        #expect(waiting.makeRoom(for: 3) && waiting.dropped == 83 && waiting.outstanding == 19)
        #expect(!waiting.makeRoom(for: 3) && waiting.dropped == 84 && waiting.outstanding == 19)
        taken.take(from: &waiting, at: 0)
        let walls = try self.walls(of: &taken, taken.batch(from: 0, most: 100))
        // The oldest stay, in their order, and those of the others.
        #expect(walls == Array(1...13) + [20, 40, 60, 80, 100, 101])
        // The writer has them: nobody who waits has more.
        #expect(!waiting.makeRoom(for: 3) && waiting.outstanding == 19)
    }

    /// What could not be written stands where it stood.
    @Test func aRowIsBackAfterAFailure() throws(StoreError) {
        var (waiting, taken) = (self.waiting(many: 3), TakenRows())
        for number in 1...2 { _ = waiting.add(self.row(UInt64(number)), at: 0) }
        taken.take(from: &waiting, at: 0)
        #expect(throws: StoreError.self) {
            try taken.with(0) { _, _, _ throws(StoreError) in throw StoreError(.full, "no room") }
        }
        let all = taken.batch(from: 0, most: 9)
        let walls = try self.walls(of: &taken, all)
        #expect(walls == [1, 2] && !taken.isPersistent(all))
    }

    @Test func theOldestPoliciesAreForgotten() {
        var taken = TakenRows()
        taken.add((1...65).map { JournalPolicy(generation: $0, files: [], since: 0) })
        #expect(taken.policies.count == 64 && taken.policies[1] == nil && taken.policies[65] != nil)
        // Nor do they pile up where there are no rows for which the writer would take them.
        let pace = WaitingRows.Pace(linger: 10, spacing: 100, many: 9)
        var queue = StoreQueue(pace, epochFloor: 0, DiskHealth(calm: 1, longest: 1, at: 0))
        for generation in 1...UInt64(65) { queue.keep(JournalPolicy(generation: generation, files: [], since: 0)) }
        #expect(queue.takePolicies().map(\.generation) == Array(2...65) && queue.policies.isEmpty)
    }
}
