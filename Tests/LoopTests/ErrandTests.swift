import Glibc
import Loop
import Testing

@Suite(.timeLimit(.minutes(1))) struct ErrandTests {
    /// Holds a piece up until the test lets it go.
    private final class Gate: Sendable {
        private let isOpen = Monitor(false, canListen: false)

        func open() { self.isOpen.change { ($0 = true, true) } }
        func pass() { self.isOpen.wait { $0 ? .done(()) : .wait(until: nil) } }
    }

    private static let hour: Int64 = 3_600_000_000

    @Test func piecesAreDoneInTheirOrderElsewhere() throws {
        let loop = try EventLoop()
        let errands = Errands(on: loop)
        let own = pthread_self()
        var found: [Int] = []
        for number in 0..<100 {
            errands.run(
                { pthread_equal(pthread_self(), own) == 0 ? number : -1 }, patience: Self.hour,
                overdue: { Issue.record("nothing takes an hour") }, then: { found.append($0) })
        }
        #expect(found.isEmpty && errands.count == 100)
        try loop.run { found.count == 100 }
        #expect(found == Array(0..<100) && errands.count == 0)
        // Nothing is left that would wake the loop, but the thread's last word, which may come after what it tells was seen.
        _ = try loop.runOnce(timeout: 100_000)
        #expect(try !loop.runOnce(timeout: 1_000))
        // The thread is gone, or looks once more: whatever comes now is done.
        errands.run({ 7 }, patience: Self.hour, overdue: {}, then: { found = [$0] })
        try loop.run { found == [7] }
    }

    @Test func whatDoesNotComeBackIsTold() throws {
        let loop = try EventLoop()
        let errands = Errands(on: loop)
        let gate = Gate()
        var order: [String] = []
        errands.run(
            { gate.pass() }, patience: 1_000, overdue: { order.append("overdue") }, then: { order.append("back") })
        errands.run({}, patience: Self.hour, overdue: { order.append("no") }, then: { order.append("next") })
        try loop.run { !order.isEmpty }
        #expect(order == ["overdue"] && errands.count == 2)
        gate.open()
        try loop.run { order.count == 3 }
        #expect(order == ["overdue", "back", "next"])
    }

    /// What is done by the time the loop comes back was not late.
    @Test func aLoopThatWasAwayIsNotTold() throws {
        let loop = try EventLoop()
        let errands = Errands(on: loop)
        let gate = Gate()
        var order: [String] = []
        errands.run({}, patience: 1, overdue: { order.append("overdue") }, then: { order.append("back") })
        // It begins when the one before it is done.
        errands.run({ gate.open() }, patience: Self.hour, overdue: {}, then: { order.append("next") })
        gate.pass()
        try loop.run { order.count == 2 }
        #expect(order == ["back", "next"])
    }

    /// A program that was stopped was so with all of its threads: what comes back right behind the loop was not late either.
    @Test func whatComesBackWithTheLoopWasNotLate() throws {
        let loop = try EventLoop()
        let errands = Errands(on: loop)
        let gate = Gate()
        var order: [String] = []
        errands.run(
            { gate.pass() }, patience: 1_000, overdue: { order.append("overdue") }, then: { order.append("back") })
        // It is due behind that.
        loop.once(after: 2_000) { gate.open() }
        let away = Clock.monotonic.now() + 50_000
        while Clock.monotonic.now() < away {}
        try loop.run { !order.isEmpty }
        #expect(order == ["back"])
    }
}
