import CGps

/// Takes gpsd's lines apart with libgps.
@safe
package final class GpsdParser {
    package struct Report: Equatable {
        /// µs since 1970, as far as it is told.
        package var time: Int64?
        package var latitude: Double
        package var longitude: Double
        package var speed: Double?
        package var course: Double?
        package var accuracy: Double?
    }

    /// gpsd's own lines have at most 10 KiB.
    package static let longestLine = 16_384

    private let data: UnsafeMutablePointer<gps_data_t>

    package init() {
        // SAFETY: a new block of the type, which belongs to this object alone.
        guard let data = unsafe CGps_new() else { fatalError("no memory") }
        unsafe self.data = data
    }

    deinit { unsafe CGps_free(self.data) }

    /// The place that a line tells of; `nil` for any other.
    package func read(_ line: borrowing [UInt8]) -> Report? {
        guard !line.contains(0) else { return nil }
        var text = line.map { CChar(bitPattern: $0) } + [0]
        var fix = CGps_fix()
        // SAFETY: the text ends in NUL and is ours to change; both structs live for the call.
        guard unsafe CGps_read(self.data, &text, &fix) != 0 else { return nil }
        guard fix.latitude.isFinite, fix.longitude.isFinite else { return nil }
        func told(_ value: Double) -> Double? { value.isFinite ? value : nil }
        return Report(
            time: fix.time == 0 ? nil : fix.time, latitude: fix.latitude, longitude: fix.longitude,
            speed: told(fix.speed), course: told(fix.course), accuracy: told(fix.accuracy))
    }
}
