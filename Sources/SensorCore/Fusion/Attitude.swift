import Motion

/// How a body lies in the world, as a unit quaternion that turns its axes into the world's; up is the world's third.
struct Attitude: Hashable, Sendable {
    private var w: Double
    private var x: Double
    private var y: Double
    private var z: Double

    private init(_ w: Double, _ x: Double, _ y: Double, _ z: Double) {
        let length = (w * w + x * x + y * y + z * z).squareRoot()
        (self.w, self.x, self.y, self.z) = (w / length, x / length, y / length, z / length)
    }

    /// The attitude of no yaw in which the body sees up in a direction of length 1.
    init(up: SIMD3<Double>) {
        // The shortest turn that makes it so; upside down, half a turn about the first axis.
        self = up.z > -0.999_999 ? Attitude(1 + up.z, up.y, -up.x, 0) : Attitude(0, 1, 0, 0)
        let (sine, cosine) = (self.eastOfSecond, self.northOfSecond)
        let across = (sine * sine + cosine * cosine).squareRoot()
        guard across > 1e-6 else { return }
        // Turned back about the world's third axis, by half-angle formulas.
        let half = (max(0, 1 + cosine / across) / 2).squareRoot()
        let other = (max(0, 1 - cosine / across) / 2).squareRoot() * (sine < 0 ? 1 : -1)
        self = Attitude(half, 0, 0, other).followed(by: self)
    }

    /// The world's third axis as the body sees it.
    var up: SIMD3<Double> {
        SIMD3(
            2 * (self.x * self.z - self.w * self.y), 2 * (self.y * self.z + self.w * self.x),
            1 - 2 * (self.x * self.x + self.y * self.y))
    }

    /// Where the body's second axis points in the world: against its first axis, and along its second.
    private var eastOfSecond: Double { 2 * (self.w * self.z - self.x * self.y) }
    private var northOfSecond: Double { 1 - 2 * (self.x * self.x + self.z * self.z) }

    /// The turn about the body's second axis, -π to π: positive when its first axis goes down.
    var roll: Double { Mathematics.arctangent(-self.up.x, self.up.z) }
    /// How far the body's second axis points up, -π/2 to π/2.
    var pitch: Double {
        let sine = max(-1, min(1, self.up.y))
        return Mathematics.arctangent(sine, (1 - sine * sine).squareRoot())
    }
    /// The turn about up, -π to π, counter-clockwise as seen from above; 0 where it began.
    var yaw: Double { Mathematics.arctangent(self.eastOfSecond, self.northOfSecond) }

    private func followed(by other: Attitude) -> Attitude {
        Attitude(
            self.w * other.w - self.x * other.x - self.y * other.y - self.z * other.z,
            self.w * other.x + self.x * other.w + self.y * other.z - self.z * other.y,
            self.w * other.y - self.x * other.z + self.y * other.w + self.z * other.x,
            self.w * other.z + self.x * other.y - self.y * other.x + self.z * other.w)
    }

    /// The attitude after the body has turned about its own axes, by an angle in radians along each.
    func turned(by angles: SIMD3<Double>) -> Attitude {
        let half = angles / 2
        let square = (half * half).sum()
        // Cosine and sine by their series, for half a radian at most: larger turns in several steps.
        guard square <= 0.25 else { return self.turned(by: angles / 2).turned(by: angles / 2) }
        let cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56)))
        let sine = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
        return self.followed(by: Attitude(cosine, half.x * sine, half.y * sine, half.z * sine))
    }
}

func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

func length(_ a: SIMD3<Double>) -> Double { (a * a).sum().squareRoot() }

func isFinite(_ a: SIMD3<Double>) -> Bool { a.x.isFinite && a.y.isFinite && a.z.isFinite }
