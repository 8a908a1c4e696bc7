import Motion
import Scenarios
import Testing

/// When hits were by the wall clock, whatever that was set to meanwhile.
@Suite struct HitTimesTests {
    /// Seconds of a sample and of the wall clock, in; when the hits were, out.
    private static func hits(_ verdicts: (boot: String, sample: Double, wall: Double)...) -> [Double] {
        var times = HitTimes()
        for one in verdicts {
            times.take(
                Timestamp(microseconds: Int64(one.sample * 1_000_000)), of: one.boot,
                made: Timestamp(microseconds: Int64(one.wall * 1_000_000)))
        }
        return times.all.map { Double($0.microseconds) / 1_000_000 }
    }

    /// What was decided soonest tells when the boot was, and others how long they took.
    @Test func aVerdictComesAfterItsHit() {
        #expect(Self.hits(("a", 10, 1_010.5), ("a", 20, 1_020.25), ("a", 30, 1_031)) == [1_010.25, 1_020.25, 1_030.25])
        #expect(Self.hits(("a", 10, 1_910), ("a", 20, 1_020)) == [1_010, 1_020])
        #expect(Self.hits() == [])
    }

    @Test func eachBootHasItsOwn() {
        #expect(Self.hits(("a", 500, 1_500), ("b", 7, 2_007), ("a", 501, 1_502)) == [1_500, 2_007, 1_501])
    }

    /// A day later at once, and back.
    @Test func aClockThatIsSetMakesNoLongDecisions() {
        let day = 86_400.0
        #expect(
            Self.hits(
                ("a", 10, 1_010), ("a", 20, 1_020.5), ("a", 30, 1_030 + day), ("a", 40, 1_041 + day), ("a", 50, 1_050))
                == [1_010, 1_020, 1_030 + day, 1_040 + day, 1_050])
        #expect(Self.hits(("a", 10, 1_010 + day), ("a", 20, 1_020)) == [1_010 + day, 1_020])
    }

    /// As long as the longest of all decisions may be.
    @Test func theLongestDecisionIsNoOtherClock() {
        #expect(Self.hits(("a", 10, 1_010), ("a", 20, 1_920)) == [1_010, 1_020])
        #expect(Self.hits(("a", 10, 1_010), ("a", 20, 1_921)) == [1_010, 1_921])
        // All that are taken for one are within that.
        #expect(Self.hits(("a", 10, 1_510), ("a", 20, 2_420), ("a", 30, 1_029)) == [1_510, 1_520, 1_029])
    }

    /// Whatever a file says.
    @Test func noTimeIsTooMuch() {
        var times = HitTimes()
        for sample in [Int64.min, 0, .max] {
            for wall in [Int64.min, 0, .max] {
                times.take(Timestamp(microseconds: sample), of: "a", made: Timestamp(microseconds: wall))
            }
        }
        #expect(times.all.count == 9)
    }
}
