import Glibc

/// A value that two threads share: one at a time, and each may wait for what the other does to it.
///
/// `@unchecked Sendable` because: the value is touched under the mutex only; the pointers never change, and what they
/// point to is made for use by several threads and lives as long as this object.
@safe
final class Monitor<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: Value) {
        self.value = value
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
    }

    /// CLOCK_MONOTONIC in microseconds: what deadlines are counted in.
    static func now() -> Int64 {
        var time = timespec()
        // SAFETY: the pointer is valid for the call.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// Has the value to itself for as long as `body` takes. Wakes whoever waits if `body` says so.
    func change<R>(_ body: (inout Value) -> (result: R, wakes: Bool)) -> R {
        // SAFETY: both live as long as we do; the mutex is unlocked on the way out.
        unsafe pthread_mutex_lock(self.mutex)
        defer { unsafe pthread_mutex_unlock(self.mutex) }
        let (result, wakes) = body(&self.value)
        if wakes { unsafe pthread_cond_broadcast(self.condition) }
        return result
    }

    func withLock<R>(_ body: (inout Value) -> R) -> R { self.change { (body(&$0), false) } }

    /// What `body` is asked for next.
    enum Step<R> {
        case done(R)
        /// Ask again after a change, or at this time.
        case wait(until: Int64?)
    }

    /// Asks `body` until it is done, and waits in between.
    func wait<R>(_ body: (inout Value) -> Step<R>) -> R {
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
}
