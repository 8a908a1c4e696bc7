package import Motion

/// What became of our claim on a sensor.
package enum ClaimNews: Sendable {
    /// This is in force, and sample numbers begin again. `allowed`: the fastest rate that we may have, where that is less than
    /// we claimed.
    case answered(SensorPace, allowed: Double? = nil)
    /// It was refused, or came to nothing, for this reason. It is tried again after a while, and as soon as something changes
    /// about the sensor.
    case failed(String)
    /// What was in force ended, through no wish of ours.
    case ended
}
