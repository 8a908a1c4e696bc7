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

    /// The first call comes at the grid's time, but not before this returns.
    private init(on loop: EventLoop, _ grid: PollGrid, _ handler: @escaping (Timestamp) -> Void) {
        self.loop = loop
        self.handler = handler
        self.grid = grid
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
        let now = Clock.boottime.now()
        let grid = timer?.grid.changed(to: rate, at: now) ?? PollGrid(rate: rate, from: now)
        return PollTimer(on: loop, grid, handler)
    }

    func cancel() {
        self.loop.cancel(&self.timer)
    }

    private func call() {
        let now = Clock.boottime.now()
        // Beforehand, as who is told may change the rate.
        self.grid.advance(to: now)
        self.handler(Timestamp(microseconds: now))
        guard let timer else { return }
        let done = Clock.boottime.now()
        if self.grid.due <= done { self.grid.advance(to: done) }
        self.loop.reschedule(timer, at: self.grid.due)
    }
}
