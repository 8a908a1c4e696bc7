import CLinux
import Synchronization

/// A handle that brings a loop back from waiting and has it run a handler.
///
/// `fire()` may be called from any thread and from a signal handler, also after the loop is gone. What the caller wrote to
/// memory before is visible to the handler. Several calls before the handler runs count as one.
package final class Wakeup: Sendable {
    private let hasFired = Atomic<Bool>(false)
    private let bell: Bell

    init(_ bell: Bell) {
        self.bell = bell
    }

    /// Has the loop run the handler soon. Takes no lock, allocates nothing and keeps `errno`.
    package func fire() {
        // Whoever finds it fired already may leave the bell to him who fired it: the loop takes the mark off only
        // after the bell has brought it back.
        if !self.hasFired.exchange(true, ordering: .acquiringAndReleasing) { self.bell.ring() }
    }

    /// Takes the mark off; true if it was on.
    func answer() -> Bool {
        self.hasFired.exchange(false, ordering: .acquiringAndReleasing)
    }
}

/// The eventfd that every wakeup of a loop rings. Closed when the loop and all its handles are gone.
final class Bell: Sendable {
    private let descriptor: OwnedDescriptor

    init() throws(SystemError) {
        self.descriptor = OwnedDescriptor(adopting: try systemCall("eventfd") { CLinux_eventfd() })
    }

    var raw: Int32 { self.descriptor.raw }

    func ring() { CLinux_eventfd_ring(self.descriptor.raw) }
    func silence() { CLinux_eventfd_drain(self.descriptor.raw) }
}

extension EventLoop {
    /// Makes a handle by which other threads and signal handlers have this loop run `handler`, on the loop's thread.
    package func wakeup(_ handler: @escaping () -> Void = {}) -> Wakeup {
        let wakeup = Wakeup(self.bell)
        self.wakeups.append((wakeup, handler))
        return wakeup
    }

    /// Ends a wakeup. Firing it afterwards does nothing.
    package func cancel(_ wakeup: Wakeup) {
        guard let index = self.wakeups.firstIndex(where: { $0.wakeup === wakeup }) else { return }
        _ = self.wakeups.remove(at: index)
    }

    /// Runs the handlers of the wakeups that have fired.
    func answerBell() -> Bool {
        // Before any mark is taken off: a wakeup that fires from here on rings again.
        self.bell.silence()
        var didWork = false
        // A copy, because a handler may add and cancel wakeups.
        for (wakeup, handler) in self.wakeups where wakeup.answer() {
            guard self.wakeups.contains(where: { $0.wakeup === wakeup }) else { continue }
            handler()
            didWork = true
        }
        return didWork
    }
}
