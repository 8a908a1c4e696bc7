package import Motion

/// Learns how many of an accelerometer's counts are 1 g, where neither the device nor its driver says so.
///
/// Whatever is done with a device, gravity is what it shows on average. Directions are right from the first reading on,
/// lengths as far as that average is.
package struct GravityScale: Sendable {
    /// Readings older than this hardly count.
    package static let memory = TimeSpan.seconds(10)
    /// A device that shows nothing at all for longer does not measure.
    private static let patience = TimeSpan.seconds(1)

    private var length = 0.0
    private var last: Timestamp?
    /// Since when it has shown nothing at all.
    private var nothingSince: Timestamp?

    package init() {}

    /// Whether it has shown nothing at all for so long that it does not measure.
    package func isSilent(at time: Timestamp) -> Bool {
        self.last == nil && self.nothingSince.map { time - $0 >= Self.patience } ?? false
    }

    /// Turns counts into g. False for a reading of nothing at all while nothing is known: the device has not measured yet.
    package mutating func turn(_ row: inout [Double], at time: Timestamp) -> Bool {
        let length = row.reduce(0) { $0 + $1 * $1 }.squareRoot()
        if let last {
            let passed = (time - last).seconds
            self.length += (length - self.length) * min(max(passed / Self.memory.seconds, 0), 1)
        } else {
            self.length = length
        }
        guard self.length > 0 else {
            self.nothingSince = self.nothingSince ?? time
            return false
        }
        self.last = time
        for axis in row.indices { row[axis] /= self.length }
        return true
    }
}
