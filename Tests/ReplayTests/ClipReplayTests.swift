import Detection
import Motion
import Randomness
import Replay
import Testing

/// What is told of the motion in a clip: how far it went, and what another threshold would have made of it.
@Suite struct ClipReplayTests {
    /// Samples at 50 Hz that lie still but for a swing along x.
    private func swing(_ peak: Double, rows: Int = 150) -> SampleBlock {
        var block = SampleBlock(channels: 3)
        for row in 0..<rows {
            let x = (100..<110).contains(row) ? peak : 0.1
            block.append(Timestamp(microseconds: 7_000_000 + Int64(row) * 20_000), [x, 0, 1].span)
        }
        return block
    }

    private func detector(_ preset: String, _ threshold: Double) throws -> CompiledDetector {
        try DetectorCompiler.compile(
            DetectorRequest(name: "d", options: ["preset": .text(preset), "threshold": .number(threshold)]), for: nil)
    }

    private func replay(_ motion: SampleBlock) -> ClipReplay {
        ClipReplay(sensor: "accelerometer", channels: ["x", "y", "z"], motion: motion)
    }

    @Test(arguments: someSeeds(UInt64(1)...30)) func itTellsHowFarItWent(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let threshold = Double.random(in: 1.5...4, using: &random)
        let peak = threshold * Double.random(in: 0.81...0.999, using: &random)
        let replay = self.replay(self.swing(peak))
        let planar = try self.detector("shake.planar", threshold)
        let reach = try #require(replay.reach(of: planar, from: 9_000_000), "seed \(seed)")
        #expect(reach <= peak && reach > peak - threshold * 0.003, "seed \(seed)")
        #expect(replay.hits(of: planar, lookingAt: 9_000_000).isEmpty)
        #expect(replay.hits(of: try self.detector("shake.planar", peak * 0.99), lookingAt: 9_000_000).count == 1)
    }

    /// A harder motion behind it is another one.
    @Test func itTellsHowFarItWentBeforeTheNext() throws {
        var motion = self.swing(2.1)
        for row in 0..<10 {
            motion.append(Timestamp(microseconds: 10_000_000 + Int64(row) * 20_000), [4, 0, 1].span)
        }
        let planar = try self.detector("shake.planar", 2.3)
        let reach = try #require(self.replay(motion).reach(of: planar, from: 9_000_000, before: 9_700_000))
        #expect(reach <= 2.1 && reach > 2.09)
        #expect(try #require(self.replay(motion).reach(of: planar, from: 9_000_000)) > 2.3)
        #expect(self.replay(motion).reach(of: planar, from: 9_000_000, before: 8_000_000) == nil)
    }

    /// What was less than nearly a hit went nobody knows how far.
    @Test func lessIsUnknown() throws {
        #expect(self.replay(self.swing(1)).reach(of: try self.detector("shake.planar", 2.3), from: 9_000_000) == nil)
    }

    /// A detector that looks now and then looks when it did then, wherever the clip begins.
    @Test(arguments: 0..<8) func itLooksWhenItDid(_ phase: Int) throws {
        var block = SampleBlock(channels: 3)
        let look: Int64 = 3_000_000
        for row in 0..<200 {
            let time = 1_003_000 + Int64(phase) * 13_000 + Int64(row) * 20_000
            // Only the one sample at which it looked is strong.
            let isThere = (look..<look + 20_000).contains(time)
            block.append(Timestamp(microseconds: time), [isThere ? 2.5 : 0, 0, 1].span)
        }
        let time = try #require(block.times.first { $0 >= look })
        let hits = self.replay(block).hits(of: try self.detector("shake.planar", 2.3), lookingAt: time)
        #expect(hits.map(\.time.microseconds) == [time])
    }

    @Test func theCurveIsWhatIsCompared() throws {
        let curve = self.replay(self.swing(2.1)).curve(of: try self.detector("shake.planar", 2.3), lookingAt: 9_000_000)
        let most = try #require(curve.points.map(\.value).max())
        #expect(curve.title == "what it compares" && abs(most - 2.1) < 0.03 && curve.points.count > 20)
        // A shake counts swings: what is drawn is the motion.
        let shake = self.replay(self.swing(2.1)).curve(of: try self.detector("shake", 1.5), lookingAt: 9_000_000)
        #expect(shake.title == "norm(x, y, z)" && shake.points.count == 150)
    }
}
