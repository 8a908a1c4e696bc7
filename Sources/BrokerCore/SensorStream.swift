package import Detection
package import Motion

/// One sensor as the broker uses it: the claim it needs, the stream that comes in, and the engine that reads it.
package struct SensorStream {
    package let name: String
    /// `nil` while there is no reader that has the sensor.
    package private(set) var description: SensorDescription?
    package private(set) var channels: [String]
    var engine: DetectionEngine
    var detectors = 0
    /// What the detectors of all apps cost here.
    var census = FeatureCensus()
    /// Hits of the last samples, until they are decided.
    var hits: [Hit] = []

    /// What we claimed last, or would claim if the sensor were there.
    package private(set) var wanted: SensorPace?
    private var claimed: SensorPace?
    /// What the reader says is in force for us.
    package private(set) var inForce: SensorPace?

    /// The sequence number that comes next; `nil` before the first sample of a claim.
    private var expected: UInt64?
    /// Times that samples were missing or out of step.
    package private(set) var gaps: UInt64 = 0
    /// Samples that were sent to us and did not come.
    package private(set) var lost: UInt64 = 0
    package private(set) var received: UInt64 = 0

    enum Change {
        case claim(SensorPace)
        case release
    }

    init(name: String, channels: [String]) {
        self.name = name
        self.channels = channels
        self.engine = DetectionEngine(channels: channels, gap: SensorLimits.gap(of: name))
    }

    /// True while a device is behind the sensor and works.
    package var isAvailable: Bool { self.description?.isAvailable ?? false }

    package var counters: DetectionEngine.Counters { self.engine.counters }

    mutating func appear(_ sensor: SensorDescription) {
        // A claim outlives the device behind the sensor, but not the reader.
        if self.description == nil { self.claimed = nil }
        self.description = sensor
        self.channels = sensor.channels
        self.engine.setRange(sensor.range)
        self.breakOff()
    }

    /// The reader went away: our claim went with it, and what comes next begins anew.
    mutating func disappear() {
        self.description = nil
        self.claimed = nil
        self.inForce = nil
        self.breakOff()
    }

    /// Nothing is detected across what did not come.
    mutating func breakOff() {
        self.expected = nil
        self.engine.gap()
    }

    /// What has to change about the claim, if anything. A paused sensor is wanted by nobody.
    mutating func steer(_ batchLatency: TimeSpan, isPaused: Bool) -> Change? {
        let rate = self.detectors == 0 || isPaused ? nil : self.engine.neededRate
        self.wanted = rate.map { SensorPace(rate: $0, batchLatency: batchLatency) }
        guard self.description != nil, self.wanted != self.claimed else { return nil }
        self.claimed = self.wanted
        guard let wanted = self.wanted else {
            self.inForce = nil
            return .release
        }
        return .claim(wanted)
    }

    /// The reader answered a claim. Numbers begin again with each claim; nothing is lost in between.
    mutating func claimAnswered(_ pace: SensorPace) {
        self.inForce = pace
        self.expected = nil
    }

    mutating func paceChanged(_ pace: SensorPace) { self.inForce = pace }

    /// Takes note of the numbers of samples that are about to be processed.
    mutating func begin(first: UInt64, count: Int) {
        if let expected = self.expected, first != expected {
            // Higher: some did not come. Lower: the numbers began again. Either way nothing is detected across.
            self.gaps &+= 1
            if first > expected { self.lost &+= first - expected }
            self.engine.gap()
        }
        self.expected = first &+ UInt64(count)
        self.received &+= UInt64(count)
    }

    mutating func process(times: Span<Int64>, values: Span<Double>, at arrival: Timestamp) {
        self.engine.process(times: times, values: values, arrival: self.latest(arrival), hits: &self.hits)
    }

    /// Whether a sample of this time would be looked at, or passed over in silence.
    func isNext(_ time: Timestamp, at arrival: Timestamp) -> Bool {
        self.engine.isNext(time, arrival: self.latest(arrival))
    }

    /// Measured samples cannot come from the future. Replayed ones may run ahead of the clock.
    private func latest(_ arrival: Timestamp) -> Timestamp? {
        self.description?.isSimulated ?? false ? nil : arrival
    }

    /// How long a sample takes at most from the reader to us.
    static let underWay = TimeSpan.milliseconds(100)

    /// How long after its time a sample may still be under way.
    var held: TimeSpan { (self.inForce?.batchLatency ?? .zero) + Self.underWay }

    /// Whether it has come to a time that has not been: only a trace can.
    func isAhead(at arrival: Timestamp) -> Bool { self.engine.time.map { $0 > arrival } ?? false }

    /// Whether samples of it may be under way to somebody.
    var isRead: Bool { self.description != nil && self.detectors > 0 }

    /// The sample time up to which it has said what it had to say, by its last sample or because more is too late.
    func horizon(at arrival: Timestamp) -> Timestamp {
        let latest = arrival - self.held
        return self.engine.time.map { max($0, latest) } ?? latest
    }

    /// When `tick` has something to do, should no sample come before.
    var nextTick: Timestamp? { self.engine.nextDeadline.map { $0 + self.held } }

    /// Closes the buckets that end before a sample; one that ends with it takes the sample in.
    mutating func closeBuckets(before time: Timestamp) {
        self.engine.tick(to: time - TimeSpan(microseconds: 1), hits: &self.hits)
    }

    mutating func tick(at arrival: Timestamp) { self.engine.tick(to: arrival - self.held, hits: &self.hits) }
}
