extension EventLoop {
    /// Runs `handler` once, when the clock reaches `deadline`. Timers of one clock with equal deadlines run in order of scheduling.
    ///
    /// The timer lives until it is cancelled, also after it has fired, so that `reschedule` can use its handler again. Work
    /// that nobody will reschedule or cancel belongs in `once`.
    package func schedule(at deadline: Int64, on clock: Clock = .monotonic, _ handler: @escaping () -> Void) -> TimerID
    {
        let timers = self.timers(of: clock)
        let id = timers.queue.insert(at: deadline, firesOnce: false, handler)
        self.armIfNested(timers)
        return TimerID(clock: clock, id: id)
    }

    /// Runs `handler` once, when a number of microseconds has passed. The timer lives until it is cancelled.
    package func schedule(
        after microseconds: Int64, on clock: Clock = .monotonic, _ handler: @escaping () -> Void
    ) -> TimerID {
        self.schedule(at: self.deadline(after: microseconds, on: clock), on: clock, handler)
    }

    /// Runs `handler` once, when the clock reaches `deadline`, and forgets it. It cannot be cancelled.
    package func once(at deadline: Int64, on clock: Clock = .monotonic, _ handler: @escaping () -> Void) {
        let timers = self.timers(of: clock)
        _ = timers.queue.insert(at: deadline, firesOnce: true, handler)
        self.armIfNested(timers)
    }

    /// Runs `handler` once, when a number of microseconds has passed, and forgets it. It cannot be cancelled.
    package func once(after microseconds: Int64, on clock: Clock = .monotonic, _ handler: @escaping () -> Void) {
        self.once(at: self.deadline(after: microseconds, on: clock), on: clock, handler)
    }

    /// Gives a timer a new deadline, whether it still waits or has fired. A cancelled one stays dead. Allocates nothing.
    package func reschedule(_ timer: TimerID, at deadline: Int64) {
        let timers = self.timers(of: timer.clock)
        timers.queue.move(timer.id, to: deadline)
        self.armIfNested(timers)
    }

    /// Gives a timer a new deadline, a number of microseconds from now.
    package func reschedule(_ timer: TimerID, after microseconds: Int64) {
        self.reschedule(timer, at: self.deadline(after: microseconds, on: timer.clock))
    }

    /// Has somebody's timer run at `deadline`, or ends it when there is none. One that is there already is moved and keeps its
    /// handler; a handler is made, and allocates, only where there was no timer.
    package func set(
        _ timer: inout TimerID?, at deadline: Int64?, on clock: Clock = .monotonic,
        _ handler: @autoclosure () -> (() -> Void)
    ) {
        guard let deadline else { return self.cancel(&timer) }
        if let timer {
            invariant(timer.clock == clock, "a timer of \(timer.clock) was set by \(clock)")
            return self.reschedule(timer, at: deadline)
        }
        timer = self.schedule(at: deadline, on: clock, handler())
    }

    /// Has somebody's timer run when a number of microseconds has passed.
    package func set(
        _ timer: inout TimerID?, after microseconds: Int64, on clock: Clock = .monotonic,
        _ handler: @autoclosure () -> (() -> Void)
    ) {
        self.set(&timer, at: self.deadline(after: microseconds, on: clock), on: clock, handler())
    }

    /// Ends a timer and releases its handler. It does not run again, not even when it is due already.
    package func cancel(_ timer: TimerID) {
        let timers = self.timers(of: timer.clock)
        _ = timers.queue.remove(timer.id)
        self.armIfNested(timers)
    }

    /// Ends somebody's timer, if there is one.
    package func cancel(_ timer: inout TimerID?) {
        if let timer { self.cancel(timer) }
        timer = nil
    }

    private func timers(of clock: Clock) -> ClockTimers {
        switch clock {
        case .monotonic: self.monotonic
        case .boottime: self.boottime
        }
    }

    private func deadline(after microseconds: Int64, on clock: Clock) -> Int64 {
        let (deadline, overflow) = clock.now().addingReportingOverflow(microseconds)
        guard overflow else { return deadline }
        return microseconds < 0 ? .min : .max
    }

    /// Arms the timerfd at once outside a round, whose end would do it for many changes together.
    private func armIfNested(_ timers: ClockTimers) {
        if !self.isInRound { timers.arm() }
    }
}
