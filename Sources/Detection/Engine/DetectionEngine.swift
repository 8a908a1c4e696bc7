package import Motion

/// Evaluates all detectors of one sensor's stream: samples in, hits out.
///
/// A value: it knows no clock and no apps, and the same calls in the same order give the same hits. Detectors of one pace
/// share a lane, in which equal features exist once; a sample costs what is due and what changes, not what is registered.
package struct DetectionEngine {
    /// What was counted since the start.
    package struct Counters: Equatable, Sendable {
        /// Samples refused because their time does not follow, lies in the future, or a value is not finite.
        package var refusedSamples: UInt64 = 0
        /// Samples that passed while motion was muted.
        package var mutedSamples: UInt64 = 0
        /// Values that were undefined at a look, which made the looks that compare them false.
        package var undefinedLooks: UInt64 = 0
        /// Gaps found between samples or told.
        package var gaps: UInt64 = 0
    }

    /// How a detector stands after the last look.
    package struct Status: Equatable, Sendable {
        package var isTrue: Bool
        /// The last true look; `nil` when there was none.
        package var lastTrue: Timestamp?
        /// When a true look may fire again, as far as a rest has begun; in the past when it may now.
        package var restEnds: Timestamp?
    }

    private var counted = Counters()
    private let channels: [String]
    private var lanes: [Lane] = []
    /// How many lanes gather samples in buckets.
    private var gathering = 0
    private var around = Lane.Surroundings()
    /// How many detectors need each rate.
    private var rates: [Double: Int] = [:]
    /// Where the grids of looks begin: the first sample after a start or a gap.
    private var origin: Int64?
    /// The time of the last sample, in µs; negative before the first. Stored, so that others read it without a copy of all.
    package private(set) var lastTime: Int64 = -1
    private var mutedUntil = Int64.min
    /// The magnitude from which on a value is at the limit of the range.
    private var limit = Double.infinity
    /// The last sample at the limit; never, far enough from overflow.
    private var lastClipped = Self.neverClipped
    private static let neverClipped = Int64.min / 2

    /// The longest step between two samples that is no gap.
    private let longest: Int64

    /// - Parameters:
    ///   - range: The largest magnitude that the sensor can show, if that is known.
    ///   - gap: A step between two samples longer than this is a gap.
    package init(channels: [String], range: Double? = nil, gap: TimeSpan = SensorLimits.gap) {
        self.channels = channels
        self.longest = gap.microseconds
        self.setRange(range)
    }

    /// The sensor has this range from now on.
    ///
    /// The last steps of a converter of 8 bits lie a hundredth below the range it is sold with.
    package mutating func setRange(_ range: Double?) {
        self.limit = range.flatMap { $0 > 0 ? 0.99 * $0 : nil } ?? .infinity
    }

    package var counters: Counters {
        var counters = self.counted
        counters.undefinedLooks = self.around.undefined
        return counters
    }

    /// Distinct filters, windows and other memories that all detectors together need.
    package var statefulFeatures: Int { self.lanes.reduce(0) { $0 + $1.stateful } }

    /// Distinct pairs of `every` and `decimation`. Each costs a little with every sample, so who admits detectors should
    /// hold them to `DetectionLimits.paces`.
    package var paces: Int { self.lanes.count }

    /// True when some detector has this one's pace already.
    package func hasPace(of detector: CompiledDetector) -> Bool {
        let every = detector.every?.microseconds ?? 0
        return self.lanes.contains { $0.hasPace(every: every, detector.decimation) }
    }

    /// The rate in Hz that the sensor must run at, or `nil` when nobody needs it.
    package var neededRate: Double? { self.rates.keys.max() }

    // MARK: Detectors

    /// Adds a detector, or replaces the one with that id; it looks at the next sample of its pace for the first time.
    ///
    /// Ids index arrays: give them out densely.
    package mutating func add(_ detector: CompiledDetector, as id: DetectorID, at registration: Timestamp) {
        self.remove(id)
        let index = Int(id.index)
        if index >= self.around.records.count {
            let missing = max(index + 1, self.around.records.count * 2) - self.around.records.count
            self.around.records.append(contentsOf: repeatElement(.none, count: missing))
            self.around.seats.append(contentsOf: repeatElement(.none, count: missing))
            self.around.hits.reserve(self.around.records.count)
        }
        let every = detector.every?.microseconds ?? 0
        let lane: Int
        if let known = self.lanes.firstIndex(where: { $0.hasPace(every: every, detector.decimation) }) {
            lane = known
        } else {
            lane = self.lanes.count
            self.lanes.append(
                Lane(
                    every: every, decimation: detector.decimation, channels: self.channels.count, after: self.lastTime,
                    origin: self.origin))
            if detector.decimation != .last { self.gathering += 1 }
        }
        self.around.records[index].lane = Int32(lane)
        self.around.records[index].neededRate = detector.neededRate
        self.around.records[index].memory = detector.memory
        self.rates[detector.neededRate, default: 0] += 1
        // A channel that this sensor lacks is an undefined value, which has the slot behind the channels.
        let channels = detector.condition.formula.channels.map { name in
            Int32(self.channels.firstIndex(of: name) ?? self.channels.count)
        }
        self.lanes[lane].add(
            detector, as: id.index, channels: channels, at: registration, &self.around)
    }

    /// Removes a detector; it makes no hit from now on.
    package mutating func remove(_ id: DetectorID) {
        let index = Int(id.index)
        guard index < self.around.records.count, self.around.records[index].lane >= 0 else { return }
        let record = self.around.records[index]
        let lane = Int(record.lane)
        self.lanes[lane].remove(id.index, &self.around)
        self.around.records[index] = .none
        self.around.seats[index] = .none
        if let users = self.rates[record.neededRate] {
            self.rates[record.neededRate] = users > 1 ? users - 1 : nil
        }
        guard self.lanes[lane].isEmpty else { return }
        if self.lanes[lane].decimation != .last { self.gathering -= 1 }
        // The last lane takes the place of an empty one.
        self.lanes.swapAt(lane, self.lanes.count - 1)
        self.lanes.removeLast()
        guard lane < self.lanes.count else { return }
        let moved = Int32(self.lanes.count)
        for index in self.around.records.indices where self.around.records[index].lane == moved {
            self.around.records[index].lane = Int32(lane)
        }
    }

    /// Gives back memory that was needed for detectors that are gone.
    package mutating func shrink() {
        var count = self.around.records.count
        while count > 0, self.around.records[count - 1].lane < 0 { count -= 1 }
        if count < self.around.records.count / 2, self.around.hits.shrink(to: count) {
            self.around.records.removeLast(self.around.records.count - count)
            self.around.records.shrink()
            self.around.seats.removeLast(self.around.seats.count - count)
            self.around.seats.shrink()
        }
        self.rates.shrink()
        for lane in self.lanes.indices { self.lanes[lane].shrink() }
    }

    /// How a detector stands, or `nil` for an unknown one.
    package func status(of id: DetectorID) -> Status? {
        let index = Int(id.index)
        guard index < self.around.records.count, self.around.records[index].lane >= 0 else { return nil }
        let record = self.around.records[index]
        let seat = self.around.seats[index]
        guard seat.table >= 0 else { return Status(isTrue: false) }
        return self.lanes[Int(record.lane)].status(of: seat, record.restMode)
    }

    /// Hits of a detector that were held back because of the rhythm that they came in, since it was added.
    ///
    /// Detectors that are alike count together; each is told what came after itself.
    package func heldHits(of id: DetectorID) -> HeldHits {
        let index = Int(id.index)
        guard index < self.around.records.count, self.around.records[index].lane >= 0 else { return HeldHits() }
        let record = self.around.records[index]
        var held = self.lanes[Int(record.lane)].held(ofFormula: record.formula)
        let before = UInt64(record.heldBefore)
        guard held.count > before else { return HeldHits() }
        held.count -= before
        return held
    }

    // MARK: Samples

    /// Whether a sample of this time would follow: later than the last one, and not from the future.
    package func isNext(_ time: Timestamp, arrival: Timestamp? = nil) -> Bool {
        time.microseconds > self.lastTime && time.microseconds <= Self.latest(arrival)
    }

    /// The latest time a sample may have. Halving the range keeps sums and differences of accepted times exact.
    private static func latest(_ arrival: Timestamp?) -> Int64 {
        min(arrival.map { $0 + DetectionLimits.future }?.microseconds ?? .max, .max / 2)
    }

    /// Looks at a batch of samples and appends the hits in the order of (time, id).
    ///
    /// `values` holds one row of all channels for each time. Samples that claim to be later than `arrival` by more
    /// than `DetectionLimits.future` are refused.
    package mutating func process(
        times: Span<Int64>, values: Span<Double>, arrival: Timestamp? = nil, hits: inout [Hit]
    ) {
        let width = self.channels.count
        let rows = width == 0 ? 0 : min(times.count, values.count / width)
        self.counted.refusedSamples &+= UInt64(times.count - rows)
        let latest = Self.latest(arrival)
        let longest = self.longest
        var row = 0
        var isTrusting = true
        while row < rows {
            guard times[row] > self.lastTime, times[row] <= latest, Self.areBelow(.infinity, values, row * width, width)
            else {
                self.counted.refusedSamples &+= 1
                row += 1
                continue
            }
            guard times[row] >= self.mutedUntil else {
                self.counted.mutedSamples &+= 1
                row += 1
                continue
            }
            // Samples that follow each other without a gap are looked at together; one at the limit begins anew.
            let first = row
            self.begin(at: times[first], longest, &hits)
            if !Self.areBelow(self.limit, values, row * width, width) { self.lastClipped = times[first] }
            let end = self.gathering == 0 ? rows : first + 1
            row = self.follow(
                times, values, width, from: first, to: end, longest: longest, latest: latest, isTrusting: isTrusting)
            isTrusting = false
            self.lastTime = times[row - 1]
            self.take(times, values, first..<row, &hits)
        }
    }

    /// The end of the samples that follow each other from `first` on, which is good itself.
    ///
    /// Nearly always all of a batch do, which is seen faster at one glance, for which `isTrusting` stands.
    private func follow(
        _ times: Span<Int64>, _ values: Span<Double>, _ width: Int, from first: Int, to end: Int, longest: Int64,
        latest: Int64, isTrusting: Bool
    ) -> Int {
        if isTrusting, times[end - 1] <= latest, Self.areSteps(times, first, end, longest: longest),
            Self.areBelow(self.limit, values, (first + 1) * width, (end - first - 1) * width)
        {
            return end
        }
        var row = first + 1
        while row < end, times[row] > times[row - 1], times[row] <= latest, times[row] - times[row - 1] <= longest,
            Self.areBelow(self.limit, values, row * width, width)
        { row += 1 }
        return row
    }

    /// True when every time is later than the one before, by no more than `longest`.
    private static func areSteps(_ times: Span<Int64>, _ first: Int, _ end: Int, longest: Int64) -> Bool {
        var sign: Int64 = 0
        // SAFETY: the caller counts whole rows only. Wrapped round, a step is never short: the first time is accepted.
        for row in first &+ 1..<max(end, first &+ 1) {
            let step = times[unchecked: row] &- times[unchecked: row &- 1]
            sign |= (step &- 1) | (longest &- step)
        }
        return sign >= 0
    }

    /// True when all values lie between the limits, which none that is not finite does.
    private static func areBelow(_ limit: Double, _ values: Span<Double>, _ first: Int, _ count: Int) -> Bool {
        let bytes = values.bytes
        var areBelow = SIMDMask<Evaluation.Looks.MaskStorage>(repeating: true)
        var index = first
        // SAFETY: the caller counts whole rows only.
        while index &+ Evaluation.Looks.scalarCount <= first &+ count {
            let some = bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: index &* MemoryLayout<Double>.stride, as: Evaluation.Looks.self)
            areBelow = areBelow .& (Evaluation.magnitude(some) .< limit)
            index &+= Evaluation.Looks.scalarCount
        }
        var isBelow = all(areBelow)
        while index < first &+ count {
            if !(values[unchecked: index].magnitude < limit) { isBelow = false }
            index &+= 1
        }
        return isBelow
    }

    /// Appends the hits of a moment, and marks those that a sample at the limit bears on.
    private mutating func flush(at time: Int64, into hits: inout [Hit]) {
        let first = hits.count
        self.around.hits.flush(at: time, into: &hits)
        if self.isNoting { self.addNotes(to: &hits, from: first) }
        guard self.lastClipped != Self.neverClipped else { return }
        for index in first..<hits.count {
            let memory = self.around.records[Int(hits[index].detector.index)].memory
            hits[index].isClipped = time - self.lastClipped <= memory
        }
    }

    /// True when a detector notes what happened.
    private var isNoting: Bool {
        for lane in self.lanes.indices where self.lanes[lane].isNoting { return true }
        return false
    }

    private func addNotes(to hits: inout [Hit], from first: Int) {
        for index in first..<hits.count {
            let record = self.around.records[Int(hits[index].detector.index)]
            guard record.compound >= 0,
                let (note, amount) = self.lanes[Int(record.lane)].note(ofCompound: record.compound)
            else { continue }
            hits[index].note = note
            hits[index].peak = amount
        }
    }

    /// Does what is due before a sample: buckets that close, and a gap.
    private mutating func begin(at time: Int64, _ longest: Int64, _ hits: inout [Hit]) {
        if self.gathering > 0 { self.closeBuckets(upTo: time, &hits) }
        if self.origin != nil, time - self.lastTime > longest { self.gap() }
        if self.origin == nil { self.origin = time }
    }

    /// Lets every lane look at the rows. A lane runs ahead over quiet looks; the others are finished in their order.
    private mutating func take(_ times: Span<Int64>, _ values: Span<Double>, _ rows: Range<Int>, _ hits: inout [Hit]) {
        guard let origin else { return }
        var next = rows.upperBound
        for lane in self.lanes.indices {
            if self.lanes[lane].decimation == .last {
                self.lanes[lane].start(at: rows.lowerBound)
                next = min(next, self.advance(lane, times, values, to: rows.upperBound, origin))
            } else {
                // With such lanes the rows come one at a time.
                let first = rows.lowerBound * self.channels.count
                self.lanes[lane].gather(values, at: first, time: times[rows.lowerBound], origin: origin)
            }
        }
        while next < rows.upperBound {
            let row = next
            next = rows.upperBound
            for lane in self.lanes.indices where self.lanes[lane].decimation == .last {
                if self.lanes[lane].stop == row {
                    self.lanes[lane].finish(at: times[row], &self.around)
                    _ = self.advance(lane, times, values, to: rows.upperBound, origin)
                }
                next = min(next, self.lanes[lane].stop)
            }
            self.flush(at: times[row], into: &hits)
        }
        if self.gathering > 0 { self.flush(at: times[rows.lowerBound], into: &hits) }
    }

    private mutating func advance(
        _ lane: Int, _ times: Span<Int64>, _ values: Span<Double>, to end: Int, _ origin: Int64
    ) -> Int {
        self.lanes[lane].advance(times, values, to: end, origin: origin, &self.around.undefined)
    }

    /// Closes what ends at or before `time`, earliest first. What ends at `time` leaves its hits to the sample's flush.
    private mutating func closeBuckets(upTo time: Int64, _ hits: inout [Hit]) {
        while true {
            var earliest = Int64.max
            for lane in self.lanes.indices {
                if let end = self.lanes[lane].bucketEnd, end <= time, end < earliest { earliest = end }
            }
            guard earliest <= time else { return }
            for lane in self.lanes.indices where self.lanes[lane].bucketEnd == earliest {
                self.lanes[lane].close(&self.around)
            }
            if earliest < time { self.flush(at: earliest, into: &hits) }
        }
    }

    /// Forgets filters, windows and the grids' origin; nothing is detected across. Rests go on.
    package mutating func gap() {
        self.counted.gaps &+= 1
        self.origin = nil
        self.lastClipped = Self.neverClipped
        for lane in self.lanes.indices { self.lanes[lane].gap(&self.around) }
    }

    /// Runs what is due in sample time although samples stopped: closes the buckets that end by `now`.
    package mutating func tick(to now: Timestamp, hits: inout [Hit]) {
        let time = max(0, min(now.microseconds, .max / 2))
        self.closeBuckets(upTo: time, &hits)
        self.flush(at: time, into: &hits)
    }

    /// When `tick` has something to do although no sample comes; `nil` when only samples bring looks.
    ///
    /// Mutating so that the engine is looked at where it is: to ask it otherwise, another module would copy it whole.
    package var nextDeadline: Timestamp? {
        mutating get {
            var earliest: Int64?
            for lane in self.lanes.indices {
                guard let end = self.lanes[lane].bucketEnd else { continue }
                earliest = min(earliest ?? end, end)
            }
            return earliest.map(Timestamp.init(microseconds:))
        }
    }

    /// Passes over the samples before `time`, because the device itself vibrates.
    package mutating func mute(until time: Timestamp) {
        self.mutedUntil = max(self.mutedUntil, time.microseconds)
    }
}
