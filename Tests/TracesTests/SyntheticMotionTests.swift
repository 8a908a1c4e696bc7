import Motion
import Testing
import Traces

@Suite struct SyntheticMotionTests {
    /// The readings of a device at `rate` from `phase` on, gaps left out.
    func readings(
        _ motion: SyntheticMotion, rate: Double, seconds: Double, phase: Int64 = 0
    ) -> [SIMD3<Double>] {
        (0..<Int64(seconds * rate)).compactMap {
            motion.sample(at: SyntheticMotion.offset(ofSample: $0, rate: rate) + TimeSpan(microseconds: phase))
        }
    }

    func planar(_ reading: SIMD3<Double>) -> Double { (reading.x * reading.x + reading.y * reading.y).squareRoot() }
    func norm(_ reading: SIMD3<Double>) -> Double { (reading * reading).sum().squareRoot() }

    @Test func theEmptyScriptRests() throws {
        let motion = try SyntheticMotion()
        #expect(motion.sample(at: .zero) == SIMD3(0, 0, 1))
        #expect(motion.sample(at: TimeSpan(microseconds: .max)) == SIMD3(0, 0, 1))
        #expect(motion.sample(at: TimeSpan(microseconds: .min)) == SIMD3(0, 0, 1))
        #expect(motion.rates == [10, 25, 50, 100, 200, 400])
        #expect(motion.sensor.channels == ["x", "y", "z"])
        #expect(motion.sensor.isSimulated)
    }

    @Test(arguments: [
        ("z", SIMD3(0, 0, 1)), ("-y", SIMD3(0, -1, 0)), ("x", SIMD3(1, 0, 0)), ("0,3,4", SIMD3(0, 0.6, 0.8)),
        ("-2,0,0", SIMD3(-1, 0, 0)),
    ])
    func gravityIsOneGInItsDirection(_ direction: String, _ expected: SIMD3<Double>) throws {
        #expect(try SyntheticMotion(script: "gravity=\(direction)").sample(at: .seconds(1)) == expected)
    }

    @Test func theRateIsTheFastestOfTheDevice() throws {
        #expect(try SyntheticMotion(script: "rate=100").rates == [10, 25, 50, 100])
        #expect(try SyntheticMotion(script: "rate=60Hz").rates == [10, 25, 50, 60])
        #expect(try SyntheticMotion(script: "rate=5").rates == [5])
        #expect(SyntheticMotion.offset(ofSample: 1, rate: 60).microseconds == 16_667)
        #expect(SyntheticMotion.offset(ofSample: 60 * 86_400 * 365, rate: 60) == .seconds(86_400 * 365))
        #expect(SyntheticMotion.offset(ofSample: .max, rate: 0.01).microseconds == .max)
    }

    @Test func itIsAFunctionOfTimeAndSeed() throws {
        let script = "noise=0.05g; walk 3s; shake; gap 200ms; rest 1s; loop"
        let motion = try SyntheticMotion(script: "seed=7; \(script)")
        let again = try SyntheticMotion(script: "seed=7; \(script)")
        let other = try SyntheticMotion(script: "seed=8; \(script)")
        let slow = self.readings(motion, rate: 50, seconds: 20)
        #expect(slow == self.readings(again, rate: 50, seconds: 20))
        #expect(slow != self.readings(other, rate: 50, seconds: 20))
        // Another rate sees the same motion, noise and all, where the times are the same.
        for index in Int64(0)..<1_000 {
            #expect(
                motion.sample(at: SyntheticMotion.offset(ofSample: index * 4, rate: 200))
                    == motion.sample(at: SyntheticMotion.offset(ofSample: index, rate: 50)))
        }
    }

    /// The bits must not depend on the machine, or recorded scenarios would not replay elsewhere.
    @Test func theValuesAreKnown() throws {
        let motion = try SyntheticMotion(script: "seed=7; noise=0.02g; walk 2s; shake")
        let known: [(Int64, SIMD3<Double>)] = [
            (1_234_567, SIMD3(0.1505362349126888, 0.04525015614927422, 0.9828903205043424)),
            (2_345_678, SIMD3(0.9566014715544279, 0.014732291067081293, 0.9880423700238142)),
            (9_000_000, SIMD3(0.019196679983391578, -0.005455672865324468, 0.9812491151141836)),
        ]
        for (time, value) in known { #expect(motion.sample(at: TimeSpan(microseconds: time)) == value) }
    }

    @Test func noiseStaysWithinItsBoundAndIsEven() throws {
        let readings = self.readings(try SyntheticMotion(script: "noise=0.3g"), rate: 400, seconds: 100)
        for axis in 0..<3 {
            let noise = readings.map { $0[axis] - (axis == 2 ? 1 : 0) }
            let mean = noise.reduce(0, +) / Double(noise.count)
            let variance = noise.reduce(0) { $0 + $1 * $1 } / Double(noise.count)
            #expect(noise.allSatisfy { abs($0) <= 0.3 })
            #expect(abs(mean) < 0.005)
            #expect(abs(variance - 0.03) < 0.001)
        }
    }

    @Test func aGapHasNoReadings() throws {
        let motion = try SyntheticMotion(script: "rest 1s; gap 500ms; rest 1s")
        #expect(motion.sample(at: TimeSpan(microseconds: 999_999)) != nil)
        #expect(motion.sample(at: .seconds(1)) == nil)
        #expect(motion.sample(at: TimeSpan(microseconds: 1_499_999)) == nil)
        #expect(motion.sample(at: .milliseconds(1_500)) != nil)
        #expect(self.readings(motion, rate: 100, seconds: 3).count == 250)
    }

    /// A circle begins and ends at rest, and where it began; the other way round it is its mirror image.
    @Test(arguments: ["z", "-x", "1,2,-1"], [1.0, 2, -1])
    func aCircleCloses(_ axis: String, _ turns: Double) throws {
        let circle = try SyntheticMotion(script: "circle 1200ms strength=0.7g turns=\(turns) axis=\(axis)")
        var (velocity, place, farthest, pull) = (SIMD3<Double>.zero, SIMD3<Double>.zero, 0.0, 0.0)
        for step in 0..<1_200 {
            let push = try #require(circle.sample(at: .milliseconds(Int64(step)))) - SIMD3(0, 0, 1)
            velocity += push
            place += velocity
            farthest = max(farthest, (place * place).sum().squareRoot())
            pull = max(pull, (push * push).sum().squareRoot())
        }
        #expect((velocity * velocity).sum().squareRoot() < 2)
        #expect((place * place).sum().squareRoot() < 0.02 * farthest)
        // In the middle it is half as fast again as on the whole.
        #expect((1.5...1.7).contains(pull), "\(pull)")
    }

    @Test func aScriptEndsInRestOrLoops() throws {
        let once = try SyntheticMotion(script: "shake 1s; rest 1s")
        let loop = try SyntheticMotion(script: "shake 1s; rest 1s; loop")
        let crest = TimeSpan.milliseconds(417)
        #expect(once.sample(at: crest) == loop.sample(at: crest))
        #expect(loop.sample(at: crest + .seconds(2_000_000)) == loop.sample(at: crest))
        #expect(once.sample(at: crest + .seconds(2)) == SIMD3(0, 0, 1))
        #expect(loop.sample(at: TimeSpan(microseconds: .max)) != nil)
    }

    // MARK: Shakes

    /// The promise of `docs/traces.md`: what a look every 100 ms sees of a shake, wherever its grid lies.
    @Test(arguments: [10.0, 25, 50, 100, 200, 400], [1, 2, 3, 4])
    func aShakeShowsItsPeakAtEveryPhase(_ rate: Double, _ seed: UInt64) throws {
        for axis in ["x", "y", "1,1,0", "-3,1,0"] {
            let settings = "seed=\(seed); noise=0.29g; gravity=z; rest 1s"
            let gentle = try SyntheticMotion(script: "\(settings); shake peak=2.8g freq=3Hz axis=\(axis) for=1s")
            let hard = try SyntheticMotion(script: "\(settings); shake peak=4.5g axis=\(axis)")
            for phase in stride(from: Int64(0), to: 100_000, by: 500) {
                // What the device sampled last before each look, at any phase of the device, too.
                let looks = (Int64(0)..<22).map { look -> TimeSpan in
                    let time = phase + look * 100_000
                    let step = 1_000_000 / rate
                    let offset = Double(phase % Int64(step))
                    return TimeSpan(
                        microseconds: Int64((((Double(time) - offset) / step).rounded(.down) * step + offset).rounded())
                    )
                }
                let gentlePeak = looks.compactMap { gentle.sample(at: $0) }.map(self.planar).max() ?? 0
                #expect(gentlePeak > 2.3 && gentlePeak < 3.5, "phase \(phase), axis \(axis): \(gentlePeak)")
                let hardPeak = looks.compactMap { hard.sample(at: $0) }.map(self.planar).max() ?? 0
                #expect(hardPeak > 3.5, "phase \(phase), axis \(axis): \(hardPeak)")
            }
        }
    }

    @Test(arguments: [2.8, 4.5, 0.5], [2.0, 3, 4.7])
    func aShakeReachesItsPeakAndNoMore(_ peak: Double, _ frequency: Double) throws {
        let motion = try SyntheticMotion(script: "shake peak=\(peak)g freq=\(frequency)Hz for=1s axis=y")
        let peaks = self.readings(motion, rate: 100, seconds: 1).map(self.planar)
        let highest = peaks.max() ?? 0
        #expect(highest <= peak)
        #expect(highest > 0.995 * peak)
        // It goes both ways, and as often as it should.
        let signs = self.readings(motion, rate: 1_000, seconds: 1).map { $0.y < 0 }
        let turns = zip(signs, signs.dropFirst()).count { $0 != $1 }
        #expect(abs(turns - Int((2 * frequency).rounded())) <= 1)
    }

    @Test func aShakeBeginsAndEndsSmoothly() throws {
        let motion = try SyntheticMotion(script: "rest 1s; shake peak=16g freq=5Hz; rest 1s")
        let readings = self.readings(motion, rate: 10_000, seconds: 3)
        let jump = zip(readings, readings.dropFirst()).map { self.norm($0 - $1) }.max() ?? 0
        #expect(jump < 0.1)
    }

    // MARK: Walking

    @Test(arguments: ["x", "y", "-z", "0.1,0.99,0.03"], [1.0, 2, 3, 4, 5])
    func walkingLooksLikeWalking(_ gravity: String, _ seed: Double) throws {
        let motion = try SyntheticMotion(
            script: "seed=\(Int(seed)); gravity=\(gravity); walk 60s pace=1.8Hz strength=1g")
        guard let up = motion.sample(at: TimeSpan(microseconds: -1)) else { return }
        let readings = self.readings(motion, rate: 100, seconds: 60)
        let norms = readings.map(self.norm).sorted()
        #expect(norms[0] > 0 && norms[0] < 0.6)
        #expect(norms[norms.count - 1] > 1.9 && norms[norms.count - 1] < 2.3)
        #expect(abs(norms[norms.count / 2] - 1) < 0.2)
        // Heel strikes: as often as the pace says, by the upward crossings of 1.6 g.
        let vertical = readings.map { ($0 * up).sum() }
        let strikes = zip(vertical, vertical.dropFirst()).count { $0 <= 1.6 && $1 > 1.6 }
        #expect((105...108).contains(strikes), "\(strikes) strikes in a minute")
        // Steps are not all alike.
        let highest = stride(from: 0, to: 5_940, by: 60).map { vertical[$0..<$0 + 60].max() ?? 0 }
        #expect((highest.max() ?? 0) - (highest.min() ?? 0) > 0.15)
    }

    @Test(arguments: [0.3, 0.8, 1, 2, 3, 4, 8, 16], ["z", "0.1,0.99,0.03"])
    func walkingNeverReverses(_ strength: Double, _ gravity: String) throws {
        let motion = try SyntheticMotion(script: "gravity=\(gravity); walk 60s pace=2.2Hz strength=\(strength)g")
        guard let up = motion.sample(at: TimeSpan(microseconds: -1)) else { return }
        for reading in self.readings(motion, rate: 100, seconds: 60) {
            #expect((reading * up).sum() > -1e-9)
            // Readings within 53° of up never point against each other by a cosine of less than -0.3.
            if self.norm(reading) > 1.2 { #expect((reading * up).sum() > 0.6 * self.norm(reading)) }
        }
    }

    @Test func walkingIsContinuous() throws {
        let motion = try SyntheticMotion(script: "rest 1s; walk 3.3s pace=1.7Hz strength=2g; rest 1s")
        let readings = self.readings(motion, rate: 10_000, seconds: 5.3)
        let jump = zip(readings, readings.dropFirst()).map { self.norm($0 - $1) }.max() ?? 0
        #expect(jump < 0.03)
    }

    // MARK: Running

    /// An arm turns round with each step, harder than a walk does, and each step is one push.
    @Test(arguments: ["z", "0.1,0.99,0.03"])
    func runningSwingsTheArm(_ gravity: String) throws {
        let motion = try SyntheticMotion(script: "seed=2; gravity=\(gravity); rest 1s; run 60s pace=2.5Hz strength=3g")
        guard let up = motion.sample(at: TimeSpan(microseconds: 0)) else { return }
        let readings = Array(self.readings(motion, rate: 100, seconds: 61).dropFirst(110))
        let vertical = readings.map { ($0 * up).sum() }
        // Upward crossings of half the push: as often as the pace says.
        let pushes = zip(vertical, vertical.dropFirst()).count { $0 <= 1.7 && $1 > 1.7 }
        #expect((145...151).contains(pushes), "\(pushes) pushes in a minute")
        #expect((vertical.min() ?? 0) > 0.6 && (vertical.max() ?? 0) > 3)
        let strongest = readings.map { self.norm($0 - up * ($0 * up).sum()) }.max() ?? 0
        #expect(strongest > 2.5 && strongest < 3)
    }

    // MARK: Injection

    @Test func anInjectedShakeStartsWhenItIsInjectedAndAdds() throws {
        var motion = try SyntheticMotion(script: "seed=3; gravity=y; walk 60s")
        let base = motion
        let plain = try SyntheticMotion(script: "seed=3; gravity=y; shake peak=3g axis=z")
        let start = TimeSpan(microseconds: 12_345_678)
        try motion.inject("shake peak=3g axis=z", at: start)
        for index in Int64(0)..<2_000 {
            let time = TimeSpan.milliseconds(11_000 + index)
            guard let with = motion.sample(at: time), let without = base.sample(at: time) else { continue }
            let since = TimeSpan(microseconds: time.microseconds - start.microseconds)
            let added = (plain.sample(at: since) ?? .zero) - SIMD3(0, 1, 0)
            #expect(self.norm(with - without - added) < 1e-12)
        }
    }

    @Test func severalInjectionsPlayTogetherAndEnd() throws {
        var motion = try SyntheticMotion()
        try motion.inject("shake peak=2g axis=x; gap 1s", at: .zero)
        try motion.inject("shake peak=2g axis=y", at: .zero)
        let crest = motion.sample(at: .milliseconds(417)) ?? .zero
        #expect(crest.x > 1.99 && crest.y > 1.99)
        #expect(motion.sample(at: .milliseconds(1_500)) == nil)
        #expect(motion.sample(at: .milliseconds(2_000)) == SIMD3(0, 0, 1))
    }

    @Test func injectionsAreLimitedToThoseUnderWay() throws {
        var motion = try SyntheticMotion()
        for _ in 0..<SyntheticMotion.Limits.injected { try motion.inject("shake", at: .zero) }
        #expect(
            throws: SyntheticMotion.Problem(
                column: 1, message: "64 injected motions are under way already", limit: "motions")
        ) {
            try motion.inject("shake", at: .milliseconds(999))
        }
        try motion.inject("shake", at: .seconds(1))
    }

    @Test func readingsStopAtTheRange() throws {
        var motion = try SyntheticMotion()
        for _ in 0..<4 { try motion.inject("shake peak=16g", at: .zero) }
        let readings = self.readings(motion, rate: 400, seconds: 1)
        #expect(readings.map(\.x).max() == 16)
        #expect(readings.map(\.x).min() == -16)
    }

    @Test func itRecordsBlocks() throws {
        let motion = try SyntheticMotion(script: "rest 1s; gap 1s; shake")
        var block = SampleBlock(channels: 3)
        motion.record(50..<350, rate: 100, from: Timestamp(microseconds: 7), into: &block)
        #expect(block.count == 200)
        #expect(block.times.first == 500_007)
        #expect(block.times[50] == 2_000_007)
        #expect(block.values.max() ?? 0 > 2.7)
    }
}
