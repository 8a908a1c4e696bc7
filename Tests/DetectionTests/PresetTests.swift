import DetectionModel
import Motion
import Testing

@testable import Detection
import Randomness

@Suite struct PresetTests {
    /// The shake's streaming form, with lists where the engine has a ring.
    private struct PlainShake {
        let threshold: Double
        let count: Int
        var peak: (x: Double, y: Double, z: Double, length: Double)?
        var seen = 0.0
        var starts: [Double] = []
        var lastFired = -Double.infinity

        mutating func look(_ t: Double, _ x: Double, _ y: Double, _ z: Double) -> Bool {
            let square = x * x + y * y + z * z
            if square <= self.threshold * self.threshold { return false }
            let length = square.squareRoot()
            if let peak = self.peak, t - self.seen <= 400_000 {
                let cosine = (x * peak.x + y * peak.y + z * peak.z) / (length * peak.length)
                if cosine < -0.3 {
                    if t - (self.starts.last ?? 0) >= 30_000 {
                        self.starts.append(t)
                        self.peak = (x, y, z, length)
                        self.seen = t
                    }
                } else if cosine > 0 {
                    self.seen = t
                    if length > peak.length { self.peak = (x, y, z, length) }
                }
            } else {
                self.starts = [t]
                self.peak = (x, y, z, length)
                self.seen = t
            }
            guard self.starts.count >= self.count else { return false }
            let span = (self.starts.last ?? 0) - self.starts[self.starts.count - self.count]
            guard span <= 1_200_000, t - self.lastFired >= 1_000_000 else { return false }
            self.lastFired = t
            self.peak = nil
            self.starts = []
            return true
        }
    }

    @Test(arguments: ["normal", "pocket", "sensitive"], Array(UInt64(1)...8))
    func shakeIsItsStreamingForm(_ sensitivity: String, seed: UInt64) throws {
        let block = Motions.accelerometer(seed: seed, .init(rate: 100, seconds: 60, shaking: 0.8, amplitude: 1...4))
        // Of a word's values all but the rhythm, which is no part of this form.
        var plain = PlainShake(threshold: sensitivity == "pocket" ? 2 : 1.5, count: sensitivity == "sensitive" ? 2 : 3)
        let values: [String: OptionValue] = [
            "threshold": .number(plain.threshold), "count": .whole(UInt32(plain.count)), "rhythm": .number(0),
        ]
        var engine = DetectionEngine([try preset("shake", values)])
        let hits = engine.run(block).map(\.time.microseconds)
        var expected: [Int64] = []
        var bucket: Int64 = -1
        for row in 0..<block.count where (block.times[row] - block.times[0]) / 50_000 != bucket {
            bucket = (block.times[row] - block.times[0]) / 50_000
            let values = Array(block.values[row * 3..<row * 3 + 3])
            if plain.look(Double(block.times[row]), values[0], values[1], values[2]) {
                expected.append(block.times[row])
            }
        }
        #expect(hits == expected, "seed \(seed)")
        #expect(!expected.isEmpty, "seed \(seed)")
    }

    @Test func lowpassFollowsTheArticlesOrder() throws {
        let block = Motions.accelerometer(seed: 5, .init(rate: 60, seconds: 120, shaking: 1, amplitude: 4...9))
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        let start = Timestamp(microseconds: block.times[0])
        engine.add(try preset("shake.lowpass"), as: DetectorID(0), at: start)
        let hits = engine.run(block).map(\.time.microseconds)
        var filtered = [0.0, 0, 0]
        var last = block.times[0]
        var bucket: Int64 = -1
        var expected: [Int64] = []
        for row in 0..<block.count where (block.times[row] - block.times[0]) / 200_000 != bucket {
            bucket = (block.times[row] - block.times[0]) / 200_000
            var isTrue = false
            for axis in 0..<3 {
                let next = 0.1 * block.values[row * 3 + axis] + (1 - 0.1) * filtered[axis]
                if abs(next - filtered[axis]) > 0.38 { isTrue = true }
                filtered[axis] = next
            }
            if isTrue, block.times[row] - last >= 1_000_000 {
                expected.append(block.times[row])
                last = block.times[row]
            }
        }
        #expect(hits == expected)
        #expect(!expected.isEmpty)
    }

    @Test func tiltedFiltersAgainAtAJolt() throws {
        let block = Motions.accelerometer(seed: 6, .init(rate: 50, seconds: 120, shaking: 1, amplitude: 2...6))
        var engine = DetectionEngine([try preset("shake.tilted")])
        let hits = engine.run(block).map(\.time.microseconds)
        var (fx, fy) = (0.0, 0.0)
        var last: Int64?
        var bucket: Int64 = -1
        var expected: [Int64] = []
        for row in 0..<block.count where (block.times[row] - block.times[0]) / 100_000 != bucket {
            bucket = (block.times[row] - block.times[0]) / 100_000
            let (x, y) = (block.values[row * 3], block.values[row * 3 + 1])
            fx = 0.1 * x + (1 - 0.1) * fx
            fy = 0.1 * y + (1 - 0.1) * fy
            guard abs(x) >= 1.5 || abs(y) >= 1.5, last.map({ block.times[row] - $0 > 1_000_000 }) ?? true else {
                continue
            }
            fx = 0.1 * x + (1 - 0.1) * fx
            fy = 0.1 * y + (1 - 0.1) * fy
            if abs(Mathematics.arctangent(fy, fx)) > 70 * .pi / 180 {
                expected.append(block.times[row])
                last = block.times[row]
            }
        }
        #expect(hits == expected)
        #expect(!expected.isEmpty)
    }

    @Test(arguments: PresetCatalogue.all.map(\.name))
    func isDocumentedCompilesAndRestsAtRest(_ name: String) throws {
        let found = try #require(PresetCatalogue.named(name))
        for text in [found.summary, found.whenToUse, found.weaknesses] { #expect(text.hasSuffix(".")) }
        for parameter in found.parameters {
            #expect(parameter.range.contains(parameter.defaultValue))
            #expect(parameter.help.hasSuffix("."))
            _ = try preset(name, [parameter.name: parameter.option(parameter.range.upperBound)])
        }
        for sensitivity in found.sensitivities { _ = try preset(name, ["sensitivity": .text(sensitivity.word)]) }
        let compiled = try preset(name)
        // The device lies on its back, with the noise of a phone's sensor.
        var random = SeededRandom(seed: 3)
        let rest = trace(rate: 400, seconds: 4) { _ in
            (random.uniform(-0.01...0.01), random.uniform(-0.01...0.01), 1 + random.uniform(-0.01...0.01))
        }
        var engine = DetectionEngine([compiled])
        // That it rests is what one of them tells.
        #expect(engine.run(rest).map(\.peak) == (name == "activity" ? [1] : []))
    }

    private func hits(
        _ name: String, rate: Double = 400, seconds: Double, _ motion: (Double) -> (Double, Double, Double)
    )
        throws -> [Double]
    {
        var engine = DetectionEngine([try preset(name)])
        return engine.run(trace(rate: rate, seconds: seconds, motion)).map {
            Double($0.time.microseconds) / 1_000_000 - 10
        }
    }

    /// A knock: a short pulse at a time.
    private func knock(_ t: Double, at start: Double) -> Double { t >= start && t < start + 0.012 ? 2 : 0 }

    @Test func aTapIsOneKnock() throws {
        let once = try self.hits("tap", seconds: 3) { (0, 0, 1 + self.knock($0, at: 1)) }
        #expect(once.count == 1)
        #expect(try self.hits("double-tap", seconds: 3) { (0, 0, 1 + self.knock($0, at: 1)) }.isEmpty)
        // A push that lasts is no tap.
        #expect(try self.hits("tap", seconds: 3) { (0, 0, $0 >= 1 && $0 < 1.3 ? 3 : 1) }.isEmpty)
    }

    @Test func aDoubleTapIsTwoKnocksInTime() throws {
        let twice = try self.hits("double-tap", seconds: 3) {
            (0, 0, 1 + self.knock($0, at: 1) + self.knock($0, at: 1.25))
        }
        #expect(twice.count == 1)
        let late = try self.hits("double-tap", seconds: 4) { (0, 0, 1 + self.knock($0, at: 1) + self.knock($0, at: 2)) }
        #expect(late.isEmpty)
    }

    @Test func turningOverFiresOnceItLies() throws {
        let turned = try self.hits("flip.face-down", seconds: 5) { t in
            let share = min(max((t - 2) / 0.6, 0), 1)
            return (0, 1 - abs(1 - 2 * share), 1 - 2 * share)
        }
        #expect(turned.count == 1)
        #expect((turned.first ?? 0) > 2.8)
        #expect(try self.hits("flip.face-down", seconds: 5) { _ in (0, 0, -1) }.isEmpty)
    }

    @Test func pickingUpFires() throws {
        let lifted = try self.hits("pick-up", seconds: 6) { t in
            let share = min(max((t - 3) / 0.5, 0), 1)
            return (0, 0.8 * share, 1 - 0.4 * share)
        }
        #expect(lifted.count == 1)
    }

    @Test func fallingFiresBeforeTheImpact() throws {
        let fallen = try self.hits("free-fall", seconds: 4) { t in
            (0, 0, t >= 2 && t < 2.3 ? 0.02 : t >= 2.3 && t < 2.35 ? 6 : 1)
        }
        #expect(fallen.count == 1)
        #expect((fallen.first ?? 9) < 2.2)
        #expect(try self.hits("free-fall", seconds: 4) { t in (0, 0, t >= 2 && t < 2.08 ? 0.02 : 1) }.isEmpty)
    }

    @Test func stillnessAndMotionFireOnceEach() throws {
        // Moves for 8 s, lies for 12 s, moves again.
        func motion(_ t: Double) -> (Double, Double, Double) {
            let isMoving = t < 8 || t >= 20
            let phase = (t * 2).truncatingRemainder(dividingBy: 1)
            return (0, 0, 1 + (isMoving ? 0.4 * (abs(phase - 0.5) * 4 - 1) : 0))
        }
        let still = try self.hits("still", rate: 50, seconds: 28, motion)
        #expect(still.count == 1)
        #expect((still.first ?? 0) > 13 && (still.first ?? 99) < 15)
        let moving = try self.hits("moving", rate: 50, seconds: 28, motion)
        #expect(moving.count == 2)
    }

    @Test func stepsAreCountedAtAWalkingPace() throws {
        let steps = try self.hits("step", rate: 100, seconds: 12) { t in
            guard t > 2 else { return (0, 0, 1) }
            let phase = (t * 2).truncatingRemainder(dividingBy: 1)
            return (0, 0, 1 + 0.5 * (abs(phase - 0.5) * 4 - 1))
        }
        #expect((18...21).contains(steps.count))
    }

    @Test func orientationReportsTheNewSide() throws {
        var engine = DetectionEngine([try preset("orientation")])
        let hits = engine.run(
            trace(rate: 50, seconds: 12) { t in
                t < 3 ? (0, 1, 0) : t < 6 ? (1, 0, 0) : t < 9 ? (0.7, 0.7, 0) : (0, 0, -1)
            })
        #expect(hits.map(\.peak) == [1, 6])
        let tilted = try self.hits("tilt", rate: 50, seconds: 30) { t in t < 15 ? (0, 0, 1) : (0, 1, 0) }
        #expect(tilted.count == 1)
    }

    /// Who is turned while nobody looks, as in a sleep, is told so.
    @Test(arguments: ["orientation", "orientation.screen"])
    func aTurnBehindAGapIsTold(_ name: String) throws {
        var engine = DetectionEngine([try preset(name)])
        func hits(from start: Double, _ up: (Double, Double, Double)) -> [Double] {
            engine.run(trace(rate: 50, seconds: 4, from: start) { _ in up }).map(\.peak)
        }
        let first = hits(from: 10, (0, 1, 0))
        let turned = hits(from: 17, (1, 0, 0))
        let same = hits(from: 24, (1, 0, 0))
        #expect(first == [] && turned == [1] && same == [])
    }

    /// Turns of all speeds are shown, 600 ms after they end at the latest, also by a sensor that shows too much of gravity.
    @Test(arguments: [0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6])
    func orientationShowsEachTurnSoon(_ duration: Double) throws {
        let directions: [(x: Double, y: Double, axis: Double)] = [(1, 0, 1), (-1, 0, 2), (0, 1, 3), (0, -1, 4)]
        for direction in directions {
            for scale in [0.93, 1, 1.07] {
                var engine = DetectionEngine([try preset("orientation")])
                let hits = engine.run(
                    trace(rate: 50, seconds: 14) { t in
                        let turn = Mathematics.sineAndCosine(min(max((t - 4) / duration, 0), 1) * .pi / 2)
                        let along = scale * turn.sine
                        return (along * direction.x, along * direction.y, scale * turn.cosine)
                    })
                #expect(hits.map(\.peak) == [direction.axis])
                let last = try #require(hits.last)
                // A trace begins at 10 s.
                #expect(Double(last.time.microseconds) <= (14 + duration + 0.6) * 1_000_000)
            }
        }
    }

    /// A screen may lean back, turns all ways, and stays as it was while it lies or stands on a corner.
    @Test(arguments: [0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6])
    func screensTurnAlsoLeaningBack(_ duration: Double) throws {
        let edges: [(from: (Double, Double), to: (Double, Double), edge: Double)] = [
            ((0, 1), (1, 0), 1), ((0, 1), (-1, 0), 2), ((1, 0), (0, 1), 3), ((1, 0), (0, -1), 4),
        ]
        for (from, to, edge) in edges {
            for lean in [0.0, 0.5, 0.85] {
                var engine = DetectionEngine([try preset("orientation.screen")])
                let (back, upright) = (Mathematics.sineAndCosine(lean).sine, Mathematics.sineAndCosine(lean).cosine)
                let hits = engine.run(
                    trace(rate: 50, seconds: 14) { t in
                        let turn = Mathematics.sineAndCosine(min(max((t - 4) / duration, 0), 1) * .pi / 2)
                        return (
                            upright * (from.0 * turn.cosine + to.0 * turn.sine),
                            upright * (from.1 * turn.cosine + to.1 * turn.sine), back
                        )
                    })
                #expect(hits.map(\.peak) == [edge], "\(lean)")
                #expect((hits.last?.time.microseconds ?? .max) <= Int64((14 + duration + 0.6) * 1_000_000))
            }
        }
        var engine = DetectionEngine([try preset("orientation.screen")])
        let kept = engine.run(
            trace(rate: 50, seconds: 12) { t in
                t < 3 ? (0, 1, 0) : t < 6 ? (0.7, 0.7, 0.1) : t < 9 ? (0.5, 0.1, 0.86) : (0, -0.3, 0.95)
            })
        #expect(kept.isEmpty)
    }

    /// The arm swings, and between the steps there are calm moments: without the rhythm's word some of them turn.
    @Test(arguments: ["orientation", "orientation.screen"])
    func aWalkHasCalmMoments(_ name: String) throws {
        func turns(_ rhythm: UInt32) throws -> Int {
            var engine = DetectionEngine([
                try preset(
                    name,
                    ["rhythm": .whole(rhythm), "hold": .text("100ms"), "calm": .text("0.2g"), "unrest": .text("1g")])
            ])
            return engine.run(
                trace(rate: 50, seconds: 120) { t in
                    guard t >= 4 else { return (0, 1, 0) }
                    // Short steps, as somebody takes who looks at the screen, while the hand turns each 6 s.
                    let strength = 1 + 0.3 * Mathematics.sineAndCosine(t * 1.8 * 2 * .pi).sine
                    let side = Int(t / 6) % 2 == 0
                    return (side ? 0 : strength, side ? strength : 0, 0.1)
                }
            ).count
        }
        #expect(try turns(1) == 0)
        #expect(try turns(0) > 5)
    }

    /// In a vehicle an arm that is raised for a second turns nothing, and one that stays up does. Two seconds of such motion
    /// are none: so a hand begins to take a device up.
    @Test(arguments: ["orientation", "orientation.screen"])
    func aRideNeedsALastingTurn(_ name: String) throws {
        func turns(raised seconds: Double, ride: String, from start: Double = 0) throws -> [Double] {
            var engine = DetectionEngine([try preset(name, ["ride": .text(ride)])])
            return engine.run(
                trace(rate: 50, seconds: 30) { t in
                    // Every ripple of the road has a time of its own.
                    let ripple = [(1.13, 0.0), (2.71, 0.3), (4.37, 0.7), (7.9, 0.1)].reduce(0) { sum, wave in
                        sum + Mathematics.sineAndCosine(2 * .pi * (t * wave.0 + wave.1)).sine
                    }
                    let length = 1 + (t < start ? 0 : 0.02 * ripple)
                    let isRaised = t >= 20 && t < 20 + seconds
                    return (isRaised ? length : 0.03 * ripple, isRaised ? 0.03 * ripple : length, 0.02)
                }
            ).map(\.peak)
        }
        #expect(try turns(raised: 1.2, ride: "1.5s").isEmpty)
        #expect(try turns(raised: 1.2, ride: "0s") == [1, 3])
        #expect(try turns(raised: 4, ride: "1.5s") == [1, 3])
        #expect(try turns(raised: 1.2, ride: "1.5s", from: 18) == [1, 3])
    }

    /// A device that is carried in the hand, or shaken, does not turn what it shows; put down it does.
    @Test(arguments: [1.6, 2, 2.6])
    func orientationIsCalmInARhythm(_ pace: Double) throws {
        var engine = DetectionEngine([try preset("orientation")])
        let hits = engine.run(
            trace(rate: 50, seconds: 70) { t in
                guard t >= 4 else { return (0, 0, 1) }
                guard t < 64 else { return (1, 0, 0) }
                // The arm swings by 75 degrees at half the pace, and each step is felt.
                let swing = Mathematics.sineAndCosine(1.3 * Mathematics.sineAndCosine(t * pace * .pi).sine)
                let strength = 1 + 0.45 * Mathematics.sineAndCosine(t * pace * 2 * .pi).sine
                return (strength * swing.sine, 0, strength * swing.cosine)
            })
        #expect(hits.map(\.peak) == [1])
        #expect((hits.first?.time.microseconds ?? 0) > 74_000_000)
    }
}
