import Motion

/// Where samples come from. One source, one sensor.
///
/// Not `Sendable`: it belongs to the loop's thread.
protocol SampleSource: AnyObject {
    var sensor: SensorDescription { get }
    /// Takes what the source reads. Set once, before anything runs.
    var sink: (any SampleSink)? { get set }
    /// The clock of the source's sample times: BOOTTIME, unless it plays faster or slower than time passes.
    var now: Timestamp { get }
    /// When the source's clock will show `time`, as CLOCK_BOOTTIME microseconds.
    func alarm(for time: Timestamp) -> Int64
    /// Runs at this pace from now on; returns the pace it really runs at.
    func run(at pace: SensorPace) -> SensorPace
    func stop()
    /// Adds motion from now on.
    func inject(_ motion: String) throws(InjectProblem)
}

/// What a source tells while it runs.
protocol SampleSink: AnyObject {
    /// One sample; the row is lent.
    func sample(at time: Timestamp, _ row: Span<Double>)
    /// All samples of one reading are told.
    func readingDone()
    /// The source broke and stands still.
    func failed(_ message: String)
}

/// Why motion could not be added.
enum InjectProblem: Swift.Error {
    /// The source measures or replays; nothing can be added to it.
    case notSupported
    /// A limit is crossed, which the message names.
    case limit(String)
    case bad(String)
}
