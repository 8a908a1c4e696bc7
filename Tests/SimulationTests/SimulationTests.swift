import Foundation
import Simulation
import TestSupport
import Testing

/// Lives of the whole: the broker's core, its disk, the bus and apps, and the reader's core and devices, with everything that
/// can go wrong with them.
@Suite struct SimulationTests {
    private static let lives = 50

    /// As many as are played in all are 2 000, by the program that plays a million: release programs play them in a tenth of the time.
    @Test(arguments: 0..<40) func nothingIsLostAndNothingComesTwice(_ part: Int) throws {
        let seeds = part * Self.lives..<(part + 1) * Self.lives
        let sum = try self.play(seeds)
        // They come everywhere.
        #expect(sum[.lives] == Self.lives && sum[.steps] >= 200 * Self.lives)
        let least: [(Simulator.Sum.Count, Int)] = [
            (.verdicts, 1_000), (.sent, 500), (.again, 20), (.gaps, 10), (.acknowledged, 100), (.otherEnds, 100),
            (.committed, 100), (.restored, 10), (.limits, 10), (.group, 10), (.rule, 10), (.alive, 1),
            (.launches, 100), (.launched, 20), (.handedOver, 100), (.submitted, 5), (.runs, 5),
            (.claims, 300), (.rests, 30), (.refused, 5), (.samples, 2_000), (.read, 500), (.lost, 50), (.holes, 2),
            (.failures, 10),
        ]
        for (count, number) in least { #expect(sum[count] >= number, "\(count): \(sum.words)") }
    }

    /// Plays lives in a process of their own, none of which may fail.
    private func play(_ seeds: Range<Int>) throws -> Simulator.Sum {
        let book = FileManager.default.temporaryDirectory.appending(path: "lives-\(UUID())")
        defer { try? FileManager.default.removeItem(at: book) }
        // To cut a life that failed to what matters takes a while.
        let played = try Tool.run(
            [Programs.path(of: "soak"), "\(seeds.lowerBound)", "\(seeds.upperBound)", book.path],
            timeout: .seconds(600))
        try #require(played.status == 0, "seeds \(seeds): \(played.stdout)\(played.stderr)")
        let lines = try String(contentsOf: book, encoding: .utf8).split(separator: "\n")
        return try #require(lines.first.flatMap { Simulator.Played($0) }).sum
    }

    /// What fails in one process can be looked at in another: nothing goes by the order of a table, which each process has of its own.
    @Test func livesAreTheSameInEachProcess() throws {
        let seeds = 2_000..<2_500
        #expect(try self.play(seeds) == self.play(seeds))
    }

    @Test func aLifeIsTheSameEachTimeAndAsText() throws {
        let life = Life(seed: 7)
        #expect(life == Life(seed: 7) && life != Life(seed: 8))
        let read = try #require(Life("# found today\n" + life.text))
        #expect(read == life)
        var (first, second) = (Simulator.Sum(), Simulator.Sum())
        #expect(Simulator.play(life, into: &first) == nil && Simulator.play(read, into: &second) == nil)
        #expect(first == second)
        for text in ["", "pass 1 0", "seed 1\npass 1", "seed 1\nfly 1 0", "seed x\n", "seed 1\nseed 2\n"] {
            #expect(Life(text) == nil, "\(text)")
        }
    }

    /// What is cut out of a life is all that does not matter.
    @Test func whatFailsIsCutToWhatMatters() {
        let life = Life(seed: 3)
        let kinds: [Step.Kind] = [.kill, .begin]
        func fails(_ life: Life) -> Bool {
            let kept = life.steps.map(\.kind).filter { kinds.contains($0) }
            return kept.contains(.kill) && kept.last == .begin
        }
        var long = life
        long.steps += [Step(.kill), Step(.pass, 1), Step(.begin)]
        var shrinker = Shrinker(fails)
        #expect(shrinker.shrink(long).steps.map(\.kind) == [.kill, .begin])
    }

    /// Lives that went wrong once.
    @Test func whatWentWrongOnceGoesWell() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "Lives")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(!names.isEmpty)
        for name in names {
            let life = try #require(
                Life(try String(contentsOf: folder.appending(path: name), encoding: .utf8)), "\(name)")
            #expect(Simulator.play(life) == nil, "\(name)")
        }
    }
}
