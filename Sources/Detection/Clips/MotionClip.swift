/// The motion of one sensor around some moments. Its memory is made once and filled again and again.
package struct MotionClip: Sendable {
    package internal(set) var sensor = ""
    package internal(set) var channels: [String] = []
    /// In µs, rising.
    package internal(set) var times: [Int64] = []
    /// Row by row.
    package internal(set) var values: [Double] = []
    package internal(set) var moments: [ClipMoment] = []

    /// So many samples, values and moments are in one at most.
    package static let (mostSamples, mostValues, mostMoments) = (4_096, 16_384, 16)

    package init() {
        self.times.reserveCapacity(Self.mostSamples)
        self.values.reserveCapacity(Self.mostValues)
        self.moments.reserveCapacity(Self.mostMoments)
    }

    /// Leaves out moments that are not to be kept.
    package mutating func removeMoments(where isLeftOut: (ClipMoment) -> Bool) {
        self.moments.removeAll(where: isLeftOut)
    }

    /// Forgets what is in it, and keeps the memory.
    package mutating func removeAll() {
        self.sensor = ""
        self.channels = []
        self.times.removeAll(keepingCapacity: true)
        self.values.removeAll(keepingCapacity: true)
        self.moments.removeAll(keepingCapacity: true)
    }
}
