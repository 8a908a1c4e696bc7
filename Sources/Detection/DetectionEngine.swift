package import Motion

/// Evaluates all detectors of one sensor's stream: samples in, hits out.
///
/// A value: it knows no clock and no apps, and the same calls in the same order give the same hits.
package struct DetectionEngine {
    /// What was counted since the start.
    package struct Counters: Equatable, Sendable {
        /// Samples refused because their time does not follow, lies in the future, or a value is not finite.
        package var refusedSamples: UInt64 = 0
        /// Samples that passed while motion was muted.
        package var mutedSamples: UInt64 = 0
        /// Looks that were false because a value in them is undefined.
        package var undefinedLooks: UInt64 = 0
        /// Gaps found between samples or told.
        package var gaps: UInt64 = 0
    }

    /// How a detector stands.
    package struct Status: Equatable, Sendable {
        /// True when the last look was.
        package var isTrue: Bool
        /// The last true look.
        package var lastTrue: Timestamp?
        /// When a true look may fire again; in the past when it may now.
        package var restEnds: Timestamp?
    }

    package private(set) var counters = Counters()
    private let channels: Int
    private var detectors: [DetectorID: Evaluated] = [:]
    private var order: [DetectorID] = []
    /// Where the grid of looks begins: the first sample after a start or a gap.
    private var origin: Int64?
    private var lastTime: Int64?
    private var mutedUntil: Timestamp?

    package init(channels: [String]) {
        self.channels = channels.count
    }

    /// Adds a detector, or replaces the one with that id; it looks at the next sample for the first time.
    package mutating func add(_ detector: CompiledDetector, as id: DetectorID, at registration: Timestamp) {
        if self.detectors.updateValue(Evaluated(detector, at: registration), forKey: id) == nil {
            self.order.append(id)
            self.order.sort()
        }
    }

    /// Removes a detector; it makes no hit from now on.
    package mutating func remove(_ id: DetectorID) {
        guard self.detectors.removeValue(forKey: id) != nil else { return }
        self.order.removeAll { $0 == id }
    }

    /// The rate in Hz that the sensor must run at, or `nil` when nobody needs it.
    package var neededRate: Double? { self.detectors.values.map(\.detector.neededRate).max() }

    /// How a detector stands after the last look, or `nil` for an unknown one.
    package func status(of id: DetectorID) -> Status? { self.detectors[id]?.status }

    /// Looks at a batch of samples and appends the hits in the order of (time, id).
    ///
    /// `values` holds one row of all channels for each time. Samples that claim to be later than `arrival` by more
    /// than `DetectionLimits.future` are refused.
    package mutating func process(
        times: Span<Int64>, values: Span<Double>, arrival: Timestamp? = nil, hits: inout [Hit]
    ) {
        let rows = self.channels < 3 ? 0 : min(times.count, values.count / self.channels)
        self.counters.refusedSamples &+= UInt64(times.count - rows)
        for row in 0..<rows {
            let time = times[row]
            let first = row * self.channels
            guard self.accepts(time, arrival: arrival),
                (first..<first + self.channels).allSatisfy({ values[$0].isFinite })
            else {
                self.counters.refusedSamples &+= 1
                continue
            }
            if let mutedUntil, time < mutedUntil.microseconds {
                self.counters.mutedSamples &+= 1
                continue
            }
            if let lastTime, Timestamp(microseconds: time) - Timestamp(microseconds: lastTime) > SensorLimits.gap {
                self.gap()
            }
            self.lastTime = time
            let origin = self.origin ?? time
            self.origin = origin
            for id in self.order {
                guard
                    let peak = self.detectors[id]?.look(
                        at: time, origin: origin, values[first], values[first + 1], values[first + 2])
                else { continue }
                hits.append(Hit(detector: id, time: Timestamp(microseconds: time), peak: peak))
            }
        }
    }

    /// Forgets filters, windows and the grid's origin; nothing is detected across. Rests go on.
    package mutating func gap() {
        self.counters.gaps &+= 1
        self.origin = nil
        for id in self.order { self.detectors[id]?.gap() }
    }

    /// Runs what is due in sample time although samples stopped.
    package mutating func tick(to now: Timestamp, hits: inout [Hit]) {}

    /// Makes the engine blind for samples before `time`, because the device itself vibrates.
    package mutating func mute(until time: Timestamp) {
        self.mutedUntil = max(time, self.mutedUntil ?? time)
    }

    private func accepts(_ time: Int64, arrival: Timestamp?) -> Bool {
        // Halving the range keeps every difference of two accepted times exact.
        guard time >= 0, time <= Int64.max / 2, time > self.lastTime ?? -1 else { return false }
        guard let arrival else { return true }
        return Timestamp(microseconds: time) <= arrival + DetectionLimits.future
    }
}

/// One detector and its state.
private struct Evaluated {
    let detector: CompiledDetector
    private var bucket: Int64?
    private var lastFired: Timestamp?
    private var lastTrue: Timestamp?
    /// The largest quantity since the condition became true; `nil` while it is false.
    private var peak: Double?

    init(_ detector: CompiledDetector, at registration: Timestamp) {
        self.detector = detector
        self.lastFired = detector.startsResting ? registration : nil
        self.lastTrue = detector.startsResting ? registration : nil
    }

    var status: DetectionEngine.Status {
        DetectionEngine.Status(
            isTrue: self.peak != nil, lastTrue: self.lastTrue, restEnds: self.restBegan.map { $0 + self.detector.rest })
    }

    private var restBegan: Timestamp? {
        switch self.detector.restMode {
        case .leading: self.lastFired
        case .restarting: self.lastTrue
        case .none: nil
        }
    }

    mutating func gap() {
        self.bucket = nil
        self.peak = nil
    }

    /// The peak of a hit, or `nil` when there is none.
    mutating func look(at time: Int64, origin: Int64, _ x: Double, _ y: Double, _ z: Double) -> Double? {
        if let every = self.detector.every {
            let bucket = (time - origin) / every.microseconds
            guard bucket != self.bucket else { return nil }
            self.bucket = bucket
        }
        let quantity = self.detector.condition.quantity(x, y, z)
        guard quantity > self.detector.condition.threshold else {
            self.peak = nil
            return nil
        }
        let now = Timestamp(microseconds: time)
        let peak = max(quantity, self.peak ?? quantity)
        self.peak = peak
        defer { self.lastTrue = now }
        if let began = self.restBegan, now - began < self.detector.rest { return nil }
        self.lastFired = now
        return peak
    }
}
