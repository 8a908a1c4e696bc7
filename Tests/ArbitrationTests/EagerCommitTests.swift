import Motion
import Testing
import Randomness

@testable import Arbitration

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

    // MARK: Who is looked at

    /// An app whose detectors are the first to be looked at and cannot win, and one whose detectors can: 40 each.
    private func crowded() -> Lab {
        let configuration = group(.exclusive) {
            $0.select = [.intensity]
            $0.commitWindow = .milliseconds(600)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("any")]))
        for name in ["A", "B"] { lab.add(name, threshold: name == "A" ? 3 : 1, rest: .seconds(1)) }
        for number in 1..<40 {
            lab.addDetector("a\(number)", to: "A", threshold: 3, rest: .seconds(1))
            lab.addDetector("b\(number)", to: "B", threshold: 1, rest: .seconds(1))
        }
        lab.hit(["a"], at: 0)
        return lab
    }

    /// How many members an open motion is done with.
    private func lookedAt(_ lab: Lab) -> Int? { lab.arbiter.contests.groups[0].episode?.cursor }

    private func remove(_ detector: String, _ lab: inout Lab) {
        if let id = lab.detectors[detector] { lab.take(.removeDetector(id)) }
    }

    /// One call removes thousands of detectors while a group waits: no detector is looked at twice for that.
    @Test func whoGoesHasNobodyElseLookedAtAgain() {
        var lab = self.crowded()
        #expect(self.lookedAt(lab) == 40)
        for number in 1..<40 {
            self.remove("a\(number)", &lab)
            #expect(self.lookedAt(lab) == 40)
        }
        self.remove("b", &lab)
        for number in 1..<39 {
            self.remove("b\(number)", &lab)
            #expect(self.lookedAt(lab) == 41 + number)
        }
        #expect(lab.take() == [])
        self.remove("b39", &lab)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent"])
    }

    /// The same where their sensor goes; one whose sensor comes back is waited for.
    @Test func whoseSensorGoesHasNobodyElseLookedAtAgain() {
        var lab = self.crowded()
        let (first, last) = (lab.detectors["b"] ?? DetectorID(0), lab.detectors["b39"] ?? DetectorID(0))
        lab.take(.available(first, false))
        for number in 1..<39 {
            if let id = lab.detectors["b\(number)"] { lab.take(.available(id, false)) }
            #expect(self.lookedAt(lab) == 41 + number)
        }
        lab.take(.available(first, true))
        lab.take(.available(last, false))
        #expect(lab.take() == [])
        lab.take(.available(first, false))
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent"])
    }

    /// Detectors are put in anew while a group waits: those that came are waited for, behind those that were looked at.
    @Test func whoComesMeanwhileIsLookedAtLast() {
        var lab = self.crowded()
        for number in 1..<40 {
            self.remove("a\(number)", &lab)
            lab.addDetector("a\(number)", to: "A", threshold: 3, rest: .seconds(1))
            #expect(self.lookedAt(lab) == 40)
        }
        lab.addDetector("b-late", to: "B", threshold: 9, rest: .seconds(1))
        self.remove("b", &lab)
        for number in 1..<40 { self.remove("b\(number)", &lab) }
        #expect(self.lookedAt(lab) == 119)
        #expect(lab.take() == [])
        self.remove("b-late", &lab)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent"])
    }

    /// What one detector of an app hit counts together with what another may hit still.
    @Test(arguments: [true, false]) func whatAnAppHasCountsWithWhatItMayStillHave(_ isEager: Bool) {
        let configuration = group(.exclusive) {
            $0.select = [.state, .strength, .intensity]
            $0.commitWindow = .milliseconds(600)
            $0.commitsEagerly = isEager
        }
        let rules = [
            rule("weak", line: 1, strength: 5) { $0.presets.any = [NamePattern("tap")] },
            rule("strong", line: 2, strength: 20),
        ]
        var lab = Lab(Policy(groups: [configuration], rules: rules))
        lab.add("A", threshold: 2, rest: .seconds(1))
        lab.add("B", threshold: 1, rest: .seconds(1))
        lab.addDetector("b-tap", to: "B", threshold: 3, preset: "tap", rest: .seconds(1))
        lab.hit(["a"], at: 0, 3)
        lab.hit(["b"], at: 100, 2.5)
        lab.hit(["b-tap"], at: 200, 4)
        lab.pass(to: 600)
        #expect(lab.take() == ["1 deliver B b", "1 deliver B b-tap", "1 A S4.outranked", "1 B S5.sent"])
    }
}
