import Motion

/// Which edge of a device is up, in the words of `net.hadess.SensorProxy`.
package enum Orientation: String, Hashable, Sendable, CaseIterable {
    case undefined
    /// The upper edge, as the device is built.
    case normal
    case bottomUp = "bottom-up"
    case leftUp = "left-up"
    case rightUp = "right-up"

    /// The edge that a `CalmScreen` found to be up.
    init(edge: Int) {
        switch edge {
        case 1: self = .rightUp
        case 2: self = .leftUp
        case 3: self = .normal
        default: self = .bottomUp
        }
    }

    /// An axis this far above or below the horizon, in degrees, has an edge up.
    private static let threshold = 35.0

    /// The orientation that follows this one when an accelerometer shows something, in the axes that Linux has (`DeviceAxes`).
    ///
    /// Lying flat, or on the border of two, nothing changes: that is the hysteresis.
    package func next(_ acceleration: SIMD3<Double>) -> Orientation {
        let across = elevation(acceleration.x, over: acceleration.y, acceleration.z)
        let along = elevation(acceleration.y, over: acceleration.x, acceleration.z)
        switch (across.magnitude > Self.threshold, along.magnitude > Self.threshold) {
        case (true, true), (false, false): return self
        case (true, false): return across > 0 ? .leftUp : .rightUp
        case (false, true): return along > 0 ? .bottomUp : .normal
        }
    }
}

/// How far a device's display leans back, in the words of `net.hadess.SensorProxy`.
package enum Tilt: String, Hashable, Sendable, CaseIterable {
    case undefined
    case vertical
    case tiltedUp = "tilted-up"
    case tiltedDown = "tilted-down"
    case faceUp = "face-up"
    case faceDown = "face-down"

    /// Up to here the display stands, from there it lies, in degrees.
    private static let standing = 20.0
    private static let lying = 70.0

    /// The tilt when an accelerometer shows something. Where z points is the same on Linux.
    package init(_ acceleration: SIMD3<Double>) {
        let angle = elevation(acceleration.z, over: acceleration.x, acceleration.y)
        if angle.magnitude <= Self.standing {
            self = .vertical
        } else if angle.magnitude < Self.lying {
            self = angle > 0 ? .tiltedUp : .tiltedDown
        } else {
            self = angle > 0 ? .faceUp : .faceDown
        }
    }
}

/// How far an axis points above the horizon, in whole degrees, by its part of a vector and the other two.
private func elevation(_ part: Double, over first: Double, _ second: Double) -> Double {
    (Mathematics.arctangent(part, (first * first + second * second).squareRoot()) * 180 / .pi).rounded()
}

/// Where a device points, from what a magnetometer shows and where up is, in our axes.
package enum Heading {
    /// The most of its length that an axis may lose to the vertical and still point somewhere.
    private static let flattest = 0.2

    /// Degrees clockwise from magnetic north, 0 to 359: of the upper edge, or of the back when that edge points straight up or down.
    /// `nil` where the field gives no north.
    package static func degrees(_ field: SIMD3<Double>, up: SIMD3<Double>) -> Double? {
        let size = length(up)
        guard size > 0.01 else { return nil }
        let up = up / size
        let east = cross(field, up)
        let strength = length(east)
        guard strength > 1e-9, strength.isFinite else { return nil }
        let north = cross(up, east)
        let isUpright = (1 - up.y * up.y) < Self.flattest * Self.flattest
        let angle = isUpright ? Mathematics.arctangent(-east.z, -north.z) : Mathematics.arctangent(east.y, north.y)
        // Whole degrees: what a magnetometer tells beyond is noise, and each change wakes somebody.
        let degrees = (angle * 180 / .pi).rounded()
        return degrees < 0 ? degrees + 360 : degrees
    }
}
