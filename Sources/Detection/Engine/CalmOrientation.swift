import Motion

/// Which axis of the device points up, told when it has settled: not while the device is shaken or carried in a rhythm.
///
/// A turn changes where gravity is seen and hardly how much of it; steps, swings and jolts change how much. So a turn counts
/// when the length of the samples has been calm for a while. It is compared with its own mean and not with 1 g: many sensors
/// are off by some hundredths. A walk has calm moments, too, so its rhythm is asked besides, and only when a turn would be
/// told. In a vehicle a bump or an arm turns a device for a moment, so there a turn must last longer. Layout of its numbers:
/// as `Field` says, and behind them those of a `RhythmWatch`.
enum CalmOrientation {
    /// Places of its numbers.
    private enum Field {
        static let axis = 0
        /// x, y and z.
        static let gravity = 1
        /// The length's mean, and the square of the motion's strength.
        static let mean = 4
        static let strength = 5
        /// The axis that waits, and since when.
        static let next = 6
        static let since = 7
        /// The interval that the weights of a look are for, and those.
        static let elapsed = 8
        static let settling = 9
        static let averaging = 10
    }

    static let size = 11
    /// The cosine within which an axis points up for certain.
    private static let certain = 0.87
    /// The time constant, in µs, of the length's mean and of the strength: some steps of a walk.
    private static let rhythm = 3_000_000.0

    /// Takes a sample; returns 1 when another axis points up: 1 to 6 for x, -x, y, -y, z, -z.
    static func take(
        _ state: inout MutableSpan<Double>, _ sample: SIMD3<Double>, _ node: Instruction, ticks: Double, now: Double,
        elapsed: Double
    ) -> Double {
        let base = Int(node.state)
        let isCalm = self.follow(&state, at: base, sample, node, elapsed: elapsed)
        let place = base + Field.gravity
        let found = self.axis(SIMD3(state[place], state[place + 1], state[place + 2]), height: node.t)
        guard isCalm, found > 0, found != state[base + Field.axis] else {
            state[base + Field.next] = 0
            return 0
        }
        if state[base + Field.next] != found {
            state[base + Field.next] = found
            state[base + Field.since] = now
        }
        guard now - state[base + Field.since] >= node.q else { return 0 }
        if node.history >= 0 {
            let watch = RhythmWatch(base: base + self.size, history: Int(node.history))
            let (activity, hasRidden) = watch.ride(&state, ticks: ticks)
            guard activity != Double(MotionActivity.walking.rawValue),
                activity != Double(MotionActivity.running.rawValue),
                !hasRidden || now - state[base + Field.since] >= node.u
            else { return 0 }
        }
        let isFirst = state[base + Field.axis].isNaN
        state[base + Field.axis] = found
        return isFirst ? 0 : 1
    }

    /// Follows gravity and the strength of the motion; returns whether the device is calm.
    private static func follow(
        _ state: inout MutableSpan<Double>, at base: Int, _ sample: SIMD3<Double>, _ node: Instruction, elapsed: Double
    ) -> Bool {
        let length = (sample * sample).sum().squareRoot()
        guard !state[base + Field.mean].isNaN else {
            for axis in 0..<3 { state[base + Field.gravity + axis] = sample[axis] }
            state[base + Field.mean] = length
            state[base + Field.strength] = 0
            return true
        }
        // Samples mostly come at one interval, so the weights of the last are usually those of this one.
        if state[base + Field.elapsed] != elapsed {
            state[base + Field.elapsed] = elapsed
            state[base + Field.settling] = Mathematics.approach(elapsed / node.p)
            state[base + Field.averaging] = Mathematics.approach(elapsed / self.rhythm)
        }
        let (settling, averaging) = (state[base + Field.settling], state[base + Field.averaging])
        for axis in 0..<3 {
            state[base + Field.gravity + axis] += (sample[axis] - state[base + Field.gravity + axis]) * settling
        }
        state[base + Field.mean] += (length - state[base + Field.mean]) * averaging
        let swing = length - state[base + Field.mean]
        state[base + Field.strength] += (swing * swing - state[base + Field.strength]) * averaging
        return swing.magnitude <= node.r && state[base + Field.strength] < node.s * node.s
    }

    /// The axis along which gravity is seen; 0 for none.
    ///
    /// - Parameter height: Above 0: of the edges of a screen, one that is so much of 1 above the horizon, and no other is.
    private static func axis(_ gravity: SIMD3<Double>, height: Double) -> Double {
        let length = (gravity * gravity).sum().squareRoot()
        // Far from 1 g it is not gravity that is seen.
        guard length > 0.6, length < 1.4 else { return 0 }
        let (x, y, z) = (gravity.x.magnitude, gravity.y.magnitude, gravity.z.magnitude)
        guard height == 0 else {
            // On the border of two, and lying flat, it is none.
            switch (x > height * length, y > height * length) {
            case (true, true), (false, false): return 0
            case (true, false): return gravity.x > 0 ? 1 : 2
            case (false, true): return gravity.y > 0 ? 3 : 4
            }
        }
        let found: (axis: Double, size: Double) =
            x >= y && x >= z
            ? (gravity.x > 0 ? 1 : 2, x) : y >= z ? (gravity.y > 0 ? 3 : 4, y) : (gravity.z > 0 ? 5 : 6, z)
        return found.size >= self.certain * length ? found.axis : 0
    }
}
