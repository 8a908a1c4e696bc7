import Arbitration
import Motion
import Testing
import Randomness

/// Deciding as soon as waiting cannot change the answer gives the answer that waiting would have given.
@Suite struct EagerCommitTests {
    /// Each early decision of a random life, against the same life that waits for this one.
    @Test(arguments: someSeeds(1...20))
    func everyEarlyDecisionIsTheLateOne(_ batch: UInt64) {
        var commit = EagerCommit()
        for seed in batch * 100..<(batch + 1) * 100 { commit.play(seed: seed) }
        print("Eager commit seeds \(batch * 100)..<\((batch + 1) * 100)")
        #expect(commit.differences == [])
        #expect(commit.early[.exclusive] ?? 0 > 200)
        #expect(commit.early[.ordered] ?? 0 > 20)
    }

    /// Where nothing hangs on when a decision is taken, whole lives are alike.
    @Test(arguments: someSeeds(1...20))
    func wholeLivesAreAlike(_ batch: UInt64) {
        var commit = EagerCommit()
        for seed in batch * 100..<(batch + 1) * 100 { commit.playWhole(seed: seed) }
        print("Eager lives seeds \(batch * 100)..<\((batch + 1) * 100)")
        #expect(commit.differences == [])
        #expect(commit.early[.exclusive] ?? 0 > 200)
        #expect(commit.early[.ordered] ?? 0 > 20)
    }

    /// An order of an earlier motion ends within the window, and gives a sticky group to somebody else: too late for this one.
    @Test(arguments: [true, false]) func anOrderThatIsNotThroughChangesNothing(_ isEager: Bool) {
        let configuration = group(.ordered) {
            $0.commitWindow = .milliseconds(100)
            $0.commitsEagerly = isEager
            $0.quiet = .milliseconds(200)
            $0.ackTimeout = .seconds(1)
            $0.isSticky = true
            $0.hysteresis = 5
        }
        var lab = Lab(
            Policy(groups: [configuration], rules: [rule(for: "A", strength: 1), rule(for: "B", strength: 2)]))
        lab.add("A", rest: .milliseconds(400))
        lab.add("B", rest: .milliseconds(400))
        lab.hit(["a"], at: 0)
        lab.pass(to: 100)
        lab.hit(["a", "b"], at: 500)
        lab.now = 550
        lab.answer("A", 1, .consume)
        lab.pass(to: 600)
        #expect(lab.deliveries.map(\.id.name) == ["A", "B"])
    }

    /// A motion that was decided early is not over before its window is: what comes in that time belongs to it either way.
    @Test(arguments: [true, false]) func theWindowIsOneMotion(_ isEager: Bool) {
        let configuration = group(.exclusive) {
            $0.commitWindow = .milliseconds(500)
            $0.commitsEagerly = isEager
            $0.quiet = .milliseconds(200)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule(for: "A", strength: 1), rule(for: "B")]))
        lab.add("A")
        lab.add("B")
        lab.hit(["a"], at: 0)
        lab.hit(["b"], at: 300)
        lab.pass(to: 499)
        #expect(lab.arbiter.openGroups == [0])
        lab.pass(to: 500)
        #expect(lab.arbiter.openGroups == [])
        #expect(lab.deliveries.map(\.id.name) == ["A"])
        #expect(lab.verdicts.map(\.epoch) == [1, 1])
    }
}
