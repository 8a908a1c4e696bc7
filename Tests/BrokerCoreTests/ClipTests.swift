import Arbitration
@testable import BrokerCore
import Detection
import Motion
import Testing

/// The motion around hits and near misses: when a clip is due, what is in it, and whose it is.
@Suite struct ClipTests {
    private static let terms = ClipTerms(.seconds(1))
    private static let quiet = [Double](repeating: 0.1, count: 12)

    /// The clips that are due, as the shell fetches them.
    private func cut(_ bench: inout Bench) -> [MotionClip] {
        bench.take().compactMap { action in
            guard case .clip(let sensor) = action else { return nil }
            var clip = MotionClip()
            return bench.core.cutClip(of: sensor, into: &clip) ? clip : nil
        }
    }

    @Test func aNearMissIsKeptWithItsMotion() throws {
        var bench = Bench(clips: Self.terms)
        let app = try bench.register(1, "org.example.A", user: 1_000)
        _ = try bench.add(app, Bench.planar("skip", 2.3))
        bench.feed(Self.quiet)
        #expect(self.cut(&bench).isEmpty)
        bench.feed([1.0, 1.9, 2.1, 1.2])
        #expect(self.cut(&bench).isEmpty && bench.events.isEmpty)
        bench.feed(Self.quiet)
        let clip = try #require(self.cut(&bench).first)
        let moment = try #require(clip.moments.first)
        #expect(clip.moments.count == 1 && moment.isNear && moment.app.name == "org.example.A")
        #expect(moment.user == 1_000 && moment.detector.name == "skip" && moment.detector.threshold == 2.3)
        #expect(moment.peak == 1.9 && clip.sensor == "accelerometer" && clip.channels == ["x", "y", "z"])
        // A second before it and half of one behind, samples each 100 ms.
        #expect(clip.times.first == moment.time.microseconds - 1_000_000)
        #expect(clip.times.last == moment.time.microseconds + 500_000 && clip.times.count == 16)
        let row = try #require(clip.times.firstIndex(of: moment.time.microseconds + 100_000))
        #expect(clip.values[row * 3] == 2.1)
    }

    /// What is passed a moment after it was nearly is a hit, and nothing else.
    @Test(arguments: [[2.0, 2.5], [2.5, 2.0], [2.5]]) func aHitIsNoNearMiss(_ motion: [Double]) throws {
        var bench = Bench(clips: Self.terms)
        let app = try bench.register(1, "org.example.A", user: 1_000)
        _ = try bench.add(app, Bench.planar("skip", 2.3))
        bench.feed(Self.quiet + motion + Self.quiet)
        #expect(bench.events.count == 1)
        let clip = try #require(self.cut(&bench).first)
        #expect(clip.moments.map(\.isNear) == [false] && clip.moments.first?.peak == 2.5)
    }

    /// With and without clips the same is decided, and apps see the same counts.
    @Test(arguments: [ClipTerms?.none, terms]) func nobodyElseHearsOfThem(_ clips: ClipTerms?) throws {
        var bench = Bench(clips: clips)
        let app = try bench.register(1, "org.example.A", user: 1_000)
        _ = try bench.add(app, Bench.planar("skip", 2.3), Bench.planar("other", 3))
        bench.feed(Self.quiet + [2.0, 2.5, 0, 2.6] + Self.quiet + [2.0, 2.9] + Self.quiet)
        #expect(bench.events.map(\.1.content.detector) == ["skip", "skip"])
        #expect(bench.core.sensing.hits(of: app) == 2)
        #expect(self.cut(&bench).isEmpty == (clips == nil))
        try bench.remove(app, ["skip", "other"])
        #expect(bench.core.sensing["accelerometer"]?.engine.paces == 0)
    }

    /// What a detector was compiled to anew is what its clips tell, whether or not something notices its near misses.
    @Test(arguments: [true, false]) func aClipTellsOfTheDetectorThatIsInForce(_ hasRoom: Bool) throws {
        let (app, id, near) = (AppHandle(1), DetectorID(3), DetectorID(4))
        func compiled(_ threshold: Double) throws -> CompiledDetector {
            try DetectorCompiler.compile(Bench.planar("skip", threshold), for: Bench.sensor)
        }
        var watch = ClipWatch(Self.terms, BrokerLimits())
        watch.enter(app, AppID("org.example.A"), 1_000)
        let added = try watch.add(compiled(2), id, of: app, 1_000)
        let beside = try #require(added)
        if hasRoom { watch.add(ClipWatch.Beside(id: near, detector: beside, payer: 1_000), beside: id) }
        let isReplaced = try watch.replace(id, by: compiled(3)) != nil
        #expect(isReplaced == hasRoom)
        let hit = Hit(detector: id, time: .zero, peak: 4)
        #expect(watch.moment(of: hit)?.detector.threshold == 3)
        // Of one that it does not know nothing is kept.
        let isKnown = try watch.replace(DetectorID(9), by: compiled(3)) != nil
        #expect(!isKnown)
    }

    /// Policy may say that an app's motion is not to be kept.
    @Test func policyMayForbidIt() throws {
        var settings = AppSettings()
        settings.sensing.keepsClips = false
        let policy = Policy(
            otherwise: .allow, apps: [AppID("org.example.Secret"): settings])
        var bench = Bench(policy: policy, clips: Self.terms)
        let secret = try bench.register(1, "org.example.Secret", user: 1_000)
        _ = try bench.add(secret, Bench.planar("skip", 2.3))
        bench.feed(Self.quiet + [2.5] + Self.quiet)
        #expect(self.cut(&bench).isEmpty)
        let other = try bench.register(2, "org.example.Other", user: 1_001)
        _ = try bench.add(other, Bench.planar("skip", 2.3))
        bench.feed(Self.quiet + [2.5] + Self.quiet)
        #expect(self.cut(&bench).flatMap { $0.moments.map(\.user) } == [1_001])
    }

    /// A clip is whole when nothing more can come: the last detector goes, or motion is switched off.
    @Test(arguments: [true, false]) func theEndOfTheSamplesEndsIt(_ isPause: Bool) throws {
        var bench = Bench(clips: Self.terms)
        let app = try bench.register(1, "org.example.A", user: 1_000)
        _ = try bench.add(app, Bench.planar("skip", 2.3))
        bench.answerClaim()
        bench.feed(Self.quiet + [2.5, 0.1])
        if isPause {
            try bench.core.apply(.pause(true), at: bench.now, &bench.actions)
        } else {
            bench.leave(app)
        }
        let clip = try #require(self.cut(&bench).first)
        #expect(clip.times.last == bench.now.microseconds && clip.moments.count == 1)
        #expect(self.cut(&bench).isEmpty)
    }

    /// What users have forgotten in the making is in no clip.
    @Test func itIsForgottenInTheMaking() throws {
        var bench = Bench(clips: Self.terms)
        for (index, user) in [(UInt32(1), UInt32(1_000)), (2, 1_001)] {
            let app = try bench.register(index, "org.example.A\(index)", user: user)
            _ = try bench.add(app, Bench.planar("skip", 2.3))
        }
        bench.feed(Self.quiet + [2.5])
        bench.core.forgetClips(of: 1_000)
        bench.feed(Self.quiet)
        #expect(self.cut(&bench).flatMap { $0.moments.map(\.user) } == [1_001])
        bench.feed([2.5])
        bench.core.forgetClips(of: nil)
        bench.feed(Self.quiet)
        #expect(self.cut(&bench).isEmpty)
    }

    /// However many are hit at once, a clip tells of so many, and none of them twice.
    @Test func aCrowdIsBounded() throws {
        var bench = Bench(clips: Self.terms)
        for index in 1...40 {
            let app = try bench.register(UInt32(index), "org.example.A\(index)", user: 1_000)
            _ = try bench.add(app, Bench.planar("skip", 2.3))
        }
        bench.feed(Self.quiet + [2.5] + Self.quiet)
        let clip = try #require(self.cut(&bench).first)
        #expect(clip.moments.count == MotionClip.mostMoments)
        #expect(Set(clip.moments.map(\.id)).count == clip.moments.count)
        for index in 1...40 { bench.leave(AppHandle(UInt32(index))) }
        bench.clean()
        #expect(bench.core.sensing["accelerometer"]?.engine.paces == 0)
    }

    // MARK: What noticing them costs

    private func held(_ name: String, _ bench: Bench) -> [Int] {
        bench.core.usage.filter { $0.name == name }.map(\.held)
    }

    /// What notices near misses is counted as other detectors are, and shown.
    @Test func whatNoticesThemIsCounted() throws {
        var bench = Bench(clips: Self.terms)
        let app = try bench.register(1, "org.example.A", user: 1_000)
        let shake = DetectorRequest(name: "shake", options: ["preset": .text("shake"), "threshold": .text("2g")])
        _ = try bench.add(app, Bench.planar("skip", 2.3), shake)
        #expect(self.held("near-miss-detectors", bench) == [2])
        var plain = Bench()
        let same = try plain.register(1, "org.example.A", user: 1_000)
        _ = try plain.add(same, Bench.planar("skip", 2.3), shake)
        #expect(self.held("near-miss-detectors", plain).isEmpty)
        // One that counts swings counts those of its own; another number to compare with costs no operation.
        for name in ["operations-per-sensor", "stateful-per-sensor"] {
            let more = try #require(self.held(name, bench).first) - #require(self.held(name, plain).first)
            #expect((1...2).contains(more), "\(name)")
        }
        #expect(self.held("paces", bench) == self.held("paces", plain))
        // Replaced and removed they take nothing along, and leave nothing.
        _ = try bench.add(app, Bench.planar("skip", 2), shake)
        #expect(self.held("near-miss-detectors", bench) == [2])
        try bench.remove(app, ["skip", "shake"])
        for name in ["near-miss-detectors", "operations-per-sensor", "stateful-per-sensor", "paces"] {
            #expect(self.held(name, bench).allSatisfy { $0 == 0 }, "\(name)")
        }
    }

    /// A user has a share of them; whatever more detectors there are work without.
    @Test func thereIsRoomForSoMany() throws {
        var bench = Bench(clips: Self.terms)
        let share = Int(try #require(bench.core.limits.table["near-miss-detectors-per-user"]))
        var left = share + 20
        for index in 1...20 where left > 0 {
            let app = try bench.register(UInt32(index), "org.example.A\(index)", user: 1_000)
            let some = (0..<min(left, 64)).map { Bench.planar("d\($0)", 2.3 + Double($0) / 100) }
            for detector in some { _ = try bench.add(app, detector) }
            left -= some.count
        }
        #expect(left == 0 && self.held("near-miss-detectors", bench) == [share])
        #expect(bench.core.limits.table["near-miss-detectors"] == UInt64(4 * share))
        for index in 1...20 { bench.leave(AppHandle(UInt32(index))) }
        bench.clean()
        #expect(self.held("near-miss-detectors", bench) == [0])
        #expect(self.held("operations-per-sensor", bench).allSatisfy { $0 == 0 })
    }

    /// What notices near misses gives way to a detector for which there would be no room, and takes no room that is not there.
    @Test func theyGiveWay() throws {
        func shake(_ name: String, _ threshold: Int) -> DetectorRequest {
            DetectorRequest(name: name, options: ["preset": .text("shake"), "threshold": .text("\(threshold)g")])
        }
        // As much room as three of them need, for root, who may take all of it.
        var plain = Bench()
        let alone = try plain.register(1, "org.example.A")
        for (name, threshold) in [("a", 2), ("b", 3), ("c", 4)] { _ = try plain.add(alone, shake(name, threshold)) }
        let needed = try #require(self.held("stateful-per-sensor", plain).first)
        var limits = BrokerLimits()
        limits.statefulPerSensor = needed
        var bench = Bench(limits: limits, clips: Self.terms)
        let same = try bench.register(1, "org.example.A")
        _ = try bench.add(same, shake("a", 2))
        _ = try bench.add(same, shake("b", 3))
        #expect(self.held("near-miss-detectors", bench) == [1])
        // The room is needed, and is there.
        _ = try bench.add(same, shake("c", 4))
        #expect(self.held("near-miss-detectors", bench) == [0])
        #expect(self.held("stateful-per-sensor", bench) == [needed])
        #expect(throws: Refusal.self) { try bench.add(same, shake("d", 5)) }
        #expect(bench.core.registry[same]?.detectors.count == 3)
        // They notice nothing, and are hit all the same.
        bench.feed(Self.quiet + [1.9] + Self.quiet)
        #expect(self.cut(&bench).isEmpty)
    }

    /// On how many sensors a user's detectors are is counted without what notices near misses, which goes with them.
    @Test func theyTakeNoSensors() throws {
        func jolt(_ index: Int, _ place: String) -> DetectorRequest {
            let sensor = "accelerometer-\(place)\(index)"
            return DetectorRequest(
                name: "\(index)", options: ["when": .text("norm(x, y, z) > 2g"), "sensor": .text(sensor)])
        }
        var bench = Bench(clips: Self.terms)
        let app = try bench.register(1, "org.example.A", user: 1_000)
        let share = SensorPlaces.shares.share
        for index in 0..<share { _ = try bench.add(app, jolt(index, "lid")) }
        #expect(self.held("near-miss-detectors", bench) == [share])
        // As many on others in their place: one by one, and all in one call.
        for index in 0..<share { _ = try bench.add(app, jolt(index, "base")) }
        #expect(self.held("sensors", bench) == [share])
        let back = (0..<share).map { jolt($0, "lid") }
        _ = try bench.core.addDetectors(app, back, at: bench.now, &bench.actions)
        #expect(self.held("sensors", bench) == [share] && self.held("near-miss-detectors", bench) == [share])
        bench.leave(app)
        while bench.isCleaningDue { bench.clean() }
        #expect(self.held("sensors", bench) == [0] && self.held("near-miss-detectors", bench) == [0])
    }
}
