package import Motion

/// Parts gravity from what the user does, and follows how the body lies.
///
/// With a gyroscope it is a complementary filter: the gyroscope says how the body turns, and the accelerometer slowly
/// sets it right about where up is, the less the further it shows something else than 1 g. What it has to set right again and
/// again is the gyroscope's bias, which is learned. Without one, gravity is what a filter at 0.25 Hz leaves of the
/// accelerometer, as in conditions.
package struct MotionFilter: Sendable {
    /// How long the accelerometer is averaged: long against a hand's shaking, short against a gyroscope's drift.
    package static let timeConstant = 2.0
    /// The same for the form without a gyroscope: one pole at 0.25 Hz, in s.
    package static let slowTimeConstant = 1 / (2 * Double.pi * 0.25)
    /// An accelerometer this far from 1 g tells nothing about up.
    private static let trusted = 0.25
    /// How fast a bias is learned. A quarter of the square of the gain: as fast as can be without overshooting.
    private static let learning = 1 / (4 * timeConstant * timeConstant)
    /// No gyroscope that works is off by more, in rad/s.
    private static let largestBias = 0.2
    /// None turns faster: 100 turns a second, in rad/s. It bounds the steps of one turn.
    private static let fastest = 628.0

    /// What is known while a gyroscope turns the body.
    private struct Followed {
        var attitude: Attitude
        var bias = SIMD3<Double>.zero
        var known = 0.0
        /// What the gyroscope said last, the bias included.
        var rate: SIMD3<Double>?
        /// Up to when the body was turned.
        var time: Timestamp
    }

    private enum Form {
        case none
        case followed(Followed)
        case slow(SIMD3<Double>)
    }

    private var form = Form.none
    private var last: Timestamp?

    package init() {}

    /// What comes next does not follow on: everything but a bias is learned anew.
    package mutating func gap() { self.last = nil }

    /// Turns the body as a gyroscope says, in rad/s, from its last word to this one.
    package mutating func turn(_ rate: SIMD3<Double>, at time: Timestamp) {
        guard case .followed(var body) = self.form, self.last != nil else { return }
        let rate = rate.clamped(
            lowerBound: SIMD3(repeating: -Self.fastest), upperBound: SIMD3(repeating: Self.fastest))
        let passed = (time - body.time).seconds
        if passed > 0, passed <= SensorLimits.gap.seconds {
            let mean = (rate + (body.rate ?? rate)) / 2 - body.bias
            body.attitude = body.attitude.turned(by: mean * passed)
        }
        body.rate = rate
        body.time = max(time, body.time)
        self.form = .followed(body)
    }

    /// Takes in what the accelerometer shows, in g. `isFollowed`: there is a gyroscope that turns the body.
    package mutating func see(_ acceleration: SIMD3<Double>, at time: Timestamp, isFollowed: Bool) {
        let passed = self.last.map { (time - $0).seconds } ?? .infinity
        let goesOn = passed > 0 && passed <= SensorLimits.gap.seconds
        self.last = time
        switch self.form {
        case .followed(var body) where isFollowed && goesOn:
            self.correct(&body, acceleration, passed)
            self.form = .followed(body)
        case .slow(let gravity) where !isFollowed && goesOn:
            let weight = Mathematics.approach(passed / Self.slowTimeConstant)
            let next = gravity + weight * (acceleration - gravity)
            // What is too large to be reckoned with would leave no number for ever.
            self.form = .slow(isFinite(next) ? next : acceleration)
        case .none, .followed, .slow:
            self.begin(acceleration, time, isFollowed)
        }
    }

    private mutating func begin(_ acceleration: SIMD3<Double>, _ time: Timestamp, _ isFollowed: Bool) {
        guard isFollowed else {
            self.form = .slow(acceleration)
            return
        }
        let size = length(acceleration)
        let up = size > 0.01 ? acceleration / size : SIMD3(0, 0, 1)
        var body = Followed(attitude: Attitude(up: up), time: time)
        if case .followed(let before) = self.form { body.bias = before.bias }
        self.form = .followed(body)
    }

    private func correct(_ body: inout Followed, _ acceleration: SIMD3<Double>, _ passed: Double) {
        let size = length(acceleration)
        let trust = max(0, 1 - (size - 1).magnitude / Self.trusted)
        guard trust > 0 else { return }
        let error = cross(acceleration / size, body.attitude.up) * trust
        // As long as little is known each new word counts as much as all before: an average.
        body.known += passed * trust
        let isSettled = body.known >= Self.timeConstant
        let gain = isSettled ? 1 / Self.timeConstant : 1 / body.known
        body.attitude = body.attitude.turned(by: error * min(1, gain * passed))
        if isSettled {
            body.bias = (body.bias - error * (Self.learning * passed)).clamped(
                lowerBound: SIMD3(repeating: -Self.largestBias), upperBound: SIMD3(repeating: Self.largestBias))
        }
    }

    // MARK: What is known

    /// Where up is and how much it weighs, in g, as the accelerometer would show it.
    package var gravity: SIMD3<Double> {
        switch self.form {
        case .none: .zero
        case .followed(let body): body.attitude.up
        case .slow(let gravity): gravity
        }
    }

    /// How fast the body turns, in rad/s, without the gyroscope's bias; zero without a gyroscope.
    package var rotation: SIMD3<Double> {
        switch self.form {
        case .none, .slow: .zero
        case .followed(let body): (body.rate ?? body.bias) - body.bias
        }
    }

    /// Roll, pitch and yaw in radians. Without a gyroscope nobody knows the yaw: 0.
    package var angles: SIMD3<Double> {
        switch self.form {
        case .none: return .zero
        case .followed(let body): return SIMD3(body.attitude.roll, body.attitude.pitch, body.attitude.yaw)
        case .slow(let gravity):
            let size = length(gravity)
            guard size > 0.01 else { return .zero }
            let attitude = Attitude(up: gravity / size)
            return SIMD3(attitude.roll, attitude.pitch, 0)
        }
    }
}
