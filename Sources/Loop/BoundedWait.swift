import CLinux

/// A time after which calls of this thread that wait in the kernel fail, as they do when a signal comes: for what a library waits in that
/// knows no limit, such as `connect` to a server that has no room.
///
/// A thread has one at a time. In a program that makes use of SIGURG itself it bounds nothing. The corresponding C functions are
/// `timer_create` and `timer_delete`.
package struct BoundedWait {
    private let end: Int64

    /// Begins the time, in µs.
    package init(_ microseconds: Int64) {
        self.end = Clock.monotonic.now() + microseconds
        // A timer for no time at all would never run.
        CLinux_interrupt_after(max(1, Int32(clamping: (microseconds + 999) / 1_000)))
    }

    /// Whether the time is over.
    package var isOver: Bool { Clock.monotonic.now() >= self.end }

    /// Takes it back: calls wait as long as they like.
    package func cancel() { CLinux_interrupt_no_more() }
}
