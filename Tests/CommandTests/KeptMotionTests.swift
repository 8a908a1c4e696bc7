import Detection
import Motion
import Testing

@testable import Journal
@testable import jostle

/// What is told of motion in clips: how far it went where less is more, and of which motion nobody knows.
@Suite struct KeptMotionTests {
    private static let fall: DetectorOptions = ["when": .text("norm(x, y, z) < 0.4g"), "every": .text("10ms")]

    /// A clip of a second at rest, but for a tenth of it, with one moment.
    private func clip(_ value: Double, of options: DetectorOptions) throws -> PastClip {
        let detector = try DetectorCompiler.compile(DetectorRequest(name: "d", options: options), for: nil)
        var motion = SampleBlock(channels: 3)
        for row in 0..<100 {
            let z = (50..<60).contains(row) ? value : 1
            motion.append(Timestamp(microseconds: Int64(row + 1) * 10_000), [0, 0, z].span)
        }
        var clip = StoredClip(id: 1, wall: 1, user: 0, sensor: "accelerometer", channels: ["x", "y", "z"], motion)
        clip.add(
            StoredClip.Moment(
                app: "org.example.A", detector: "d", preset: detector.preset ?? "",
                options: DetectorText.write(detector), time: 510_000, wall: 1, peak: value,
                threshold: detector.threshold, isNear: true))
        return PastClip(stored: clip)
    }

    private func kept(of options: DetectorOptions) throws -> KeptMotion {
        try #require(KeptMotion(try self.clip(1, of: options).stored.moments[0]))
    }

    /// What nearly is a fall stays above the threshold, and a higher one makes it a fall.
    @Test func whatAsksForLittleWentAsFarAsItDid() throws {
        let clip = try self.clip(0.45, of: Self.fall)
        let strength = clip.strength(of: clip.stored.moments[0])
        #expect(abs(strength.reach - 0.45) < 0.002 && strength.threshold == 0.4)
        let fall = try self.clip(0.45, of: ["preset": .text("free-fall")])
        let lines = NearMissText.lines(fall, fall.stored.moments[0], time: "now")
        #expect(lines.last == "  jostle whatif --detector free-fall,threshold=0.46g")
    }

    @Test func ofWhatWasNotKeptNobodyKnows() throws {
        let shake = try self.kept(of: ["preset": .text("shake.planar"), "threshold": .number(2.3)])
        #expect(abs(shake.bound - 1.84) < 1e-9 && shake.elsewhere == "below")
        #expect(shake.isTooMuch(1.8) && !shake.isTooMuch(1.9) && !shake.isTooMuch(3))
        let fall = try self.kept(of: Self.fall)
        #expect(abs(fall.bound - 0.5) < 1e-9 && fall.elsewhere == "above")
        #expect(fall.isTooMuch(0.6) && !fall.isTooMuch(0.45) && !fall.isTooMuch(0.1))
        // What has to last is noticed when it is a hit, and not before.
        let lasting = try self.kept(of: ["preset": .text("free-fall")])
        #expect(lasting.bound == 0.4 && lasting.isTooMuch(0.45) && !lasting.isTooMuch(0.3))
        #expect(KeptMotion.ofAll([fall, lasting])?.bound == 0.4)
        #expect(KeptMotion.ofAll([]) == nil)
    }

    /// Policy refuses a section of a client without a name.
    @Test func policyIsAdvisedForAppsThatItCanName() {
        func advice(_ apps: String...) -> String? { ClipWhatIfCommand.advice(to: Set(apps), "shake.planar:2g") }
        let start = "a policy file puts it in force: [App"
        #expect(advice("org.example.A") == "\(start) org.example.A] Thresholds=shake.planar:2g")
        #expect(advice("org.example.A", "-3") == "\(start) org.example.A] Thresholds=shake.planar:2g")
        #expect(advice("org.example.A", "org.example.B") == "\(start) ID] Thresholds=shake.planar:2g")
        #expect(advice("-1", "-3", "") == nil)
    }

    /// A clip as a trace begins at zero, and so does what counts as its moments.
    @Test func whatIsAroundAMomentCountsAsIt() throws {
        let clip = try self.clip(0.45, of: Self.fall)
        let span = clip.span(of: clip.stored.moments[0])
        #expect(span == Timestamp(microseconds: 200_000)...Timestamp(microseconds: 1_500_000))
    }

    /// Somebody shook again, and harder: the first shake went no further for that.
    @Test func aNearMissIsNoHarderForTheHitBehindIt() throws {
        let request = DetectorRequest(
            name: "d",
            options: ["preset": .text("shake.planar"), "threshold": .text("2.3g"), "every": .text("10ms")])
        let options = DetectorText.write(try DetectorCompiler.compile(request, for: nil))
        func moment(_ time: Int64, _ peak: Double, isNear: Bool) -> StoredClip.Moment {
            StoredClip.Moment(
                app: "org.example.A", detector: "d", preset: "shake.planar", options: options, time: time, wall: 1,
                peak: peak, threshold: 2.3, isNear: isNear)
        }
        var motion = SampleBlock(channels: 3)
        for row in 0..<200 {
            let x = (50..<60).contains(row) ? 2.1 : row < 170 ? 0.1 : 4
            motion.append(Timestamp(microseconds: Int64(row + 1) * 10_000), [x, 0, 1].span)
        }
        let (near, hit) = (moment(510_000, 2, isNear: true), moment(1_710_000, 4, isNear: false))
        var clip = StoredClip(id: 1, wall: 1, user: 0, sensor: "accelerometer", channels: ["x", "y", "z"], motion)
        clip.add(near)
        #expect(abs(PastClip(stored: clip).strength(of: near).reach - 2.3) < 0.001)
        clip.add(hit)
        #expect(abs(PastClip(stored: clip).strength(of: near).reach - 2.1) < 0.01)
        #expect(PastClip(stored: clip).strength(of: hit).reach == 4)
    }
}
