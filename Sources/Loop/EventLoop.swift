import CLinux
import Glibc

/// One thread's loop: descriptors, timers, signals and deferred work, over one epoll.
///
/// A round fetches a bounded batch of events, runs the timers that are due, the handlers of the events, and then the work
/// that was deferred. Nothing in a round can put off the rest of it: what a handler adds waits for the next round.
/// An idle loop sleeps in the kernel and makes no wake-ups.
///
/// A timer often says that something has not come in time. A program that was stopped, or had no processor, finds what came
/// meanwhile and the timer at once: then all is read before timers run.
///
/// Deliberately not `Sendable`: everything here belongs to the thread that runs the loop, except for `Wakeup.fire()`.
/// A handler may watch, update, cancel, schedule and defer whatever it likes, itself included; it may not run the loop.
package final class EventLoop {
    /// What a watch waits for. Empty: it stays registered and hears nothing, not even a hang-up.
    package struct Interest: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let read = Interest(rawValue: 1)
        package static let write = Interest(rawValue: 2)

        var readiness: Readiness { Readiness(rawValue: self.rawValue) }
    }

    /// What a descriptor is ready for, as far as its watch asked. A hang-up or failure is told without being asked for.
    package struct Readiness: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let read = Readiness(rawValue: 1)
        package static let write = Readiness(rawValue: 2)
        /// The other side is gone. There may still be something to read: read until the end of file.
        package static let hangUp = Readiness(rawValue: 4)
        package static let failed = Readiness(rawValue: 8)
    }

    /// A watch's handle. One that was cancelled never names another watch.
    package struct Registration: Hashable, Sendable {
        let slot: UInt32
        let generation: UInt32
    }

    /// A timer's handle. One that was cancelled never names another timer.
    package struct TimerID: Hashable, Sendable {
        let clock: Clock
        let id: TimerQueue.ID
    }

    let epoll: OwnedDescriptor
    let bell: Bell
    var table = WatchTable()
    let monotonic: ClockTimers
    let boottime: ClockTimers
    var signals: SignalWatch?
    var wakeups: [(wakeup: Wakeup, handler: () -> Void)] = []

    /// Work that may wait for what is urgent.
    package private(set) lazy var turns = Turns(on: self)
    private var later = LaterWork()
    private var events = [CLinux_event](repeating: CLinux_event(), count: EventLoop.batch)
    private var firing: [Registration] = []
    private var due: [TimerQueue.Due] = []
    private var isStopping = false
    /// Until when timers may wait for what has come to be read, while they do.
    private var readingEnd: Int64?
    private(set) var isInRound = false

    /// How often the loop has come back from waiting. Stands still while the loop is idle.
    package var rounds: UInt64 { self.roundCount }
    private var roundCount: UInt64 = 0

    /// The most events fetched in one round.
    package static let batch = Int(CLinux_EPOLL_BATCH)
    /// For how long timers wait at most for what has come, where nobody was there; in µs.
    private static let longestReading: Int64 = 1_000_000

    /// Makes an empty loop.
    package init() throws(SystemError) {
        let epoll = OwnedDescriptor(adopting: try systemCall("epoll_create1") { CLinux_epoll_create() })
        let bell = try Bell()
        let monotonic = try ClockTimers(.monotonic)
        let boottime = try ClockTimers(.boottime)
        for own in [bell.raw, monotonic.raw, boottime.raw] {
            try Self.control(epoll.raw, CLinux_EPOLL_CTL_ADD, own, .read, .own(own))
        }
        self.bell = bell
        self.monotonic = monotonic
        self.boottime = boottime
        self.epoll = epoll
    }

    /// The epoll descriptor, for nesting in another loop: when it is readable, call `runOnce(timeout: 0)`.
    package var descriptor: Int32 { self.epoll.raw }

    /// Runs rounds until `stop()`. The round in which it is called is finished first.
    ///
    /// A stop called before the start counts: the loop then returns at once.
    package func run() throws(SystemError) {
        while !self.isStopping { _ = try self.round(timeout: -1) }
        self.isStopping = false
    }

    /// Runs rounds until a condition holds, which is asked before each.
    package func run(until isDone: () -> Bool) throws(SystemError) {
        while !isDone() { _ = try self.runOnce(timeout: nil) }
    }

    /// Ends `run()` after the present round.
    package func stop() {
        self.isStopping = true
    }

    /// Waits for at most one batch of events and runs it. `nil` waits for as long as it takes.
    ///
    /// Tells whether anything ran. May return early with nothing done, when a timer was cancelled or a signal interrupted.
    @discardableResult
    package func runOnce(timeout microseconds: Int64?) throws(SystemError) -> Bool {
        var timeout: Int32 = -1
        if let microseconds {
            // epoll counts milliseconds: round up, so that a loop that polls for a short time does not spin.
            let milliseconds = microseconds <= 0 ? 0 : (microseconds - 1) / 1_000 + 1
            timeout = Int32(clamping: milliseconds)
        }
        let didWork = try self.round(timeout: timeout)
        // Whoever nests the loop sees only its descriptor: that must be readable while work is left.
        if self.hasWork { self.bell.ring() }
        if self.later.hasBetween { self.runBetween() }
        return didWork
    }

    /// Runs `work` once, after the present batch of events and before the next wait.
    ///
    /// Work deferred by deferred work runs in the next round, so that descriptors and timers are never starved.
    package func `defer`(_ work: @escaping () -> Void) {
        self.later.defer(work)
        self.ringIfNested()
    }

    /// Runs `work` once, between two rounds: there it may run the loop itself, and wait for what the next rounds bring.
    ///
    /// For programs that run the loop until something is so, and for those that run it once.
    package func between(_ work: @escaping () -> Void) {
        self.later.addBetween(work)
        self.ringIfNested()
    }

    private func runBetween() {
        for work in self.later.takeBetween() { work.run() }
    }

    /// Makes the descriptor readable outside a round, for work that the kernel does not know of.
    func ringIfNested() {
        if !self.isInRound { self.bell.ring() }
    }

    /// Whether the next round must not wait.
    private var hasWork: Bool { self.later.hasDeferred || self.table.hasAlwaysReadyWork }

    private func round(timeout: Int32) throws(SystemError) -> Bool {
        invariant(!self.isInRound, "a handler must not run the loop it runs in")
        self.isInRound = true
        defer { self.isInRound = false }
        // Taken out for the round, as the lists below are: each look at a variable of the loop itself costs a check.
        var events: [CLinux_event] = []
        swap(&events, &self.events)
        defer { swap(&events, &self.events) }
        let count = try self.fetch(into: &events, timeout: self.hasWork ? 0 : timeout)
        self.roundCount &+= 1
        var didWork = self.runTimers(besides: events[..<count])
        for index in 0..<count {
            didWork = try self.dispatch(WatchTable.Token(bits: events[index].token), events[index].events) || didWork
        }
        didWork = self.dispatchAlwaysReady() || didWork
        didWork = self.runDeferred() || didWork
        self.monotonic.arm()
        self.boottime.arm()
        return didWork
    }

    /// Waits for events and fetches the first of them. An interruption fetches what is there.
    private func fetch(into events: inout [CLinux_event], timeout: Int32) throws(SystemError) -> Int {
        let epoll = self.epoll.raw
        // SAFETY: the buffer has room for a whole batch and is not kept.
        let result = unsafe events.withUnsafeMutableBufferPointer { buffer in
            unsafe CLinux_epoll_wait(epoll, buffer.baseAddress, Int32(buffer.count), timeout)
        }
        if result >= 0 { return Int(result) }
        let error = SystemError.last("epoll_wait")
        guard error.code == EINTR else { throw error }
        // A program that was stopped wakes up with it, whatever has come meanwhile.
        return timeout == 0 ? 0 : try self.fetch(into: &events, timeout: 0)
    }

    private func dispatch(_ token: WatchTable.Token, _ events: UInt32) throws(SystemError) -> Bool {
        if token.generation != 0 { return self.deliver(Readiness(epoll: events), to: token) }
        if token.descriptor == self.bell.raw { return self.answerBell() }
        if token.descriptor == self.signals?.raw { return try self.readSignals() }
        // One of the timerfds. It woke the loop, which is all it is for; arming it anew makes it unreadable.
        return false
    }

    /// Runs the handlers that wait for one of `readiness`.
    private func deliver(_ readiness: Readiness, to token: WatchTable.Token) -> Bool {
        // The list is fixed first: a handler may change who watches the descriptor, or close it and reuse its number.
        var firing: [Registration] = []
        swap(&firing, &self.firing)
        self.table.collect(token, into: &firing)
        var didWork = false
        for index in firing.indices {
            guard let (handler, wanted) = self.table.delivery(of: readiness, to: firing[index]) else { continue }
            handler(wanted)
            didWork = true
        }
        firing.removeAll(keepingCapacity: true)
        swap(&firing, &self.firing)
        return didWork
    }

    private func dispatchAlwaysReady() -> Bool {
        guard !self.table.alwaysReady.isEmpty else { return false }
        var didWork = false
        for token in self.table.alwaysReady.map(self.table.token(of:)) {
            didWork = self.deliver([.read, .write], to: token) || didWork
        }
        return didWork
    }

    private func runDeferred() -> Bool {
        guard self.later.hasDeferred else { return false }
        var running = self.later.takeDeferred()
        for index in running.indices { running[index].run() }
        // Here, while nobody looks at the lists: what is released may defer work again.
        running.removeAll(keepingCapacity: true)
        self.later.giveBack(running)
        return true
    }

    private func runTimers(besides events: ArraySlice<CLinux_event>) -> Bool {
        let (monotonic, boottime) = (self.monotonic.look(), self.boottime.look())
        guard monotonic != nil || boottime != nil else { return false }
        let delay = max(monotonic?.delay ?? 0, boottime?.delay ?? 0)
        if self.readingEnd != nil || delay > DueTime.absence, self.isReading(events) { return false }
        var didWork = false
        if let monotonic { didWork = self.run(self.monotonic, at: monotonic.now) }
        if let boottime { didWork = self.run(self.boottime, at: boottime.now) || didWork }
        return didWork
    }

    /// Whether something has come that is to be read before the timers run.
    private func isReading(_ events: ArraySlice<CLinux_event>) -> Bool {
        let now = Clock.monotonic.now()
        let end = self.readingEnd ?? now + Self.longestReading
        let isNews = events.contains { event in
            let token = WatchTable.Token(bits: event.token)
            return token.descriptor != self.monotonic.raw && token.descriptor != self.boottime.raw
        }
        let isReading = now < end && (isNews || self.later.hasDeferred)
        self.readingEnd = isReading ? end : nil
        return isReading
    }

    private func run(_ timers: ClockTimers, at now: Int64) -> Bool {
        var due: [TimerQueue.Due] = []
        swap(&due, &self.due)
        timers.queue.takeDue(at: now, into: &due)
        var didWork = false
        for index in due.indices {
            guard let handler = timers.queue.fire(due[index]) else { continue }
            handler()
            didWork = true
        }
        due.removeAll(keepingCapacity: true)
        swap(&due, &self.due)
        return didWork
    }
}

@available(*, unavailable)
extension EventLoop: Sendable {}

extension EventLoop.Readiness {
    fileprivate init(epoll events: UInt32) {
        var readiness: EventLoop.Readiness = []
        if events & CLinux_EPOLLIN != 0 { readiness.insert(.read) }
        if events & CLinux_EPOLLOUT != 0 { readiness.insert(.write) }
        if events & CLinux_EPOLLHUP != 0 { readiness.insert(.hangUp) }
        if events & CLinux_EPOLLERR != 0 { readiness.insert(.failed) }
        self = readiness
    }
}
