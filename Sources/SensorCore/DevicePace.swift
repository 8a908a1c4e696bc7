import Motion

/// What a device is asked to do for those who claim it: more at once, less only when nobody has wanted more for a while.
///
/// Another pace costs a device that gathers its samples a new start, in which some are lost to everybody. So whoever asks for more and
/// for less in turn changes nothing.
struct DevicePace: Sendable {
    /// How long less must be all that is claimed before the device follows.
    static let patience = TimeSpan.seconds(1)

    /// What was asked of the device last; `nil` while it stands still.
    private(set) var asked: SensorPace?
    /// When `follow` leads to less; `nil`: the device does what is claimed.
    private(set) var deadline: Timestamp?

    /// Takes what is claimed by now. Returns what to ask of the device, `nil` if it was asked for that already.
    mutating func follow(_ claimed: SensorPace, at now: Timestamp) -> SensorPace? {
        var pace = claimed
        let isOver = self.deadline.map { $0 <= now } ?? false
        if let asked, !isOver {
            pace.rate = max(asked.rate, claimed.rate)
            pace.batchLatency = min(asked.batchLatency, claimed.batchLatency)
        }
        self.deadline = pace == claimed ? nil : self.deadline ?? now + Self.patience
        guard pace != self.asked else { return nil }
        self.asked = pace
        return pace
    }

    /// Lets less wait no longer: the device is another, which begins anyway.
    mutating func hurry() {
        if self.asked != nil { self.deadline = .zero }
    }

    /// Nobody wants the device to run. Returns whether it did.
    mutating func standStill() -> Bool {
        defer { (self.asked, self.deadline) = (nil, nil) }
        return self.asked != nil
    }
}
