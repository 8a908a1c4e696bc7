package import Motion

/// How many samples a device's buffer gathers before it wakes us, and how long the buffer is.
package struct FifoPlan: Hashable, Sendable {
    /// Samples that wake us.
    package let watermark: Int
    /// Samples the kernel's buffer holds.
    package let length: Int
    /// How long the oldest sample waits then.
    package let latency: TimeSpan

    /// - Parameters:
    ///   - pace: what is wanted.
    ///   - rate: what the device really runs at.
    ///   - hardware: the watermarks that the hardware takes; `nil` when its driver says nothing.
    ///   - canWait: false when the kernel has no watermark to set.
    package init(for pace: SensorPace, rate: Double, hardware: ClosedRange<Int>? = nil, canWait: Bool = true) {
        var watermark = 1
        if canWait, rate.isFinite, rate > 0 {
            let samples = (pace.batchLatency.seconds * rate).rounded(.down)
            watermark = Int(min(max(samples, 1), Double(SensorLimits.batch)))
            // Less than the hardware's least is waited for by the kernel, sample by sample.
            if let hardware, watermark >= hardware.lowerBound { watermark = min(watermark, hardware.upperBound) }
        }
        self.watermark = watermark
        // Room for a second of sleep of ours besides.
        self.length = max(2 * watermark, Int(min(max(rate.isFinite ? rate : 0, 0), 10_000)), 16)
        let held = watermark > 1 ? TimeSpan(seconds: Double(watermark) / rate) : nil
        self.latency = min(held ?? .zero, SensorLimits.batchLatency)
    }
}
