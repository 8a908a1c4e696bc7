import Motion

/// The points in time at which one claim wants a sample: a grid of its rate that begins with the first sample.
///
/// The sample nearest to each point is due: the first at or after the point, less half a step of the device.
/// Without the half step, a device with jitter would hit the wrong side of a point every other time.
struct ClaimGrid: Sendable {
    /// True when every sample of the device is due to the claimant.
    private(set) var takesAll = true
    /// Half the time between two samples of the device, in µs.
    private var halfStep = 0.0
    /// The first sample's time, where the grid begins.
    private var origin: Timestamp?
    /// The grid's bucket that the last due sample fell into, or that is open.
    private var bucket = 0.0

    /// Follows the device to another pace. Returns the rate that is in force then: the wanted one, or the device's.
    mutating func follow(_ device: SensorPace, wanted: Double) -> Double {
        self.takesAll = device.rate <= wanted * (1 + SensorDescription.rateTolerance)
        self.halfStep = 500_000 / device.rate
        return self.takesAll ? device.rate : wanted
    }

    /// Begins with the sample that comes next.
    mutating func beginAnew() { self.origin = nil }

    /// Looks at a sample of the device. Returns whether it is due, at the rate in force.
    @inline(__always)
    mutating func reaches(_ time: Timestamp, at rate: Double) -> Bool {
        guard let origin = self.origin else {
            self.origin = time
            self.bucket = 0
            return true
        }
        let elapsed = Double((time - origin).microseconds) + self.halfStep
        let bucket = (elapsed * rate / 1_000_000).rounded(.down)
        guard self.takesAll || bucket > self.bucket else { return false }
        self.bucket = bucket
        return true
    }
}
