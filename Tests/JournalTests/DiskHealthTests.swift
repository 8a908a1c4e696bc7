import Glibc
import Journal
import Motion
import TestSupport
import Testing

/// When people are told of trouble with the disk, and when that it is over.
@Suite struct DiskHealthTests {
    private let health = DiskHealth(calm: 2, longest: 60, at: 1_000)

    @Test func itIsSaidOnceAndOverWhenItWasWellForAWhile() {
        var health = self.health
        /// What each second brings: whether it fails, whether that is told, and whether it is well then.
        let seconds: [(at: Int64, fails: Bool, isTold: Bool, isWell: Bool)] = [
            (1_000, false, false, true), (1_001, true, true, false), (1_002, true, false, false),
            (1_003, false, false, false),
            // Once more before it was over: the while begins anew.
            (1_004, true, false, false), (1_005, false, false, false), (1_006, false, false, false),
            (1_007, false, true, true), (1_008, false, false, true),
        ]
        for second in seconds {
            let isTold = second.fails ? health.fail(at: second.at) : health.succeed(at: second.at)
            #expect(isTold == second.isTold && health.isWell == second.isWell, "\(second)")
        }
    }

    /// A disk that is too slow for a moment every few seconds, for an hour.
    @Test(arguments: [3, 5, 9, 20, 45]) func troubleThatComesBackIsSaidLessAndLess(_ period: Int64) {
        var health = self.health
        var told: [Int64] = []
        for time in Int64(1_001)...4_600 {
            if time % period == 0 {
                if health.fail(at: time) { told.append(time) }
            } else {
                _ = health.succeed(at: time)
            }
        }
        #expect(told.count <= 6 && !told.isEmpty, "\(told)")
        #expect(!health.isWell || told.count == 1)
        // An hour without any, and it is told soon again.
        for time in Int64(4_601)...8_200 { _ = health.succeed(at: time) }
        #expect(health.isWell && health.deadline == nil)
        let isTold = health.fail(at: 8_201)
        _ = health.succeed(at: 8_202)
        #expect(isTold && health.deadline == 8_204)
    }

    @Test func troubleNowAndThenIsSaidEachTime() {
        var health = self.health
        var told = 0
        for time in Int64(1_001)...11_000 {
            if time % 1_000 == 0 { told += health.fail(at: time) ? 1 : 0 } else { _ = health.succeed(at: time) }
        }
        #expect(told == 10)
    }

    /// Where nobody writes it is not said that all else is kept.
    @Test func aStoreThatHasEndedIsNotTooSlow() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.waitingRows = 16
        let keeper = Keeper(place, limits: limits)
        _ = try keeper.epochs()
        keeper.close()
        keeper.keep(verdicts(20))
        try keeper.until("news are fetched") { true }
        #expect(keeper.store.counts.dropped > 0 && !keeper.news.contains("behind"), "\(keeper.news)")
    }

    /// More comes than a store can take, in bursts. Between them it goes well, longer than need be at first.
    @Test func aStoreThatIsTooSlowSaysSoLessAndLess() throws {
        let place = try Directory()
        var limits = Keeper.quick
        limits.waitingRows = 16
        limits.calm = .milliseconds(50)
        let keeper = Keeper(place, limits: limits)
        _ = try keeper.epochs()
        let burst = verdicts(20)
        var handedIn: UInt64 = 0
        // A burst takes as long as the disk takes to write it.
        var starts = [ContinuousClock.now]
        for _ in 0..<25 {
            let dropped = keeper.store.counts.dropped
            repeat {
                keeper.keep(burst)
                handedIn += UInt64(burst.count)
            } while keeper.store.counts.dropped == dropped
            // All else is kept: whoever hands in a task waits for it.
            #expect(keeper.store.isDiskWell)
            try keeper.until("all others are written") {
                keeper.store.counts.written + keeper.store.counts.dropped == handedIn
            }
            usleep(60_000)
            starts.append(.now)
        }
        // It is well again a moment before that can be heard.
        try keeper.until("it is over") {
            let failures = keeper.news.count { $0 == "behind" }
            return keeper.store.health == .ok && keeper.news.count { $0 == "caughtUp" } == failures
        }
        let told = keeper.news.filter { !$0.contains("restored") && !$0.hasPrefix("apps") && $0 != "caughtUp" }
        // From somewhere in one burst to somewhere in the next.
        let longest = try #require(zip(starts, starts.dropFirst(2)).map { $1 - $0 }.max())
        let most = Keeper.mostTold(calm: .milliseconds(50), back: longest)
        #expect(
            (1...most).contains(told.count) && told.allSatisfy { $0 == "behind" },
            "after \(longest) at most: \(keeper.news)")
        #expect(try place.sql("journal.db", "SELECT count(*) FROM verdict") == "\(keeper.store.counts.written)\n")
    }
}
