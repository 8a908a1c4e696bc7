/// The axes of a device, and those in which Linux has its sensors: docs/axes.md says which way they point, and how that is known.
///
/// Ours: x to the right, y to the upper edge, z out of the display; what is at rest reads 1 g upwards. On Linux x and y stand the other way
/// round. Half a turn about z leads from one to the other, and back.
package enum DeviceAxes {
    package static func turned(_ vector: SIMD3<Double>) -> SIMD3<Double> { SIMD3(0 - vector.x, 0 - vector.y, vector.z) }

    /// Turns the first two of three values in place.
    package static func turn(_ row: inout [Double]) {
        // Not the opposite: nothing is to become -0.
        row[0] = 0 - row[0]
        row[1] = 0 - row[1]
    }

    /// Turns in place what the accelerometer of a sensor hub shows that speaks HID: where gravity pulls, not what holds the
    /// device. Gyroscope and magnetometer of such a hub are in our axes as they are.
    package static func oppose(_ row: inout [Double]) {
        for index in row.indices { row[index] = 0 - row[index] }
    }
}
