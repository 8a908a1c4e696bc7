/// From a channel's raw number to our unit: `(raw + offset) * scale`, and the kernel's unit made ours.
package struct ChannelScale: Hashable, Sendable {
    package let offset: Double
    package let scale: Double

    /// What a scale may be: beyond it is a driver that writes nonsense.
    package static let plausible = 1e-12...1e6
    /// What an offset may be: no converter counts further.
    package static let plausibleOffset = -0x1p40...0x1p40

    /// `nil` for a scale or an offset that cannot be one.
    package init?(scale: Double, offset: Double = 0, factor: Double) {
        guard Self.plausible.contains(scale), Self.plausibleOffset.contains(offset) else { return nil }
        self.offset = offset
        self.scale = scale * factor
    }

    package func value(_ raw: Double) -> Double { (raw + offset) * self.scale }
}

/// Tells near from far by a raw reading, which rises as something comes nearer.
///
/// One level for coming and a lower one for going, so that a reading at the edge does not flutter. Between the two and above
/// the nominal level, the second reading in a row counts.
package struct ProximityGate: Hashable, Sendable {
    private let level: Double
    private var isNear = false
    private var wasAbove = false

    package init(level: Double) { self.level = level }

    /// 1 when something is near, else 0.
    package mutating func value(_ raw: Double) -> Double {
        self.isNear = raw > self.level * (self.isNear || self.wasAbove ? 0.9 : 1.1)
        self.wasAbove = raw > self.level
        return self.isNear ? 1 : 0
    }
}
