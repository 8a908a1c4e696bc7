import Testing

@testable import jostle

/// What `jostle record` counts of the samples that a reader says to have sent.
@Suite struct RecordingTallyTests {
    private func missed(_ blocks: [(first: UInt64, count: Int)]) -> UInt64 {
        var tally = RecordCommand.Tally()
        for block in blocks { tally.hear(block.first, block.count) }
        return tally.missed
    }

    @Test func whatIsBetweenTwoBlocksWasMissed() {
        #expect(self.missed([(5, 2), (7, 1), (10, 1), (12, 3)]) == 3)
        // A reader that begins anew counts anew.
        #expect(self.missed([(5, 2), (0, 1), (2, 1)]) == 1)
    }

    /// A reader numbers its samples as it likes.
    @Test func aReaderThatCountsWildlyEndsNothing() {
        #expect(self.missed([(0, 1), (.max, 1), (.max, 1)]) == .max)
        #expect(self.missed([(0, 1), (.max, 2), (.max, 1), (3, 1)]) == .max)
    }
}
