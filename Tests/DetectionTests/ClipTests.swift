@testable import Detection
import Motion
import Randomness
import Testing

/// What clips are made of: near misses, the ring of samples, and how detectors are written.
@Suite struct ClipTests {
    private func compiled(_ options: DetectorOptions, _ name: String = "d") throws -> CompiledDetector {
        try DetectorCompiler.compile(DetectorRequest(name: name, options: options), for: nil)
    }

    private func planar(_ threshold: Double) throws -> CompiledDetector {
        try self.compiled(["preset": .text("shake.planar"), "threshold": .number(threshold)])
    }

    // MARK: Near misses

    @Test(arguments: [
        ("shake.planar", 2.3 * 0.8), ("shake", 1.5 * 0.8), ("shake.tilted", 1.5 * 0.8), ("shake.lowpass", 0.38 * 0.8),
    ]) func whatHasAThresholdHasANearMiss(_ preset: String, _ threshold: Double) throws {
        let detector = try self.compiled(["preset": .text(preset)])
        let near = try #require(NearMiss.detector(beside: detector))
        #expect(abs((near.threshold ?? 0) - threshold) < 1e-12 && near.every == detector.every)
        #expect(near.neededRate == detector.neededRate && !near.startsResting)
    }

    @Test(arguments: ["orientation", "activity"]) func whatHasNoneHasNone(_ preset: String) throws {
        guard PresetCatalogue.named(preset) != nil else { return }
        #expect(NearMiss.detector(beside: try self.compiled(["preset": .text(preset)])) == nil)
    }

    /// Where somebody is is no motion.
    @Test func aPlaceHasNone() throws {
        let detector = try self.compiled(["when": .text("speed > 3m/s"), "sensor": .text("location")])
        #expect(detector.threshold != nil && NearMiss.detector(beside: detector) == nil)
    }

    /// In free fall less is more.
    @Test func lessMayBeMore() throws {
        let detector = try self.compiled(["when": .text("norm(x, y, z) < 0.4g")])
        let near = try #require(NearMiss.detector(beside: detector))
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        engine.add(detector, as: DetectorID(0), at: .zero)
        engine.add(near, as: DetectorID(1), at: .zero)
        var hits: [Hit] = []
        for (index, value) in [1.0, 0.6, 0.45, 1].enumerated() {
            let times = [Int64(index + 1) * 20_000]
            engine.process(times: times.span, values: [value, 0, 0].span, hits: &hits)
        }
        #expect(hits.map(\.detector.index) == [1] && hits.first?.time.microseconds == 60_000)
    }

    /// It is hit where, and only where, a detector with four fifths of the threshold is: random motion of all kinds.
    @Test(arguments: someSeeds(UInt64(1)...24)) func itIsADetectorOfItsOwn(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let threshold = Double.random(in: 1...4, using: &random)
        let near = try #require(NearMiss.detector(beside: try self.planar(threshold)))
        let plain = try self.planar(threshold * NearMiss.share)
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        engine.add(near, as: DetectorID(0), at: .zero)
        engine.add(plain, as: DetectorID(1), at: .zero)
        var hits: [Hit] = []
        for index in 1...2_000 {
            let row = (0..<3).map { _ in Double.random(in: -3...3, using: &random) }
            engine.process(times: [Int64(index) * 20_000].span, values: row.span, hits: &hits)
        }
        let (a, b) = (hits.filter { $0.detector.index == 0 }, hits.filter { $0.detector.index == 1 })
        #expect(a.map(\.time) == b.map(\.time) && a.map(\.peak) == b.map(\.peak), "seed \(seed)")
    }

    // MARK: Detectors as text

    /// Every preset as it is by default, and a condition, come back the same.
    @Test func detectorsComeBack() throws {
        var all: [CompiledDetector] = []
        for preset in PresetCatalogue.all
        where preset.content == nil && !preset.parameters.contains(where: \.isRequired) {
            all.append(try self.compiled(["preset": .text(preset.name)]))
        }
        #expect(all.count > 10)
        all.append(try self.planar(2.125))
        all.append(
            try self.compiled([
                "when": .text("peak(norm(x, y, z), 300ms) > 2g and held(abs(z) < 0.5g, 100ms)"), "every": .text("50ms"),
                "rest": .text("333ms"), "rest-mode": .text("restarting"), "decimation": .text("mean"),
            ]))
        for detector in all {
            let request = DetectorText.read(DetectorText.write(detector), name: "d")
            let again = try DetectorCompiler.compile(request, for: nil)
            #expect(again.isSame(as: detector), "\(DetectorText.write(detector))")
        }
    }

    // MARK: Cutting

    private static let rate: Int64 = 20_000

    /// A cutter of `before` 1 s and behind 0.5 s that is given samples at 50 Hz.
    private func cutter() -> ClipCutter { ClipCutter(ClipTerms(.seconds(1)), channels: ["x"]) }

    private func feed(_ cutter: inout ClipCutter, _ range: Range<Int64>) {
        for index in range {
            cutter.take([index * Self.rate].span, [Double(index)].span, upTo: index * Self.rate)
        }
    }

    private func moment(_ index: Int64, _ id: UInt32 = 1, isNear: Bool = false) throws -> ClipMoment {
        ClipMoment(
            app: AppID("org.example.A"), user: 1, id: DetectorID(id), try self.planar(2),
            time: Timestamp(microseconds: index * Self.rate), peak: 1.8, isNear: isNear)
    }

    @Test func aClipEndsByItself() throws {
        var cutter = self.cutter()
        self.feed(&cutter, 0..<100)
        #expect(!cutter.isDue)
        cutter.add(try self.moment(99))
        self.feed(&cutter, 100..<124)
        #expect(!cutter.isDue)
        self.feed(&cutter, 124..<125)
        #expect(cutter.isDue)
        var clip = MotionClip()
        cutter.cut("s", into: &clip)
        #expect(clip.times == (49...124).map { $0 * Self.rate } && clip.values == (49...124).map(Double.init))
        #expect(!cutter.isDue)
    }

    /// What comes soon after is in the same clip, until it is as long as two.
    @Test func momentsShareAClip() throws {
        var cutter = self.cutter()
        self.feed(&cutter, 0..<100)
        cutter.add(try self.moment(99, 1, isNear: true))
        // What is hit now was no near miss then; what was hit a moment ago is none now.
        #expect(cutter.wants(DetectorID(1), at: Timestamp(microseconds: 110 * Self.rate), isNear: false))
        self.feed(&cutter, 100..<111)
        cutter.add(try self.moment(110, 1))
        #expect(!cutter.wants(DetectorID(1), at: Timestamp(microseconds: 115 * Self.rate), isNear: true))
        for index in 2..<30
        where cutter.wants(DetectorID(UInt32(index)), at: Timestamp(microseconds: 110 * Self.rate), isNear: true) {
            cutter.add(try self.moment(110, UInt32(index), isNear: true))
        }
        #expect(!cutter.wants(DetectorID(1), at: Timestamp(microseconds: 500 * Self.rate), isNear: false))
        self.feed(&cutter, 111..<136)
        #expect(cutter.isDue)
        var clip = MotionClip()
        cutter.cut("s", into: &clip)
        #expect(clip.moments.count == MotionClip.mostMoments && clip.moments.first?.isNear == false)
        #expect(clip.times.first == 49 * Self.rate && clip.times.last == 135 * Self.rate)
    }

    /// Its memory goes round: what was lent is not made anew.
    @Test func memoryIsUsedAgain() throws {
        var cutter = self.cutter()
        var clip = MotionClip()
        func places() -> (Int, Int) { (clip.times.capacity, clip.values.capacity) }
        let before = places()
        for round in 1...20 {
            let start = Int64(round) * 1_000
            self.feed(&cutter, start..<start + 100)
            cutter.add(try self.moment(start + 99))
            self.feed(&cutter, start + 100..<start + 130)
            cutter.cut("s", into: &clip)
            #expect(clip.times.count == 76 && places() == before)
        }
    }

    @Test func aRingKeepsTheNewest() {
        var ring = MotionRing(width: 2, capacity: 5)
        for index in 1...12 {
            let time = Int64(index) * 10
            ring.append([time].span, [Double(index), -Double(index)].span, upTo: time)
            // What does not rise, or was refused, is not there.
            ring.append([time - 1, time + 1].span, [9, 9, 9, 9].span, upTo: time)
        }
        var clip = MotionClip()
        ring.copy(0...95, into: &clip)
        #expect(clip.times == [80, 90] && clip.values == [8, -8, 9, -9] && ring.last == 120)
        ring.removeAll()
        clip.removeAll()
        ring.copy(0...1_000, into: &clip)
        #expect(clip.times.isEmpty)
    }
}
