import Glibc
import Loop
import Testing

@Suite(.timeLimit(.minutes(1))) struct BoundedWaitTests {
    /// How a call ends that waits for five seconds.
    private func wait() -> (result: Int32, code: Int32) {
        let result = usleep(5_000_000)
        return (result, errno)
    }

    @Test(arguments: [-1, 0, 1, 20_000]) func aCallThatWaitsEnds(_ microseconds: Int64) {
        let bound = BoundedWait(microseconds)
        let (result, code) = self.wait()
        bound.cancel()
        #expect(result == -1 && code == EINTR && bound.isOver)
    }

    /// It is for one thread, and another has its own.
    @Test func whatOtherThreadsWaitInGoesOn() {
        let isOver = Monitor(false, canListen: false)
        let bound = BoundedWait(Self.hour)
        onThread {
            let bound = BoundedWait(1_000)
            _ = usleep(5_000_000)
            bound.cancel()
            isOver.change { ($0 = true, true) }
        }
        isOver.wait { $0 ? .done(()) : .wait(until: nil) }
        #expect(!bound.isOver)
        bound.cancel()
        let result = usleep(30_000)
        #expect(result == 0, "nothing interrupts what waits once it is taken back")
    }

    private static let hour: Int64 = 3_600_000_000
}
