import Motion

@testable import Detection

/// A detector on its own, as plainly as the definitions read: what the engine must agree with.
struct PlainDetector {
    enum Rule {
        case planar, axis, magnitude
    }

    let id: DetectorID
    let rule: Rule
    let threshold: Double
    let every: Int64?
    let rest: Int64
    let mode: RestMode
    var lastFired: Int64?
    var lastTrue: Int64?
    var lastSample: Int64?
    var origin: Int64 = 0
    var bucket: Int64 = -1
    var peak: Double?

    mutating func sample(_ time: Int64, _ x: Double, _ y: Double, _ z: Double) -> Hit? {
        if self.lastSample.map({ time - $0 > 1_000_000 }) ?? true {
            self.origin = time
            self.bucket = -1
            self.peak = nil
        }
        self.lastSample = time
        if let every = self.every {
            let bucket = (time - self.origin) / every
            if bucket == self.bucket { return nil }
            self.bucket = bucket
        }
        let quantity =
            switch self.rule {
            case .planar: (x * x + y * y).squareRoot()
            case .axis: max(abs(x), abs(y), abs(z))
            case .magnitude: (x * x + y * y + z * z).squareRoot()
            }
        if quantity <= self.threshold {
            self.peak = nil
            return nil
        }
        self.peak = max(quantity, self.peak ?? quantity)
        let fires =
            switch self.mode {
            case .leading: self.lastFired.map { time - $0 >= self.rest } ?? true
            case .restarting: self.lastTrue.map { time - $0 >= self.rest } ?? true
            case .none: true
            }
        self.lastTrue = time
        if !fires { return nil }
        self.lastFired = time
        return Hit(detector: self.id, time: Timestamp(microseconds: time), peak: self.peak ?? 0)
    }
}
