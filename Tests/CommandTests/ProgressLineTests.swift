import Testing

@testable import jostle

/// What is said of how far something is, and when.
@Suite struct ProgressLineTests {
    private static let second: Int64 = 1_000_000

    @Test func whatIsShortSaysNothing() {
        var line = ProgressLine("replay", of: 100, at: 5 * Self.second)
        for step in 0..<10 {
            #expect(line.advance(to: Int64(step) * 10, at: 5 * Self.second + Int64(step) * 99_999) == nil)
        }
    }

    @Test func itSaysHowFarAndHowLong() {
        var line = ProgressLine("replay", of: 200, at: 0)
        #expect(line.advance(to: 50, at: Self.second) == "replay: 25 %, about 3 s left")
        // No eye reads faster.
        #expect(line.advance(to: 60, at: Self.second + 100_000) == nil)
        #expect(line.advance(to: 100, at: 2 * Self.second) == "replay: 50 %, about 2 s left")
        // It goes back for nothing, and beyond the end neither.
        #expect(line.advance(to: 1, at: 3 * Self.second) == "replay: 50 %, about 3 s left")
        #expect(line.advance(to: 900, at: 4 * Self.second) == "replay: 100 %, about 0 s left")
    }

    @Test(arguments: [(Int64(256), 3, "about 9 s left"), (16, 10, "about 11 min left"), (16, 1_000, "about 18 h left")])
    func guessesAreAsPreciseAsGuessesAre(_ done: Int64, _ seconds: Int64, _ text: String) {
        var line = ProgressLine("tune", of: 1_024, at: 0)
        #expect(line.advance(to: done, at: seconds * Self.second)?.hasSuffix(text) == true)
    }

    @Test func ofNothingDoneNothingIsKnown() {
        var line = ProgressLine("whatif", of: 1_000, at: 0)
        #expect(line.advance(to: 1, at: 7 * Self.second) == "whatif: 0 %")
        // Nothing to do is all done.
        var empty = ProgressLine("whatif", of: 0, at: 0)
        #expect(empty.advance(to: 0, at: 2 * Self.second) == "whatif: 0 %")
    }

    @Test func ofWhateverIsSaidThereIsASum() {
        #expect(Progress.total([3, 4], times: 5) == 35)
        #expect(Progress.total([]) == 0)
        #expect(Progress.total([.max / 2], times: 2) == .max - 1)
        #expect(Progress.total([.max / 2], times: 3) == .max)
        #expect(Progress.total([.max, 1]) == .max)
        #expect(Progress.total([-1, 7]) == 7)
    }
}
