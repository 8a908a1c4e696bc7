/// A detector as an app asks for it: a name of its own, and options as they came.
///
/// Nothing is checked here; `Detection` checks, fills in defaults and compiles.
package struct DetectorRequest: Equatable, Sendable {
    /// The app's name for the detector; the same name again replaces it.
    package var name: String
    /// Option key to value: `preset`, `when`, `every`, `rest`, `sensor`, and the preset's parameters.
    package var options: DetectorOptions

    package init(name: String, options: DetectorOptions) {
        self.name = name
        self.options = options
    }

    package init(name: String, options: [String: OptionValue]) {
        self.init(name: name, options: DetectorOptions(options))
    }
}

/// The value of an option, in the types that the bus and the command line can carry.
package enum OptionValue: Equatable, Sendable {
    case text(String)
    case number(Double)
    /// A whole number: `t` on the bus, microseconds where the option is a time.
    case count(UInt64)
    /// How many of something, where that is known: `u` on the bus, so that nobody takes it for a time.
    case whole(UInt32)
    case flag(Bool)
}

/// A true look that the detector's rest let through.
@frozen
public struct Hit: Equatable, Sendable {
    /// Which detector.
    public var detector: DetectorID
    /// A sample that led to it lay at the limit of the sensor's range: the motion may have been harder than it shows.
    public var isClipped: Bool
    /// The motion was made or replayed, not measured.
    public var isSimulated: Bool
    /// What the detector says besides the peak.
    public var note: HitNote
    /// The time of the sample whose look it was.
    public var time: Timestamp
    /// The largest value the detector's quantity has had since its condition became true.
    public var peak: Double

    /// Makes a hit.
    @inlinable
    public init(
        detector: DetectorID, time: Timestamp, peak: Double, isClipped: Bool = false, isSimulated: Bool = false,
        note: HitNote = .none
    ) {
        self.detector = detector
        self.isClipped = isClipped
        self.isSimulated = isSimulated
        self.note = note
        self.time = time
        self.peak = peak
    }
}
