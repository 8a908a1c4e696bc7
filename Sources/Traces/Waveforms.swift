/// The shapes that synthetic motion is made of. They use nothing but sums and products, so every machine gets the same bits.
enum Waveform {
    /// The sine of an angle in turns, good to 1e-11.
    static func sine(turns: Double) -> Double {
        // To -0.25 … 0.25 turns, where sin(π/2 − a) = sin(π/2 + a) folds the rest.
        var part = turns - turns.rounded()
        if part > 0.25 { part = 0.5 - part } else if part < -0.25 { part = -0.5 - part }
        let angle = part * 2 * Double.pi
        let square = angle * angle
        var sum = 0.0
        // The series a − a³/3! + a⁵/5! …, from its last term inwards.
        for n in stride(from: 15.0, through: 3, by: -2) { sum = (1 - sum) * square / (n * (n - 1)) }
        return angle * (1 - sum)
    }

    /// A swing to and fro that stays longer at its ends than a sine: within 1 % of ±1 for a quarter of the time.
    ///
    /// A hand turns back sharply, and a slow look (10 Hz at a swing of 3 Hz) still meets an end.
    static func swing(turns: Double) -> Double {
        let sine = self.sine(turns: turns)
        return sine * (3 - sine * sine) / 2
    }

    /// What one step adds along the vertical: heel strike (1 at its height), then unloading, push-off and swing.
    static func step(phase: Double) -> Double {
        func hump(_ from: Double, _ to: Double) -> Double {
            guard phase >= from, phase < to else { return 0 }
            let at = (phase - from) / (to - from)
            let arch = 4 * at * (1 - at)
            return arch * arch
        }
        return hump(0, 0.2) - 0.6 * hump(0.2, 0.55) + 0.35 * hump(0.55, 0.8) - 0.45 * hump(0.8, 1)
    }

    /// 0 to 1 within `ramp` of the beginning, and back before the end.
    static func envelope(at time: Double, of length: Double, ramp: Double) -> Double {
        let edge = max(0, min(1, min(time, length - time) / min(ramp, length / 4)))
        return edge * edge * (3 - 2 * edge)
    }

    /// A number between 0 and 1 that depends on all bits of the three.
    static func chance(_ seed: UInt64, _ index: UInt64, _ channel: UInt64) -> Double {
        func mix(_ value: UInt64) -> UInt64 {
            var z = value
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
        let bits = mix(mix(mix(seed &+ 0x9E37_79B9_7F4A_7C15) ^ index) &+ channel &* 0x9E37_79B9_7F4A_7C15)
        return Double(bits >> 11) * 0x1p-53
    }
}
