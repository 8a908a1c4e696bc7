package import Detection
package import Motion
import Traces

/// Hours of made motion without a gesture in it, and how often a detector fires on them.
///
/// Half of it is walks of several paces and strengths, half what hands do with a device between pauses: it is picked up, turned,
/// put down, in any position. It is made from a seed, so that it may be shipped; a day of one's own says more.
package enum EverydayMotion {
    /// What a detector did on some hours.
    package struct Count: Equatable, Sendable {
        package var hits: Int
        package var hours: Double

        package init(hits: Int, hours: Double) {
            self.hits = hits
            self.hours = hours
        }

        package var perHour: Double { self.hours > 0 ? Double(self.hits) / self.hours : 0 }

        /// At 95 % certainty there are no more than so many an hour: few hours prove little.
        ///
        /// The bound of a Poisson count: 3.0 for none, 4.7 for one. From eleven on Wilson and Hilferty's approximation.
        package var boundPerHour: Double {
            guard self.hours > 0 else { return .infinity }
            let known = [2.996, 4.744, 6.296, 7.754, 9.154, 10.513, 11.842, 13.148, 14.435, 15.705, 16.962]
            guard self.hits >= known.count else { return known[max(0, self.hits)] / self.hours }
            let next = Double(self.hits + 1)
            let root = 1 - 1 / (9 * next) + 1.645 / (3 * next.squareRoot())
            return next * root * root * root / self.hours
        }
    }

    private static let seed: UInt64 = 7
    /// A minute of each in turn, so often.
    private static let minutes = 60

    /// How often a gesture is found in two hours of it.
    package static func count(_ gesture: TaughtGesture) throws(DetectorProblem) -> Count {
        let request = DetectorRequest(
            name: gesture.name,
            options: [
                "preset": .text("gesture"), CompiledDetector.gestureKey: .text(GestureText.write(gesture)),
            ])
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        engine.add(try DetectorCompiler.compile(request, for: nil), as: DetectorID(0), at: .zero)
        var hits: [Hit] = []
        var time: Int64 = 0
        self.make(minutes: self.minutes) { block in
            engine.process(times: block.times.span, values: block.values.span, hits: &hits)
            time = block.times.last ?? time
        }
        return Count(hits: hits.count, hours: Double(time) / 3_600_000_000)
    }

    /// Makes so many minutes of each, at 50 samples a second, and hands them out two minutes at a time.
    package static func make(minutes: Int, _ body: (SampleBlock) -> Void) {
        var time: Int64 = 0
        var block = SampleBlock(channels: 3)
        var chance = Chance(seed: self.seed)
        func take(_ value: SIMD3<Double>) {
            time += HandMotion.cell
            block.append(Timestamp(microseconds: time), [value.x, value.y, value.z])
        }
        for minute in 0..<minutes {
            let end = time + 60_000_000
            let pace = chance.uniform(1.5, 2.4)
            let strength = chance.uniform(0.2, 1.2)
            let script =
                "seed=\(minute + 1); noise=0.03g; rest 1s; walk 58s pace=\(pace)Hz strength=\(strength)g; rest 1s"
            if let walk = try? SyntheticMotion(script: script) {
                let start = time
                while time < end {
                    guard let sample = walk.sample(at: TimeSpan(microseconds: time - start)) else { break }
                    take(sample)
                }
            }
            let pause = time + 60_000_000
            while time < pause {
                let motion = HandMotion(&chance, isHandling: true)
                for cell in motion.cells { take(cell) }
                let rest = Int(chance.uniform(25, 650))
                if let last = motion.cells.last { for _ in 0..<rest { take(last) } }
            }
            body(block)
            block.removeAll()
        }
    }
}
