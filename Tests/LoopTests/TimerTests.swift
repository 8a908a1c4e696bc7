import Glibc
import Loop
import Testing

@Suite(.timeLimit(.minutes(1))) struct TimerTests {
    @Test(arguments: [Clock.monotonic, .boottime])
    func runsAtItsDeadlineAndNotBefore(_ clock: Clock) throws {
        let loop = try EventLoop()
        let deadline = clock.now() + 5_000
        var ranAt: Int64 = 0
        loop.once(at: deadline, on: clock) {
            ranAt = clock.now()
            loop.stop()
        }
        try loop.run()
        #expect(ranAt >= deadline)
        // One wake-up, for the timer.
        #expect(loop.rounds == 1)
    }

    @Test func orderIsByDeadlineThenByScheduling() throws {
        let loop = try EventLoop()
        var order: [Int] = []
        let now = Clock.monotonic.now()
        loop.once(at: now - 1) { order.append(3) }
        loop.once(at: now - 2) { order.append(1) }
        loop.once(at: now - 2) { order.append(2) }
        try loop.runOnce(timeout: nil)
        #expect(order == [1, 2, 3])
    }

    @Test(arguments: [Int64.min, -1, 0, 1])
    func deadlineLongPastIsDueNow(_ deadline: Int64) throws {
        let loop = try EventLoop()
        var count = 0
        loop.once(at: deadline) { count += 1 }
        loop.once(at: deadline, on: .boottime) { count += 1 }
        while count < 2 { try loop.runOnce(timeout: nil) }
        #expect(try !loop.runOnce(timeout: 0))
    }

    @Test func deadlineAtTheEndOfTimeIsAccepted() throws {
        let loop = try EventLoop()
        let timer = loop.schedule(at: .max) { Issue.record("the end of time") }
        loop.once(after: .max) { Issue.record("the end of time") }
        #expect(try !loop.runOnce(timeout: 1_000))
        loop.cancel(timer)
    }

    @Test func firedTimerCanBeRescheduledAndACancelledOneCannot() throws {
        let loop = try EventLoop()
        var count = 0
        let timer = loop.schedule(after: 0) { count += 1 }
        try loop.runOnce(timeout: nil)
        #expect(try !loop.runOnce(timeout: 0))
        loop.reschedule(timer, at: 0)
        try loop.runOnce(timeout: nil)
        #expect(count == 2)
        loop.reschedule(timer, after: 0)
        loop.cancel(timer)
        loop.reschedule(timer, at: 0)
        #expect(try !loop.runOnce(timeout: 0))
        #expect(count == 2)
    }

    @Test func timerIsMadeWhenItIsFirstSetAndMovedFromThenOn() throws {
        let loop = try EventLoop()
        var (made, ran) = (0, [Int]())
        var timer: EventLoop.TimerID?
        func handler() -> () -> Void {
            made += 1
            return { [made] in ran.append(made) }
        }
        loop.set(&timer, at: nil, handler())
        #expect(timer == nil && made == 0)
        loop.set(&timer, at: .max, handler())
        let first = try #require(timer)
        // Earlier than before, and again once it has run.
        for time in [Int64(1), 0] {
            loop.set(&timer, at: time, handler())
            #expect(timer == first)
            try loop.runOnce(timeout: nil)
        }
        #expect(made == 1 && ran == [1, 1])
        loop.set(&timer, after: 0, handler())
        loop.set(&timer, at: nil, handler())
        #expect(try timer == nil && !loop.runOnce(timeout: 1_000))
        loop.set(&timer, after: 0, on: .boottime, handler())
        #expect(timer != first)
        try loop.runOnce(timeout: nil)
        #expect(made == 2 && ran == [1, 1, 2])
        loop.set(&timer, after: 0, on: .boottime, handler())
        loop.cancel(&timer)
        loop.cancel(&timer)
        #expect(try timer == nil && !loop.runOnce(timeout: 1_000))
    }

    @Test func handlerMayCancelAnotherThatIsDue() throws {
        let loop = try EventLoop()
        var second: EventLoop.TimerID?
        var order: [Int] = []
        loop.once(at: 1) {
            order.append(1)
            if let second { loop.cancel(second) }
        }
        second = loop.schedule(at: 2) { order.append(2) }
        loop.once(at: 3) { order.append(3) }
        try loop.runOnce(timeout: nil)
        #expect(order == [1, 3])
    }

    @Test func handlerThatReschedulesItselfForNowDoesNotHoldUpTheRound() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        pipe.fill()
        var own: EventLoop.TimerID?
        var ticks = 0
        var reads = 0
        own = loop.schedule(at: 0) {
            ticks += 1
            if let own { loop.reschedule(own, at: 0) }
        }
        let watch = try loop.watch(pipe.reader.raw, for: .read) { _ in reads += 1 }
        for _ in 0..<10 { try loop.runOnce(timeout: nil) }
        #expect(ticks == 10)
        #expect(reads == 10)
        loop.cancel(watch)
    }

    @Test func dueTimersRunThoughDescriptorsAreAlwaysReady() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        pipe.fill()
        var copies: [Int32] = []
        for _ in 0..<(4 * EventLoop.batch) {
            copies.append(try pipe.reader.duplicate().release())
            _ = try loop.watch(copies[copies.count - 1], for: .read) { _ in }
        }
        var ticks = 0
        var own: EventLoop.TimerID?
        own = loop.schedule(at: 0) {
            ticks += 1
            if let own { loop.reschedule(own, at: 0) }
        }
        for _ in 0..<8 { try loop.runOnce(timeout: nil) }
        #expect(ticks == 8)
        for copy in copies { close(copy) }
    }

    /// A program that was stopped, or had no processor, takes what came meanwhile for what came in time, all of it.
    @Test(arguments: [Clock.monotonic, .boottime]) func whoWasNotThereReadsFirst(_ clock: Clock) throws {
        let loop = try EventLoop()
        let early = try Pipe()
        let late = try Pipe()
        var order: [String] = []
        _ = try loop.watch(early.reader.raw, for: .read) { _ in
            order.append("first")
            _ = drain(early.reader.raw)
            loop.defer { late.fill() }
        }
        _ = try loop.watch(late.reader.raw, for: .read) { _ in
            order.append("second")
            _ = drain(late.reader.raw)
        }
        loop.once(at: clock.now() + 1_000, on: clock) {
            order.append("timer")
            loop.stop()
        }
        early.fill()
        let away = clock.now() + 30_000
        while clock.now() < away {}
        try loop.run()
        #expect(order == ["first", "second", "timer"])
    }

    /// It reads for a while: whoever sends without end holds up no timer for good.
    @Test func whoWasNotThereDoesNotReadForEver() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        pipe.fill()
        var isTime = false
        _ = try loop.watch(pipe.reader.raw, for: .read) { _ in }
        loop.once(after: 1_000) { isTime = true }
        let start = Clock.monotonic.now()
        while Clock.monotonic.now() < start + 30_000 {}
        while !isTime { try loop.runOnce(timeout: nil) }
        #expect(Clock.monotonic.now() - start >= 1_030_000)
    }

    @Test func earliestTimerWakesTheLoopAlsoAfterChanges() throws {
        let loop = try EventLoop()
        let late = loop.schedule(after: 60_000_000) { Issue.record("too late") }
        let early = loop.schedule(after: 50_000_000) { loop.stop() }
        // Each of these has to reach the kernel: forgotten, the loop would sleep for a minute.
        loop.reschedule(early, at: Clock.monotonic.now() + 1_000)
        try loop.run()
        loop.once(after: 0) { loop.reschedule(early, after: 1_000) }
        try loop.run()
        loop.cancel(late)
    }
}
