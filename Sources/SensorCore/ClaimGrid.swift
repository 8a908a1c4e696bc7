import Motion

/// The points in time at which one claim wants a sample: a grid of its rate that begins with the first sample.
///
/// The sample nearest to each point is due: the first at or after the point, less half a step of the device.
/// Without the half step, a device with jitter would hit the wrong side of a point every other time.
struct ClaimGrid: Sendable {
    /// True when every sample of the device is due to the claimant.
    private(set) var takesAll = true
    /// Half the time between two samples that come here, in µs.
    private var halfStep = 0.0
    /// The first sample's time, where the grid begins.
    private var origin: Timestamp?
    /// The grid's bucket that the last due sample fell into, or that is open.
    private var bucket = 0.0
    /// Whether there are so many samples at most as the rate says, whatever the device gives.
    var isBounded: Bool
    private var allowance = SampleAllowance()

    init(isBounded: Bool) { self.isBounded = isBounded }

    /// Follows the device to another pace. Returns the rate that is in force then: the wanted one, or the device's.
    ///
    /// - Parameter most: How many of the device's samples a second come here at most.
    mutating func follow(_ device: SensorPace, wanted: Double, atMost most: Double = .infinity) -> Double {
        self.takesAll = device.rate <= wanted * (1 + SensorDescription.rateTolerance)
        self.halfStep = 500_000 / min(device.rate, most)
        return self.takesAll ? device.rate : wanted
    }

    /// Begins with the sample that comes next.
    mutating func beginAnew() { self.origin = nil }

    /// Looks at a sample of the device. Returns whether it is due, at the rate in force.
    @inline(__always)
    mutating func reaches(_ time: Timestamp, at rate: Double) -> Bool {
        var bucket = 0.0
        if let origin = self.origin {
            let elapsed = Double((time - origin).microseconds) + self.halfStep
            bucket = (elapsed * rate / 1_000_000).rounded(.down)
            guard self.takesAll || bucket > self.bucket else { return false }
        }
        guard !self.isBounded || self.allowance.take(time, at: rate) else { return false }
        if self.origin == nil { self.origin = time }
        self.bucket = bucket
        return true
    }
}
