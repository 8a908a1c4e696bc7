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
}
