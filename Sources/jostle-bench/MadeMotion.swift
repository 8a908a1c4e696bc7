/// Seeded motion as the looks see it.
struct MadeMotion {
    private(set) var samples: [SIMD3<Double>] = []
    /// Samples in a block.
    private static let block = 64

    init(looks: Int, shaken: Bool) {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func noise() -> Double {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Double(state % 2_000) / 1_000 - 1
        }
        self.samples.reserveCapacity(looks)
        for index in 0..<looks {
            var sample = SIMD3(0.02 * noise(), 0.02 * noise(), 1 + 0.02 * noise())
            // A second in twenty is a shake, each of another strength.
            let second = index / 100
            if shaken, second % 20 == 7 {
                let peak = 2 + Double((second * 7) % 6)
                let phase = Double(index % 100) / 100
                // Three swings a second, as a triangle.
                let swing = (phase * 3).truncatingRemainder(dividingBy: 1)
                sample.x += peak * (swing < 0.5 ? 4 * swing - 1 : 3 - 4 * swing)
            }
            self.samples.append(sample)
        }
    }

    var count: Int { self.samples.count }

    /// Lets an engine look at so many samples, going round, without allocating anything.
    func play(_ looks: Int, _ engine: inout BenchEngine) {
        let values = self.samples.flatMap { [$0.x, $0.y, $0.z] }
        var times = [Int64](repeating: 0, count: Self.block)
        var left = looks
        while left > 0 {
            var first = 0
            while first < self.count, left > 0 {
                let end = min(self.count, first + Self.block, first + left)
                let start = MotionTime.next(end - first)
                for row in first..<end { times[row - first] = start + Int64(row - first) * 10_000 }
                engine.look(times.span.extracting(first: end - first), values.span.extracting(3 * first..<3 * end))
                left -= end - first
                first = end
            }
        }
    }

    /// Runs all looks, 10 ms apart in their own time and in blocks as a reader sends them, through an engine.
    func nanosecondsPerLook(_ engine: inout BenchEngine) -> Double {
        let start = MotionTime.next(self.count)
        let times = (0..<self.count).map { start + Int64($0) * 10_000 }
        let values = self.samples.flatMap { [$0.x, $0.y, $0.z] }
        let began = ProcessorClock.now()
        for first in stride(from: 0, to: self.count, by: Self.block) {
            let end = min(self.count, first + Self.block)
            engine.look(times.span.extracting(first..<end), values.span.extracting(3 * first..<3 * end))
        }
        return (ProcessorClock.now() - began) / Double(self.count)
    }

    /// Runs `looks` looks, 10 ms apart in their own time, and tells what one cost.
    func nanosecondsPerLook(_ looks: Int, _ look: (Int64, SIMD3<Double>) -> Void) -> Double {
        let start = MotionTime.next(looks)
        let began = ProcessorClock.now()
        for index in 0..<looks { look(start + Int64(index) * 10_000, self.samples[index % self.samples.count]) }
        return (ProcessorClock.now() - began) / Double(looks)
    }
}

/// Time that only rises, over all runs.
private enum MotionTime {
    nonisolated(unsafe) private static var now: Int64 = 0

    static func next(_ looks: Int) -> Int64 {
        // SAFETY: the benchmark has one thread.
        defer { unsafe self.now += Int64(looks) * 10_000 }
        return unsafe self.now
    }
}
