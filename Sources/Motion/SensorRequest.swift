/// What a claimant asks of a sensor.
package struct SensorRequest: Hashable, Sendable {
    package var pace: SensorPace
    /// True: it takes what the device does for others, and never lets it run or run faster.
    package var isPassive: Bool
    /// What it gets of the samples that the device reads for faster claimants.
    package var decimation: Decimation
    /// Where it may not have the rate, it takes the fastest that it may have.
    package var orSlower: Bool

    package init(
        _ pace: SensorPace, isPassive: Bool = false, decimation: Decimation = .last, orSlower: Bool = false
    ) {
        self.pace = pace
        self.isPassive = isPassive
        self.decimation = decimation
        self.orSlower = orSlower
    }

    /// About how many messages a second it needs. Its pace must be within the limits.
    package var messages: Int {
        let (rate, latency) = (self.pace.rate, self.pace.batchLatency.seconds)
        let isGathered = latency * rate >= 1
        let count = isGathered ? max(1 / latency, rate / Double(SensorLimits.batch)) : rate
        return Int(count.rounded(.up))
    }
}

/// Why a claim rests, that is, is kept and gets no samples.
package enum Resting: String, Sendable {
    /// Its user may not claim at present, because another session is in front.
    case inactive
    /// Nobody says whether its user may.
    case unknown
}

/// Where samples wait so that several travel together.
package enum Gathering: String, Sendable {
    /// Each travels by itself.
    case none
    /// In the reader, which wakes for each of them.
    case reader
    /// In the device or the kernel as well: the reader wakes for many of them.
    case device
}
