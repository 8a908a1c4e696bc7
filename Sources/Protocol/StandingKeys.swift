/// The keys of what the broker shows of its sensors.
package enum SensorStateKey {
    package static let name = "name"
    package static let available = "available"
    package static let state = "state"
    package static let detail = "detail"
    package static let rate = "rate"
    package static let received = "received"
    package static let lost = "lost"
    package static let gaps = "gaps"
    package static let refused = "refused"
}

/// The keys of what is in force of a detector, besides its own options.
package enum DetectorKey {
    package static let available = "available"
    package static let effectiveRate = "effective-rate"
    package static let warnings = "warnings"
}
