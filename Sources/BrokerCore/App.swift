package import Detection
package import Motion

/// One connected app: what it registered and what became of it.
package struct App {
    package let id: AppID
    package let identity: Identity
    package internal(set) var detectors: [String: InstalledDetector] = [:]
    /// Looks that its detectors' rests let through.
    package private(set) var hits: UInt64 = 0
    /// Events sent to it.
    package internal(set) var delivered: UInt64 = 0
    /// Events it did not get because it does not read.
    package internal(set) var dropped: UInt64 = 0
    package private(set) var lastEvent: Event?
    private var sequence: UInt64 = 0

    init(id: AppID, identity: Identity) {
        self.id = id
        self.identity = identity
    }

    /// Without policy every connected app is in the foreground: nothing is deaf by default.
    package var state: String { "foreground" }

    /// Makes the app's next event from a hit. Numbers count what was due, so that a receiver sees what it missed.
    mutating func take(_ hit: Hit, as detector: String, _ epoch: UInt64, _ isSimulated: Bool) -> Event {
        self.hits &+= 1
        self.sequence &+= 1
        let event = Event(
            sequence: self.sequence, epoch: epoch, time: hit.time, detector: detector, peak: hit.peak,
            isSimulated: isSimulated)
        self.lastEvent = event
        return event
    }
}

/// A detector of an app, at work in the engine of its sensor.
package struct InstalledDetector {
    package let id: DetectorID
    package let request: DetectorRequest
    package internal(set) var effective: CompiledDetector
    package let sensor: String
}

/// The answer to a registration: what is in force.
package struct EffectiveDetector {
    package let detector: CompiledDetector
    /// False while the sensor is not there; the detector works as soon as it is.
    package let isAvailable: Bool
    /// The rate the sensor runs at for all of us, in Hz; `nil` while it is not there.
    package let rate: Double?
}
