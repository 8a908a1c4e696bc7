/// What a sensor is: its channels, unit, range and the rates it can run at.
package struct SensorDescription: Hashable, Sendable {
    /// `accelerometer`, `gyroscope`, `location`, `light`, `proximity`, `magnetometer`, or `motion`, which is made of the first
    /// two, or `hinge`, which is made of two accelerometers; a further one of a kind has something behind it: `accelerometer-base`, `accelerometer-2`. Also the last part of
    /// its object path.
    package var name: String
    /// The channels in the order of a sample's values.
    package var channels: [String]
    /// The unit of the values as `Samples` carries them: `g` for an accelerometer; one for each channel, with commas between
    /// them, where they differ.
    package var unit: String
    /// The largest magnitude a channel can show, or `nil` when unknown.
    package var range: Double?
    /// The rates the device can run at, in Hz, ascending; empty when it takes any.
    package let rates: [Double]
    /// Where the sensor sits (`display`, `base`, …); empty when unknown.
    package var placement: String
    /// Where the samples come from, as a person would name it: `synth`, `trace:walk.csv`.
    package var source: String
    /// True for samples that were made or replayed, not measured now.
    package var isSimulated: Bool
    /// False while there is no device behind the name, or a broken one. Claims are kept meanwhile.
    package var isAvailable: Bool
    /// Its samples come at the rate that is in force for as long as it runs, so that their silence says that something is wrong.
    package var isSteady = false
    /// Its samples' times are of a clock that goes faster or slower than time: how old one is cannot be told from its time.
    package var hasOwnClock = false

    package init(
        name: String, channels: [String], unit: String, range: Double? = nil, rates: [Double],
        placement: String = "", source: String, isSimulated: Bool, isAvailable: Bool = true
    ) {
        self.name = name
        self.channels = channels
        self.unit = unit
        self.range = range
        self.rates = rates.filter { $0.isFinite && $0 > 0 }.sorted()
        self.placement = placement
        self.source = source
        self.isSimulated = isSimulated
        self.isAvailable = isAvailable
    }
}

extension SensorDescription {
    /// The sensor that most detectors listen to.
    package static let accelerometer = "accelerometer"
    package static let gyroscope = "gyroscope"
    /// The sensor that is made of an accelerometer and, where there is one, a gyroscope.
    package static let motion = "motion"
    /// Where the device is.
    package static let location = "location"
    /// The units of its channels.
    package static let locationUnits = "deg,deg,m/s,deg,m"

    /// How far a laptop is open, made of the accelerometers of its display and its base.
    package static let hinge = "hinge"
    /// The accelerometer of a laptop's base.
    package static let base = "accelerometer-base"
    /// The units of a hinge's channels.
    package static let hingeUnits = "deg,%"

    /// The channels a sensor of this name has when nothing else is known.
    package static func channels(of name: String) -> [String] {
        switch self.kind(of: name) {
        case self.location: ["latitude", "longitude", "speed", "course", "accuracy"]
        case "light": ["lux"]
        case "proximity": ["near"]
        case self.hinge: ["angle", "confidence"]
        case self.motion:
            [
                "x", "y", "z", "gravity_x", "gravity_y", "gravity_z", "rotation_x", "rotation_y", "rotation_z", "roll",
                "pitch", "yaw",
            ]
        default: ["x", "y", "z"]
        }
    }

    /// The units of the channels that measure something else than the sensor's first, or in another unit than ours.
    package static func otherUnits(of name: String) -> [String: Unit] {
        let kind = self.kind(of: name)
        let units: [Substring]
        switch kind {
        case self.location: units = self.locationUnits.split(separator: ",")
        case self.hinge: units = self.hingeUnits.split(separator: ",")
        case self.motion:
            units =
                Array(repeating: "g", count: 6) + Array(repeating: "rad/s", count: 3)
                + Array(repeating: "rad", count: 3)
        default: units = []
        }
        let known = zip(self.channels(of: kind), units).compactMap { channel, unit in
            Unit.named(unit).map { (channel, $0) }
        }
        return Dictionary(uniqueKeysWithValues: known)
    }

    /// What kind of sensor bears a name: `accelerometer-base` is an accelerometer.
    package static func kind(of name: String) -> String {
        name.utf8.firstIndex(of: UInt8(ascii: "-")).map { String(name[..<$0]) } ?? name
    }

    /// The rate the sensor runs at when `rate` is the fastest wanted: its nearest at or above, else its highest.
    package func rate(for rate: Double) -> Double { Self.rate(for: rate, among: self.rates) }

    /// The rates of what is made of this sensor: of one that runs faster than all may see it, also the rate at which they may. Whoever wants no
    /// more would see other samples than they do.
    package var ratesMadeOf: [Double] {
        let slow = self.rates.prefix { $0 <= SensorLimits.rateForAll }
        guard slow.count < self.rates.count, slow.last != SensorLimits.rateForAll else { return self.rates }
        return slow + [SensorLimits.rateForAll] + self.rates.dropFirst(slow.count)
    }

    /// The rate nearest at or above the wanted one among those there are, else the highest; any when none are named.
    package static func rate(for wanted: Double, among rates: [Double]) -> Double {
        rates.first { $0 * (1 + Self.rateTolerance) >= wanted } ?? rates.last ?? wanted
    }

    /// Two rates nearer than this are one rate: rates are often made from a period, and 1 / (1 / 60) is not 60.
    package static let rateTolerance = 1e-6
}

/// How a sensor runs, or should run: how often it is read and how long readings may be held back.
package struct SensorPace: Hashable, Sendable {
    /// Samples a second, in Hz.
    package var rate: Double
    /// The longest a sample may wait so that several travel together; zero: each at once.
    package var batchLatency: TimeSpan

    package init(rate: Double, batchLatency: TimeSpan = .zero) {
        self.rate = rate
        self.batchLatency = batchLatency
    }

    /// Messages a second, when samples travel together as far as that allows.
    package var messages: Double {
        min(self.rate, self.batchLatency > .zero ? 1 / self.batchLatency.seconds : self.rate)
    }
}

/// Limits on samples and sensors that both sides hold to.
package enum SensorLimits {
    /// Most channels of one sensor.
    package static let channels = 16
    /// Rates that can be claimed, in Hz.
    package static let rates: ClosedRange<Double> = 0.01...10_000
    /// The rate in Hz that nobody needs a right for: faster ones can hear speech through an accelerometer.
    package static let rateForAll = 200.0
    /// Longest time that samples may be held back.
    package static let batchLatency = TimeSpan.seconds(10)
    /// Most samples in one message.
    package static let batch = 1_024
    /// A step between two samples longer than this is a gap, whatever the rate.
    package static let gap = TimeSpan.seconds(1)
    /// The same for a sensor: fixes come when they come, so that only what no condition looks back over is a gap.
    package static func gap(of sensor: String) -> TimeSpan {
        SensorDescription.kind(of: sensor) == SensorDescription.location ? .seconds(600) : self.gap
    }
    /// How far ahead of its arrival a sample's time may lie.
    package static let ahead = TimeSpan.seconds(1)
    /// Most claimants of one sensor at a time.
    package static let claimants = 1_024
    /// Those among them that only root may be.
    package static let claimantsOfRoot = 64
    /// Most messages a second that all strangers together have of one sensor, and those among them that only root may have: each
    /// costs us some microseconds, again and again.
    package static let messages = 24_000
    package static let messagesOfRoot = 2_400
    /// Most streams of one sensor that one connection has at a time.
    package static let streams = 16
    /// Most streams of all sensors and connections, as far as there are descriptors.
    package static let allStreams = 1_024
    /// Who found no place at a sensor, and is to be told when there is one.
    package static let refused = UserShares(limit: 64, reserve: 4)
    /// Calls of one connection that wait behind one of its own for what others say of it, and those of all for each interface that is
    /// claimed by.
    package static let waiting = 32
    package static let allWaiting = UserShares(limit: 1_024, reserve: 64)
}
