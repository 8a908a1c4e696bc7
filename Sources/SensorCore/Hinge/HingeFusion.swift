package import Motion

/// Makes the samples of the sensor `hinge` of those of two accelerometers, the display's and the base's.
///
/// There is one for each of the display's, at its time. The two come in blocks of their own, so a sample waits until the base has
/// come as far, and what the base showed in between is interpolated. A base that falls too far behind leaves nothing to tell.
package struct HingeFusion: VectorFusion, Sendable {
    private var hinge = HingeAngle()
    private var displays = WaitingVectors()
    /// The last at or before the display's first that waits, and all behind it.
    private var bases = WaitingVectors()
    /// The channels of the sample that `next` announced: degrees, and percent.
    package private(set) var row = [0.0, 0.0]

    package init() {}

    package mutating func display(_ value: SIMD3<Double>, at time: Timestamp) {
        self.displays.push(value, at: time)
    }

    package mutating func base(_ value: SIMD3<Double>, at time: Timestamp) {
        guard time > self.bases.last?.time ?? Timestamp(microseconds: .min) else { return }
        self.bases.push(value, at: time)
    }

    /// What comes next does not follow on from what came before.
    package mutating func gap() {
        self.hinge.gap()
        self.displays.removeAll()
        self.bases.removeAll()
    }

    /// Makes the next sample and returns its time; `nil` when there is none yet.
    package mutating func next() -> Timestamp? {
        while let display = self.displays.first {
            guard let last = self.bases.last, last.time >= display.time else { return nil }
            self.displays.drop()
            // The two between which it lies.
            while let next = self.bases.second, next.time <= display.time { self.bases.drop() }
            // From before the base told anything.
            guard let before = self.bases.first, before.time <= display.time else { continue }
            let after = self.bases.second ?? before
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
