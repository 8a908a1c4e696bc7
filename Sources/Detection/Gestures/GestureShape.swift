/// What of a motion is compared with a taught gesture: how it runs, whatever its speed, and a few numbers of the whole.
///
/// The run is that of the velocity, whose offset and drift are taken out, and of the acceleration's change, each scaled to
/// one strength, at `steps` places of equal time. The numbers are strength and length in logarithms, the share of each axis,
/// the direction of gravity, the sense of turning, and how far each axis goes either way, weighed by what they tell apart.
/// Weights and sizes were chosen on recordings of gestures; `docs/gestures.md` says how well they do.
enum GestureShape {
    /// Places at which a motion is kept, evenly in time.
    static let points = 48
    /// Places at which runs are compared.
    static let steps = 32
    /// Numbers of one step: velocity and change.
    static let width = 6
    static let scalars = 17
    /// Where the direction of gravity stands in a shape.
    static let gravity = steps * width + 5
    /// Numbers of a shape: the run, then the numbers of the whole.
    static let size = steps * width + scalars

    /// A motion as it is kept: the acceleration with gravity, in g.
    typealias Points = InlineArray<48, SIMD3<Double>>

    /// Weights of squares.
    private enum Weight {
        static let change = 0.25
        static let strength = 0.4
        static let length = 0.1
        static let share = 0.7
        static let gravity = 1.6
        static let turning = 0.1
        static let reach = 0.1
    }
    /// Steps between the two velocities whose product tells the sense of turning.
    private static let lag = 4
    /// Below this, in g, a mean is no direction of gravity.
    private static let leastGravity = 0.3

    /// Writes the shape of a motion that took `seconds` to `numbers` from `place` on.
    static func write(
        _ motion: borrowing Points, seconds: Double, to numbers: inout MutableSpan<Double>, at place: Int
    ) {
        var mean = SIMD3<Double>.zero
        for index in 0..<self.points { mean += motion[index] }
        mean /= Double(self.points)
        var square = SIMD3<Double>.zero
        var (most, least) = (SIMD3<Double>(repeating: -.infinity), SIMD3<Double>(repeating: .infinity))
        for index in 0..<self.points {
            let swing = motion[index] - mean
            square += swing * swing
            most = pointwiseMax(most, swing)
            least = pointwiseMin(least, swing)
        }
        square /= Double(self.points)
        let strength = square.sum().squareRoot() + 1e-6

        let velocity = self.velocity(of: motion, mean)
        let change = self.change(of: motion)
        var runs: InlineArray<32, SIMD3<Double>> = InlineArray(repeating: .zero)
        for step in 0..<self.steps {
            let at = Double(step) * Double(self.points - 1) / Double(self.steps - 1)
            let first = min(Int(at), self.points - 2)
            let share = at - Double(first)
            let run = velocity[first] + (velocity[first + 1] - velocity[first]) * share
            let slope = change[first] + (change[first + 1] - change[first]) * share
            runs[step] = run
            for axis in 0..<3 {
                numbers[place + step * self.width + axis] = run[axis]
                numbers[place + step * self.width + 3 + axis] = Weight.change.squareRoot() * slope[axis]
            }
        }
        var turning = SIMD3<Double>.zero
        for step in 0..<self.steps {
            let (a, b) = (runs[step], runs[(step + self.lag) % self.steps])
            turning += SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
        }
        turning *= 2 / Double(self.steps)
        let gravity = mean / max((mean * mean).sum().squareRoot(), self.leastGravity)

        var next = place + self.steps * self.width
        func put(_ value: Double, _ weight: Double) {
            numbers[next] = value * weight.squareRoot()
            next += 1
        }
        put(self.logarithm(strength), Weight.strength)
        put(self.logarithm(max(seconds, 1e-3)), Weight.length)
        for axis in 0..<3 { put(square[axis].squareRoot() / strength, Weight.share) }
        for axis in 0..<3 { put(gravity[axis], Weight.gravity) }
        for axis in 0..<3 { put(turning[axis], Weight.turning) }
        for axis in 0..<3 { put(most[axis] / strength, Weight.reach) }
        for axis in 0..<3 { put(-least[axis] / strength, Weight.reach) }
    }

    /// The velocity but for its offset, its drift and its strength.
    private static func velocity(of motion: borrowing Points, _ mean: SIMD3<Double>) -> Points {
        var velocity = Points(repeating: .zero)
        var sum = SIMD3<Double>.zero
        for index in 0..<self.points {
            sum += motion[index] - mean
            velocity[index] = sum
        }
        let first = velocity[0]
        let drift = (velocity[self.points - 1] - first) / Double(self.points - 1)
        var middle = SIMD3<Double>.zero
        for index in 0..<self.points {
            velocity[index] -= first + drift * Double(index)
            middle += velocity[index]
        }
        middle /= Double(self.points)
        for index in 0..<self.points { velocity[index] -= middle }
        self.scale(&velocity)
        return velocity
    }

    /// How the acceleration changes, smoothed over three points, but for its strength.
    private static func change(of motion: borrowing Points) -> Points {
        let last = self.points - 1
        var smooth = Points(repeating: .zero)
        for index in 0...last {
            smooth[index] = (motion[max(0, index - 1)] + motion[index] + motion[min(last, index + 1)]) / 3
        }
        var change = Points(repeating: .zero)
        for index in 0...last {
            let (before, after) = (max(0, index - 1), min(last, index + 1))
            change[index] = (smooth[after] - smooth[before]) / Double(after - before)
        }
        self.scale(&change)
        return change
    }

    private static func scale(_ points: inout Points) {
        var square = 0.0
        for index in 0..<self.points { square += (points[index] * points[index]).sum() }
        let strength = (square / Double(self.points)).squareRoot() + 1e-9
        for index in 0..<self.points { points[index] /= strength }
    }

    /// The natural logarithm of a positive number, the same on every machine.
    private static func logarithm(_ value: Double) -> Double {
        let ratio = (value.significand - 1) / (value.significand + 1)
        var sum = 0.0
        var odd = 25.0
        while odd > 0 {
            sum = 1 / odd + ratio * ratio * sum
            odd -= 2
        }
        return 2 * ratio * sum + Double(value.exponent) * 0.693147180559945309
    }
}
