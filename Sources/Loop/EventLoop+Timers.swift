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

    /// Ends a timer and releases its handler. It does not run again, not even when it is due already.
    package func cancel(_ timer: TimerID) {
        let timers = self.timers(of: timer.clock)
        _ = timers.queue.remove(timer.id)
        self.armIfNested(timers)
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
