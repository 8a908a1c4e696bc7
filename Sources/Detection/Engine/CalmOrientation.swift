import Motion

/// Which axis of the device points up, told when it has settled: not while the device is shaken or carried in a rhythm.
///
/// A turn changes where gravity is seen and hardly how much of it; steps, swings and jolts change how much. So a turn counts
/// when the length of the samples has been calm for a while. It is compared with its own mean and not with 1 g: many sensors
/// are off by some hundredths. Layout of its numbers: the axis, gravity's x, y and z, the length's mean, the square of the
/// motion's strength, the axis that waits and since when, and the weights of a look with the interval they are for.
enum CalmOrientation {
    static let size = 11
    /// The cosine within which an axis points up for certain.
    private static let certain = 0.87
    /// The time constant, in µs, of the length's mean and of the strength: some steps of a walk.
    private static let rhythm = 3_000_000.0

    /// Takes a sample; returns 1 when another axis points up: 1 to 6 for x, -x, y, -y, z, -z.
    static func take(
        _ state: inout MutableSpan<Double>, at base: Int, _ sample: SIMD3<Double>, _ node: Instruction, now: Double,
        elapsed: Double
    ) -> Double {
        let isCalm = self.follow(&state, at: base, sample, node, elapsed: elapsed)
        let found = self.axis(SIMD3(state[base + 1], state[base + 2], state[base + 3]))
        guard isCalm, found > 0, found != state[base] else {
            state[base + 6] = 0
            return 0
        }
        if state[base + 6] != found {
            state[base + 6] = found
            state[base + 7] = now
        }
        guard now - state[base + 7] >= node.q else { return 0 }
        let isFirst = state[base].isNaN
        state[base] = found
        return isFirst ? 0 : 1
    }

    /// Follows gravity and the strength of the motion; returns whether the device is calm.
    private static func follow(
        _ state: inout MutableSpan<Double>, at base: Int, _ sample: SIMD3<Double>, _ node: Instruction, elapsed: Double
    ) -> Bool {
        let length = (sample * sample).sum().squareRoot()
        guard !state[base + 4].isNaN else {
            for axis in 0..<3 { state[base + 1 + axis] = sample[axis] }
            state[base + 4] = length
            state[base + 5] = 0
            return true
        }
        // Samples mostly come at one interval, so the weights of the last are usually those of this one.
        if state[base + 8] != elapsed {
            state[base + 8] = elapsed
            state[base + 9] = Mathematics.approach(elapsed / node.p)
            state[base + 10] = Mathematics.approach(elapsed / self.rhythm)
        }
        for axis in 0..<3 { state[base + 1 + axis] += (sample[axis] - state[base + 1 + axis]) * state[base + 9] }
        state[base + 4] += (length - state[base + 4]) * state[base + 10]
        let swing = length - state[base + 4]
        state[base + 5] += (swing * swing - state[base + 5]) * state[base + 10]
        return swing.magnitude <= node.r && state[base + 5] < node.s * node.s
    }

    /// The axis along which gravity is seen; 0 for none.
    private static func axis(_ gravity: SIMD3<Double>) -> Double {
        let length = (gravity * gravity).sum().squareRoot()
        // Far from 1 g it is not gravity that is seen.
        guard length > 0.6, length < 1.4 else { return 0 }
        let (x, y, z) = (gravity.x.magnitude, gravity.y.magnitude, gravity.z.magnitude)
        let found: (axis: Double, size: Double) =
            x >= y && x >= z
            ? (gravity.x > 0 ? 1 : 2, x) : y >= z ? (gravity.y > 0 ? 3 : 4, y) : (gravity.z > 0 ? 5 : 6, z)
        return found.size >= self.certain * length ? found.axis : 0
    }
}
