import CLinux
import Glibc

/// A time that one thread sets before it does what may never come back, and by which another one hears of it.
///
/// Unlike a timer of the loop, it wakes nobody as long as all goes well. The corresponding C function is `timerfd_create`.
package struct Alarm: Sendable {
    private var due: DueTime?
    private let timer = Timer()

    private final class Timer: Sendable {
        /// -1 when the kernel gives none.
        let raw = CLinux_timerfd_create(CLOCK_MONOTONIC)

        deinit { if self.raw >= 0 { close(self.raw) } }
    }

    package init() {}

    /// In the time of `Clock.monotonic`.
    package var time: Int64? { self.due?.time }

    /// Readable from that time on; `nil` when there can be none.
    package var descriptor: Int32? { self.timer.raw >= 0 ? self.timer.raw : nil }

    /// Whether the time has come, which is over then. Who looks too late looks once more: the thread that set it was away, too, and is
    /// about to say that it is done.
    package mutating func takeDue(at now: Int64) -> Bool {
        guard var due, due.time <= now else { return false }
        let isOverdue = due.isOverdue(at: now)
        self.set(isOverdue ? nil : due)
        return isOverdue
    }

    /// Sets the time, or that there is none. Either way the descriptor is not readable until then.
    package mutating func set(for time: Int64?) { self.set(time.map(DueTime.init)) }

    private mutating func set(_ due: DueTime?) {
        self.due = due
        guard let descriptor else { return }
        let time = due?.time ?? 0
        _ = CLinux_timerfd_settime(descriptor, time / 1_000_000, Int32(time % 1_000_000) * 1_000)
    }
}
