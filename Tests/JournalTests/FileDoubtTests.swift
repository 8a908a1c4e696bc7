import Journal
import Testing

/// When a file is looked over that others may have written to.
@Suite struct FileDoubtTests {
    /// One that somebody else had open to write.
    private static var doubted: FileDoubt {
        var doubt = FileDoubt(pause: 100)
        doubt.othersClosed()
        return doubt
    }

    /// At which of these times it is looked over, and comes to nothing.
    private func looks(_ doubt: FileDoubt, at times: ClosedRange<Int64>) -> [Int64] {
        var doubt = doubt
        return times.filter { doubt.isTimeToLook(at: $0) }
    }

    @Test func aFileThatWasJustOpenedIsLookedOverAtOnce() {
        #expect(self.looks(FileDoubt(pause: 100), at: 0...1_000) == [])
        #expect(Self.doubted.deadline == .min)
        #expect(self.looks(Self.doubted, at: 0...99) == [0])
    }

    @Test func aLookThatCameToNothingIsTriedAgainLater() {
        #expect(self.looks(Self.doubted, at: 7...350) == [7, 107, 207, 307])
    }

    @Test func whoReadsAgainAndAgainHasItLookedOverOnce() {
        var doubt = Self.doubted
        doubt.looked(from: 0, to: 1)
        doubt.othersClosed()
        doubt.othersClosed()
        #expect(doubt.deadline == nil && self.looks(doubt, at: 0...10_000) == [])
        // Until something of ours could hide what others do.
        doubt.wrote()
        #expect(doubt.deadline == nil)
        doubt.othersClosed()
        #expect(doubt.deadline == 101)
    }

    /// - Parameter took: How long a look takes; the longer, the longer is the pause.
    @Test(arguments: [
        (took: Int64(1), next: Int64(101)), (took: 5, next: 105), (took: 50, next: 1_050), (took: 600, next: 10_600),
    ])
    func thereIsAPauseBetweenTwoLooks(_ took: Int64, _ next: Int64) {
        var doubt = Self.doubted
        doubt.looked(from: 0, to: took)
        doubt.wrote()
        doubt.othersClosed()
        #expect(self.looks(doubt, at: 0...(next + 50)) == [next])
    }
}
