/// What every app does for itself today: its own pace, feature, threshold and rest.
final class DetectorObject {
    private let share: Double
    private let threshold: Double
    private let every: Int64
    private var bucket: Int64 = -1
    private var lastFired = Int64.min / 2

    init(share: Double, threshold: Double, every: Int64) {
        self.share = share
        self.threshold = threshold
        self.every = every
    }

    func look(_ time: Int64, _ sample: SIMD3<Double>) -> Bool {
        guard time / self.every > self.bucket else { return false }
        self.bucket = time / self.every
        let value = (sample * sample).sum().squareRoot() + self.share * abs(sample.x)
        guard value > self.threshold, time - self.lastFired >= 1_000_000 else { return false }
        self.lastFired = time
        return true
    }
}
