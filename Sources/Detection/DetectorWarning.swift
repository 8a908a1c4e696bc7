/// Something about a detector that is allowed and probably not what was meant.
package struct DetectorWarning: Equatable, Sendable {
    package enum ID: String, Sendable, CaseIterable {
        /// The sensor cannot show values that large.
        case thresholdUnreachable = "threshold-unreachable"
        /// Gravity alone makes, or keeps, the condition true.
        case thresholdInGravity = "threshold-in-gravity"
        /// The sensor is too slow for the detector.
        case rateTooLow = "rate-too-low"
        /// A window or time constant holds fewer than two looks.
        case windowTooShort = "window-too-short"
        /// The sensor's noise keeps crossing the threshold.
        case noise = "noise"
        /// The reader does not let us have the sensor as fast as the detector needs it.
        case rateNotAllowed = "rate-not-allowed"
    }

    package var id: ID
    /// One sentence for people.
    package var message: String

    package init(_ id: ID, _ message: String) {
        self.id = id
        self.message = message
    }
}
