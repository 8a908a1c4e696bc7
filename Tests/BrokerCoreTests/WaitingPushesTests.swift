import BrokerCore
import Motion
import Testing

/// Who is answered when an app has answered the launch that somebody wanted, and when it is not launched.
@Suite struct WaitingPushesTests {
    private let app = AppID("org.example.A")

    private func time(_ seconds: Int64) -> Timestamp { .zero + .seconds(seconds) }

    /// Two who wait for the launch that is under way, and one who came since.
    private func pushes() -> WaitingPushes<Int> {
        var pushes = WaitingPushes<Int>()
        pushes.add(1, for: self.app, until: self.time(10))
        pushes.add(2, for: self.app, until: self.time(11))
        pushes.begin(7, of: self.app)
        pushes.add(3, for: self.app, until: self.time(12))
        return pushes
    }

    @Test func whoCameSinceWaitsForTheNextLaunch() {
        var pushes = self.pushes()
        #expect(pushes.count(of: self.app) == 3)
        let (other, early) = (pushes.answered(7, by: AppID("org.example.B")), pushes.answered(6, by: self.app))
        #expect(other.isEmpty && early.isEmpty)
        let first = pushes.answered(7, by: self.app)
        #expect(first == [1, 2] && pushes.count(of: self.app) == 1)
        pushes.begin(8, of: self.app)
        let second = pushes.answered(8, by: self.app)
        #expect(second == [3] && pushes.count(of: self.app) == 0)
    }

    /// Tried once more, it is for all who wait by then.
    @Test func aLaunchThatFailedIsTriedAgainForAll() {
        var pushes = self.pushes()
        pushes.begin(8, of: self.app)
        let late = pushes.answered(7, by: self.app)
        let all = pushes.answered(8, by: self.app)
        #expect(late.isEmpty && all == [1, 2, 3])
    }

    /// The launch failed and is of no use any more, and another one is for who came since; or none is.
    @Test func whoIsGivenUpIsToldSo() {
        var pushes = self.pushes()
        let first = pushes.gaveUp(self.app, until: self.time(11), besides: 8)
        #expect(first == [1, 2] && pushes.count(of: self.app) == 1)
        let second = pushes.gaveUp(self.app, until: self.time(12), besides: nil)
        #expect(second == [3] && pushes.count(of: self.app) == 0)
    }

    /// What waits behind a launch may be given up before that is over.
    @Test func whoIsBeingLaunchedForIsNotGivenUp() {
        var pushes = self.pushes()
        let given = pushes.gaveUp(self.app, until: self.time(12), besides: 7)
        let answered = pushes.answered(7, by: self.app)
        #expect(given == [3] && answered == [1, 2])
    }
}
