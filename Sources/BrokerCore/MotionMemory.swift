import Detection
import Motion

/// What of the past the contest asks for, as the engines have it.
struct MotionMemory {
    private let streams: [SensorStream]
    private let detectors: DetectorTable

    init(_ streams: [SensorStream], _ detectors: DetectorTable) {
        self.streams = streams
        self.detectors = detectors
    }

    /// When the condition of a detector was last true.
    func lastTrue(_ detector: DetectorID) -> Timestamp? {
        guard let owner = self.detectors[detector] else { return nil }
        return self.streams.first { $0.name == owner.sensor }?.engine.status(of: detector)?.lastTrue
    }
}
