import DetectionModel
import Loop
import Motion
import Randomness
import Testing

@testable import Detection

/// What a device does, and what a shake must be in it.
@Suite struct ActivityTests {
    typealias Vector = (Double, Double, Double)

    private static func sine(_ cycles: Double) -> Double { Mathematics.sineAndCosine(2 * .pi * cycles).sine }

    /// A phone in a pocket: each step pushes it up, and the leg swings it once in two steps.
    private static func walk(_ t: Double, steps: Double = 1.8) -> Vector {
        (0.25 * sine(t * steps / 2), 1 + 0.45 * sine(t * steps), 0.1 * sine(t * steps / 2 + 0.2))
    }

    /// A watch on the wrist of a runner: the arm turns round with each step, as a shake does.
    private static func run(_ t: Double, steps: Double = 2.7) -> Vector {
        let push = max(0, sine(t * steps))
        return (3.2 * sine(t * steps / 2 + 0.1), 0.4 * sine(t * steps / 2), 0.7 + 3.5 * push * push)
    }

    /// A car on a road: every ripple has a time of its own.
    private static func ride(_ t: Double) -> Vector {
        let ripple = sine(t * 1.13) + sine(t * 2.71 + 0.3) + sine(t * 4.37 + 0.7) + sine(t * 7.9 + 0.1)
        return (0.03 * sine(t * 3.1), 0.03 * sine(t * 1.9), 1 + 0.035 * ripple)
    }

    private static func shake(_ t: Double, _ frequency: Double) -> Vector { (3.5 * sine(t * frequency), 0, 0) }

    /// The activities that the preset tells, with the times of a trace from 0 on.
    private func told(
        rate: Double, seconds: Double, every: String? = nil, _ motion: (Double) -> Vector
    ) throws -> [(seconds: Double, activity: MotionActivity)] {
        var options: [String: OptionValue] = [:]
        if let every { options["every"] = .text(every) }
        var engine = DetectionEngine([try preset("activity", options)])
        return try engine.run(trace(rate: rate, seconds: seconds, motion)).map { hit in
            (Double(hit.time.microseconds) / 1_000_000 - 10, try #require(MotionActivity(rawValue: Int(hit.peak))))
        }
    }

    @Test(arguments: [20, 25, 50, 100, 400], ["still", "walking", "running", "riding"])
    func eachActivityIsTold(rate: Int, word: String) throws {
        let activity = try #require(MotionActivity(word: word))
        let told = try self.told(rate: Double(rate), seconds: 20) { t in
            switch activity {
            case .walking: Self.walk(t)
            case .running: Self.run(t)
            case .riding: Self.ride(t)
            default: (0, 0, 1)
            }
        }
        #expect(told.last?.activity == activity, "\(told)")
        #expect((told.last?.seconds ?? 20) < 4)
    }

    /// One after the other, each within 3.2 s.
    @Test func activitiesFollowEachOther() throws {
        let told = try self.told(rate: 50, seconds: 60) { t in
            switch t {
            case ..<15: (0, 0, 1)
            case ..<30: Self.walk(t)
            case ..<45: Self.run(t)
            default: (0, 0, 1)
            }
        }
        func activity(at second: Double) -> MotionActivity? { told.last { $0.seconds <= second }?.activity }
        #expect(
            [14, 19, 29, 34, 44, 50].map { activity(at: $0) } == [
                .still, .walking, .walking, .running, .running, .still,
            ])
    }

    /// A hand that shakes does not walk or run, however steadily.
    @Test(arguments: [2.5, 3, 3.5, 4.5])
    func aShakeIsNoWalk(_ frequency: Double) throws {
        let told = try self.told(rate: 50, seconds: 20) { t in
            let (x, y, z) = Self.shake(t, frequency)
            return (x, y, z + 1)
        }
        #expect(told.map(\.activity) == [.handled])
    }

    @Test func whatIsSeldomLookedAtIsUnknown() throws {
        #expect(try self.told(rate: 50, seconds: 60, every: "500ms", { Self.walk($0) }).isEmpty)
        #expect(try self.told(rate: 50, seconds: 20, every: "100ms", { Self.walk($0) }).last?.activity == .walking)
    }

    @Test func aGapBeginsAnew() throws {
        var engine = DetectionEngine([try detector("activity == walking", ["every": .text("50ms")])])
        var hits: [Hit] = []
        for start in [10.0, 40] {
            let block = trace(rate: 50, seconds: 10, from: start) { Self.walk($0) }
            hits += engine.run(block)
            let times = hits.map { Double($0.time.microseconds) / 1_000_000 - start }
            #expect(times.allSatisfy { $0 < 0 || $0 > 1 })
            #expect(times.contains { $0 > 0 })
        }
    }

    // MARK: The language

    @Test(arguments: [
        ("activity == walking", MotionActivity.walking, true), ("activity == walking", .running, false),
        ("activity != walking", .running, true), ("activity != walking", .walking, false),
        ("not activity == still", .walking, true), ("held(activity == running, 5s)", .running, true),
        ("activity == walking and norm(x, y, z) > 1.2g", .walking, true), ("activity == unknown", .still, true),
        ("activity == still", .still, true), ("activity == riding", .riding, true),
    ])
    func conditionsAskForIt(_ condition: String, _ activity: MotionActivity, _ isTrue: Bool) throws {
        var engine = DetectionEngine([try detector(condition, ["every": .text("50ms")])])
        let hits = engine.run(
            trace(rate: 50, seconds: 20) { t in
                switch activity {
                case .walking: Self.walk(t)
                case .running: Self.run(t)
                case .riding: Self.ride(t)
                default: (0, 0, 1)
                }
            })
        // A moment in the middle: what was unknown is known.
        let late = hits.contains { $0.time.microseconds > 16_000_000 }
        #expect(condition == "activity == unknown" ? !hits.isEmpty && !late : late == isTrue)
    }

    /// A hit carries the motion that was asked for, not the number of an activity.
    @Test func thePeakIsTheMotions() throws {
        var engine = DetectionEngine([
            try detector("activity == walking and norm(x, y, z) > 1.2g", ["every": .text("50ms")])
        ])
        let hits = engine.run(trace(rate: 50, seconds: 10) { Self.walk($0) })
        #expect(!hits.isEmpty)
        #expect(hits.allSatisfy { $0.peak > 1.2 && $0.peak < 1.6 })
    }

    @Test(arguments: [
        (
            "activity > 2", 10,
            "'activity' is compared with a word: 'activity == walking'; expected '==' or '!=', found '>'"
        ),
        (
            "activity == dancing", 13,
            "expected one of unknown, still, handled, walking, running, riding, found 'dancing'"
        ),
        (
            "activity", 9,
            "'activity' is compared with a word: 'activity == walking'; expected '==' or '!=', found the end"
        ),
        ("activty == walking", 9, "there is no '==': compare with > >= < <=, negate with 'not'"),
        ("x == walking", 3, "there is no '==': compare with > >= < <=, negate with 'not'"),
    ])
    func mistakesAreSaid(_ condition: String, _ column: Int, _ message: String) {
        do {
            _ = try detector(condition)
            Issue.record("it compiles")
        } catch {
            #expect(error.column == column)
            #expect(error.message == message)
        }
    }

    @Test func itIsComputedOnceForAll() throws {
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        engine.add(try preset("shake", ["rhythm": .number(0)]), as: DetectorID(0), at: .zero)
        #expect(engine.statefulFeatures == 1)
        engine.add(try preset("shake"), as: DetectorID(1), at: .zero)
        #expect(engine.statefulFeatures == 3)
        // Another shake on the same history, the activity by it, and one thing more for what tells that it changes.
        engine.add(try preset("shake", ["sensitivity": .text("pocket")]), as: DetectorID(2), at: .zero)
        engine.add(try detector("activity == running", ["every": .text("50ms")]), as: DetectorID(3), at: .zero)
        #expect(engine.statefulFeatures == 5)
        engine.add(try preset("activity"), as: DetectorID(4), at: .zero)
        #expect(engine.statefulFeatures == 6)
        for id in 0..<5 { engine.remove(DetectorID(UInt32(id))) }
        #expect(engine.statefulFeatures == 0)
    }

    /// Many have an orientation of their own, and the device is turned: what each of them asks of the last seconds is found out once.
    @Test func aTurnIsLookedIntoOnceForAll() throws {
        func spent(_ count: Int) throws -> Int64 {
            let detectors = try (0..<count).map { number in
                try preset(
                    "orientation",
                    [
                        "calm": .number(0.9 + Double(number) / 10_000), "unrest": .text("3g"), "hold": .text("0s"),
                    ])
            }
            var engine = DetectionEngine(detectors)
            func length(_ t: Double) -> Double { 1 + 0.3 * Self.sine(2 * t) }
            _ = engine.run(trace(rate: 20, seconds: 14) { t in (0, 0, length(t)) })
            let begin = Clock.threadTime()
            let hits = engine.run(trace(rate: 20, seconds: 2, from: 24) { t in (length(t), 0, 0) })
            let time = Clock.threadTime() - begin
            #expect(hits.count % count == 0, "all are told the same")
            return time
        }
        let one = try min(spent(1), spent(1))
        let many = try spent(200)
        #expect(many < 40 * one, "\(many) us and \(one) us")
    }

    // MARK: Shakes

    private func seconds(_ hits: [Hit]) -> [Double] { self.seconds(hits.map(\.time)) }

    private func seconds(_ times: [Timestamp]) -> [Double] { times.map { Double($0.microseconds) / 1_000_000 - 10 } }

    /// The same run is full of shakes to the rule alone, and has none by its rhythm.
    @Test(arguments: [2.5, 2.7, 2.9])
    func aRunIsNoShake(_ steps: Double) throws {
        var engine = DetectionEngine([try preset("shake", ["rhythm": .number(0)]), try preset("shake")])
        let hits = engine.run(
            trace(rate: 50, seconds: 60) { t in
                t < 5 ? (0, 0, 1) : t < 10 ? Self.walk(t) : t < 50 ? Self.run(t, steps: steps) : (0, 0, 1)
            })
        #expect(hits.count { $0.detector == DetectorID(0) } > 20)
        #expect(hits.count { $0.detector == DetectorID(1) } == 0)
        // Each would have been a hit: they are counted as hits are, one a rest.
        #expect(engine.heldHits(of: DetectorID(0)) == HeldHits())
        let held = engine.heldHits(of: DetectorID(1))
        #expect(held.count > 20 && held.count <= 40)
        let last = try #require(self.seconds([held.last].compactMap { $0 }).first)
        #expect(last > 48 && last <= 50)
        // A gap forgets the rhythm, not what was counted.
        engine.gap()
        #expect(engine.heldHits(of: DetectorID(1)) == held)
    }

    /// Detectors that are alike share what they count; who comes later is told what came later.
    @Test func whoComesLaterIsToldWhatWasHeldSince() throws {
        var engine = DetectionEngine([try preset("shake")])
        func run(from start: Double, seconds: Double) {
            _ = engine.run(trace(rate: 50, seconds: seconds, from: start) { Self.run($0) })
        }
        run(from: 10, seconds: 20)
        let before = engine.heldHits(of: DetectorID(0)).count
        engine.add(try preset("shake"), as: DetectorID(1), at: Timestamp(microseconds: 30_000_000))
        #expect(before > 5 && engine.heldHits(of: DetectorID(1)) == HeldHits())
        run(from: 30.02, seconds: 10)
        let (old, new) = (engine.heldHits(of: DetectorID(0)), engine.heldHits(of: DetectorID(1)))
        #expect(new.count > 3 && old.count == before + new.count && old.last == new.last)
        #expect(engine.heldHits(of: DetectorID(7)) == HeldHits())
        engine.remove(DetectorID(0))
        #expect(engine.heldHits(of: DetectorID(0)) == HeldHits() && engine.heldHits(of: DetectorID(1)) == new)
    }

    /// Shakes of a hand are found at rest, while walking, and soon after a run.
    @Test(arguments: [2, 2.5, 3, 3.5, 4, 4.5])
    func aHandsShakeIsFound(_ frequency: Double) throws {
        var engine = DetectionEngine([try preset("shake")])
        let hits = self.seconds(
            engine.run(
                trace(rate: 50, seconds: 64) { t in
                    let (x, y, z): Vector =
                        t < 10 ? (0, 0, 1) : t < 30 ? Self.walk(t) : t < 50 ? Self.run(t) : (0, 0, 1)
                    let isShaken = [(5.0, 6.5), (25, 26.5), (52, 53.5)].contains { $0.0 <= t && t < $0.1 }
                    guard isShaken else { return (x, y, z) }
                    let shake = Self.shake(t, frequency)
                    return (x + shake.0, y, z)
                }))
        for start in [5.0, 25, 52] { #expect(hits.contains { $0 >= start && $0 < start + 1.8 }, "\(start): \(hits)") }
        #expect(hits.allSatisfy { t in [5.0, 25, 52].contains { $0 <= t && t < $0 + 1.8 } })
    }

    /// What a runner's hand shakes breaks the rhythm as a rule; nothing else of the run is a hit.
    @Test func mostShakesWhileRunningAreFound() throws {
        var found = 0
        for seed in UInt64(1)...10 {
            var random = SeededRandom(seed: seed)
            let (frequency, start) = (random.uniform(3.5...5), random.uniform(15...18))
            var engine = DetectionEngine([try preset("shake")])
            let hits = self.seconds(
                engine.run(
                    trace(rate: 50, seconds: 30) { t in
                        let run = Self.run(t)
                        guard start <= t, t < start + 2 else { return run }
                        // The hand holds the arm's swing back while it shakes.
                        let shake = 5 * Self.sine(t * frequency)
                        return (0.3 * run.0, run.1 + shake, 1 + 0.2 * (run.2 - 1))
                    }))
            if hits.contains(where: { $0 >= start && $0 < start + 2.3 }) { found += 1 }
            #expect(hits.allSatisfy { $0 >= start && $0 < start + 3 }, "seed \(seed): \(hits)")
        }
        #expect(found >= 8)
    }

    @Test func aDemandAdmitsWhatItSays() {
        typealias Shape = ReversalRun.Shape
        let slow = Shape(strength: 5)
        let fast = Shape(isFast: true, strength: 5)
        let even = Shape(isFast: true, isEven: true, strength: 5)
        let opposed = Shape(isOpposed: true, strength: 5)
        func admitted(_ demand: RhythmDemand) -> [Bool] {
            [slow, fast, even, opposed].map { demand.admits($0, factor: 1.5) }
        }
        #expect(admitted(RhythmDemand(.free)) == [true, true, true, true])
        #expect(admitted(RhythmDemand(.wary)) == [false, true, true, true])
        #expect(admitted(RhythmDemand(.steady, level: 4)) == [false, false, true, false])
        #expect(admitted(RhythmDemand(.broken, level: 4)) == [false, true, true, false])
        #expect(admitted(RhythmDemand(.steady, level: 3)) == [true, true, true, true])
        // A level that is not known is not exceeded.
        #expect(admitted(RhythmDemand(.steady)) == [false, false, true, false])
    }

    /// What a shake asks of the past does not depend on how the samples came.
    @Test(arguments: [1, 7, 64, 1_000])
    func batchesChangeNothing(_ size: Int) throws {
        let block = trace(rate: 50, seconds: 40) { t in
            t < 5 ? (0, 0, 1) : t < 12 ? Self.walk(t) : t < 30 ? Self.run(t) : Self.shake(t, 3.3)
        }
        var (whole, parts) = (
            DetectionEngine([try preset("shake"), try preset("activity")]),
            DetectionEngine([try preset("shake"), try preset("activity")])
        )
        let expected = whole.run(block)
        var hits: [Hit] = []
        for first in stride(from: 0, to: block.count, by: size) {
            let rows = first..<min(block.count, first + size)
            parts.process(
                times: block.times.span.extracting(rows),
                values: block.values.span.extracting(3 * rows.lowerBound..<3 * rows.upperBound), hits: &hits)
        }
        #expect(hits == expected)
        #expect(parts.heldHits(of: DetectorID(0)) == whole.heldHits(of: DetectorID(0)))
        #expect(hits.contains { $0.detector == DetectorID(0) } && whole.heldHits(of: DetectorID(0)).count > 0)
    }

    /// Torn from a hand and carried off is one thing, a run that somebody begins from a walk another.
    @Test func aSnatchIsTold() throws {
        let snatch =
            "(activity == still or activity == handled) and norm(user) > 2g then activity == running within 3s"
        func hits(_ motion: (Double) -> Vector) throws -> [Double] {
            var engine = DetectionEngine([try detector(snatch, ["every": .text("50ms"), "rest": .text("1min")])])
            return self.seconds(engine.run(trace(rate: 50, seconds: 30, motion)))
        }
        let snatched = try hits { t in t < 15 ? (0, 0, 1) : t < 15.2 ? (3, 0, 1) : Self.run(t) }
        #expect(snatched.count == 1 && snatched.allSatisfy { $0 > 15 && $0 < 18 }, "\(snatched)")
        #expect(try hits { t in t < 5 ? (0, 0, 1) : t < 12 ? Self.walk(t) : Self.run(t) }.isEmpty)
        #expect(try hits { t in t >= 15 && t < 15.2 ? (3, 0, 1) : (0, 0, 1) }.isEmpty)
    }
}
