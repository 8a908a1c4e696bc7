package import Motion

/// Tells when a sensor that speaks at a steady rate has fallen silent.
///
/// All it costs while samples come is a stored time. It begins with the first sample of a claim: some devices take their
/// time.
package struct SilenceWatch: Equatable, Sendable {
    /// Nobody who is late by less is silent.
    package static let patience = TimeSpan.milliseconds(250)
    /// Nor who left out fewer samples.
    package static let periods = 3.0

    /// When a sample came last that was no older than it must be.
    private var heard: Timestamp?
    /// A claim is in force, so that samples are due.
    private var isWatching = false
    package private(set) var isSilent = false

    package init() {}

    /// A claim is in force from now on. Who was silent still is.
    package mutating func begin() {
        self.isWatching = true
        self.heard = nil
    }

    /// Nothing is due any more.
    package mutating func rest() { self = SilenceWatch() }

    /// Something came. Returns whether that ends a silence.
    package mutating func hear(at now: Timestamp) -> Bool {
        self.heard = now
        guard self.isSilent else { return false }
        self.isSilent = false
        return true
    }

    /// When it is time to call it silent; `nil` when it is, or need not speak. Who has not begun is given time from now on.
    package func deadline(for pace: SensorPace, at now: Timestamp) -> Timestamp? {
        guard self.isWatching, !self.isSilent else { return nil }
        let missing = TimeSpan(seconds: Self.periods / pace.rate) ?? .seconds(300)
        return (self.heard ?? now) + pace.batchLatency + max(Self.patience, missing)
    }

    /// Its time has come. Returns whether that is news.
    package mutating func fallSilent() -> Bool {
        guard !self.isSilent else { return false }
        self.isSilent = true
        return true
    }
}
