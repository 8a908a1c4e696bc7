@testable import Journal
import Testing

/// Whoever asks much of the disk keeps nobody's rows from it.
@Suite struct QuestionTests {
    private func queue() -> StoreQueue {
        StoreQueue(StoreLimits().pace, epochFloor: 1, DiskHealth(calm: 1, longest: 2, at: 0))
    }

    private func question(_ number: UInt64, of user: UInt32 = 1) -> StoreQueue.Question {
        StoreQueue.Question(number: number, user: user, query: JournalQuery())
    }

    @Test func whatIsToBeKeptComesBetweenTwoAnswers() {
        var queue = self.queue()
        func take() -> [UInt64] { queue.takeQuestions().map(\.number) }
        #expect(take().isEmpty)
        for number in UInt64(1)...4 { queue.questions.append(self.question(number)) }
        let (first, second) = (take(), take())
        #expect(first == [1] && second == [2])
        // There is no other round.
        queue.isStopping = true
        let rest = take()
        #expect(rest == [3, 4] && queue.questions.isEmpty)
    }

    /// However much somebody asks, another waits for one answer of his, and not for all.
    @Test func whoAsksMuchWaitsForHimself() {
        var queue = self.queue()
        func take() -> [UInt64] { queue.takeQuestions().map(\.number) }
        for number in UInt64(1)...4 { queue.questions.append(self.question(number, of: 1)) }
        for number in UInt64(11)...13 { queue.questions.append(self.question(number, of: 2)) }
        let before = [take(), take()]
        #expect(before == [[1], [11]])
        queue.questions.append(self.question(21, of: 3))
        let turns = [take(), take(), take(), take(), take(), take(), take()]
        #expect(turns == [[2], [12], [21], [3], [13], [4], []])
    }
}
