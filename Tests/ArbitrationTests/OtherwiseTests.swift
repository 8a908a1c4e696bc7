import Arbitration
import Motion
import Testing

/// What an explanation says would have helped: each of these tests also does it, and looks.
@Suite struct OtherwiseTests {
    private func text(_ lab: Lab, _ app: String) -> String {
        lab.verdicts.last { $0.id.name == app }.map { Explanation($0).description } ?? ""
    }

    /// A motion that comes when the quota has a token again, and falls into a cooldown, comes to nothing.
    @Test func whoIsLimitedTwiceWaitsForBoth() {
        var settings = AppSettings()
        settings.quota = Quota(count: 60, period: .seconds(60), burst: 1)
        settings.cooldown = .seconds(10)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], everyApp: settings))
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.hit(["a"], at: 500)
        #expect(lab.verdicts.last?.reason == .quota)
        #expect(self.text(lab, "A").hasSuffix("it would have got it if the motion had come 9.5 s later"))
        lab.hit(["a"], at: 2_000)
        #expect(lab.verdicts.last?.reason == .appCooldown)
        lab.hit(["a"], at: 10_000)
        #expect(lab.verdicts.last?.reason == .sent)
    }

    /// The same where the other one is its group's.
    @Test func whoIsLimitedWithItsGroupWaitsForBoth() {
        var settings = AppSettings()
        settings.quota = Quota(count: 60, period: .seconds(60), burst: 1)
        let configuration = group(.exclusive) {
            $0.commitWindow = .zero
            $0.quiet = .milliseconds(100)
            $0.cooldown = .seconds(5)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("all")], everyApp: settings))
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.pass(to: 300)
        lab.hit(["a"], at: 500)
        #expect(lab.verdicts.last?.reason == .quota)
        #expect(self.text(lab, "A").hasSuffix("it would have got it if the motion had come 4.5 s later"))
        lab.hit(["a"], at: 5_000)
        #expect(lab.verdicts.last?.reason == .sent)
    }

    /// Who would be in the state of the first is told what else it would be behind by, or a state in which it is not.
    @Test func theSameStateMayNotBeEnough() {
        let configuration = group(.exclusive) {
            $0.select = [.state, .strength]
            $0.commitWindow = .milliseconds(100)
        }
        let rules = [rule(for: "First", strength: 10), rule("all")]
        var lab = Lab(Policy(groups: [configuration], rules: rules))
        lab.add("First")
        lab.add("Other", AppEntrance(told: .background))
        lab.hit(["first", "other"], at: 0)
        lab.pass(to: 5_000)
        let first = "it would have got it if it were foreground"
        #expect(self.text(lab, "Other").hasSuffix("\(first), and had not been behind by strength, 10 to 0"))
        lab.tell("First", .inactive)
        lab.hit(["first", "other"], at: 10_000)
        lab.pass(to: 15_000)
        #expect(self.text(lab, "Other").hasSuffix(first))
        lab.tell("Other", .foreground)
        lab.hit(["first", "other"], at: 20_000)
        lab.pass(to: 25_000)
        #expect(lab.deliveries.map(\.id.name) == ["First", "First", "Other"])
    }

    /// Whoever has it first holds the one group.
    private var sticky: Policy {
        let configuration = group(.exclusive) {
            $0.select = [.specificity]
            $0.commitWindow = .milliseconds(200)
            $0.isSticky = true
        }
        return Policy(groups: [configuration], rules: [rule("all")])
    }

    /// To have come in time is not enough against who holds a sticky group.
    @Test func whoCameLateLacksStrengthAgainstAHolder() {
        var lab = Lab(self.sticky)
        for (app, threshold) in [("Holder", 1.2), ("Other", 1.5)] { lab.add(app, threshold: threshold) }
        let late = "it would have got it if its detector had fired before the group decided"
        lab.hit(["holder"], at: 0)
        lab.pass(to: 300)
        lab.hit(["other"], at: 500)
        // Nobody held the group when this motion began.
        #expect(self.text(lab, "Other").hasSuffix(late))
        lab.hit(["holder"], at: 5_000)
        lab.pass(to: 5_300)
        lab.hit(["other"], at: 5_500)
        #expect(lab.verdicts.last?.reason == .late)
        let stronger = "its strength exceeded the holder's by the group's Hysteresis"
        #expect(self.text(lab, "Other").hasSuffix("\(late), and \(stronger)"))
        lab.hit(["holder", "other"], at: 10_000)
        lab.pass(to: 10_300)
        #expect(lab.deliveries.map(\.id.name) == ["Holder", "Holder", "Holder"])
    }

    /// With nobody who holds the group whoever stands between them has it.
    @Test func whatIsHeldNoMoreIsTheNextOnes() {
        var lab = Lab(self.sticky)
        for (app, threshold) in [("Holder", 1.2), ("Gentle", 1.5), ("Hard", 1.8)] { lab.add(app, threshold: threshold) }
        lab.hit(["holder"], at: 0)
        lab.pass(to: 3_000)
        lab.hit(["holder", "gentle", "hard"], at: 5_000)
        lab.pass(to: 6_000)
        let stronger = "it would have got it if its strength exceeded the holder's by the group's Hysteresis"
        #expect(self.text(lab, "Hard").hasSuffix("\(stronger), or that one held the group no more"))
        #expect(self.text(lab, "Gentle").hasSuffix(stronger))
    }

    /// A rule that denies may not be the only thing in the way: behind it another one may deny, or none allow.
    @Test func whoIsDeniedMayLackAnotherRuleToo() {
        let rules = [
            rule("low", line: 1, priority: 9, .deny, group: nil) { $0.locked = true },
            rule("front", line: 5, group: nil) { $0.states = WordSet([.foreground, .background]) },
        ]
        var lab = Lab(Policy(rules: rules))
        lab.add("A", AppEntrance(told: .inactive))
        lab.add("B", AppEntrance(told: .background))
        lab.add("C", AppEntrance(told: .suspended))
        lab.lock(true)
        lab.hit(["a", "b", "c"], at: 0)
        let start = "it would have got it if test.conf:1 [Rule low] Priority=9 did not match"
        let held = "; WhenLocked=yes holds: the screen is locked"
        #expect(self.text(lab, "A").hasSuffix("\(start) and one behind it let it through\(held)"))
        #expect(self.text(lab, "B").hasSuffix(start + held))
        #expect(self.text(lab, "C").hasSuffix("\(start) and one behind it let it through\(held)"))
        lab.lock(false)
        lab.hit(["a", "b", "c"], at: 5_000)
        #expect(lab.deliveries.map(\.id.name) == ["B"])
    }
}
