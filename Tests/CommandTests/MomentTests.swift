import Testing

@testable import jostle

/// How a time is said to people.
@Suite struct MomentTests {
    @Test func aMomentIsSaidByTheClockAndFromNow() {
        let now: Int64 = 1_772_366_405_250_000
        #expect(Moment(wall: now, now: now).text.hasSuffix(":05.250"))
        #expect(Moment(wall: now - 180_000_000, now: now).line.hasSuffix(" (3 min ago)"))
        #expect(Moment(wall: now + 180_000_000, now: now).line.hasSuffix(" (in 3 min)"))
        // Whatever number somebody sends.
        for wall in [Int64.min, -1, .max] { #expect(Moment(wall: wall, now: now).text == "a time that cannot be") }
        #expect(Moment(boottime: .max).line.hasSuffix(" (0 ms ago)"))
    }
}
