@testable import Arbitration
import BrokerCore
import Motion
import Testing

/// Who is answered when an app has answered the launch that somebody wanted, and when it is not launched.
@Suite struct WaitingPushesTests {
    private let app = AppID("org.example.A")

    private func wish(_ seconds: Int64, of user: UInt32? = nil) -> LaunchRequest {
        LaunchRequest(self.app, .push, ends: .zero + .seconds(seconds), of: user)
    }

    private func launch(_ number: UInt64, of app: AppID? = nil, _ user: UInt32? = nil) -> Launch {
        Launch(
            number: number, app: app ?? self.app, reason: .push, isCold: true, timeout: .seconds(5), user: user)
    }

    /// Two who wait for the launch that is under way, and one who came since.
    private func pushes() -> WaitingPushes<Int> {
        var pushes = WaitingPushes<Int>()
        pushes.add(1, for: self.wish(10))
        pushes.add(2, for: self.wish(11))
        pushes.begin(self.launch(7))
        pushes.add(3, for: self.wish(12))
        return pushes
    }

    @Test func whoCameSinceWaitsForTheNextLaunch() {
        var pushes = self.pushes()
        #expect(pushes.count(of: self.app) == 3)
        let other = pushes.answered(self.launch(7, of: AppID("org.example.B")))
        let early = pushes.answered(self.launch(6))
        #expect(other.isEmpty && early.isEmpty)
        let first = pushes.answered(self.launch(7))
        #expect(first == [1, 2] && pushes.count(of: self.app) == 1)
        pushes.begin(self.launch(8))
        let second = pushes.answered(self.launch(8))
        #expect(second == [3] && pushes.count(of: self.app) == 0)
    }

    /// Tried once more, it is for all who wait by then.
    @Test func aLaunchThatFailedIsTriedAgainForAll() {
        var pushes = self.pushes()
        pushes.begin(self.launch(8))
        let late = pushes.answered(self.launch(7))
        let all = pushes.answered(self.launch(8))
        #expect(late.isEmpty && all == [1, 2, 3])
    }

    /// The launch failed and is of no use any more, and another one is for who came since; or none is.
    @Test func whoIsGivenUpIsToldSo() {
        var pushes = self.pushes()
        let first = pushes.gaveUp(self.wish(11), besides: 8)
        #expect(first == [1, 2] && pushes.count(of: self.app) == 1)
        let second = pushes.gaveUp(self.wish(12), besides: nil)
        #expect(second == [3] && pushes.count(of: self.app) == 0)
    }

    /// What waits behind a launch may be given up before that is over.
    @Test func whoIsBeingLaunchedForIsNotGivenUp() {
        var pushes = self.pushes()
        let given = pushes.gaveUp(self.wish(12), besides: 7)
        let answered = pushes.answered(self.launch(7))
        #expect(given == [3] && answered == [1, 2])
    }

    /// Who wanted somebody's app does not wait for the launch of nobody's in particular, and is told when that app is given up.
    @Test func whoWantsAnotherUsersAppWaitsForAnotherLaunch() {
        var pushes = WaitingPushes<Int>()
        pushes.add(1, for: self.wish(10))
        pushes.add(2, for: self.wish(11, of: 1_000))
        pushes.begin(self.launch(7))
        let somebodys = pushes.gaveUp(self.wish(11, of: 1_000), besides: 7)
        #expect(somebodys == [2])
        let nobodys = pushes.gaveUp(self.wish(10), besides: nil)
        #expect(nobodys == [1] && pushes.count(of: self.app) == 0)
    }
}
