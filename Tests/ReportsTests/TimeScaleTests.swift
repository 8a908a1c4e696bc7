import Pictures
import Reports
import Testing

@Suite struct TimeScaleTests {
    private static let noon: Int64 = 1_772_366_400_000_000  // 2026-03-01 12:00 UTC

    @Test func marksStandAtRoundLocalTimes() {
        let hours = TimeScale(since: Self.noon - 86_400_000_000, until: Self.noon, offset: 3_600).axis
        #expect(hours.ticks.map(\.text) == ["15:00", "18:00", "21:00", "00:00", "03:00", "06:00", "09:00", "12:00"])
        let minutes = TimeScale(since: Self.noon, until: Self.noon + 300_000_000, offset: 0).axis
        #expect(minutes.ticks.map(\.text) == ["12:00", "12:01", "12:02", "12:03", "12:04", "12:05"])
        let days = TimeScale(since: Self.noon - 5 * 86_400_000_000, until: Self.noon, offset: -3_600).axis
        #expect(days.ticks.map(\.text) == ["02-25", "02-26", "02-27", "02-28", "03-01"])
    }

    @Test(arguments: [(0, 0), (-5, 5), (0, Int64.max / 2)] as [(Int64, Int64)])
    func anyTimeHasAnAxis(_ since: Int64, _ until: Int64) {
        let axis = TimeScale(since: since, until: until, offset: 0).axis
        #expect(axis.ticks.count <= 17 && axis.low < axis.high)
    }
}
