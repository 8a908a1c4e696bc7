import DeviceCore
import Testing

@Suite struct PollGridTests {
    @Test func theFirstTimeIsTheStart() {
        #expect(PollGrid(rate: 10, from: 1_000).due == 1_000)
    }

    /// What is asked for late does not make what comes next later.
    @Test(arguments: [100_000, 100_001, 199_999] as [Int64])
    func beingLateMovesNothing(now: Int64) {
        var grid = PollGrid(rate: 10, from: 0)
        grid.advance(to: 0)
        #expect(grid.due == 100_000)
        grid.advance(to: now)
        #expect(grid.due == 200_000)
    }

    @Test func whatWasMissedIsLeftOut() {
        var grid = PollGrid(rate: 10, from: 0)
        grid.advance(to: 1_234_567)
        #expect(grid.due == 1_300_000)
    }

    /// Whoever asks before it is time has the next time all the same.
    @Test func beingEarlyIsATimeToo() {
        var grid = PollGrid(rate: 10, from: 0)
        for number in 1...3 {
            grid.advance(to: 0)
            #expect(grid.due == Int64(number) * 100_000)
        }
    }

    /// A rate that divides no microsecond does not drift.
    @Test func thirdsAddUp() {
        var grid = PollGrid(rate: 3, from: 0)
        for _ in 0..<3_000 { grid.advance(to: grid.due) }
        #expect(grid.due == 1_000_000_000)
    }
}
