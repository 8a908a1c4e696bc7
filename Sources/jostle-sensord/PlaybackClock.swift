import Loop
import Motion

/// A clock that goes at a speed of its own from when it begins, and shows CLOCK_BOOTTIME until then. It never goes back.
struct PlaybackClock {
    private let speed: Double
    /// When it began on CLOCK_BOOTTIME, and what it showed then.
    private var start: (real: Int64, shown: Timestamp)?

    init(speed: Double = 1) {
        self.speed = speed
    }

    /// Begins, for the first time or anew, and returns what it shows.
    ///
    /// It goes on from where it was: after samples of times that it showed, earlier ones would be refused. One that went slower than
    /// time does not stay behind.
    mutating func begin() -> Timestamp {
        let real = Clock.boottime.now()
        let shown = max(self.time(at: real), Timestamp(microseconds: real))
        self.start = (real, shown)
        return shown
    }

    var now: Timestamp { self.time(at: Clock.boottime.now()) }

    private func time(at real: Int64) -> Timestamp {
        guard self.speed != 1, let start else { return Timestamp(microseconds: real) }
        return start.shown + TimeSpan(microseconds: Int64(clampedTo: Double(real - start.real) * self.speed))
    }

    /// When this clock shows `time`, on CLOCK_BOOTTIME.
    func alarm(for time: Timestamp) -> Int64 {
        guard self.speed != 1, let start else { return time.microseconds }
        // Rounded up: a timer that rang early would find nothing due.
        let wait = (Double((time - start.shown).microseconds) / self.speed).rounded(.up)
        return start.real + Int64(clampedTo: wait)
    }
}

extension Int64 {
    init(clampedTo value: Double) {
        self = Int64(Swift.min(4.0e18, Swift.max(-4.0e18, value.isNaN ? 0 : value)))
    }
}
