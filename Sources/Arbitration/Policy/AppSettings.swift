package import Motion

/// So many events in a period, and how many may come at once.
package struct Quota: Hashable, Sendable {
    package var count: Int
    package var period: TimeSpan
    package var burst: Int

    package init(count: Int, period: TimeSpan, burst: Int) {
        self.count = count
        self.period = period
        self.burst = burst
    }

    /// The slower of both rates with the smaller of both bursts: whoever keeps to it keeps to both.
    package func tightened(to other: Quota) -> Quota {
        let own = Int64(self.count).multipliedFullWidth(by: other.period.microseconds)
        let others = Int64(other.count).multipliedFullWidth(by: self.period.microseconds)
        var slower = (others.high, others.low) < (own.high, own.low) ? other : self
        slower.burst = min(self.burst, other.burst)
        return slower
    }
}

/// What policy lets one app do.
package struct AppSettings: Hashable, Sendable {
    package var grants = WordSet<BackgroundMode>.none
    /// Events in sample time; `nil`: as many as come.
    package var quota: Quota?
    /// The shortest time between two events, in sample time.
    package var cooldown = TimeSpan.zero
    /// How much may be kept for it: stored, or sent and not acknowledged.
    package var queueBytes = 256 * 1_024
    /// How long it may go on in the background when nothing keeps it going any more.
    package var grace = TimeSpan.zero
    /// How long assertions may keep it going, from when it left the foreground.
    package var assertionBudget = TimeSpan.seconds(31)
    /// `nil`: as many as it likes.
    package var assertionsPerHour: Int?
    /// Whether an assertion that is begun in the background has a budget of its own.
    package var allowsRenewal = false
    package var wakeQuota: Quota?
    /// Whether there is something that its events are counted for, or compared with.
    var isLimited: Bool { self.quota != nil || self.wakeQuota != nil || self.cooldown > .zero }
    /// How long it may take to come up and to answer, or to register for a task, when it is launched.
    package var wakeTimeout = TimeSpan.seconds(10)
    /// Whether it may have other apps launched.
    package var mayPush = false
    package var mayReportForeground = false
    /// No refresh task is begun sooner after it was submitted.
    package var refreshInterval = TimeSpan.seconds(900)
    /// How long a task may take once it is begun.
    package var refreshTime = TimeSpan.seconds(30)
    package var processingTime = TimeSpan.seconds(300)
    /// How long a task that may begin is put off, so that several begin together.
    package var taskWindow = TimeSpan.seconds(60)
    /// How long one waits for a moment at which it disturbs nobody, when that is left to us.
    package var discretion = TimeSpan.seconds(6 * 3_600)
    /// What holds for the motion that it asks for.
    package var sensing = AppSensing()

    package init() {}

    /// How long a task may take.
    package func time(for kind: TaskKind) -> TimeSpan {
        switch kind {
        case .refresh: self.refreshTime
        case .processing: self.processingTime
        }
    }
}

/// What policy says of the motion that an app asks for.
package struct AppSensing: Hashable, Sendable {
    /// The fastest rate in Hz at which it may read samples itself, past the broker.
    package var fastestRate = SensorLimits.rateForAll
    /// Whether the motion around what its detectors hit may be kept, where the broker keeps any.
    package var keepsClips = true
    /// What its detectors are to pass instead of what they ask for, as people write it: by a detector's name, or its preset.
    package var thresholds: [String: String] = [:]
}
