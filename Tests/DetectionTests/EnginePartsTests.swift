import DetectionModel
import Foundation
import Motion
import Testing

@testable import Detection
import Randomness

/// The parts of the engine against the plainest form of each.
@Suite struct EnginePartsTests {
    @Test(arguments: Array(UInt64(1)...10))
    func theWheelEndsEachRestOnce(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var wheel = RestWheel()
        for first in stride(from: 0, to: 200, by: 4) {
            #expect(wheel.allocate(4, for: 0, from: first) == first)
        }
        var running: [UInt32: Int64] = [:]
        var now: Int64 = 0
        for _ in 0..<1_500 {
            // Steps from a microsecond to two days, mostly those of samples.
            let step: Int64 =
                random.chance(0.9)
                ? Int64.random(in: 1...50_000, using: &random)
                : random.chance(0.9)
                    ? Int64.random(in: 1...30_000_000, using: &random)
                    : Int64.random(in: 1...200_000_000_000, using: &random)
            now += step
            var due: [UInt32] = []
            let isWorthIt = wheel.nextEnd <= now
            if wheel.count == 0 {
                wheel.pass(to: now)
            } else if isWorthIt {
                wheel.end(at: now, due: &due)
            }
            let expected = running.filter { $0.value <= now }.keys.sorted()
            #expect(due.sorted() == expected, "seed \(seed)")
            for id in expected { running[id] = nil }
            #expect(wheel.count == running.count)
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let id = UInt32.random(in: 0..<200, using: &random)
                if running[id] != nil, random.chance(0.2) {
                    wheel.disarm(Int32(id))
                    running[id] = nil
                    continue
                }
                let rest =
                    random.chance(0.7)
                    ? Int64.random(in: 0...3_000_000, using: &random)
                    : Int64.random(in: 0...86_400_000_000, using: &random)
                // The earlier of two ends counts.
                wheel.arm(Int32(id), at: now + rest)
                running[id] = min(running[id] ?? .max, now + rest)
            }
        }
    }

    @Test(arguments: someSeeds(1...6))
    func theTableCrossesWhatLiesBetween(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = ThresholdTable(.watching, number: 0)
        var wheel = RestWheel()
        var hits = HitCollector()
        var seats = [Seat](repeating: .none, count: 1_500)
        var keys: [UInt32: Double] = [:]
        var value = -Double.infinity
        var peaks: [UInt32: Double] = [:]
        for step in 0..<200 {
            for _ in 0..<(step == 0 ? 600 : random.chance(0.2) ? 10 : 0) {
                let id = UInt32.random(in: 0..<1_500, using: &random)
                if keys.removeValue(forKey: id) != nil {
                    table.remove(at: seats[Int(id)].place, seats: &seats, wheel: &wheel)
                    peaks[id] = nil
                } else {
                    let key = Double(Int.random(in: 0...60, using: &random)) / 10
                    keys[id] = key
                    table.add(
                        ThresholdTable.Entry(id: id, key: key), value: value, seats: &seats, wheel: &wheel)
                    // An entry added while it is true shares the peak of those of its key; left out here.
                }
            }
            let next = random.chance(0.05) ? -Double.infinity : random.uniform(-1...7)
            var crossed: [UInt32] = []
            let quiet = next <= table.upper && next > table.lower
            if !quiet {
                table.move(
                    to: next, peak: next, now: Int64(step), previous: Int64(step) - 1, hits: &hits, crossed: &crossed,
                    wheel: &wheel)
            }
            let expected = keys.filter { ($0.value < value) != ($0.value < next) }.keys.sorted()
            #expect(crossed.sorted() == expected, "seed \(seed) step \(step)")
            var agrees = true
            for (id, key) in keys {
                agrees = agrees && table.isTrue(key) == (key < next)
                if !(key < next) {
                    peaks[id] = nil
                } else if expected.contains(id) {
                    peaks[id] = next
                } else if let peak = peaks[id] {
                    peaks[id] = max(peak, next)
                }
                if let peak = peaks[id] { agrees = agrees && table.peak(of: key) == peak }
            }
            #expect(agrees, "seed \(seed) step \(step)")
            value = next
        }
        #expect(table.count == keys.count)
    }

    @Test(arguments: someSeeds(1...10))
    func theSplitIntoBatchesChangesNothing(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let block = Motions.accelerometer(
            seed: seed, .init(rate: 100, seconds: 20, jitter: 0.2, shaking: 0.8, gaps: 0.002))
        var times = block.times
        var values = block.values
        // What a bad source sends among the good.
        for _ in 0..<40 {
            let row = Int.random(in: 1..<times.count, using: &random)
            if random.chance(0.5) { times[row] = times[row - 1] } else { values[row * 3 + 1] = .nan }
        }
        var detectors: [CompiledDetector] = []
        for item in ConditionAgreementTests.cases {
            detectors.append(try detector(item.text, ["rest": .text("300ms")]))
            detectors.append(try detector(item.text, ["every": .text("70ms"), "rest-mode": .text("restarting")]))
            if seed % 2 == 0 {
                detectors.append(try detector(item.text, ["every": .text("50ms"), "decimation": .text("mean")]))
            }
        }
        for item in PresetCatalogue.all { detectors.append(try preset(item.name)) }
        let muted = Timestamp(microseconds: times[0] + 3_000_000)

        func run(_ sizes: () -> Int) -> ([Hit], DetectionEngine.Counters) {
            var engine = DetectionEngine(detectors)
            engine.setRange(2)
            engine.mute(until: muted)
            var hits: [Hit] = []
            var row = 0
            while row < times.count {
                let end = min(times.count, row + sizes())
                engine.process(
                    times: times.span.extracting(row..<end), values: values.span.extracting(row * 3..<end * 3),
                    hits: &hits)
                row = end
            }
            return (hits, engine.counters)
        }
        let one = run { 1 }
        let whole = run { times.count }
        let random16 = run { Int.random(in: 1...16, using: &random) }
        #expect(one.0 == whole.0 && one.0 == random16.0, "seed \(seed)")
        #expect(one.1 == whole.1 && one.1 == random16.1, "seed \(seed)")
        #expect(one.0.count > 20)
        #expect(one.0.contains { $0.isClipped } && one.0.contains { !$0.isClipped })
        #expect(one.1.refusedSamples > 0 && one.1.mutedSamples > 0)
        let isOrdered = zip(one.0, one.0.dropFirst()).allSatisfy { ($0.time, $0.detector) < ($1.time, $1.detector) }
        #expect(isOrdered)
    }

    @Test func theMathematicsIsThatOfTheCLibrary() {
        var random = SeededRandom(seed: 9)
        for _ in 0..<20_000 {
            let (y, x) = (random.uniform(-4...4), random.uniform(-4...4))
            #expect(abs(Mathematics.arctangent(y, x) - atan2(y, x)) < 4e-16 * 4)
            let cosine = random.uniform(-1...1)
            #expect(abs(Mathematics.arccosine(cosine) - acos(cosine)) < 1e-14)
            let ratio = random.chance(0.5) ? random.uniform(0...50) : random.uniform(0...0.1)
            #expect(abs(Mathematics.approach(ratio) - -expm1(-ratio)) <= 4e-15 * max(1e-3, -expm1(-ratio)) + 1e-18)
        }
        #expect(Mathematics.arctangent(0, 0) == 0)
        #expect(Mathematics.arctangent(1, 0) == .pi / 2)
        #expect(Mathematics.arctangent(0, -1) == .pi)
        #expect(Mathematics.arctangent(.infinity, 1).isNaN)
        #expect(Mathematics.arctangent(.nan, 1).isNaN && Mathematics.arctangent(1, .nan).isNaN)
        #expect(Mathematics.approach(0) == 0)
        #expect(Mathematics.approach(1e9) == 1)
    }
}
