/// What a receiver says of where it is, as far as it says it.
package struct LocationFix: Hashable, Sendable {
    /// When it was there: µs of whatever clock its source has.
    package var time: Int64
    package var position: Position
    /// Over ground, in m/s.
    package var speed: Double?
    /// In degrees from north over east.
    package var course: Double?
    /// How far off the position may be, in m.
    package var accuracy: Double?

    package init(
        time: Int64, position: Position, speed: Double? = nil, course: Double? = nil, accuracy: Double? = nil
    ) {
        self.time = time
        self.position = position
        self.speed = speed
        self.course = course
        self.accuracy = accuracy
    }
}

/// Makes samples of fixes: each has all channels, so what a fix leaves out follows from the one before it.
package struct LocationTrack: Sendable {
    /// In m; taken when nothing is said of it, as for a phone under the open sky.
    package static let usualAccuracy = 10.0
    /// In m/s and m; what lies outside counts as not told, as nothing on Earth or around it has it.
    private static let speeds = 0.0...100_000
    private static let accuracies = 0.0...50_000_000
    /// A step shorter than this, in m, has no direction.
    private static let shortest = 0.5

    private var last: LocationFix?
    private var speed = 0.0
    private var course = 0.0

    package init() {}

    /// The channels of a fix, in their order; `nil` for one that does not follow in time.
    ///
    /// Speed is then that of the way from the fix before, 0 at the first, and stays where nothing can be that fast; the course is
    /// that of this way, and stays where there is no way.
    package mutating func row(for fix: LocationFix) -> [Double]? {
        if let last, fix.time <= last.time { return nil }
        if let last {
            let way = last.position.distance(to: fix.position)
            self.take(
                speed: way / (Double(fix.time.subtractingReportingOverflow(last.time).partialValue) / 1_000_000))
            if way >= Self.shortest { self.course = last.position.course(to: fix.position) }
        }
        if let speed = fix.speed { self.take(speed: speed) }
        if let course = fix.course, (0...360).contains(course) {
            self.course = course == 360 ? 0 : course
        }
        self.last = fix
        let accuracy = fix.accuracy.flatMap { Self.accuracies.contains($0) ? $0 : nil } ?? Self.usualAccuracy
        return [fix.position.latitude, fix.position.longitude, self.speed, self.course, accuracy]
    }

    private mutating func take(speed: Double) {
        if Self.speeds.contains(speed) { self.speed = speed }
    }
}
