/// A point in time that waiting does not go beyond.
struct Deadline {
    private let instant: ContinuousClock.Instant

    init(after duration: Duration) {
        self.instant = .now + duration
    }

    var isOver: Bool { .now >= self.instant }

    /// What `poll` takes: milliseconds, rounded up so that it never wakes early and spins.
    var pollTimeout: Int32 {
        let (seconds, attoseconds) = (self.instant - .now).components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let milliseconds = min(seconds, 1_000_000) * 1_000 + attoseconds / 1_000_000_000_000_000 + 1
        return Int32(clamping: milliseconds)
    }
}
