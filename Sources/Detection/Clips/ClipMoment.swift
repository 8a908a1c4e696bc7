package import Motion

/// A hit, or what nearly was one: whose it is, and when.
package struct ClipMoment: Sendable {
    package var app: AppID
    package var user: UInt32
    package var id: DetectorID
    package var detector: CompiledDetector
    package var time: Timestamp
    /// How much its quantity was at that look.
    package var peak: Double
    /// It went beyond `NearMiss.share` of the threshold, and not beyond the threshold.
    package var isNear: Bool

    package init(
        app: AppID, user: UInt32, id: DetectorID, _ detector: CompiledDetector, time: Timestamp, peak: Double,
        isNear: Bool
    ) {
        self.app = app
        self.user = user
        self.id = id
        self.detector = detector
        self.time = time
        self.peak = peak
        self.isNear = isNear
    }
}

/// How much motion is kept around a moment.
package struct ClipTerms: Equatable, Sendable {
    package let before: TimeSpan
    package let after: TimeSpan

    /// - Parameter span: How much before the moment; behind it half of that.
    package init(_ span: TimeSpan) {
        self.before = span
        self.after = TimeSpan(microseconds: span.microseconds / 2)
    }

    /// The longest that there is: two moments that follow each other closely are in one clip.
    var longest: TimeSpan { TimeSpan(microseconds: 2 * (self.before.microseconds + self.after.microseconds)) }

    /// What may be asked for.
    package static let range = TimeSpan.milliseconds(200) ... .seconds(10)
}
