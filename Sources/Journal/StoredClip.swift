package import Motion

/// A clip as it stands in the journal: the motion of a sensor, and the moments of one user's apps in it.
package struct StoredClip: Sendable {
    package struct Moment: Sendable {
        package let app: String
        package let detector: String
        /// Nothing: a condition of its own.
        package let preset: String
        /// What was in force for the detector, as `DetectorText` has it.
        package let options: String
        /// By the clock of samples, in µs, and by the wall clock.
        package let time: Int64
        package let wall: Int64
        package let peak: Double
        package let threshold: Double?
        /// It nearly was a hit.
        package let isNear: Bool
    }

    package let id: Int64
    /// When its first moment was, in µs of the wall clock.
    package let wall: Int64
    package let user: Int64
    package let sensor: String
    package let channels: [String]
    package let motion: SampleBlock
    package private(set) var moments: [Moment] = []

    init(id: Int64, wall: Int64, user: Int64, sensor: String, channels: [String], _ motion: SampleBlock) {
        self.id = id
        self.wall = wall
        self.user = user
        self.sensor = sensor
        self.channels = channels
        self.motion = motion
    }

    mutating func add(_ moment: Moment) { self.moments.append(moment) }
}
