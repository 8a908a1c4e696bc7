import DeviceCore
import Motion

/// Reads one sensor of one device. Not `Sendable`: it belongs to the loop's thread.
protocol SensorReader: AnyObject {
    var sink: (any ReadingSink)? { get set }
    /// Looks at the device without letting it run.
    func probe() throws(DeviceProblem) -> SensorFacts
    /// Lets the device run, or run at another pace; returns the pace it really runs at.
    func start(at pace: SensorPace) throws(DeviceProblem) -> SensorPace
    /// Tells what has gathered in the device, before it would by itself.
    func catchUp()
    /// Lets the device stand still. It may be gone already.
    func stop()
    /// How the device is read: `polled` or `buffered`.
    var method: String { get }
}

extension SensorReader {
    /// Nothing to tell for one whose device gathers nothing.
    func catchUp() {}
}

/// What a reader tells while it runs.
protocol ReadingSink: AnyObject {
    /// One reading in our units, turned into the device's axes; the row is lent.
    func reading(at time: Timestamp, _ row: Span<Double>)
    func readingDone()
    /// What comes next does not follow on from what came before.
    func gap()
    func readingFailed(_ problem: DeviceProblem)
    /// A device answered that had been given up because it did not.
    func deviceAnswers()
    /// The device runs at another pace than was asked of it for this sensor.
    func paceChanged(_ pace: SensorPace)
    /// The device is read in another way than before, for this reason.
    func methodChanged(_ reason: String)
}

/// What a reader found out about its sensor.
struct SensorFacts {
    /// The largest magnitude of a channel, if known.
    var range: Double?
    /// The rates the device can run at; empty when it takes any.
    var rates: [Double] = []
    /// Readings come at the rate it runs at, also when nothing changes.
    var isSteady = true
    /// Something odd that does not keep the sensor from working.
    var remarks: [String] = []
}
