import Glibc
import Loop
import Testing

@Suite(.timeLimit(.minutes(1))) struct WatchTests {
    /// Runs rounds until something holds, or for five seconds.
    ///
    /// A descriptor that is closed here lives on for a moment in a child that another test is just starting.
    private func run(_ loop: EventLoop, until isDone: () -> Bool) throws {
        let end = Clock.monotonic.now() + 5_000_000
        while !isDone(), Clock.monotonic.now() < end { try loop.runOnce(timeout: 1_000) }
    }

    @Test func readableDescriptorRunsItsHandlerUntilCancelled() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        var seen: [EventLoop.Readiness] = []
        let watch = try loop.watch(pipe.reader.raw, for: .read) { seen.append($0) }
        #expect(try !loop.runOnce(timeout: 0))
        pipe.fill()
        #expect(try loop.runOnce(timeout: 0))
        #expect(try loop.runOnce(timeout: 0))
        #expect(seen == [.read, .read])
        loop.cancel(watch)
        loop.cancel(watch)
        #expect(try !loop.runOnce(timeout: 0))
        #expect(seen.count == 2)
    }

    @Test func changedInterestCounts() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        var count = 0
        let watch = try loop.watch(pipe.writer.raw, for: []) { _ in count += 1 }
        #expect(try !loop.runOnce(timeout: 0))
        try loop.update(watch, for: .write)
        #expect(try loop.runOnce(timeout: 0))
        try loop.update(watch, for: [])
        #expect(try !loop.runOnce(timeout: 0))
        try loop.update(watch, for: .write)
        #expect(try loop.runOnce(timeout: 0))
        #expect(count == 2)
        loop.cancel(watch)
        try loop.update(watch, for: .write)
        #expect(try !loop.runOnce(timeout: 0))
    }

    @Test func twoWatchesOfOneDescriptorEachHearTheirOwn() throws {
        let loop = try EventLoop()
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let ours = OwnedDescriptor(adopting: ends[0])
        let theirs = OwnedDescriptor(adopting: ends[1])
        var heard: [String] = []
        let reading = try loop.watch(ours.raw, for: .read) { heard.append("read \($0.rawValue)") }
        let writing = try loop.watch(ours.raw, for: .write) { heard.append("write \($0.rawValue)") }
        try loop.runOnce(timeout: 0)
        #expect(heard == ["write 2"])
        #expect(send(theirs.raw, "x", 1, 0) == 1)
        heard = []
        try loop.runOnce(timeout: 0)
        #expect(heard == ["read 1", "write 2"])
        try loop.update(writing, for: [])
        heard = []
        try loop.runOnce(timeout: 0)
        #expect(heard == ["read 1"])
        loop.cancel(reading)
        heard = []
        #expect(try !loop.runOnce(timeout: 0))
        try loop.update(writing, for: .write)
        try loop.runOnce(timeout: 0)
        #expect(heard == ["write 2"])
        loop.cancel(writing)
    }

    @Test func hangUpIsToldWithoutBeingAskedFor() throws {
        let loop = try EventLoop()
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let ours = OwnedDescriptor(adopting: ends[0])
        var reading: EventLoop.Readiness = []
        var writing: EventLoop.Readiness = []
        let watches = try [
            loop.watch(ours.raw, for: .read) { reading = $0 },
            loop.watch(ours.raw, for: .write) { writing = $0 },
        ]
        let silent = try loop.watch(ours.raw, for: []) { _ in Issue.record("a silent watch heard something") }
        close(ends[1])
        try self.run(loop, until: { reading.contains(.hangUp) })
        #expect(reading == [.read, .hangUp])
        #expect(writing == [.write, .hangUp])
        // Only the silent watch is left: a dead descriptor must not keep the loop awake for it.
        for watch in watches { loop.cancel(watch) }
        #expect(try !loop.runOnce(timeout: 0))
        loop.cancel(silent)
    }

    @Test func writerWithoutAReaderHasFailed() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        let writer = try pipe.writer.duplicate()
        let reader = try pipe.reader.duplicate()
        func drop(_ pipe: consuming Pipe, _ reader: consuming OwnedDescriptor) {}
        drop(pipe, reader)
        var seen: EventLoop.Readiness = []
        let watch = try loop.watch(writer.raw, for: .write) { seen = $0 }
        try self.run(loop, until: { seen.contains(.failed) })
        #expect(seen.contains(.failed))
        loop.cancel(watch)
    }

    @Test func handlerMayCancelItself() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        pipe.fill()
        var count = 0
        var watch: EventLoop.Registration?
        watch = try loop.watch(pipe.reader.raw, for: .read) { _ in
            count += 1
            if let watch { loop.cancel(watch) }
        }
        try loop.runOnce(timeout: 0)
        #expect(try !loop.runOnce(timeout: 0))
        #expect(count == 1)
    }

    @Test func cancelledWatchMissesEventsThatWereFetchedAlready() throws {
        let loop = try EventLoop()
        let first = try Pipe()
        let second = try Pipe()
        first.fill()
        second.fill()
        var watches: [EventLoop.Registration] = []
        var count = 0
        // Whichever is first silences the other.
        func handler(other: Int) -> (EventLoop.Readiness) -> Void {
            { _ in
                count += 1
                loop.cancel(watches[other])
            }
        }
        watches.append(try loop.watch(first.reader.raw, for: .read, handler(other: 1)))
        watches.append(try loop.watch(second.reader.raw, for: .read, handler(other: 0)))
        try loop.runOnce(timeout: 0)
        #expect(count == 1)
    }

    @Test func watchSilencedByAnEarlierHandlerMissesTheEvent() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        pipe.fill()
        var second: EventLoop.Registration?
        var heard = 0
        let first = try loop.watch(pipe.reader.raw, for: .read) { _ in
            guard let second else { return }
            #expect(throws: Never.self) { try loop.update(second, for: []) }
        }
        second = try loop.watch(pipe.reader.raw, for: .read) { _ in heard += 1 }
        try loop.runOnce(timeout: 0)
        #expect(heard == 0)
        loop.cancel(first)
    }

    @Test func watchAddedByAHandlerWaitsForTheNextRound() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        pipe.fill()
        let reader = pipe.reader.raw
        var added: EventLoop.Registration?
        var heard = 0
        _ = try loop.watch(reader, for: .read) { _ in
            guard added == nil else { return }
            added = try? loop.watch(reader, for: .read) { _ in heard += 1 }
        }
        try loop.runOnce(timeout: 0)
        #expect(added != nil)
        #expect(heard == 0)
        try loop.runOnce(timeout: 0)
        #expect(heard == 1)
    }

    @Test func eventsOfAReusedNumberAreDropped() throws {
        let loop = try EventLoop()
        let first = try Pipe()
        let second = try Pipe()
        let quiet = try Pipe()
        first.fill()
        second.fill()
        let numbers = [first.reader.raw, second.reader.raw]
        let replacement = quiet.reader.raw
        var watches: [EventLoop.Registration] = []
        var ran = 0
        var wrong = 0
        // Whichever is first closes the other's descriptor and gives its number to a pipe with nothing in it.
        func handler(other: Int) -> (EventLoop.Readiness) -> Void {
            { _ in
                ran += 1
                for watch in watches { loop.cancel(watch) }
                #expect(dup2(replacement, numbers[other]) == numbers[other])
                #expect(throws: Never.self) {
                    watches[other] = try loop.watch(numbers[other], for: .read) { _ in wrong += 1 }
                }
            }
        }
        watches.append(try loop.watch(numbers[0], for: .read, handler(other: 1)))
        watches.append(try loop.watch(numbers[1], for: .read, handler(other: 0)))
        try loop.runOnce(timeout: 0)
        #expect(ran == 1)
        #expect(wrong == 0)
        quiet.fill()
        try loop.runOnce(timeout: 0)
        #expect(wrong == 1)
        for watch in watches { loop.cancel(watch) }
    }

    @Test func releasedCapturesMayUseTheLoop() throws {
        final class Guest {
            let onEnd: () -> Void
            init(_ onEnd: @escaping () -> Void) { self.onEnd = onEnd }
            deinit { self.onEnd() }
        }
        let loop = try EventLoop()
        let pipe = try Pipe()
        let reader = pipe.reader.raw
        let other = try loop.watch(reader, for: []) { _ in }
        var guest: Guest? = Guest {
            loop.cancel(other)
            loop.once(after: 0) {}
            loop.defer {}
        }
        weak let witness = guest
        let watch = try loop.watch(reader, for: .read) { [guest] _ in _ = guest }
        let timer = loop.schedule(after: 1_000_000) { [guest] in _ = guest }
        loop.defer { [guest] in _ = guest }
        guest = nil
        loop.cancel(timer)
        loop.cancel(watch)
        #expect(witness != nil)
        try loop.runOnce(timeout: 0)
        #expect(witness == nil)
        #expect(try loop.runOnce(timeout: 0))
    }

    @Test func regularFileIsAlwaysReady() throws {
        let loop = try EventLoop()
        let file = OwnedDescriptor(adopting: try systemCall("open") { open("/proc/self/exe", O_RDONLY | O_CLOEXEC) })
        let pipe = try Pipe()
        pipe.fill()
        var heard: [String] = []
        let watch = try loop.watch(file.raw, for: .read) { heard.append("file \($0.rawValue)") }
        let other = try loop.watch(pipe.reader.raw, for: .read) { _ in heard.append("pipe") }
        for _ in 0..<3 { #expect(try loop.runOnce(timeout: nil)) }
        #expect(heard == ["pipe", "file 1", "pipe", "file 1", "pipe", "file 1"])
        loop.cancel(other)
        try loop.update(watch, for: [])
        #expect(try !loop.runOnce(timeout: 0))
        try loop.update(watch, for: .read)
        #expect(try loop.runOnce(timeout: nil))
        loop.cancel(watch)
        #expect(try !loop.runOnce(timeout: 0))
    }

    @Test func descriptorsBeyondOneBatchAllGetTheirTurn() throws {
        let loop = try EventLoop()
        let pipe = try Pipe()
        pipe.fill()
        let count = 3 * EventLoop.batch
        var copies: [Int32] = []
        var turns = [Int](repeating: 0, count: count)
        for index in 0..<count {
            copies.append(try pipe.reader.duplicate().release())
            _ = try loop.watch(copies[index], for: .read) { _ in turns[index] += 1 }
        }
        for _ in 0..<3 { try loop.runOnce(timeout: 0) }
        #expect(turns == [Int](repeating: 1, count: count))
        for copy in copies { close(copy) }
    }

    @Test func nestedLoopRunsFromAnother() throws {
        let inner = try EventLoop()
        let outer = try EventLoop()
        var heard: [String] = []
        let watch = try outer.watch(inner.descriptor, for: .read) { _ in
            #expect(throws: Never.self) { try inner.runOnce(timeout: 0) }
        }
        inner.defer {
            heard.append("deferred")
            inner.defer {
                heard.append("deferred again")
                inner.once(after: 1_000) {
                    heard.append("timer")
                    outer.stop()
                }
            }
        }
        try outer.run()
        #expect(heard == ["deferred", "deferred again", "timer"])
        outer.cancel(watch)
    }

    @Test func badDescriptorEndsTheProcess() async {
        await #expect(processExitsWith: .signal(SIGILL)) {
            let loop = try EventLoop()
            _ = try loop.watch(987_654, for: .read) { _ in }
        }
    }

    @Test func runningTheLoopFromItsHandlerEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            loop.defer { try? loop.run() }
            try loop.runOnce(timeout: 0)
        }
    }
}
