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

    /// Whoever changes the rate again and again has no more readings than at the fastest.
    @Test func anAlternationOfRatesIsNoFasterThanTheFastest() {
        var grid = PollGrid(rate: 200, from: 0)
        var times: [Int64] = []
        for now in stride(from: Int64(0), to: 1_000_000, by: 500) {
            if now % 4_500 == 0 { grid = grid.changed(to: grid.rate == 200 ? 150 : 200, at: now) }
            guard now >= grid.due else { continue }
            grid.advance(to: now)
            times.append(now)
        }
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 5_000 })
        #expect((100...200).contains(times.count), "\(times.count)")
        // Who wants a reading each minute keeps nobody waiting who wants more.
        grid = PollGrid(rate: 1 / 60, from: 0)
        grid.advance(to: 0)
        #expect(grid.changed(to: 100, at: 1_000).due == 10_000)
        #expect(grid.changed(to: 100, at: 50_000).due == 50_000)
        // Before anything was read there is nothing to keep a distance from.
        #expect(PollGrid(rate: 1, from: 0).changed(to: 100, at: 7).due == 7)
    }

    /// A rate that divides no microsecond does not drift.
    @Test func thirdsAddUp() {
        var grid = PollGrid(rate: 3, from: 0)
        for _ in 0..<3_000 { grid.advance(to: grid.due) }
        #expect(grid.due == 1_000_000_000)
    }
}
