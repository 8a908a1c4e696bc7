import CLinux

/// The timers of one clock and the timerfd that wakes the loop for the earliest of them.
final class ClockTimers {
    let clock: Clock
    var queue = TimerQueue()
    private let descriptor: OwnedDescriptor
    /// The deadline that the timerfd was last armed for.
    private var armed: Int64?
    /// What the clock said when somebody looked the last time.
    private var looked: Int64

    init(_ clock: Clock) throws(SystemError) {
        self.clock = clock
        self.looked = clock.now()
        self.descriptor = OwnedDescriptor(
            adopting: try systemCall("timerfd_create") { CLinux_timerfd_create(clock.identifier) })
    }

    var raw: Int32 { self.descriptor.raw }

    /// What the clock says, if a timer is due by now, and by how much too late the look is for one that was not due at the last.
    func look() -> (now: Int64, delay: Int64)? {
        guard let earliest = self.queue.earliest else { return nil }
        let now = self.clock.now()
        defer { self.looked = now }
        guard earliest <= now else { return nil }
        // One may also be set for a time that is past.
        return (now, earliest > self.looked ? now - earliest : 0)
    }

    /// Arms the timerfd for the earliest deadline, if that has changed since the last time.
    ///
    /// It is never read: arming and disarming make it unreadable too. When it has expired and the earliest deadline is
    /// still the same, that deadline is due, and a descriptor that stays readable is what brings the loop back to it.
    ///
    /// The corresponding C function is `timerfd_settime`.
    func arm() {
        let earliest = self.queue.earliest
        guard earliest != self.armed else { return }
        self.armed = earliest
        var seconds: Int64 = 0
        var nanoseconds: Int32 = 0
        if let earliest {
            // Zero would disarm: what was due at or before the clock's start is due one nanosecond later.
            (seconds, nanoseconds) = earliest > 0 ? (earliest / 1_000_000, Int32(earliest % 1_000_000) * 1_000) : (0, 1)
        }
        let result = CLinux_timerfd_settime(self.descriptor.raw, seconds, nanoseconds)
        invariant(result == 0, SystemError.last("timerfd_settime").description)
    }
}
