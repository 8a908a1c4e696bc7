package import Motion

/// How the samples of a device follow each other across changes of its buffer, which cannot be changed while it fills.
package struct SampleTrail: Sendable {
    /// The last sample, and the rate that it was of.
    private var last: (time: Timestamp, rate: Double)?
    private var isBroken = false

    package init() {}

    /// The buffer is set up anew: whatever the device measures meanwhile is lost.
    package mutating func breakOff() { self.isBroken = true }

    /// Takes the next sample, which is of this rate. Returns whether some are missing before it.
    ///
    /// None are where it comes as soon as at the slower of the two rates, each being late by a quarter of a period at most.
    package mutating func take(_ time: Timestamp, rate: Double) -> Bool {
        defer {
            self.last = (time, rate)
            self.isBroken = false
        }
        guard self.isBroken, let last = self.last else { return false }
        return (time - last.time).seconds > 1.5 / min(last.rate, rate)
    }
}
