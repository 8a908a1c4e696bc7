package import Motion

/// Limits on what a detector may ask for. Crossing one is answered with the limit's name.
package enum DetectionLimits {
    /// `every`: from a thousand looks a second to one a minute.
    package static let every = TimeSpan.milliseconds(1)...TimeSpan.seconds(60)
    /// `rest`: up to a day.
    package static let rest = TimeSpan.zero...TimeSpan.seconds(86_400)
    /// Windows, time constants and other times in a condition.
    package static let span = TimeSpan.milliseconds(1)...TimeSpan.seconds(600)
    /// The rest of a condition that names none: fixes come a second apart, and a rest is longer than that.
    package static func defaultRest(of sensor: String) -> TimeSpan {
        SensorDescription.kind(of: sensor) == SensorDescription.location ? .seconds(60) : .seconds(1)
    }
    /// How far ahead of its arrival a sample may claim to be.
    package static let future = TimeSpan.seconds(1)
    /// Looks a second of a detector that names no pace.
    package static let defaultRate = 50.0
    /// The same for a sensor. Receivers tell where they are once a second.
    package static func defaultRate(of sensor: String) -> Double {
        SensorDescription.kind(of: sensor) == SensorDescription.location ? 1 : self.defaultRate
    }
    /// The slowest rate that a sensor is read at for who looks back, however seldom: two samples in the time beyond which a step is a
    /// gap.
    package static func slowestRate(of sensor: String) -> Double { 2 / SensorLimits.gap(of: sensor).seconds }
    /// Distinct paces of one sensor's detectors that an engine should be given (`paces`).
    package static let paces = 64
    /// Bytes of the name of a sensor (`sensor-name-bytes`): it is kept wherever what a detector asks for is, and noted.
    package static let sensorName = 128
    /// Bytes of a condition (`condition-length`).
    package static let conditionLength = 4_096
    /// Depth of parentheses, calls, `not` and signs (`condition-nesting`).
    package static let nesting = 32
    /// Distinct operations of a condition: its cost by look (`condition-operations`).
    package static let nodes = 256
    /// Comparisons of a condition (`condition-comparisons`).
    package static let comparisons = 128
    /// Distinct filters, windows and other memories of a condition: its memory (`condition-stateful`).
    package static let stateful = 32

    /// What `Limits` shows of these.
    package static let table: [String: UInt64] = [
        "sensor-name-bytes": UInt64(sensorName),
        "condition-length": UInt64(conditionLength), "condition-nesting": UInt64(nesting),
        "condition-operations": UInt64(nodes), "condition-comparisons": UInt64(comparisons),
        "condition-stateful": UInt64(stateful), "paces": UInt64(paces),
    ]
}
