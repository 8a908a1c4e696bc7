import Motion
import Randomness
import Testing

@testable import Detection

/// Gestures that were taught: found in streams, at any rate, in any company.
@Suite struct GestureTests {
    private static func options(_ gesture: TaughtGesture) -> [String: OptionValue] {
        ["gesture": .text(GestureText.write(gesture))]
    }

    private func hits(
        _ gestures: [TaughtGesture], _ options: [String: OptionValue] = [:], rate: Double = 50, seconds: Double = 4,
        _ motion: (Double) -> (Double, Double, Double)
    ) throws -> [Hit] {
        let detectors = try gestures.map { try preset("gesture", Self.options($0).merging(options) { $1 }) }
        var engine = DetectionEngine(detectors)
        return engine.run(trace(rate: rate, seconds: seconds, motion))
    }

    @Test func aMotionIsFoundWhereItIs() throws {
        let found = try #require(MadeGesture.circle.found)
        #expect((960_000...1_080_000).contains(found.start), "\(found.start)")
        #expect((1_820_000...2_000_000).contains(found.end), "\(found.end)")
        // A change is seen over 160 ms, so a little of the rest is in it.
        #expect((0.8...1.1).contains(found.example.seconds), "\(found.example.seconds)")
        #expect(found.example.values.count == 48 * 3)
        #expect(found.shape.count == GestureShape.size)
    }

    @Test(arguments: MadeGesture.Path.allCases, [0.6, 0.9, 1.3])
    func theSameIsFoundAtOtherSpeeds(_ path: MadeGesture.Path, seconds: Double) throws {
        let made = MadeGesture(path: path, seconds: seconds, strength: 0.9)
        let hits = try self.hits([MadeGesture.taught(path)]) { made.at($0 - 1) }
        #expect(hits.count == 1)
        #expect(hits.allSatisfy { $0.peak >= 0.5 && $0.peak <= 1 })
    }

    @Test(arguments: MadeGesture.Path.allCases)
    func othersAreNotTaken(_ path: MadeGesture.Path) throws {
        for other in MadeGesture.Path.allCases where other != path {
            let made = MadeGesture(path: other)
            #expect(try self.hits([MadeGesture.taught(path)]) { made.at($0 - 1) }.isEmpty, "\(other)")
        }
    }

    @Test(arguments: [20.0, 25, 50, 100, 200, 400])
    func theRateDoesNotMatter(_ rate: Double) throws {
        let hits = try self.hits([MadeGesture.circles], rate: rate) { MadeGesture.circle.at($0 - 1) }
        let hit = try #require(hits.first)
        #expect(hits.count == 1)
        // It is told when the device has been calm for 0.3 s, at the next look.
        let delay = Double(hit.time.microseconds) / 1_000_000 - 10 - 1.9
        #expect((0.2...0.5 + 1 / rate).contains(delay), "\(delay)")
    }

    /// Without a calm moment on either side it is part of something else.
    @Test func aMotionWithinAWalkIsNone() throws {
        let hits = try self.hits([MadeGesture.circles], seconds: 10) { t in
            let (x, y, z) = MadeGesture.circle.at(t - 4)
            return (x, y, z + 0.5 * Mathematics.sineAndCosine(t * 12).sine)
        }
        #expect(hits.isEmpty)
    }

    /// What goes on with something as strong is part of that; a twitch before it is nothing.
    @Test func aMotionStandsOutFromWhatWasBefore() throws {
        func count(_ strength: Double, pause: Double) throws -> Int {
            let before = MadeGesture(path: .wave, seconds: 0.6, strength: strength)
            return try self.hits([MadeGesture.circles], seconds: 5) { t in
                t < 1.7 ? before.at(t - 1) : MadeGesture.circle.at(t - 1.6 - pause)
            }.count
        }
        #expect(try count(1, pause: 0.5) == 0)
        #expect(try count(1, pause: 1.1) == 1)
        #expect(try count(0.1, pause: 0.5) == 1)
    }

    /// A gap ends what was before, too.
    @Test func nothingIsBeforeAGap() throws {
        var engine = DetectionEngine([try preset("gesture", Self.options(MadeGesture.circles))])
        let wave = MadeGesture(path: .wave, seconds: 0.6)
        var hits = engine.run(trace(rate: 50, seconds: 2) { wave.at($0 - 1.2) })
        hits += engine.run(trace(rate: 50, seconds: 3, from: 13.5) { MadeGesture.circle.at($0 - 0.1) })
        #expect(hits.count == 1)
    }

    /// How rare a motion is goes by the nearest few of what nobody taught, as the plain way counts it.
    @Test func commonMotionsAreFurther() throws {
        let shapes = GestureBackground.shapes
        let size = GestureShape.size
        let made = stride(from: 0, to: shapes.count, by: size).map { Array(shapes[$0..<$0 + size]) }
        var chance = Chance(seed: 3)
        var rarities: [Double] = []
        for _ in 0..<12 {
            guard let shape = MotionFinder.found(HandMotion(&chance))?.shape else { continue }
            let nearest = made.map { TaughtGesture.distance(shape, $0) }.sorted().prefix(GestureBackground.nearest)
            let plain = nearest.reduce(0, +) / Double(nearest.count) / GestureBackground.usual
            let rarity = GestureBackground.rarity(shape.span, at: 0)
            #expect(abs(rarity - max(0.3, min(1, plain))) < 1e-9)
            rarities.append(rarity)
        }
        #expect(rarities.contains { $0 < 0.95 })
        // An example is no nearer to its gesture for being common.
        let example = try #require(MadeGesture.circle.found?.shape)
        let rarity = GestureBackground.rarity(example.span, at: 0)
        let nearest = MadeGesture.circles.distance(of: example)
        #expect(MadeGesture.circles.nearest(2, of: made + [example]).first == nearest)
        #expect(rarity > 0 && rarity <= 1)
    }

    @Test func whatIsHeldOtherwiseIsNotTaken() throws {
        let made = MadeGesture(path: .circle, gravity: SIMD3(0, 0, -1))
        #expect(try self.hits([MadeGesture.circles]) { made.at($0 - 1) }.isEmpty)
    }

    /// One tight match, or two that are a little too far in a row.
    @Test func whatIsALittleTooFarCountsTwice() throws {
        let made = MadeGesture(path: .circle, seconds: 1.2, strength: 0.6)
        let shape = try #require(made.found?.shape)
        let distance = MadeGesture.circles.distance(of: shape)
        // Half the score lies just short of it.
        let strict = MadeGesture.taught(.circle, limit: (distance * 0.95 * 1_000).rounded() / 1_000)
        #expect((0.44..<0.5).contains(strict.score(of: shape)))
        #expect(try self.hits([strict]) { made.at($0 - 1) }.isEmpty)
        #expect(try self.hits([strict], seconds: 6) { t in made.at(t < 3 ? t - 1 : t - 3.5) }.count == 1)
        // Not when the second comes much later, and not when another comes between.
        #expect(try self.hits([strict], seconds: 10) { t in made.at(t < 3 ? t - 1 : t - 7) }.isEmpty)
        // So weak and so late that neither is part of the other.
        let other = MadeGesture(path: .wave, seconds: 0.4, strength: 0.11)
        #expect(other.found != nil)
        let mixed = try self.hits([strict], seconds: 8) { t in
            t < 3 ? made.at(t - 1) : t < 3.8 ? other.at(t - 3.05) : made.at(t - 3.9)
        }
        #expect(mixed.isEmpty)
        let alone = try self.hits([strict], seconds: 8) { t in made.at(t < 3 ? t - 1 : t - 3.9) }
        #expect(alone.count == 1)
    }

    @Test func theThresholdIsAScore() throws {
        let shape = try #require(MadeGesture(path: .circle, seconds: 1.2, strength: 0.7).found?.shape)
        // As it is taken from the text.
        let gesture = try GestureText.read(GestureText.write(MadeGesture.circles))
        let score = gesture.score(of: shape)
        let made = MadeGesture(path: .circle, seconds: 1.2, strength: 0.7)
        func count(_ threshold: Double) throws -> Int {
            try self.hits([gesture], ["threshold": .number(threshold)]) { made.at($0 - 1) }.count
        }
        #expect((0.5..<0.94).contains(score))
        #expect(try count(score - 0.001) == 1)
        #expect(try count(score + 0.001) == 0)
    }

    @Test func theRestHolds() throws {
        func count(_ rest: String) throws -> Int {
            try self.hits([MadeGesture.circles], ["rest": .text(rest)], seconds: 8) { t in
                MadeGesture.circle.at(t < 3 ? t - 1 : t < 5 ? t - 3 : t - 5)
            }.count
        }
        #expect(try count("1s") == 3)
        #expect(try count("3s") == 2)
        #expect(try count("1min") == 1)
    }

    /// However the samples are cut into messages, and whoever else is there.
    @Test(arguments: [UInt64(1), 2, 3])
    func messagesAndNeighboursDoNotMatter(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let paths = MadeGesture.Path.allCases
        let order = (0..<12).map { _ in
            MadeGesture(
                path: paths[Int.random(in: 0..<4, using: &random)], seconds: random.uniform(0.6...1.2),
                strength: random.uniform(0.6...1.4))
        }
        let block = trace(rate: 50, seconds: 36) { t in
            let place = min(order.count - 1, Int(t / 3))
            return order[place].at(t - Double(place) * 3 - 1)
        }
        let gestures = paths.map { MadeGesture.taught($0) }
        let detectors = try gestures.map { try preset("gesture", Self.options($0)) }
        func run(_ detectors: [CompiledDetector], _ size: () -> Int) -> [Hit] {
            var engine = DetectionEngine(detectors)
            var hits: [Hit] = []
            var row = 0
            while row < block.count {
                let end = min(block.count, row + size())
                engine.process(
                    times: block.times.span.extracting(row..<end),
                    values: block.values.span.extracting(row * 3..<end * 3), hits: &hits)
                row = end
            }
            return hits
        }
        let whole = run(detectors) { block.count }
        #expect(whole.count >= 10)
        #expect(run(detectors) { 1 } == whole)
        #expect(run(detectors) { Int.random(in: 1...90, using: &random) } == whole)
        for (index, detector) in detectors.enumerated() {
            let alone = run([detector]) { block.count }.map(\.time)
            #expect(alone == whole.filter { $0.detector == DetectorID(UInt32(index)) }.map(\.time))
        }
    }

    /// A hundred gestures find motions once, and each remembers its examples.
    @Test func theySegmentTogether() throws {
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        var census = FeatureCensus()
        let detectors = try (0..<100).map { index in
            try preset("gesture", Self.options(MadeGesture.taught(.circle, limit: 0.5 + Double(index) / 200)))
        }
        for (index, detector) in detectors.enumerated() {
            engine.add(detector, as: DetectorID(UInt32(index)), at: .zero)
            census.add(detector)
        }
        #expect(engine.statefulFeatures == 1 + 100 * 3)
        #expect(census.stateful == 1 + 100 * 3)
        #expect(detectors[0].statefulFeatures == 1 + 3)
        let hits = engine.run(trace(rate: 50, seconds: 4) { MadeGesture.circle.at($0 - 1) })
        #expect(Set(hits.map(\.detector)).count == 100)
        for index in 0..<100 { engine.remove(DetectorID(UInt32(index))) }
        #expect(engine.statefulFeatures == 0)
    }

    /// What a gesture left behind is no other's.
    @Test func aPlaceIsUsedAgain() throws {
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        for path in MadeGesture.Path.allCases + MadeGesture.Path.allCases.reversed() {
            let detector = try preset("gesture", Self.options(MadeGesture.taught(path)))
            engine.add(detector, as: DetectorID(0), at: .zero)
            let start = max(10, Double(engine.lastTime) / 1_000_000 + 0.1)
            let block = trace(rate: 50, seconds: 3, from: start) { MadeGesture(path: path).at($0 - 1) }
            #expect(engine.run(block).count == 1, "\(path)")
        }
    }

    @Test func aGapEndsAMotion() throws {
        var engine = DetectionEngine([try preset("gesture", Self.options(MadeGesture.circles))])
        let block = trace(rate: 50, seconds: 4) { MadeGesture.circle.at($0 - 1) }
        var hits: [Hit] = []
        let middle = 70
        engine.process(
            times: block.times.span.extracting(0..<middle), values: block.values.span.extracting(0..<middle * 3),
            hits: &hits)
        let later = block.times[middle...].map { $0 + 60_000_000 }
        engine.process(
            times: later.span, values: block.values.span.extracting(middle * 3..<block.values.count), hits: &hits)
        #expect(hits.isEmpty)
    }

    @Test func whatIsInForceIsTold() throws {
        let text = GestureText.write(MadeGesture.circles)
        let detector = try preset("gesture", ["gesture": .text(text)])
        #expect(detector.effective.contains { $0.key == "gesture" && $0.value == .text(text) })
        #expect(detector.isSame(as: try preset("gesture", ["gesture": .text(text + "\n")])))
        let other = try preset("gesture", Self.options(MadeGesture.taught(.wave)))
        #expect(!detector.isSame(as: other))
        // The name says nothing about what is found.
        let renamed = try preset("gesture", Self.options(MadeGesture.taught(.circle, named: "o")))
        #expect(detector.isSame(as: renamed))
    }

    @Test func aGestureIsNeeded() throws {
        let problem = #expect(throws: DetectorProblem.self) {
            try DetectorCompiler.compile(DetectorRequest(name: "d", options: ["preset": .text("gesture")]), for: nil)
        }
        #expect(problem?.key == "gesture")
        let odd = #expect(throws: DetectorProblem.self) { try preset("gesture", ["gesture": .text("circle")]) }
        #expect(odd?.message == "1:1: expected 'jostle-gesture', found 'circle'")
        #expect(throws: DetectorProblem.self) {
            try preset("shake", ["gesture": .text(GestureText.write(MadeGesture.circles))])
        }
    }
}
