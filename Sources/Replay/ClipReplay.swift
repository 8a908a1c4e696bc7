package import Detection
package import Motion
import Traces

/// Runs detectors over the motion of a clip: what they make of it now, and how far what they compare went.
package struct ClipReplay {
    private let sensor: String
    private let channels: [String]
    private let motion: SampleBlock

    package init(sensor: String, channels: [String], motion: SampleBlock) {
        self.sensor = sensor
        self.channels = channels
        self.motion = motion
    }

    private var start: Int64 { self.motion.times.first ?? 0 }

    // MARK: Hits

    /// The hits of detectors, of which `look` is told: the place of the detector, and the hit.
    ///
    /// - Parameter time: When one of them looked, if that is known: a detector that looks now and then looks then, too.
    private func run(_ detectors: [CompiledDetector], lookingAt time: Int64?, _ look: (Int, Hit) -> Void) {
        guard self.motion.channels == self.channels.count, let first = detectors.first else { return }
        var engine = DetectionEngine(channels: self.channels, gap: SensorLimits.gap(of: self.sensor))
        let row = self.row(looking: first.every?.microseconds, at: time)
        let start = Timestamp(microseconds: self.motion.times[row])
        for (index, detector) in detectors.enumerated() {
            engine.add(detector, as: DetectorID(UInt32(index)), at: start)
        }
        var hits: [Hit] = []
        let (times, values) = (self.motion.times, self.motion.values)
        engine.process(
            times: times.span.extracting(row..<times.count),
            values: values.span.extracting(row * self.channels.count..<values.count), hits: &hits)
        if let last = times.last { engine.tick(to: Timestamp(microseconds: last) + .seconds(3_600), hits: &hits) }
        for hit in hits { look(Int(hit.detector.index), hit) }
    }

    /// With which sample to begin, so that the grid of looks meets a time.
    private func row(looking every: Int64?, at time: Int64?) -> Int {
        let times = self.motion.times
        guard let every, every > 0, let time, let first = times.first, time > first + every else { return 0 }
        let rows = times.indices.prefix { times[$0] < first + every }
        return rows.min { (time - times[$0]) % every < (time - times[$1]) % every } ?? 0
    }

    /// When a detector is hit, and how strongly.
    package func hits(of detector: CompiledDetector, lookingAt time: Int64? = nil) -> [Hit] {
        var hits: [Hit] = []
        var detector = detector
        // Its clock began long before the clip.
        detector.startsResting = false
        self.run([detector], lookingAt: time) { hits.append($1) }
        return hits
    }

    // MARK: How far

    /// Thresholds that are tried, as shares of the one in force: each step is a 400th.
    private static func share(_ step: Int) -> Double { NearMiss.share + Double(step) / 400 }
    private static let (steps, stride) = (180, 12)

    /// How far the quantity of a detector went from a moment on, before an end, in its unit; `nil`: less than nearly, or nobody can
    /// tell.
    ///
    /// It is found as the detector itself would: by the highest threshold that is still passed. First each twelfth step is tried, and
    /// then those between two of them.
    package func reach(of detector: CompiledDetector, from time: Int64, before end: Int64 = .max) -> Double? {
        let coarse = Swift.stride(from: 0, through: Self.steps, by: Self.stride).map { $0 }
        guard let passed = self.highest(of: coarse, detector, time..<max(time, end)) else { return nil }
        let between = passed == Self.steps ? [] : Array(passed + 1..<passed + Self.stride)
        let step = self.highest(of: between, detector, time..<max(time, end)) ?? passed
        return detector.scaled(by: Self.share(step))?.threshold
    }

    /// The highest of these steps that is passed.
    private func highest(of steps: [Int], _ detector: CompiledDetector, _ span: Range<Int64>) -> Int? {
        let ladder = steps.compactMap { detector.scaled(by: Self.share($0))?.withoutRest }
        guard ladder.count == steps.count else { return nil }
        var best: Int?
        self.run(ladder, lookingAt: span.lowerBound) { index, hit in
            if span.contains(hit.time.microseconds) { best = max(best ?? 0, index) }
        }
        return best.map { steps[$0] }
    }

    /// One point of a curve.
    package struct Point: Sendable {
        /// In µs since the first sample.
        package let time: Int64
        package let value: Double
    }

    private static let levels = 120

    /// What a detector compares with its threshold, look by look, as far as up to a third beyond it. What cannot be told so is drawn as the
    /// samples are: the length of a vector, or the first channel.
    package func curve(of detector: CompiledDetector, lookingAt time: Int64) -> (title: String, points: [Point]) {
        guard let threshold = detector.threshold, threshold > 0, detector.isCompared else { return self.samples }
        let ladder = (1...Self.levels).compactMap {
            detector.scaled(by: 1.34 * Double($0) / Double(Self.levels))?.withoutRest
        }
        guard ladder.count == Self.levels else { return self.samples }
        var highest: [Int64: Double] = [:]
        self.run(ladder, lookingAt: time) { index, hit in
            highest[hit.time.microseconds] = max(highest[hit.time.microseconds] ?? 0, ladder[index].threshold ?? 0)
        }
        let points = highest.sorted { $0.key < $1.key }.map { Point(time: $0.key - self.start, value: $0.value) }
        return points.count > 1 ? ("what it compares", points) : self.samples
    }

    private var samples: (title: String, points: [Point]) {
        let isVector = self.channels.prefix(3) == ["x", "y", "z"]
        let width = max(1, self.channels.count)
        let points = self.motion.times.indices.map { row in
            let values = self.motion.values[row * width..<(row + 1) * width]
            let value =
                isVector ? values.prefix(3).reduce(0) { $0 + $1 * $1 }.squareRoot() : values.first ?? 0
            return Point(time: self.motion.times[row] - self.start, value: value)
        }
        return (isVector ? "norm(x, y, z)" : self.channels.first ?? "", points)
    }
}
