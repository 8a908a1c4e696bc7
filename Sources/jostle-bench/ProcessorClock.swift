import Glibc

/// The processor time of this process: what others do on a shared machine costs it little.
enum ProcessorClock {
    /// Nanoseconds.
    ///
    /// The corresponding C function is `clock_gettime`.
    static func now() -> Double {
        var time = timespec()
        // SAFETY: the pointer is valid for the call.
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
