import EventLoop
import Glibc
import Testing

@Suite struct RoundTests {
    @Test func readableDescriptorRunsItsHandler() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        var seen: [EventLoop.Readiness] = []
        let watch = try loop.watch(pipe.reader.raw, for: .read) { seen.append($0) }
        #expect(try !loop.runOnce(timeout: 0))
        #expect(write(pipe.writer.raw, "x", 1) == 1)
        #expect(try loop.runOnce(timeout: 0))
        #expect(seen == [.read])
        loop.cancel(watch)
        #expect(try !loop.runOnce(timeout: 0))
        #expect(seen == [.read])
    }

    @Test func timersRunInOrderOfDeadlineThenOfScheduling() throws {
        let loop = try EventLoop()
        var order: [Int] = []
        let now = Clock.monotonic.now()
        loop.once(at: now + 2) { order.append(3) }
        loop.once(at: now + 1) { order.append(1) }
        loop.once(at: now + 1) { order.append(2) }
        loop.once(after: 2_000) { loop.stop() }
        try loop.run()
        #expect(order == [1, 2, 3])
    }

    @Test func signalsArriveOnTheLoop() async {
        // In a process of its own: the mask that onSignals leaves behind must not reach other tests.
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            var seen: [Int32] = []
            try loop.onSignals([SIGUSR1, SIGTERM]) {
                seen.append($0)
                loop.stop()
            }
            // To this thread: the test runner has others, which block nothing.
            raise(SIGTERM)
            try loop.run()
            exit(seen == [SIGTERM] ? 0 : 1)
        }
    }
}
