import Loop
import Motion

/// Calls at a steady rate, on a grid that does not drift, and leaves out what it could not keep up with.
final class PollTimer {
    private let loop: EventLoop
    let rate: Double
    private let handler: (Timestamp) -> Void
    private let start: Int64
    /// The number of the next call.
    private var next: Double = 0
    private var timer: EventLoop.TimerID?

    /// The first call comes at once, but not before this returns.
    init(on loop: EventLoop, rate: Double, _ handler: @escaping (Timestamp) -> Void) {
        self.loop = loop
        self.rate = rate
        self.handler = handler
        self.start = Clock.boottime.now()
        self.timer = loop.schedule(at: self.start, on: .boottime) { [weak self] in self?.call() }
    }

    deinit { self.cancel() }

    /// A timer at the rate that is wanted, as far as that goes: the one that runs, if it has that rate, or a new one in its place.
    static func running(
        _ timer: PollTimer?, at wanted: Double, atMost fastest: Double, on loop: EventLoop,
        _ handler: @escaping (Timestamp) -> Void
    ) -> PollTimer {
        let rate = min(wanted, fastest)
        if let timer, timer.rate == rate { return timer }
        timer?.cancel()
        return PollTimer(on: loop, rate: rate, handler)
    }

    func cancel() {
        if let timer { self.loop.cancel(timer) }
        self.timer = nil
    }

    private func call() {
        let now = Clock.boottime.now()
        self.handler(Timestamp(microseconds: now))
        guard let timer else { return }
        let passed = (Double(Clock.boottime.now() - self.start) * self.rate / 1_000_000).rounded(.down)
        self.next = max(self.next, passed) + 1
        self.loop.reschedule(timer, at: self.start + Int64((self.next * 1_000_000 / self.rate).rounded()))
    }
}
