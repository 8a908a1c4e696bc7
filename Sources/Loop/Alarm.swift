import CLinux
import Glibc

/// A time that one thread sets before it does what may never come back, and by which another one hears of it.
///
/// Unlike a timer of the loop, it wakes nobody as long as all goes well. The corresponding C function is `timerfd_create`.
package struct Alarm: Sendable {
    /// In the time of `Clock.monotonic`.
    package private(set) var time: Int64?
    /// Somebody looked too late, and it is set for his second look.
    private var isPutOff = false
    private let timer = Timer()

    private final class Timer: Sendable {
        /// -1 when the kernel gives none.
        let raw = CLinux_timerfd_create(CLOCK_MONOTONIC)

        deinit { if self.raw >= 0 { close(self.raw) } }
    }

    package init() {}

    /// Readable from that time on; `nil` when there can be none.
    package var descriptor: Int32? { self.timer.raw >= 0 ? self.timer.raw : nil }

    /// Whether the time has come, which is over then. Who looks too late looks once more: the thread that set it was away, too, and is
    /// about to say that it is done.
    package mutating func takeDue(at now: Int64) -> Bool {
        guard let time, time <= now else { return false }
        let next = Absence.nextLook(for: time, at: now, isSecond: self.isPutOff)
        self.set(for: next)
        self.isPutOff = next != nil
        return next == nil
    }

    /// Sets the time, or that there is none. Either way the descriptor is not readable until then.
    package mutating func set(for time: Int64?) {
        (self.time, self.isPutOff) = (time, false)
        guard let descriptor else { return }
        let time = time ?? 0
        _ = CLinux_timerfd_settime(descriptor, time / 1_000_000, Int32(time % 1_000_000) * 1_000)
    }
}
