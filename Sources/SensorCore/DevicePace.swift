import Motion

/// What a device is asked to do for those who claim it: more at once, less only when nobody has wanted more for a while.
///
/// Another pace costs a device that gathers its samples a new start, in which some are lost to everybody. So whoever asks for more and
/// for less in turn changes nothing; and where more is asked for again and again, by little each time, it is given much at once, and
/// taken back late.
struct DevicePace: Sendable {
    /// How long less must be all that is claimed before the device follows.
    static let patience = TimeSpan.seconds(1)
    /// What one change for more costs, and how much of that may be owed before more is given than was asked for.
    private static let cost = TimeSpan.seconds(5)
    private static let credit = TimeSpan.seconds(20)

    /// What was asked of the device last; `nil` while it stands still.
    private(set) var asked: SensorPace?
    /// When `follow` leads to less; `nil`: the device does what is claimed.
    private(set) var deadline: Timestamp?
    /// When nothing is owed any more for changes for more.
    private var paid = Timestamp.zero

    /// Takes what is claimed by now. Returns what to ask of the device, `nil` if it was asked for that already.
    ///
    /// - Parameter rates: Those that the device has; none: any.
    mutating func follow(_ claimed: SensorPace, among rates: [Double], at now: Timestamp) -> SensorPace? {
        var pace = claimed
        let isOver = self.deadline.map { $0 <= now } ?? false
        if let asked, !isOver {
            pace.rate = max(asked.rate, claimed.rate)
            pace.batchLatency = min(asked.batchLatency, claimed.batchLatency)
            if pace != asked {
                if self.paid - Self.credit > now { Self.exceed(asked, by: &pace, among: rates) }
                self.paid = max(self.paid, now) + Self.cost
            }
        }
        self.deadline = pace == claimed ? nil : max(self.deadline ?? now + Self.patience, self.paid - Self.credit)
        guard pace != self.asked else { return nil }
        self.asked = pace
        return pace
    }

    /// Makes of what is more than was asked for at least twice as much.
    private static func exceed(_ asked: SensorPace, by pace: inout SensorPace, among rates: [Double]) {
        if pace.rate > asked.rate {
            let twice = min(2 * asked.rate, SensorLimits.rates.upperBound)
            pace.rate = max(pace.rate, SensorDescription.rate(for: twice, among: rates))
        }
        guard pace.batchLatency < asked.batchLatency else { return }
        let half = TimeSpan(microseconds: asked.batchLatency.microseconds / 2)
        pace.batchLatency = min(pace.batchLatency, half)
        // A device cannot gather what comes less than once in the latency.
        if Double(pace.batchLatency.microseconds) < 1_000_000 / pace.rate { pace.batchLatency = .zero }
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
