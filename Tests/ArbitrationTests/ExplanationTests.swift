import Arbitration
import Motion
import Testing

@Suite struct ExplanationTests {
    private func text(_ lab: Lab, _ app: String) -> String {
        lab.verdicts.last { $0.id.name == app }.map { Explanation($0).description } ?? ""
    }

    @Test func whoLostToAStricterDetector() {
        let configuration = group(.exclusive) {
            $0.select = [.specificity, .strength]
            $0.commitWindow = .milliseconds(350)
        }
        var lab = Lab(Policy(groups: [configuration], rules: [rule("any-shake", line: 14)]))
        lab.add("org.example.Gentle", threshold: 1.2)
        lab.add("org.example.Hard", threshold: 2.7)
        lab.hit(["org.example.gentle"], at: 5_000, 2.9)
        lab.hit(["org.example.hard"], at: 5_120, 3.1)
        let gentle = """
            epoch 1  org.example.gentle (shake)  2.9 g  at 5000000 us  policy 1
            org.example.Gentle  NOT DELIVERED  S4.outranked
              S0 identity   pass  proven by name
              S1 alive      pass  foreground, unlocked
              S2 rule       pass  test.conf:14 [Rule any-shake] Priority=0 says allow
              S3 limits     pass  no quota
              S4 group      no    g: exclusive, 2 candidates, decided as soon as it was certain; org.example.Hard is first by \
            specificity, 2.7 to 1.2
              S5 delivery   -
              it would have got it if it asked for more than 2.7 g, or the motion had stayed at or below 2.7 g
            """
        #expect(self.text(lab, "org.example.Gentle") == gentle)
        #expect(self.text(lab, "org.example.Hard").contains("ahead of org.example.Gentle by specificity, 2.7 to 1.2"))
        // What is asked later is answered as it was then.
        lab.perform { $0.take(.policy(Policy(otherwise: .allow)), at: ms(9_000), into: &$1) }
        #expect(self.text(lab, "org.example.Gentle") == gentle)
    }

    @Test func whoWasRefusedByTheRules() {
        let rules = [
            rule("call", line: 3) {
                $0.states = WordSet([.background])
                $0.activities.any = WordSet([.voip])
                $0.assertion = true
            },
            rule("near", line: 7) {
                $0.states = WordSet([.background])
                $0.assertion = true
            },
        ]
        var lab = Lab(Policy(rules: rules))
        lab.add("A", AppFacts(state: .background))
        lab.hit(["a"], at: 0)
        #expect(self.text(lab, "A").hasSuffix("test.conf:7 [Rule near] Priority=0 matched; it lacks WhenAssertion"))
        lab.change("A") { $0.state = .dead }
        lab.hit(["a"], at: 5_000)
        #expect(self.text(lab, "A").contains("S1 alive      no    dead, unlocked"))
    }

    @Test func whoCannotReceiveLacksAWayToBeReached() {
        var lab = Lab(Policy(rules: [rule("all", line: 2)]))
        lab.add("A", AppFacts(state: .suspended))
        lab.hit(["a"], at: 0)
        #expect(self.text(lab, "A").hasSuffix("matched; it lacks Deliver=wake or store"))
    }

    @Test func whoUsedUpItsQuota() {
        var settings = AppSettings()
        settings.quota = Quota(count: 6, period: .seconds(60), burst: 1)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], everyApp: settings))
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.hit(["a"], at: 4_000)
        #expect(self.text(lab, "A").contains("S3 limits     no    the quota is used up, 0 of 1 left"))
        #expect(self.text(lab, "A").hasSuffix("it would have got it if the motion had come 6.0 s later"))
    }

    @Test func othersAreNobodysBusiness() throws {
        let rules = [rule(for: "A", strength: 2), rule(for: "B", strength: 1)]
        var lab = Lab(Policy(groups: [group(.ordered)], rules: rules))
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        lab.answer("A", 1, .consume)
        let verdict = try #require(lab.verdicts.last)
        #expect(Explanation(verdict).description.contains("A consumed it"))
        let hidden = Explanation(verdict.withoutOthers).description
        #expect(hidden.contains("another app consumed it"))
        #expect(hidden.hasSuffix("it would have got it if another app had passed it on"))
    }

    /// Whatever the reason, each stage has its line, and those after the one that said no are skipped.
    @Test(arguments: Reason.allCases)
    func everyReasonIsExplained(_ reason: Reason) throws {
        var lab = Lab(Policy(groups: [group(.broadcast)], rules: [rule("all")]))
        lab.add("A")
        lab.hit(["a"], at: 0)
        var verdict = try #require(lab.verdicts.first)
        verdict.reason = reason
        let explanation = Explanation(verdict)
        #expect(explanation.steps.map(\.stage) == Reason.Stage.allCases)
        for step in explanation.steps {
            if step.stage > reason.stage { #expect(step.result == .skipped) }
            if step.stage < reason.stage { #expect(step.result == .pass) }
            if step.stage == reason.stage { #expect(step.result == (reason.isDelivered ? .pass : .no)) }
        }
        #expect(explanation.description.contains(reason.name))
        #expect(reason.name.hasPrefix("S\(reason.stage.rawValue)."))
    }
}
