import Detection
import Motion
import TestSupport

/// Detectors of the mix that the budget names.
///
/// Thresholds are spread evenly from 1.2 to 8 g, rests are 1 s, and all share a few features.
struct Crowd {
    let count: Int
    let features: Int
    /// Times between looks in µs, spread evenly.
    var paces: [Int64] = [10_000]

    static let fourPaces: [Int64] = [10_000, 20_000, 50_000, 100_000]

    /// What a detector compares: the magnitude and a share of one axis, another share in each feature.
    func share(_ index: Int) -> Double { Double(index % self.features) / 16 }

    func threshold(_ index: Int) -> Double { 1.2 + 6.8 * Double(index) / Double(self.count) }

    func pace(_ index: Int) -> Int64 { self.paces[(index / self.features) % self.paces.count] }

    func condition(_ index: Int) -> String {
        "norm(x, y, z) + \(self.share(index)) * abs(x) > \(self.threshold(index))g"
    }

    func detector(_ index: Int) throws(Failure) -> CompiledDetector {
        let request = DetectorRequest(
            name: "\(index)",
            options: [
                "when": .text(self.condition(index)),
                "every": .count(UInt64(self.pace(index))), "rest": .text("1s"),
            ])
        return try compile(request)
    }

    func engine() throws(Failure) -> BenchEngine {
        var engine = BenchEngine()
        for index in 0..<self.count { engine.add(try self.detector(index), as: UInt32(index)) }
        // What new detectors cost once is no look's cost.
        _ = MadeMotion(looks: 1_000, shaken: true).nanosecondsPerLook(&engine)
        return engine
    }

    func objects() -> [DetectorObject] {
        (0..<self.count).map {
            DetectorObject(share: self.share($0), threshold: self.threshold($0), every: self.pace($0))
        }
    }
}

/// Compiles what the benchmark itself wrote.
func compile(_ request: DetectorRequest) throws(Failure) -> CompiledDetector {
    do throws(DetectorProblem) {
        return try DetectorCompiler.compile(request, for: nil)
    } catch {
        throw Failure("\(error)")
    }
}

/// The engine, whose hits are only counted.
struct BenchEngine {
    private var engine = DetectionEngine(channels: ["x", "y", "z"])
    private var hits: [Hit] = []
    private(set) var hitCount = 0

    init() { self.hits.reserveCapacity(1 << 20) }

    mutating func add(_ detector: CompiledDetector, as index: UInt32) {
        self.engine.add(detector, as: DetectorID(index), at: .zero)
    }

    mutating func remove(_ index: UInt32) { self.engine.remove(DetectorID(index)) }

    mutating func look(_ times: Span<Int64>, _ values: Span<Double>) {
        self.engine.process(times: times, values: values, hits: &self.hits)
        self.hitCount += self.hits.count
        self.hits.removeAll(keepingCapacity: true)
    }
}
