import Loop
import Motion

/// A clock that goes at a speed of its own from when it begins, and shows CLOCK_BOOTTIME until then. It never goes back.
///
/// All sensors of a trace go by one: what is made of two of them would wait for ever for the one that began later.
/// Not `Sendable`: it belongs to the loop's thread.
final class PlaybackClock {
    private let speed: Double
    /// When it began on CLOCK_BOOTTIME, and what it showed then.
    private var start: (real: Int64, shown: Timestamp)?
    /// How many go by it.
    private var users = 0

    init(speed: Double = 1) {
        self.speed = speed
    }

    /// Whether it goes as time does.
    var isReal: Bool { self.speed == 1 }

    /// Has one more go by it, and returns what it shows. With the first it begins, for the first time or anew.
    ///
    /// It goes on from where it was: after samples of times that it showed, earlier ones would be refused. One that went slower than
    /// time does not stay behind.
    func begin() -> Timestamp {
        self.users += 1
        let real = Clock.boottime.now()
        guard self.users == 1 else { return self.time(at: real) }
        let shown = max(self.time(at: real), Timestamp(microseconds: real))
        self.start = (real, shown)
        return shown
    }

    /// One that began goes by it no more.
    func end() { self.users -= 1 }

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
