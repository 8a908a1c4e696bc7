import DetectionModel
import Motion
import Randomness

/// Motion for tests: gravity along z, noise, and bursts of shaking along changing axes.
enum Motions {
    /// Options of a made trace.
    struct Options {
        var rate = 100.0
        var seconds = 20.0
        /// Share of a sample interval by which times vary.
        var jitter = 0.0
        /// Share of the time that is spent shaking.
        var shaking = 0.2
        var amplitude = 1.0...6.0
        /// Chance per sample that a pause of 1 to 3 s follows.
        var gaps = 0.0
        var start: Int64 = 5_000_000
    }

    static func accelerometer(seed: UInt64, _ options: Options = Options()) -> SampleBlock {
        var random = SeededRandom(seed: seed)
        var block = SampleBlock(channels: 3)
        var time = Double(options.start)
        let step = 1_000_000 / options.rate
        let end = time + options.seconds * 1_000_000
        var burst: (until: Double, axis: (Double, Double, Double), frequency: Double)?
        while time < end {
            if burst == nil, random.chance(options.shaking / options.rate) {
                let size = random.uniform(options.amplitude)
                var axis = (random.uniform(-1...1), random.uniform(-1...1), random.uniform(-1...1))
                let norm = (axis.0 * axis.0 + axis.1 * axis.1 + axis.2 * axis.2).squareRoot() + 1e-9
                axis = (axis.0 / norm * size, axis.1 / norm * size, axis.2 / norm * size)
                burst = (time + random.uniform(0.3...2) * 1_000_000, axis, random.uniform(2.5...5))
            }
            var (x, y, z) = (0.0, 0.0, 1.0)
            if let now = burst {
                // A triangle wave: no mathematics library is needed, and it reverses as a hand does.
                let phase = (time / 1_000_000 * now.frequency).truncatingRemainder(dividingBy: 1)
                let wave = 4 * (phase - 0.5).magnitude - 1
                x += now.axis.0 * wave
                y += now.axis.1 * wave
                z += now.axis.2 * wave
                if time > now.until { burst = nil }
            }
            let noise = 0.01
            let row = [
                x + random.uniform(-noise...noise), y + random.uniform(-noise...noise),
                z + random.uniform(-noise...noise),
            ]
            block.append(Timestamp(microseconds: Int64(time)), row)
            time += step * (1 + random.uniform(-1...1) * options.jitter)
            if options.gaps > 0, random.chance(options.gaps) { time += random.uniform(1.1...3) * 1_000_000 }
        }
        return block
    }
}
