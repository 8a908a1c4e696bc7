import Arbitration
import Motion
import Scenarios
import Testing

/// What another policy would change is what running it shows, and nothing else.
@Suite struct ComparisonTests {
    private static func policy(_ mode: GroupMode, line: Int, grants: WordSet<BackgroundMode> = .none) -> Policy {
        var group = GroupConfiguration(name: "g", place: Place(file: "g.conf", line: 1))
        group.mode = mode
        group.select = [.specificity]
        group.commitWindow = .milliseconds(350)
        let rule = Rule(name: "all", place: Place(file: "g.conf", line: line), effect: .allow, group: "g")
        var settings = AppSettings()
        settings.grants = grants
        return Policy(groups: [group], rules: [rule], everyApp: settings)
    }

    /// A gentle app, a hard one, and an app that leaves; several hits in one motion.
    private static let text = """
        # jostle scenario 1
        0s app org.example.Gentle
        0s detector org.example.Gentle gentle threshold=1.2g rest=0s
        0s detector org.example.Gentle second threshold=1.3g rest=0s
        0s app org.example.Hard
        0s detector org.example.Hard hard threshold=2.7g rest=1s
        1s hit org.example.Gentle gentle 1.5g
        1.1s hit org.example.Gentle second 1.5g
        5s hit org.example.Gentle gentle 2.9g
        5.05s hit org.example.Gentle second 2.9g
        5.1s hit org.example.Hard hard 3.1g
        5.3s hit org.example.Gentle gentle 2.9g
        9s hit org.example.Gentle gentle 1.5g
        9.1s leave org.example.Gentle
        """

    private static func words(_ fate: HitFate) -> String {
        "\(fate.isDelivered ? "event" : "none") \(fate.reason?.name ?? "?") "
            + "\(fate.verdict?.rule?.place.line ?? 0)"
    }

    @Test func everyHitHasItsFate() throws {
        let outcome = ScenarioRunner.run(try Scenario(parsing: Self.text), policy: Self.policy(.exclusive, line: 7))
        #expect(
            outcome.fates.map { "\($0.detector) \(Self.words($0))" } == [
                "gentle event S5.sent 7", "second event S5.sent 7",
                // Three hits of one verdict: the second came before it was made, the last after.
                "gentle none S4.outranked 7", "second none S4.outranked 7", "hard event S5.sent 7",
                "gentle none S4.outranked 7", "gentle none S4.gone 7",
            ])
    }

    @Test func onlyWhatEndsOtherwiseIsADifference() throws {
        let scenario = try Scenario(parsing: Self.text)
        let comparison = PolicyComparison(
            of: scenario, from: Self.policy(.broadcast, line: 3), to: Self.policy(.exclusive, line: 7))
        #expect(comparison.hits == 7)
        #expect((comparison.events, comparison.eventsThen) == (7, 3))
        #expect(
            comparison.differences.map {
                "\($0.was.time.microseconds / 1_000) \($0.was.detector): \(Self.words($0.was)) -> \(Self.words($0.wouldBe))"
            } == [
                "5000 gentle: event S5.sent 3 -> none S4.outranked 7",
                "5050 second: event S5.sent 3 -> none S4.outranked 7",
                "5300 gentle: event S5.sent 3 -> none S4.outranked 7",
                "9000 gentle: event S5.sent 3 -> none S4.gone 7",
            ])
    }

    /// What else changes, such as the line of a rule, changes nothing for an app.
    @Test func theSamePolicyMakesNoDifference() throws {
        let scenario = try Scenario(parsing: Self.text)
        for mode in GroupMode.allCases {
            let comparison = PolicyComparison(
                of: scenario, from: Self.policy(mode, line: 3), to: Self.policy(mode, line: 9))
            #expect(comparison.differences.isEmpty)
            #expect(comparison.events == comparison.eventsThen)
        }
    }

    /// What becomes of an app's hit in one group is nothing that became of another of its hits in another.
    @Test func hitsOfTwoGroupsAreToldApart() throws {
        let text = """
            # jostle scenario 1
            0s app org.example.A
            0s detector org.example.A one preset=shake.axis threshold=1g rest=1s
            0s detector org.example.A two preset=tap threshold=1g rest=1s
            0s app org.example.B
            0s detector org.example.B one preset=shake.axis threshold=1g rest=1s
            0s app org.example.C
            0s detector org.example.C two preset=tap threshold=1g rest=1s
            1s hit org.example.A one 2g
            1.05s hit org.example.B one 2g
            1.2s hit org.example.A two 2g
            1.25s hit org.example.C two 2g
            9s end
            """
        func group(_ name: String) -> GroupConfiguration {
            var group = GroupConfiguration(name: name, place: Place(file: "t.conf", line: 1))
            group.mode = .exclusive
            group.commitWindow = .milliseconds(500)
            group.commitsEagerly = false
            return group
        }
        func rule(_ app: String, _ preset: String, _ group: String, strength: Int) -> Rule {
            var conditions = Conditions()
            conditions.apps.any = [NamePattern(app)]
            conditions.presets.any = [NamePattern(preset)]
            return Rule(
                name: group, place: Place(file: "t.conf", line: 1), conditions: conditions, effect: .allow,
                group: group, strength: strength)
        }
        func policy(_ strength: Int) -> Policy {
            Policy(
                groups: [group("g"), group("h")],
                rules: [
                    rule("org.example.A", "shake.axis", "g", strength: 5),
                    rule("org.example.A", "tap", "h", strength: 5),
                    rule("org.example.B", "shake.axis", "g", strength: strength),
                    rule("org.example.C", "tap", "h", strength: 10),
                ])
        }
        let comparison = PolicyComparison(of: try Scenario(parsing: text), from: policy(10), to: policy(0))
        #expect((comparison.hits, comparison.events, comparison.eventsThen) == (4, 2, 2))
        #expect(
            comparison.differences.map { "\($0.was.app.name) \($0.was.detector)" } == [
                "org.example.A one", "org.example.B one",
            ])
    }

    /// A hit is judged by what was the case when it came, whatever the device is like by the time of the decision.
    @Test func whatComesBeforeTheDecisionMakesNoDifference() throws {
        let text = """
            # jostle scenario 1
            0s app org.example.A
            0s detector org.example.A a threshold=1g rest=0s
            1s hit org.example.A a 2g
            1.1s locked yes
            3s end
            """
        var group = GroupConfiguration(name: "g", place: Place(file: "g.conf", line: 1))
        group.mode = .exclusive
        group.commitWindow = .milliseconds(350)
        group.commitsEagerly = false
        var conditions = Conditions()
        conditions.locked = false
        let rule = Rule(
            name: "unlocked", place: Place(file: "g.conf", line: 5), conditions: conditions, effect: .allow, group: "g")
        let policy = Policy(groups: [group], rules: [rule])
        let outcome = ScenarioRunner.run(try Scenario(parsing: text), policy: policy)
        #expect(outcome.verdicts.map(\.reason) == [.sent])
        let past = outcome.verdicts.map { PastVerdict($0, hit: $0.time - .zero, made: .milliseconds(1_350)) }
        let comparison = PolicyComparison(of: past, from: nil, to: policy)
        #expect(comparison.hits == 1 && comparison.differences.isEmpty)
    }

    /// What an app is granted is the policy's to say, and so is what its activities are worth.
    @Test func grantsAreTheNewPolicys() throws {
        let text = """
            # jostle scenario 1
            0s app org.example.A state=background modes=audio
            0s activity org.example.A audio begin
            0s detector org.example.A a threshold=1g rest=0s
            1s hit org.example.A a 2g
            """
        let scenario = try Scenario(parsing: text)
        func policy(_ grants: WordSet<BackgroundMode>) -> Policy {
            var conditions = Conditions()
            conditions.activities.any = .all
            var settings = AppSettings()
            settings.grants = grants
            return Policy(
                rules: [
                    Rule(name: "r", place: Place(file: "f", line: 1), conditions: conditions, effect: .allow)
                ], everyApp: settings)
        }
        let comparison = PolicyComparison(of: scenario, from: policy(.none), to: policy(WordSet([.audio])))
        #expect(comparison.differences.map { Self.words($0.was) } == ["none S2.no-rule 0"])
        #expect(comparison.differences.map { Self.words($0.wouldBe) } == ["event S5.sent 1"])
    }
}
