package import Motion

/// What an event says, whatever became of it: on its way to an app, due on the disk, or in the journal.
package struct EventContent: Equatable, Sendable {
    /// Per app, from 1, rising by one.
    package var sequence: UInt64
    package var epoch: UInt64
    /// The policy that decided, counted from 1.
    package var generation: UInt64
    /// The time of the sample that decided.
    package var time: Timestamp
    /// The app's own name for the detector.
    package var detector: String
    /// The largest value the detector's quantity has had since its condition became true.
    package var peak: Double
    /// The samples were made or replayed, not measured now.
    package var isSimulated: Bool
    /// A sample that led to it lay at the limit of the sensor's range.
    package var isClipped: Bool
    /// What the detector says besides the peak.
    package var note: HitNote

    package init(
        sequence: UInt64, epoch: UInt64, generation: UInt64, time: Timestamp, detector: String, peak: Double,
        isSimulated: Bool, isClipped: Bool, note: HitNote = .none
    ) {
        self.sequence = sequence
        self.epoch = epoch
        self.generation = generation
        self.time = time
        self.detector = detector
        self.peak = peak
        self.isSimulated = isSimulated
        self.isClipped = isClipped
        self.note = note
    }
}
