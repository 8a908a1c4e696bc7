import BrokerCore
import Testing

/// How many calls to apps may have no answer yet.
@Suite final class OwedAnswersTests {
    private var owed = OwedAnswers(isOnSystemBus: true)

    private func begin(_ kind: OwedAnswers.Kind, _ connection: String, of user: UInt32 = 1_000) -> OwedAnswers.Leave {
        self.owed.begin(kind, connection, of: user)
    }

    /// How many of so many connections may be called.
    private func granted(
        _ kind: OwedAnswers.Kind, _ connections: Range<Int>, of user: UInt32 = 1_000
    ) -> Int {
        connections.count { self.begin(kind, ":1.\($0)", of: user) == .granted }
    }

    @Test func whoOwesAnAnswerIsNotCalledAgain() {
        let (first, second) = (self.begin(.task, ":1.1"), self.begin(.task, ":1.1"))
        #expect(first == .granted && second == .owing)
        // The app may be at its task when there is an event for it.
        let (launch, other) = (self.begin(.launch, ":1.1"), self.begin(.task, ":1.2"))
        #expect(launch == .granted && other == .granted)
        self.owed.end(.task, ":1.1")
        let (third, again) = (self.begin(.task, ":1.1"), self.begin(.launch, ":1.1"))
        #expect(third == .granted && again == .owing)
    }

    /// However many connections of a user never answer, others are called, and none of them is taken for one that owes an answer.
    @Test func nobodyTakesAllPlaces() {
        let taken = self.granted(.launch, 0..<100)
        let next = self.begin(.launch, ":1.100")
        #expect(taken == 6 && next == .crowded)
        let (other, task) = (self.begin(.launch, ":1.101", of: 1_001), self.begin(.task, ":1.102"))
        #expect(other == .granted && task == .granted)
        let rest = self.granted(.launch, 200..<300, of: 0)
        #expect(rest == 5)
        // What one gives back it, or another, may have.
        self.owed.end(.launch, ":1.0")
        self.owed.end(.launch, ":1.0")
        let afterwards = self.granted(.launch, 300..<400, of: 0)
        #expect(afterwards == 1)
        self.owed = OwedAnswers(isOnSystemBus: false)
        let elsewhere = self.granted(.launch, 0..<100)
        #expect(elsewhere == 24)
    }
}
