package import Motion

/// Tells how far a laptop is open, from what the accelerometers of its display and its base show at one time.
///
/// Both feel the same push, whichever way it goes: the angle between them about the hinge does not depend on how the
/// device lies or is carried. So it is told while that is so, and only then. 0 degrees is shut, 180 flat, 360 folded round.
/// The two ends look alike; which of them it is follows from where the display was seen before. Axes are as
/// docs/axes.md has them, the base's as if it were a display that is folded flat: x along the hinge.
package struct HingeAngle: Sendable {
    /// What an angle must be to be trusted; docs/sensors.md says whose numbers these are.
    package struct Guards: Hashable, Sendable {
        /// The time constant with which both are followed.
        package var settling = 0.05
        /// In g: how much of gravity may lie along the hinge without harm, and from where on there is no telling.
        package var level = 7.0 / Unit.standardGravity
        package var vertical = 8.7 / Unit.standardGravity
        /// In g: how far their magnitudes may differ, and what they feel along the hinge.
        package var difference = 1.0 / Unit.standardGravity
        /// In g: how far a magnitude may be from 1 g, or the device is shaken.
        package var unrest = 0.3
        /// In s: how long both must be calm after that, how long a jump must last, and for how long one knows where it was.
        package var calm = 0.1
        package var jump = 0.2
        package var memory = 0.5
        /// In degrees: nearer to either end than this both ends look alike, from how near one may have come there, and what is a
        /// jump.
        package var end = 20.0
        package var nearby = 60.0
        package var leap = 90.0

        package init() {}
    }

    private let guards: Guards
    private var display = SIMD3<Double>.zero
    private var base = SIMD3<Double>.zero
    /// The time of the last sample, and of the last that was not calm.
    private var last: Timestamp?
    private var restless: Timestamp?
    /// The last angle that was trusted, in degrees, and when.
    private var trusted: (angle: Double, time: Timestamp)?
    /// Since when the angle is far from that.
    private var jumping: Timestamp?
    /// In degrees, the last that was trusted; before any, what it looks like.
    package private(set) var degrees = 0.0
    /// From 0, where the angle is an old one, to 1.
    package private(set) var confidence = 0.0

    package init(_ guards: Guards = Guards()) { self.guards = guards }

    /// Takes what both show, in g.
    package mutating func see(display: SIMD3<Double>, base: SIMD3<Double>, at time: Timestamp) {
        let elapsed = self.last.map { (time - $0).seconds }
        guard elapsed.map({ $0 >= 0 }) ?? true else { return }
        self.last = time
        var isFollowing = false
        if let elapsed, elapsed <= SensorLimits.gap.seconds {
            let weight = Mathematics.approach(elapsed / self.guards.settling)
            self.display += (display - self.display) * weight
            self.base += (base - self.base) * weight
            // What is too large to be reckoned with would leave no number for ever.
            isFollowing = isFinite(self.display) && isFinite(self.base)
        }
        if !isFollowing {
            // What they were before a gap says nothing of now.
            (self.display, self.base) = (display, base)
            self.restless = time
        }
        for vector in [display, base] where (length(vector) - 1).magnitude > self.guards.unrest {
            self.restless = time
        }
        self.confidence = 0
        let found = self.found
        let confidence = self.certainty(now: max(display.x.magnitude, base.x.magnitude))
        let isCalm = self.restless.map { (time - $0).seconds >= self.guards.calm } ?? true
        guard isCalm, confidence > 0 else {
            self.jumping = nil
            if self.trusted == nil { self.degrees = found }
            return
        }
        guard let angle = self.settled(found, at: time) else {
            if self.trusted == nil { self.degrees = found }
            return
        }
        self.trusted = (angle, time)
        self.degrees = angle
        self.confidence = confidence
    }

    /// What comes next does not follow on from what came before.
    package mutating func gap() {
        self.last = nil
        self.jumping = nil
        self.confidence = 0
    }

    /// The angle about the hinge, from 0 to 360, whatever it is worth.
    private var found: Double {
        let turn =
            Mathematics.arctangent(self.base.y, self.base.z) - Mathematics.arctangent(self.display.y, self.display.z)
        let degrees = 180 + turn * 180 / .pi
        return degrees < 0 ? degrees + 360 : degrees > 360 ? degrees - 360 : degrees
    }

    /// How far the two are to be believed, from 0 to 1.
    ///
    /// - Parameter now: What lies along the hinge at this moment: what is followed comes later.
    private func certainty(now: Double) -> Double {
        let (display, base) = (length(self.display), length(self.base))
        guard (display - base).magnitude <= self.guards.difference,
            (self.display.x - self.base.x).magnitude <= self.guards.difference
        else { return 0 }
        let along = max(now, self.display.x.magnitude, self.base.x.magnitude)
        return min(1, max(0, (self.guards.vertical - along) / (self.guards.vertical - self.guards.level)))
    }

    /// The angle, if it is known which end it is near to and it did not just jump.
    private mutating func settled(_ found: Double, at time: Timestamp) -> Double? {
        let known = self.trusted.flatMap { (time - $0.time).seconds <= self.guards.memory ? $0.angle : nil }
        guard found >= self.guards.end, found <= 360 - self.guards.end else {
            // Both ends look alike: it is the one where the display was a moment ago.
            self.jumping = nil
            guard let known else { return nil }
            // From somewhere in between nobody comes to an end at once.
            let isShut = known < 180
            guard isShut ? known <= self.guards.nearby : known >= 360 - self.guards.nearby else { return nil }
            let isBeyond = isShut == (found > 180)
            return isBeyond ? (isShut ? 0 : 360) : found
        }
        guard let known, (found - known).magnitude > self.guards.leap else {
            self.jumping = nil
            return found
        }
        let since = self.jumping ?? time
        self.jumping = since
        return (time - since).seconds >= self.guards.jump ? found : nil
    }
}
