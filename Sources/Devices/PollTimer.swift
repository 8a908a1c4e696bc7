import DeviceCore
import Loop
import Motion

/// Calls at a steady rate, on a grid that does not drift, and leaves out what it could not keep up with.
final class PollTimer {
    private let loop: EventLoop
    private let handler: (Timestamp) -> Void
    private var grid: PollGrid
    private var timer: EventLoop.TimerID?

    var rate: Double { self.grid.rate }

    /// The first call comes at once, but not before this returns.
    init(on loop: EventLoop, rate: Double, _ handler: @escaping (Timestamp) -> Void) {
        self.loop = loop
        self.handler = handler
        self.grid = PollGrid(rate: rate, from: Clock.boottime.now())
        self.timer = loop.schedule(at: self.grid.due, on: .boottime) { [weak self] in self?.call() }
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
        self.loop.cancel(&self.timer)
    }

    private func call() {
        self.handler(Timestamp(microseconds: Clock.boottime.now()))
        guard let timer else { return }
        self.grid.advance(to: Clock.boottime.now())
        self.loop.reschedule(timer, at: self.grid.due)
    }
}
