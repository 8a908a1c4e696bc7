package import Motion

/// Makes the samples of the sensor `hinge` of those of two accelerometers, the display's and the base's.
///
/// There is one for each of the display's, at its time. The two come in blocks of their own, so a sample waits until the base has
/// come as far, and what the base showed in between is interpolated. A base that falls too far behind leaves nothing to tell.
package struct HingeFusion: Sendable {
    /// Samples of each that may wait.
    private static let room = 2 * SensorLimits.batch

    private typealias Sample = (time: Timestamp, value: SIMD3<Double>)

    private var hinge = HingeAngle()
    /// Oldest first.
    private var displays: [Sample] = []
    /// The last at or before the display's first that waits, and all behind it.
    private var bases: [Sample] = []
    /// How many of each are done with.
    private var (doneDisplays, doneBases) = (0, 0)
    /// The channels of the sample that `next` announced: degrees, and percent.
    package private(set) var row = [0.0, 0.0]

    package init() {}

    package mutating func display(_ value: SIMD3<Double>, at time: Timestamp) {
        Self.append((time, value), to: &self.displays, &self.doneDisplays)
    }

    package mutating func base(_ value: SIMD3<Double>, at time: Timestamp) {
        guard time > self.bases.last?.time ?? Timestamp(microseconds: .min) else { return }
        Self.append((time, value), to: &self.bases, &self.doneBases)
    }

    private static func append(_ sample: Sample, to samples: inout [Sample], _ done: inout Int) {
        // What nobody pairs is given up, the oldest first.
        if samples.count - done >= self.room { done += 1 }
        if done > self.room / 2 {
            samples.removeFirst(done)
            done = 0
        }
        samples.append(sample)
    }

    /// What comes next does not follow on from what came before.
    package mutating func gap() {
        self.hinge.gap()
        self.displays.removeAll(keepingCapacity: true)
        self.bases.removeAll(keepingCapacity: true)
        (self.doneDisplays, self.doneBases) = (0, 0)
    }

    /// Makes the next sample and returns its time; `nil` when there is none yet.
    package mutating func next() -> Timestamp? {
        while self.doneDisplays < self.displays.count {
            let display = self.displays[self.doneDisplays]
            guard let last = self.bases.last, last.time >= display.time else { return nil }
            self.doneDisplays += 1
            // The two between which it lies.
            while self.doneBases + 1 < self.bases.count, self.bases[self.doneBases + 1].time <= display.time {
                self.doneBases += 1
            }
            let before = self.bases[self.doneBases]
            // From before the base told anything.
            guard before.time <= display.time else { continue }
            let after = self.doneBases + 1 < self.bases.count ? self.bases[self.doneBases + 1] : before
            let span = (after.time - before.time).seconds
            let share = span > 0 ? (display.time - before.time).seconds / span : 0
            let base = before.value + (after.value - before.value) * share
            self.hinge.see(display: display.value, base: base, at: display.time)
            self.row[0] = self.hinge.degrees
            self.row[1] = 100 * self.hinge.confidence
            return display.time
        }
        return nil
    }
}
