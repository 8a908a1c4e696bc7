import Detection
import Motion
import TestSupport

/// What a look costs, by how many detectors there are: the engine beside one object per detector and a SIMD scan.
///
/// The motion is seeded: 5 % of the looks lie in shakes. Detectors have thresholds spread evenly from 1.2 to 8 g and
/// rests of 1 s, and share a few features; 100 looks a second.
enum EvaluationBenchmark {
    static func run(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        let lively = MadeMotion(looks: 20_000, shaken: true)
        let quiet = MadeMotion(looks: 20_000, shaken: false)
        for features in [1, 4, 16] {
            for count in [10, 1_000, 100_000, 1_000_000] {
                try self.measure(count, features, lively, quiet, plan, report)
            }
        }
        try self.measureQuiet(quiet, plan, report)
        try self.measurePaces(lively, plan, report)
        try self.measureRegistration(plan, report)
    }

    /// The engine against both baselines at one size.
    private static func measure(
        _ count: Int, _ features: Int, _ lively: MadeMotion, _ quiet: MadeMotion, _ plan: Plan,
        _ report: (Figure) -> Void
    ) throws(Failure) {
        let crowd = Crowd(count: count, features: features)
        var engine = try crowd.engine()
        var objects = count <= 100_000 ? crowd.objects() : []
        var scan = ThresholdScan(crowd)
        var againstObjects = Pairs()
        var againstScan = Pairs()
        var calm: [Double] = []
        // The baselines get fewer looks, as many as a tenth of a second holds.
        let looks = max(200, min(lively.count, 20_000_000 / count))
        for _ in 0..<plan.rounds {
            let ours = lively.nanosecondsPerLook(&engine)
            if !objects.isEmpty {
                let theirs = lively.nanosecondsPerLook(looks) { time, sample in
                    for object in objects where object.look(time, sample) { blackHole(object) }
                }
                againstObjects.add(ours: ours, baseline: theirs)
            }
            againstScan.add(ours: ours, baseline: lively.nanosecondsPerLook(looks) { scan.look($0, $1) })
            calm.append(quiet.nanosecondsPerLook(&engine))
        }
        objects = []
        let name = "look.\(count)x\(features)"
        if !againstObjects.ours.isEmpty {
            let budget: Budget? = count == 1_000 && features == 4 ? .ratio(.atLeast, 500) : nil
            report(againstObjects.figure("\(name).objects", "ns/look", .saving, within: budget))
        }
        let budget: Budget? = count == 100_000 && features == 4 ? .ratio(.atLeast, 10) : nil
        report(againstScan.figure("\(name).simd", "ns/look", .saving, within: budget))
        report(Figure(name: "\(name).quiet", unit: "ns/look", value: calm.median))
    }

    /// While nothing moves, a million detectors must cost what ten do.
    private static func measureQuiet(
        _ quiet: MadeMotion, _ plan: Plan, _ report: (Figure) -> Void
    ) throws(Failure) {
        var many = try Crowd(count: 1_000_000, features: 4).engine()
        var few = try Crowd(count: 10, features: 4).engine()
        var pairs = Pairs()
        for _ in 0..<plan.rounds {
            pairs.add(
                ours: quiet.nanosecondsPerLook(&many),
                baseline: quiet.nanosecondsPerLook(&few))
        }
        report(pairs.figure("look.quiet.1000000-to-10", "ns/look", within: .ratio(.atMost, 2)))
    }

    /// The same detectors at one pace and spread over four.
    private static func measurePaces(
        _ lively: MadeMotion, _ plan: Plan, _ report: (Figure) -> Void
    ) throws(Failure) {
        for count in [1_000, 100_000] {
            var one = try Crowd(count: count, features: 4).engine()
            var four = try Crowd(count: count, features: 4, paces: ["10ms", "20ms", "50ms", "100ms"]).engine()
            var pairs = Pairs()
            for _ in 0..<plan.rounds {
                pairs.add(
                    ours: lively.nanosecondsPerLook(&four),
                    baseline: lively.nanosecondsPerLook(&one))
            }
            report(pairs.figure("look.\(count)x4.four-paces", "ns/look"))
        }
    }

    /// A thousand more where a hundred thousand are.
    private static func measureRegistration(_ plan: Plan, _ report: (Figure) -> Void) throws(Failure) {
        var times: [Double] = []
        for _ in 0..<plan.rounds {
            var engine = try Crowd(count: 100_000, features: 4).engine()
            let more = Crowd(count: 1_000, features: 4)
            let began = ProcessorClock.now()
            for index in 0..<more.count {
                engine.add(try more.detector(index), as: UInt32(100_000 + index))
            }
            times.append((ProcessorClock.now() - began) / 1e6)
        }
        report(
            Figure(
                name: "register.1000-into-100000", unit: "ms", value: times.median,
                budget: .value(.atMost, 20)))
    }
}

/// Keeps a result from being optimised away.
@inline(never)
private func blackHole<T>(_ value: borrowing T) {}

/// Seeded motion as the looks see it.
struct MadeMotion {
    private(set) var samples: [SIMD3<Double>] = []
    /// Samples in a block.
    private static let block = 64

    init(looks: Int, shaken: Bool) {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func noise() -> Double {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Double(state % 2_000) / 1_000 - 1
        }
        self.samples.reserveCapacity(looks)
        for index in 0..<looks {
            var sample = SIMD3(0.02 * noise(), 0.02 * noise(), 1 + 0.02 * noise())
            // A second in twenty is a shake, each of another strength.
            let second = index / 100
            if shaken, second % 20 == 7 {
                let peak = 2 + Double((second * 7) % 6)
                let phase = Double(index % 100) / 100
                // Three swings a second, as a triangle.
                let swing = (phase * 3).truncatingRemainder(dividingBy: 1)
                sample.x += peak * (swing < 0.5 ? 4 * swing - 1 : 3 - 4 * swing)
            }
            self.samples.append(sample)
        }
    }

    var count: Int { self.samples.count }

    /// Runs all looks, 10 ms apart in their own time and in blocks as a reader sends them, through an engine.
    func nanosecondsPerLook(_ engine: inout BenchEngine) -> Double {
        let start = MotionTime.next(self.count)
        let times = (0..<self.count).map { start + Int64($0) * 10_000 }
        let values = self.samples.flatMap { [$0.x, $0.y, $0.z] }
        let began = ProcessorClock.now()
        for first in stride(from: 0, to: self.count, by: Self.block) {
            let end = min(self.count, first + Self.block)
            engine.look(times.span.extracting(first..<end), values.span.extracting(3 * first..<3 * end))
        }
        return (ProcessorClock.now() - began) / Double(self.count)
    }

    /// Runs `looks` looks, 10 ms apart in their own time, and tells what one cost.
    func nanosecondsPerLook(_ looks: Int, _ look: (Int64, SIMD3<Double>) -> Void) -> Double {
        let start = MotionTime.next(looks)
        let began = ProcessorClock.now()
        for index in 0..<looks { look(start + Int64(index) * 10_000, self.samples[index % self.samples.count]) }
        return (ProcessorClock.now() - began) / Double(looks)
    }
}

/// Time that only rises, over all runs.
private enum MotionTime {
    nonisolated(unsafe) private static var now: Int64 = 0

    static func next(_ looks: Int) -> Int64 {
        // SAFETY: the benchmark has one thread.
        defer { unsafe self.now += Int64(looks) * 10_000 }
        return unsafe self.now
    }
}

/// Detectors of the mix that the budget names.
struct Crowd {
    let count: Int
    let features: Int
    var paces = ["10ms"]

    /// What a detector compares: the magnitude and a share of one axis, another share in each feature.
    func share(_ index: Int) -> Double { Double(index % self.features) / 16 }

    func threshold(_ index: Int) -> Double { 1.2 + 6.8 * Double(index) / Double(self.count) }

    func detector(_ index: Int) throws(Failure) -> CompiledDetector {
        let request = DetectorRequest(
            name: "\(index)",
            options: [
                "when": .text("norm(x, y, z) + \(self.share(index)) * abs(x) > \(self.threshold(index))g"),
                "every": .text(self.paces[(index / self.features) % self.paces.count]), "rest": .text("1s"),
            ])
        do throws(DetectorProblem) {
            return try DetectorCompiler.compile(request, for: nil)
        } catch {
            throw Failure("\(error)")
        }
    }

    func engine() throws(Failure) -> BenchEngine {
        var engine = BenchEngine()
        for index in 0..<self.count { engine.add(try self.detector(index), as: UInt32(index)) }
        // What new detectors cost once is no look's cost.
        _ = MadeMotion(looks: 1_000, shaken: true).nanosecondsPerLook(&engine)
        return engine
    }

    func objects() -> [DetectorObject] {
        (0..<self.count).map { DetectorObject(share: self.share($0), threshold: self.threshold($0)) }
    }
}

/// The engine, one sample at a time, as live samples come.
struct BenchEngine {
    private var engine = DetectionEngine(channels: ["x", "y", "z"])
    private var hits: [Hit] = []

    init() { self.hits.reserveCapacity(1 << 20) }

    mutating func add(_ detector: CompiledDetector, as index: UInt32) {
        self.engine.add(detector, as: DetectorID(index), at: .zero)
    }

    mutating func look(_ times: Span<Int64>, _ values: Span<Double>) {
        self.engine.process(times: times, values: values, hits: &self.hits)
        self.hits.removeAll(keepingCapacity: true)
    }
}

/// What every app does for itself today: its own feature, threshold and rest.
final class DetectorObject {
    private let share: Double
    private let threshold: Double
    private var lastFired = Int64.min / 2

    init(share: Double, threshold: Double) {
        self.share = share
        self.threshold = threshold
    }

    func look(_ time: Int64, _ sample: SIMD3<Double>) -> Bool {
        let value = (sample * sample).sum().squareRoot() + self.share * abs(sample.x)
        guard value > self.threshold, time - self.lastFired >= 1_000_000 else { return false }
        self.lastFired = time
        return true
    }
}

/// The strongest simple rival: features once, then all thresholds eight at a time.
struct ThresholdScan {
    private var groups: [(share: Double, thresholds: [SIMD8<Double>], fired: [SIMD8<Int64>])] = []
    private(set) var hits = 0

    init(_ crowd: Crowd) {
        for feature in 0..<crowd.features {
            var thresholds = stride(from: feature, to: crowd.count, by: crowd.features).map { crowd.threshold($0) }
            while thresholds.count % 8 != 0 { thresholds.append(.infinity) }
            let vectors = stride(from: 0, to: thresholds.count, by: 8).map { SIMD8(thresholds[$0..<$0 + 8]) }
            let fired = [SIMD8<Int64>](repeating: SIMD8(repeating: .min / 2), count: vectors.count)
            self.groups.append((crowd.share(feature), vectors, fired))
        }
    }

    mutating func look(_ time: Int64, _ sample: SIMD3<Double>) {
        let norm = (sample * sample).sum().squareRoot()
        let rested = SIMD8(repeating: time - 1_000_000)
        for group in self.groups.indices {
            let value = SIMD8(repeating: norm + self.groups[group].share * abs(sample.x))
            for index in self.groups[group].thresholds.indices {
                let above = value .> self.groups[group].thresholds[index]
                guard any(above) else { continue }
                let due = above .& (self.groups[group].fired[index] .<= rested)
                guard any(due) else { continue }
                self.groups[group].fired[index].replace(with: time, where: due)
                self.hits += 1
            }
        }
    }
}
