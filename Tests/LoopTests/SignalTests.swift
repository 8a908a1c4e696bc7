import Glibc
import Loop
import Testing

/// Each in a process of its own: the mask that `onSignals` leaves behind must not reach other tests. Signals are raised on
/// the loop's thread, because the test runner has other threads, which block nothing.
@Suite(.timeLimit(.minutes(1))) struct SignalTests {
    @Test func signalsArriveOnTheLoop() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            var seen: [Int32] = []
            try loop.onSignals([SIGUSR1, SIGTERM]) { seen.append($0) }
            raise(SIGTERM)
            raise(SIGUSR1)
            raise(SIGUSR1)
            try loop.runOnce(timeout: nil)
            exit(seen.sorted() == [SIGUSR1, SIGTERM] ? 0 : 1)
        }
    }

    @Test func laterCallAddsSignalsAndReplacesHandlers() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            var seen: [String] = []
            try loop.onSignals([SIGUSR1, SIGUSR2]) { seen.append("first \($0 == SIGUSR1)") }
            try loop.onSignals([SIGUSR1, SIGHUP]) { seen.append("second \($0 == SIGUSR1)") }
            raise(SIGUSR1)
            try loop.runOnce(timeout: nil)
            raise(SIGUSR2)
            try loop.runOnce(timeout: nil)
            raise(SIGHUP)
            try loop.runOnce(timeout: nil)
            exit(seen == ["second true", "first false", "second false"] ? 0 : 1)
        }
    }

    @Test func signalBeforeTheLoopRunsIsNotLost() async {
        await #expect(processExitsWith: .success) {
            var set = sigset_t()
            sigemptyset(&set)
            sigaddset(&set, SIGTERM)
            pthread_sigmask(SIG_BLOCK, &set, nil)
            raise(SIGTERM)
            let loop = try EventLoop()
            try loop.onSignals([SIGTERM]) { _ in loop.stop() }
            try loop.run()
            exit(0)
        }
    }
}
