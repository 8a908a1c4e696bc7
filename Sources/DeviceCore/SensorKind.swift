import Motion

/// What a device can measure that we read, and how the kernel names and measures it.
package enum SensorKind: String, Hashable, Sendable, CaseIterable {
    case accelerometer
    case gyroscope
    case magnetometer
    case light
    case proximity
    /// Told by gpsd; the kernel knows nothing of it.
    case location

    /// The channels as the kernel's attributes name them: `in_accel_x_raw`. The first that exist count.
    package var attributeNames: [[String]] {
        switch self {
        case .accelerometer: [["accel_x", "accel_y", "accel_z"]]
        case .gyroscope: [["anglvel_x", "anglvel_y", "anglvel_z"]]
        case .magnetometer: [["magn_x", "magn_y", "magn_z"]]
        case .light: [["illuminance"], ["illuminance0"]]
        case .proximity: [["proximity"], ["proximity0"]]
        case .location: []
        }
    }

    /// What all channels of the kind share in attribute names: `in_accel_scale`.
    package var attributeType: String {
        switch self {
        case .accelerometer: "accel"
        case .gyroscope: "anglvel"
        case .magnetometer: "magn"
        case .light: "illuminance"
        case .proximity: "proximity"
        case .location: ""
        }
    }

    /// Our channels, in the order of `attributeNames`.
    package var channels: [String] { SensorDescription.channels(of: self.rawValue) }

    package var unit: String {
        switch self {
        case .accelerometer: Dimension.acceleration.canonicalUnit
        case .gyroscope: Dimension.angularVelocity.canonicalUnit
        case .magnetometer: "uT"
        case .light: Dimension.illuminance.canonicalUnit
        case .proximity: ""
        case .location: SensorDescription.locationUnits
        }
    }

    /// Multiply what the kernel measures by this to get our unit: m/s² to g, gauss to microtesla.
    package var factor: Double {
        switch self {
        case .accelerometer: 1 / Unit.standardGravity
        case .magnetometer: 100
        case .gyroscope, .light, .proximity, .location: 1
        }
    }

    /// True when readings mean nothing without a scale.
    package var needsScale: Bool {
        switch self {
        case .accelerometer, .gyroscope, .magnetometer: true
        case .light, .proximity, .location: false
        }
    }

    /// True for what can be mounted this way or that.
    package var hasDirection: Bool { self.channels.count == 3 }

    /// True for what always shows a little noise, so that the same values again and again mean something.
    package var isNoisy: Bool {
        switch self {
        case .accelerometer, .gyroscope, .magnetometer: true
        case .light, .proximity, .location: false
        }
    }
}
