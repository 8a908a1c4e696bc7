import Glibc
import Loop
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoopTests {
    @Test func idleLoopMakesNoWakeUps() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        let watch = try loop.watch(pipe.reader.raw, for: .read) { _ in }
        // A timer that was armed and cancelled must not come back as a wake-up.
        loop.cancel(loop.schedule(after: 5_000) { Issue.record("cancelled") })
        loop.cancel(loop.schedule(after: 5_000, on: .boottime) { Issue.record("cancelled") })
        let wakeup = loop.wakeup { loop.stop() }
        onThread {
            usleep(40_000)
            wakeup.fire()
        }
        try loop.run()
        #expect(loop.rounds == 1)
        loop.cancel(watch)
    }

    @Test func timeoutEndsTheWaitAndNotBefore() throws {
        let loop = try EventLoop()
        for timeout in [1 as Int64, 999, 1_000, 1_001, 2_500] {
            let start = Clock.monotonic.now()
            #expect(try !loop.runOnce(timeout: timeout))
            #expect(Clock.monotonic.now() - start >= timeout)
        }
        #expect(try !loop.runOnce(timeout: .min))
    }

    @Test func stopBeforeTheStartCountsAndOnlyOnce() throws {
        let loop = try EventLoop()
        loop.stop()
        try loop.run()
        #expect(loop.rounds == 0)
        loop.once(after: 0) { loop.stop() }
        try loop.run()
        #expect(loop.rounds == 1)
    }

    @Test func stopFinishesTheRound() throws {
        let loop = try EventLoop()
        var order: [Int] = []
        loop.once(at: 1) {
            loop.stop()
            order.append(1)
        }
        loop.once(at: 2) { order.append(2) }
        loop.defer { order.append(3) }
        while loop.rounds == 0 { try loop.run() }
        #expect(order == [1, 2, 3])
    }

    @Test func deferredWorkRunsAfterTheBatchInOrder() throws {
        let loop = try EventLoop()
        let first = try Pipe()
        let second = try Pipe()
        first.fill()
        second.fill()
        var order: [String] = []
        for (descriptor, name) in [(first.reader.raw, "a"), (second.reader.raw, "b")] {
            _ = try loop.watch(descriptor, for: .read) { _ in
                order.append("event")
                loop.defer { order.append("deferred \(name)") }
            }
        }
        try loop.runOnce(timeout: 0)
        #expect(order.prefix(2) == ["event", "event"])
        #expect(order.suffix(2).sorted() == ["deferred a", "deferred b"])
    }

    @Test func workDeferredByDeferredWorkLeavesRoomForTheRest() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        pipe.fill()
        var order: [String] = []
        _ = try loop.watch(pipe.reader.raw, for: .read) { _ in order.append("event") }
        let timer = loop.schedule(at: 0) { order.append("timer") }
        func again() {
            order.append("work")
            loop.defer(again)
        }
        loop.defer(again)
        for _ in 0..<3 {
            // Although it would wait: there is work.
            #expect(try loop.runOnce(timeout: nil))
            loop.reschedule(timer, at: 0)
        }
        #expect(order == ["timer", "event", "work", "timer", "event", "work", "timer", "event", "work"])
    }

    /// Defers work when it goes.
    private final class Parting {
        private let loop: EventLoop
        private let work: () -> Void

        init(_ loop: EventLoop, _ work: @escaping () -> Void) {
            self.loop = loop
            self.work = work
        }

        deinit {
            let work = self.work
            self.loop.defer(work)
        }
    }

    @Test func whatIsReleasedWithDeferredWorkMayDeferWork() throws {
        let loop = try EventLoop()
        var order: [String] = []
        do {
            let parting = Parting(loop) { order.append("parting") }
            loop.defer { withExtendedLifetime(parting) { order.append("work") } }
        }
        _ = try loop.runOnce(timeout: 0)
        _ = try loop.runOnce(timeout: 0)
        #expect(order == ["work", "parting"])
    }

    @Test func betweenRoundsTheLoopMayBeRun() throws {
        let loop = try EventLoop()
        var order: [String] = []
        loop.between {
            order.append("begins")
            var isOver = false
            loop.once(after: 1_000) { isOver = true }
            loop.between { order.append("within") }
            try? loop.run { isOver }
            order.append("ends")
        }
        // For whoever nests the loop: what is to be done makes it readable.
        var entry = pollfd(fd: loop.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 0) == 1)
        _ = try loop.runOnce(timeout: 0)
        #expect(order == ["begins", "within", "ends"])
    }

    @Test func deferredWorkKeepsARunningLoopAwake() throws {
        let loop = try EventLoop()
        var count = 0
        func again() {
            count += 1
            if count == 5 { loop.stop() } else { loop.defer(again) }
        }
        loop.defer(again)
        try loop.run()
        #expect(count == 5)
        #expect(loop.rounds == 5)
    }

    @Test func wakeupsFromOtherThreadsAllArrive() throws {
        let loop = try EventLoop()
        final class Tally: Sendable { let sent = Atomic<Int>(0) }
        let tally = Tally()
        let perThread = 2_000
        let threads = 4
        var seen = 0
        let wakeup = loop.wakeup {
            // What was counted before a call must be visible in the handler that the call brought about.
            seen = tally.sent.load(ordering: .relaxed)
            if seen == threads * perThread { loop.stop() }
        }
        for _ in 0..<threads {
            onThread {
                for _ in 0..<perThread {
                    tally.sent.add(1, ordering: .relaxed)
                    wakeup.fire()
                }
            }
        }
        try loop.run()
        #expect(seen == threads * perThread)
    }

    @Test func wakeupsAreToldApartAndCountOnce() throws {
        let loop = try EventLoop()
        var heard: [Int] = []
        let first = loop.wakeup { heard.append(1) }
        let second = loop.wakeup { heard.append(2) }
        second.fire()
        second.fire()
        #expect(try loop.runOnce(timeout: nil))
        #expect(heard == [2])
        first.fire()
        second.fire()
        loop.cancel(second)
        #expect(try loop.runOnce(timeout: nil))
        #expect(heard == [2, 1])
        second.fire()
        #expect(try !loop.runOnce(timeout: 0))
    }

    @Test func wakeupOutlivesItsLoop() throws {
        let wakeup = try EventLoop().wakeup()
        wakeup.fire()
        wakeup.fire()
    }

    @Test func loopsLeaveNothingOpen() async {
        await #expect(processExitsWith: .success) {
            func openDescriptors() -> Int { (0..<1024).count { fcntl($0, F_GETFD) >= 0 } }
            let before = openDescriptors()
            for _ in 0..<100 {
                let loop = try EventLoop()
                try loop.onSignals([SIGUSR1]) { _ in }
                try loop.runOnce(timeout: 0)
            }
            // The test runner opens a few of its own meanwhile; one left by each loop would be a hundred.
            exit(openDescriptors() < before + 50 ? 0 : 1)
        }
    }
}

@Suite struct DescriptorTests {
    @Test func errorsReadAsPeopleExpect() {
        #expect(SystemError(code: ENOENT, function: "open").description == "open: No such file or directory (2)")
        #expect(SystemError(code: 99_999, function: "f").description == "f: Unknown error 99999 (99999)")
    }

    @Test func failedCallThrowsWhatErrnoSaid() {
        #expect(throws: SystemError(code: ENOENT, function: "open")) {
            try systemCall("open") { open("/nowhere/at/all", O_RDONLY) }
        }
    }

    @Test func interruptedCallIsMadeAgain() throws {
        var calls = 0
        let result = try systemCall("nothing") { () -> Int32 in
            calls += 1
            guard calls == 3 else {
                errno = EINTR
                return -1
            }
            return 7
        }
        #expect(result == 7)
        #expect(calls == 3)
    }

    @Test(arguments: [EBADF, EFAULT])
    func ourOwnMistakesEndTheProcess(_ code: Int32) async {
        await #expect(processExitsWith: .failure) { [code] in
            _ = try systemCall("nothing") { () -> Int32 in
                errno = code
                return -1
            }
        }
    }

    @Test func releasedDescriptorStaysOpen() throws {
        let raw = try Pipe().reader.duplicate().release()
        #expect(fcntl(raw, F_GETFD) == FD_CLOEXEC)
        #expect(close(raw) == 0)
    }

    @Test func doubleCloseEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let descriptor = try Pipe().reader.duplicate()
            close(descriptor.raw)
        }
    }

    @Test func blockingCanBeTurnedOffAndOn() throws {
        let pipe = try Pipe(isBlocking: true)
        #expect(fcntl(pipe.reader.raw, F_GETFL) & O_NONBLOCK == 0)
        try pipe.reader.setBlocking(false)
        #expect(fcntl(pipe.reader.raw, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(pipe.writer.raw, F_GETFL) & O_NONBLOCK == 0)
    }

    @Test func descriptorLimitIsRaisedToWhatIsAllowed() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 64
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            raiseDescriptorLimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            exit(limit.rlim_cur == limit.rlim_max && limit.rlim_cur > 64 ? 0 : 1)
        }
    }
}
