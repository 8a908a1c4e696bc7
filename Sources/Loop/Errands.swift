/// Work that a file system may hold up, done on a thread of its own, one piece after the other: the loop waits for none.
///
/// The thread is there only while there is something to do. A piece that does not come back holds up those behind it, and
/// the end of the process waits for none. Not `Sendable`: it belongs to the loop's thread.
package final class Errands {
    private unowned let loop: EventLoop
    private let desk = Monitor(Desk(), canListen: false)
    private var wakeup: Wakeup?
    /// What follows each piece that was handed over, in their order.
    private var endings: [() -> Void] = []
    /// So many of them are due.
    private var due = 0

    private struct Desk: Sendable {
        var pieces: [@Sendable () -> Void] = []
        /// So many are done, and not told yet.
        var done = 0
        /// The thread is there, and looks once more before it ends.
        var isServed = false

        /// The next piece; `nil`: the thread ends.
        mutating func next() -> (@Sendable () -> Void)? {
            self.isServed = !self.pieces.isEmpty
            return self.isServed ? self.pieces.removeFirst() : nil
        }
    }

    /// As much as the loop's thread has. What is not touched takes no memory.
    private static let stackBytes = 8 << 20

    package init(on loop: EventLoop) { self.loop = loop }

    deinit { if let wakeup { self.loop.cancel(wakeup) } }

    /// How many pieces are not done.
    package var count: Int { self.endings.count }

    /// Does `work` on the thread, and then `done` on the loop, in a turn.
    ///
    /// - Parameters:
    ///   - patience: How long `work` may take before that is told, in µs.
    ///   - overdue: Tells it, once and on the loop. `done` comes nevertheless, when `work` comes back.
    package func run<Result: Sendable>(
        _ work: @escaping @Sendable () -> Result, patience: Int64, overdue: @escaping () -> Void,
        then done: @escaping (Result) -> Void
    ) {
        let answer = Monitor<Result?>(nil, canListen: false)
        var due = DueTime(Clock.monotonic.now() + patience)
        var timer: EventLoop.TimerID?
        timer = self.loop.schedule(at: due.time) { [unowned loop] in
            // Where the loop itself was away, what is done by now, or in a moment, is not overdue.
            guard answer.withLock({ $0 == nil }) else { return }
            guard !due.isOverdue(at: Clock.monotonic.now()), let timer else { return overdue() }
            loop.reschedule(timer, at: due.time)
        }
        self.endings.append { [unowned loop] in
            if let timer { loop.cancel(timer) }
            if let result = answer.withLock({ $0.take() }) { done(result) }
        }
        self.start {
            let result = work()
            answer.withLock { $0 = result }
        }
    }

    private func start(_ piece: @escaping @Sendable () -> Void) {
        let wakeup = self.wakeup ?? self.loop.wakeup { [unowned self] in self.fetch() }
        self.wakeup = wakeup
        let isServed = self.desk.withLock { desk in
            desk.pieces.append(piece)
            defer { desk.isServed = true }
            return desk.isServed
        }
        guard !isServed else { return }
        let desk = self.desk
        // Where there can be no thread the loop waits: that is better than never.
        if !startThread(stackBytes: Self.stackBytes, { Self.work(at: desk, wakeup) }) { Self.work(at: desk, wakeup) }
    }

    /// Does what there is to do, on the thread.
    private static func work(at desk: Monitor<Desk>, _ wakeup: Wakeup) {
        while let piece = desk.withLock({ $0.next() }) {
            piece()
            desk.withLock { $0.done += 1 }
            wakeup.fire()
        }
    }

    /// Learns what is done. What follows is done in turns: it may be very much.
    private func fetch() {
        let isUnderWay = self.due > 0
        self.due += self.desk.withLock { desk in
            defer { desk.done = 0 }
            return desk.done
        }
        guard !isUnderWay, self.due > 0 else { return }
        self.loop.turns.add { [weak self] in self?.end() ?? false }
    }

    /// Does what follows one piece; false when no other one is done.
    private func end() -> Bool {
        self.due -= 1
        self.endings.removeFirst()()
        return self.due > 0
    }
}

@available(*, unavailable)
extension Errands: Sendable {}
