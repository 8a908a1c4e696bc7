@testable import Journal
import Testing

/// Whoever asks much of the disk keeps nobody's rows from it.
@Suite struct QuestionTests {
    @Test func whatIsToBeKeptComesBetweenTwoAnswers() {
        let health = DiskHealth(calm: 1, longest: 2, at: 0)
        var queue = StoreQueue(StoreLimits().pace, epochFloor: 1, health)
        func take() -> [UInt64] { queue.takeQuestions().map(\.0) }
        #expect(take().isEmpty)
        for number in UInt64(1)...4 { queue.questions.append((number, JournalQuery())) }
        let (first, second) = (take(), take())
        #expect(first == [1] && second == [2])
        // There is no other round.
        queue.isStopping = true
        let rest = take()
        #expect(rest == [3, 4] && queue.questions.isEmpty)
    }
}
