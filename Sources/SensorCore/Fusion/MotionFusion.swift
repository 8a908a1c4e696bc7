package import Motion

/// Makes the samples of the sensor `motion` of those of an accelerometer and a gyroscope.
///
/// There is one for each of the accelerometer's, at its time. The two come in blocks of their own, so a sample waits until
/// the gyroscope has come as far; the turn in between is interpolated. A gyroscope that falls too far behind is done without: some tell
/// only what changes.
package struct MotionFusion: VectorFusion, Sendable {
    private var filter = MotionFilter()
    private var accelerations = WaitingVectors()
    private var rotations = WaitingVectors()
    /// The last rotation before the one that waits first.
    private var before: WaitingVectors.Sample?
    /// Whether a gyroscope is there and works.
    package var isFollowed = false
    /// So long a sample waits for it.
    private var patience = SensorLimits.batchLatency + Self.lateness
    /// Nobody who is late by less is silent, nor who left out fewer samples.
    private static let lateness = TimeSpan.milliseconds(250)
    private static let periods = 3.0
    /// The channels of the sample that `next` announced, in the order of `SensorDescription.channels(of:)`.
    package private(set) var row = [Double](
        repeating: 0, count: SensorDescription.channels(of: SensorDescription.motion).count)

    package init() {}

    /// A gyroscope is read at this pace: samples wait for it as long as it may need.
    package mutating func follow(_ gyroscope: SensorPace) {
        let missing = TimeSpan(seconds: Self.periods / gyroscope.rate) ?? SensorLimits.batchLatency
        self.patience = gyroscope.batchLatency + max(Self.lateness, missing)
    }

    package mutating func accelerate(_ value: SIMD3<Double>, at time: Timestamp) {
        self.accelerations.append(value, at: time)
    }

    package mutating func rotate(_ value: SIMD3<Double>, at time: Timestamp) {
        guard self.isFollowed, time > self.rotations.last?.time ?? self.before?.time ?? .zero else { return }
        // Whoever takes none of the accelerometer's needs none of these.
        self.rotations.push(value, at: time)
    }

    /// What comes next does not follow on from what came before.
    package mutating func gap() {
        self.filter.gap()
        self.accelerations.removeAll()
        self.rotations.removeAll()
        self.before = nil
    }

    /// Makes the next sample and returns its time; `nil` when there is none yet.
    package mutating func next() -> Timestamp? {
        guard let (time, acceleration) = self.accelerations.first else { return nil }
        let newest = self.accelerations.last?.time ?? time
        let isLate = self.accelerations.isFull || newest - time > self.patience
        if self.isFollowed, !isLate {
            guard let last = self.rotations.last?.time ?? self.before?.time, last >= time else { return nil }
        }
        self.turn(to: time)
        self.filter.see(acceleration, at: time, isFollowed: self.isFollowed)
        self.accelerations.drop()
        self.fill(acceleration)
        return time
    }

    /// Turns the body by all that the gyroscope said up to a time.
    private mutating func turn(to time: Timestamp) {
        while let sample = self.rotations.first, sample.time <= time {
            self.filter.turn(sample.value, at: sample.time)
            self.before = sample
            self.rotations.drop()
        }
        guard let before = self.before, let after = self.rotations.first, before.time < time else { return }
        let share = (time - before.time).seconds / (after.time - before.time).seconds
        self.filter.turn(before.value + (after.value - before.value) * share, at: time)
    }

    private mutating func fill(_ acceleration: SIMD3<Double>) {
        let values = [acceleration, self.filter.gravity, self.filter.rotation, self.filter.angles]
        for (group, value) in values.enumerated() {
            for axis in 0..<3 { self.row[group * 3 + axis] = value[axis] }
        }
    }
}
