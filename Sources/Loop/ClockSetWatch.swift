import CLinux
import Glibc

/// Has a loop run a handler whenever somebody sets the wall clock. Not `Sendable`: it belongs to the loop's thread.
///
/// Nothing else wakes the loop for it but the end of a sleep, in which the clocks part as well. The corresponding C functions are
/// `timerfd_create` and `timerfd_settime` with `TFD_TIMER_CANCEL_ON_SET`.
package final class ClockSetWatch {
    private let loop: EventLoop
    private let descriptor: OwnedDescriptor
    private var registration: EventLoop.Registration?

    package init(on loop: EventLoop, _ handler: @escaping () -> Void) throws(SystemError) {
        self.loop = loop
        self.descriptor = OwnedDescriptor(
            adopting: try systemCall("timerfd_create") { CLinux_timerfd_create(CLOCK_REALTIME) })
        self.arm()
        self.registration = try loop.watch(self.descriptor.raw, for: .read) { [unowned self] _ in
            // Before the handler looks at the clock, so that no later change is missed.
            self.arm()
            handler()
        }
    }

    deinit { self.loop.cancel(&self.registration) }

    /// Makes the descriptor unreadable until the clock is set again. It is never read.
    private func arm() {
        let result = CLinux_timerfd_await_set(self.descriptor.raw)
        invariant(result == 0 || errno == ECANCELED, SystemError.last("timerfd_settime").description)
    }
}
