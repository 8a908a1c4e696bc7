import BrokerCore
import Motion
import Testing

@Suite struct SleepWatchTests {
    private func reading(_ awake: Int64, slept: Int64, took: Int64 = 2) -> SleepWatch.Reading {
        SleepWatch.Reading(awakeBefore: awake - took, boot: awake + slept, awakeAfter: awake)
    }

    @Test func sleepIsToldOnce() {
        var watch = SleepWatch()
        #expect(watch.take(self.reading(1_000_000, slept: 70_000_000)) == nil, "what was before is not ours")
        #expect(watch.take(self.reading(2_000_000, slept: 70_000_000)) == nil)
        #expect(watch.take(self.reading(2_000_100, slept: 75_000_000)) == .seconds(5))
        #expect(watch.take(self.reading(2_000_200, slept: 75_000_000)) == nil)
    }

    @Test func whatIsTooShortAddsUp() {
        var watch = SleepWatch()
        _ = watch.take(self.reading(0, slept: 0))
        #expect(watch.take(self.reading(1, slept: 9_999)) == nil)
        #expect(watch.take(self.reading(2, slept: 10_000)) == .milliseconds(10))
    }

    @Test func readingsFarApartSayNothing() {
        var watch = SleepWatch()
        _ = watch.take(self.reading(0, slept: 0))
        #expect(watch.take(self.reading(5_000_000, slept: 8_000_000, took: 1_001)) == nil)
        #expect(watch.take(self.reading(5_000_000, slept: 8_000_000, took: 1_000)) == .seconds(8))
    }

    @Test func whatOthersToldIsNotToldAgain() {
        var watch = SleepWatch()
        _ = watch.take(self.reading(0, slept: 0))
        watch.note(self.reading(10, slept: 3_000_000))
        #expect(watch.take(self.reading(20, slept: 3_000_000)) == nil)
    }
}
