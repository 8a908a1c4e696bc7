package import DeviceCore
package import Motion

/// Where samples come from. One source, one sensor.
///
/// Not `Sendable`: it belongs to the loop's thread.
package protocol SampleSource: AnyObject {
    /// What the sensor is. Its name and channels stay; the rest may change with its device.
    var sensor: SensorDescription { get }
    /// Takes what the source reads. Set once, before anything runs.
    var sink: (any SampleSink)? { get set }
    /// The clock of the source's sample times: BOOTTIME, unless it plays faster or slower than time passes.
    var now: Timestamp { get }
    /// What keeps the source from giving good samples; `nil` when nothing does.
    var trouble: SensorState? { get }
    /// The driver or model of the device; empty when there is none.
    var driver: String { get }
    /// How the device is read, in one word; empty when there is none.
    var method: String { get }
    /// When the source's clock will show `time`, as CLOCK_BOOTTIME microseconds.
    func alarm(for time: Timestamp) -> Int64
    /// Runs at this pace from now on; returns the pace it really runs at.
    func run(at pace: SensorPace) -> SensorPace
    func stop()
    /// Tells the samples up to now that the source gathers to tell them together.
    func catchUp()
    /// Adds motion from now on.
    func inject(_ motion: String) throws(InjectProblem)
}

extension SampleSource {
    /// Nothing to tell for a source that gathers no samples itself.
    package func catchUp() {}
    package var driver: String { "" }
    package var method: String { "" }
}

/// What a source tells while it runs.
package protocol SampleSink: AnyObject {
    /// One sample; the row is lent.
    func sample(at time: Timestamp, _ row: Span<Double>)
    /// All samples of one reading are told.
    func readingDone()
    /// What comes next does not follow on from what came before.
    func gap()
    /// The source runs at another pace than it answered, through no call of ours.
    func paceChanged(_ pace: SensorPace)
    /// The source's trouble or description changed.
    func sourceChanged()
}

/// Why motion could not be added.
package enum InjectProblem: Swift.Error {
    /// The source measures or replays; nothing can be added to it.
    case notSupported
    /// A limit is crossed, which the message names.
    case limit(String)
    case bad(String)
}
