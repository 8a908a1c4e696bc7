import Loop
import Motion

/// A clock that began somewhere on CLOCK_BOOTTIME and goes at a speed of its own.
struct PlaybackClock {
    private let began: Int64
    let speed: Double

    init(speed: Double = 1) {
        self.began = Clock.boottime.now()
        self.speed = speed
    }

    var start: Timestamp { Timestamp(microseconds: self.began) }

    var now: Timestamp {
        let real = Clock.boottime.now()
        guard self.speed != 1 else { return Timestamp(microseconds: real) }
        return self.start + TimeSpan(microseconds: Int64(clampedTo: Double(real - self.began) * self.speed))
    }

    /// When this clock shows `time`, on CLOCK_BOOTTIME.
    func alarm(for time: Timestamp) -> Int64 {
        guard self.speed != 1 else { return time.microseconds }
        // Rounded up: a timer that rang early would find nothing due.
        let wait = (Double((time - self.start).microseconds) / self.speed).rounded(.up)
        return (self.start + TimeSpan(microseconds: Int64(clampedTo: wait))).microseconds
    }
}

extension Int64 {
    init(clampedTo value: Double) {
        self = Int64(Swift.min(4.0e18, Swift.max(-4.0e18, value.isNaN ? 0 : value)))
    }
}
