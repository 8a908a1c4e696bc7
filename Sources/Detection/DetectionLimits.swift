package import Motion

/// Limits on what a detector may ask for. Crossing one is answered with the limit's name.
package enum DetectionLimits {
    /// `every`: from a thousand looks a second to one a minute.
    package static let every = TimeSpan.milliseconds(1)...TimeSpan.seconds(60)
    /// `rest`: up to a day.
    package static let rest = TimeSpan.zero...TimeSpan.seconds(86_400)
    /// How far ahead of its arrival a sample may claim to be.
    package static let future = TimeSpan.seconds(1)
    /// Looks a second of a detector that names no pace.
    package static let defaultRate = 50.0
}
