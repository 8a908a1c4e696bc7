package import CLinux
import Glibc

/// A value that two threads share: one at a time, and each may wait for what the other does to it.
///
/// It is inlined where it is used: rows of the journal and readings of devices go through it.
///
/// `@unchecked Sendable` because: the value is touched under the mutex only; the pointers never change, and what they
/// point to is made for use by several threads and lives as long as this object.
@safe
package final class Monitor<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    @usableFromInline var value: Value
    /// For who also waits for a descriptor; -1 when there is none.
    @usableFromInline let bell: Int32
    /// Somebody waits for the bell.
    @usableFromInline var isListening = false

    /// - Parameter canListen: Whether somebody is to wait for a descriptor besides, which takes one more.
    package init(_ value: Value, canListen: Bool) {
        self.value = value
        self.bell = canListen ? CLinux_eventfd() : -1
        // SAFETY: fresh memory of our own; none of these can fail with these arguments on Linux.
        unsafe pthread_mutex_init(self.mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(self.condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        // SAFETY: nobody has a reference any more, so nobody holds or waits.
        unsafe pthread_cond_destroy(self.condition)
        unsafe pthread_mutex_destroy(self.mutex)
        unsafe self.condition.deallocate()
        unsafe self.mutex.deallocate()
        if self.bell >= 0 { close(self.bell) }
    }

    /// Has the value to itself for as long as `body` takes. Wakes whoever waits if `body` says so.
    @inlinable package func change<R>(_ body: (inout Value) -> (result: R, wakes: Bool)) -> R {
        self.change(with: ()) { value, _ in body(&value) }
    }

    /// The same with something that is handed over: what a closure holds it would copy.
    @inlinable package func change<Item, R>(
        with item: consuming Item, _ body: (inout Value, consuming Item) -> (result: R, wakes: Bool)
    ) -> R {
        // SAFETY: both live as long as we do; the mutex is unlocked on the way out.
        unsafe pthread_mutex_lock(self.mutex)
        defer { unsafe pthread_mutex_unlock(self.mutex) }
        let (result, wakes) = body(&self.value, consume item)
        if wakes {
            unsafe pthread_cond_broadcast(self.condition)
            if self.isListening { CLinux_eventfd_ring(self.bell) }
            self.isListening = false
        }
        return result
    }

    @inlinable package func withLock<R>(_ body: (inout Value) -> R) -> R { self.change { (body(&$0), false) } }

    /// What `body` is asked for next.
    package enum Step<R> {
        case done(R)
        /// Ask again after a change, or at this time.
        case wait(until: Int64?)
    }

    /// Asks `body` until it is done, and waits in between.
    @inlinable package func wait<R>(_ body: (inout Value) -> Step<R>) -> R {
        // SAFETY: both live as long as we do; the mutex is held except while waiting, and unlocked on the way out.
        unsafe pthread_mutex_lock(self.mutex)
        defer { unsafe pthread_mutex_unlock(self.mutex) }
        while true {
            switch body(&self.value) {
            case .done(let result): return result
            case .wait(nil): unsafe pthread_cond_wait(self.condition, self.mutex)
            case .wait(let deadline?):
                var time = timespec(
                    tv_sec: Int(deadline / 1_000_000), tv_nsec: Int(deadline % 1_000_000) * 1_000)
                unsafe pthread_cond_timedwait(self.condition, self.mutex, &time)
            }
        }
    }

    /// Asks `body` until it is done, and waits in between, for a descriptor that becomes readable as well: `body` is told
    /// whether it is. For one thread.
    @inlinable package func wait<R>(for descriptor: Int32?, _ body: (inout Value, _ isReadable: Bool) -> Step<R>) -> R {
        guard let descriptor, self.bell >= 0 else { return self.wait { body(&$0, false) } }
        var isReadable = false
        while true {
            let step = self.withLock { value in
                let step = body(&value, isReadable)
                if case .wait = step { self.isListening = true }
                return step
            }
            switch step {
            case .done(let result): return result
            case .wait(let deadline):
                var files = [
                    pollfd(fd: self.bell, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                ]
                let left = deadline.map { max(0, ($0 - Clock.monotonic.now() + 999) / 1_000) } ?? -1
                // SAFETY: as many as there are.
                unsafe poll(&files, nfds_t(files.count), Int32(clamping: left))
                CLinux_eventfd_drain(self.bell)
                isReadable = files[1].revents != 0
            }
        }
    }
}
