import Glibc

/// A clock that only goes forward.
package enum Clock: Hashable, Sendable {
    /// CLOCK_MONOTONIC: stands still while the system sleeps.
    case monotonic
    /// CLOCK_BOOTTIME: counts the system's sleep too.
    case boottime

    /// The clock's time in microseconds.
    ///
    /// The corresponding C function is `clock_gettime`.
    package func now() -> Int64 {
        var time = timespec()
        // SAFETY: the pointer is valid for the call.
        let result = unsafe clock_gettime(self.identifier, &time)
        invariant(result == 0, "clock_gettime knows no clock \(self.identifier)")
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// The wall clock in microseconds since 1970: for people, and to begin numbers that must outlive a restart.
    ///
    /// No case of its own: it can be set back, so nothing may wait by it.
    package static func wallClock() -> Int64 {
        var time = timespec()
        // SAFETY: the pointer is valid for the call.
        let result = unsafe clock_gettime(CLOCK_REALTIME, &time)
        invariant(result == 0, "clock_gettime knows no wall clock")
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// How long processors have worked for the thread that asks, in microseconds.
    package static func threadTime() -> Int64 {
        var time = timespec()
        // SAFETY: the pointer is valid for the call.
        let result = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        invariant(result == 0, "clock_gettime knows no time of threads")
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    var identifier: clockid_t {
        switch self {
        case .monotonic: CLOCK_MONOTONIC
        case .boottime: CLOCK_BOOTTIME
        }
    }
}
