import Arbitration
import Motion
import Testing

/// One reason code for each stage, and the first "no" is the verdict.
@Suite struct StageTests {
    private let broadcast = Policy(groups: [group(.broadcast)], rules: [rule("all")])

    @Test func everybodyIsServedInBroadcast() {
        var lab = Lab(self.broadcast)
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent", "1 deliver B b", "1 B S5.sent"])
        lab.hit(["a"], at: 500)
        #expect(lab.take() == ["1 deliver A a"])
        lab.hit(["a"], at: 1_500)
        #expect(lab.take() == ["2 deliver A a", "2 A S5.sent"])
    }

    /// It had its verdict, and another registration's.
    @Test func whoComesBackIsServedInBroadcast() {
        var lab = Lab(self.broadcast)
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.apps["A"].map { lab.take(.leave($0)) }
        lab.add("A")
        for time: Int64 in [500, 900] { lab.hit(["a"], at: time) }
        #expect(
            lab.take() == ["1 deliver A a", "1 A S5.sent", "2 deliver A a", "2 A S5.sent", "2 deliver A a"])
    }

    @Test func aHitWithoutAGroupCompetesWithNobody() {
        var lab = Lab(Policy(rules: [rule("all", group: nil)]))
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.hit(["a"], at: 10)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent", "2 deliver A a", "2 A S5.sent"])
    }

    @Test func aWeakerProofIsRefusedFirst() {
        var lab = Lab(Policy(otherwise: .deny))
        lab.add("A", AppEntrance(isProvenEnough: false, told: .dead))
        lab.hit(["a"], at: 0)
        #expect(lab.take() == ["1 A S0.mismatch"])
    }

    @Test(arguments: [(AppState.suspended, "S1.suspended"), (.dead, "S1.dead")])
    func whoCannotReceiveIsRefusedUnlessWokenOrStoredFor(_ state: AppState, _ code: String) {
        for (kind, expected) in [
            (DeliveryKind.live, ["1 A \(code)"]), (.wake, ["1 deliver A a wake", "1 A S5.woken"]),
            (.store, ["1 deliver A a store", "1 A S5.stored"]),
        ] {
            var lab = Lab(Policy(rules: [rule("all", group: nil, terms: terms(kind))]))
            lab.add("A", AppEntrance(told: state))
            lab.hit(["a"], at: 0)
            #expect(lab.take() == expected)
        }
        var lab = Lab(Policy(otherwise: .deny))
        lab.add("A", AppEntrance(told: state))
        lab.hit(["a"], at: 0)
        #expect(lab.take() == ["1 A \(code)"])
    }

    @Test func rulesAreTriedByPriorityThenInOrder() {
        let rules = [
            rule("first", line: 1, .deny, group: nil) { $0.apps.any = [NamePattern("B")] },
            rule("second", line: 2), rule("third", line: 3, .deny),
            rule("high", line: 4, priority: 5, .deny) { $0.apps.any = [NamePattern("C*")] },
        ]
        var lab = Lab(Policy(groups: [group(.broadcast)], rules: rules))
        for name in ["A", "B", "CC"] { lab.add(name) }
        lab.hit(["a", "b", "cc"], at: 0)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent", "2 B S2.denied", "3 CC S2.denied"])
        #expect(lab.verdicts.map { $0.rule?.name } == ["second", "first", "high"])
    }

    @Test func theDefaultDecidesWhereNoRuleDoes() {
        var deny = Lab(Policy(otherwise: .deny))
        deny.add("A")
        deny.hit(["a"], at: 0)
        #expect(deny.take() == ["1 A S2.no-rule"])
        var allow = Lab(Policy(otherwise: .allow))
        allow.add("A")
        allow.hit(["a"], at: 0)
        #expect(allow.take() == ["1 deliver A a", "1 A S5.sent"])
    }

    @Test func refusalsAlikeAreOneMotion() {
        var lab = Lab(Policy(otherwise: .deny))
        lab.add("A")
        for time: Int64 in [0, 600, 1_200, 2_200] { lab.hit(["a"], at: time) }
        #expect(lab.take() == ["1 A S2.no-rule", "1 again A S2.no-rule", "1 again A S2.no-rule", "2 A S2.no-rule"])
    }

    @Test func quotaIsABucketThatFills() {
        var settings = AppSettings()
        settings.quota = Quota(count: 60, period: .seconds(60), burst: 2)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], everyApp: settings))
        lab.add("A")
        for time: Int64 in [0, 10, 20, 999, 1_000, 1_001] { lab.hit(["a"], at: time) }
        #expect(
            lab.take() == [
                "1 deliver A a", "1 A S5.sent", "2 deliver A a", "2 A S5.sent", "3 A S3.quota", "3 again A S3.quota",
                "4 deliver A a", "4 A S5.sent", "5 A S3.quota",
            ])
        #expect(lab.verdicts[2].limits == LimitsSeen(tokens: 0, burst: 2, until: ms(1_000)))
    }

    @Test func quotaIsSpentByThoseWhoGetTheEventOnly() {
        var settings = AppSettings()
        settings.quota = Quota(count: 1, period: .seconds(60), burst: 1)
        let configuration = group(.exclusive) { $0.commitWindow = .milliseconds(100) }
        var lab = Lab(
            Policy(
                groups: [configuration], rules: [rule(for: "A", strength: 2), rule(for: "B", strength: 1)],
                everyApp: settings))
        lab.add("A")
        lab.add("B")
        lab.hit(["a", "b"], at: 0)
        #expect(lab.take() == ["1 deliver A a", "1 A S5.sent", "1 B S4.outranked"])
        lab.hit(["a", "b"], at: 2_000)
        #expect(lab.take() == ["2 A S3.quota", "3 deliver B b", "3 B S5.sent"])
    }

    /// Between a hit and what its group decides the app has what it may get for it: others of its hits find the quota so.
    @Test func whatWaitsForADecisionIsOfTheQuota() {
        var settings = AppSettings()
        settings.quota = Quota(count: 1, period: .seconds(60), burst: 1)
        let configuration = group(.exclusive) {
            $0.commitWindow = .milliseconds(100)
            $0.commitsEagerly = false
        }
        let alone = rule("alone", priority: 1, group: nil) { $0.presets.any = [NamePattern("tilt")] }
        func said(strength: Int) -> [String] {
            var lab = Lab(
                Policy(
                    groups: [configuration],
                    rules: [alone, rule(for: "A", strength: strength), rule(for: "B", strength: 1)],
                    apps: [AppID("A"): settings]))
            lab.add("A")
            lab.addDetector("a-tilt", to: "A", preset: "tilt")
            lab.add("B")
            lab.hit(["a", "b"], at: 0)
            lab.hit(["a-tilt"], at: 50)
            lab.pass(to: 100)
            lab.hit(["a-tilt"], at: 2_000)
            return lab.take()
        }
        #expect(
            said(strength: 2) == [
                "2 A S3.quota", "1 deliver A a", "1 A S5.sent", "1 B S4.outranked", "3 A S3.quota",
            ])
        // What it did not get is there again.
        #expect(
            said(strength: 0) == [
                "2 A S3.quota", "1 deliver B b", "1 A S4.outranked", "1 B S5.sent", "3 deliver A a-tilt", "3 A S5.sent",
            ])
    }

    /// Who would have the event of an owner that died, and has used up what it is given meanwhile, does not have it.
    @Test func anHeirMustHaveSomethingLeft() {
        var settings = AppSettings()
        settings.quota = Quota(count: 1, period: .seconds(60), burst: 1)
        let configuration = group(.exclusive) { $0.commitWindow = .milliseconds(100) }
        let alone = rule("alone", priority: 1, group: nil) { $0.presets.any = [NamePattern("tilt")] }
        var lab = Lab(
            Policy(
                groups: [configuration],
                rules: [alone, rule(for: "A", strength: 2), rule(for: "B", strength: 1), rule(for: "C")],
                apps: [AppID("B"): settings]))
        for app in ["A", "B", "C"] { lab.add(app) }
        lab.addDetector("b-tilt", to: "B", preset: "tilt")
        lab.hit(["a", "b", "c"], at: 0)
        lab.hit(["b-tilt"], at: 10)
        lab.tell("A", .dead)
        #expect(
            lab.take() == [
                "1 deliver A a", "1 A S5.sent", "1 B S4.outranked", "1 C S4.outranked", "2 deliver B b-tilt",
                "2 B S5.sent", "3 deliver C c", "3 C S5.sent",
            ])
    }

    @Test func leavingAndComingBackGainsNoQuota() {
        var settings = AppSettings()
        settings.quota = Quota(count: 1, period: .seconds(60), burst: 1)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], everyApp: settings))
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.perform { $0.take(.leave(AppHandle(0)), at: ms(10), into: &$1) }
        lab.perform { $0.take(.app(AppHandle(0), AppID("A"), AppEntrance()), at: ms(10), into: &$1) }
        lab.addDetector("a", to: "A")
        lab.hit(["a"], at: 20)
        lab.hit(["a"], at: 60_000)
        #expect(
            lab.take() == ["1 deliver A a", "1 A S5.sent", "2 A S3.quota", "3 deliver A a", "3 A S5.sent"])
    }

    @Test func cooldownOfAnApp() {
        var settings = AppSettings()
        settings.cooldown = .seconds(2)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], apps: [AppID("A"): settings]))
        lab.add("A")
        lab.add("B")
        for time: Int64 in [0, 1_999, 2_000] { lab.hit(["a", "b"], at: time) }
        #expect(
            lab.take().filter { !$0.contains("deliver") } == [
                "1 A S5.sent", "2 B S5.sent", "3 A S3.app-cooldown", "4 B S5.sent", "5 A S5.sent", "6 B S5.sent",
            ])
    }

    /// What waits for a group's decision, or for its turn in an order, counts as if the app had had it.
    @Test(arguments: [GroupMode.exclusive, .ordered])
    func cooldownCountsWhatWaits(_ mode: GroupMode) {
        var settings = AppSettings()
        settings.cooldown = .seconds(2)
        let free = rule("free", line: 1, priority: 1, group: nil) { $0.presets.any = [NamePattern("tilt")] }
        let waiting = group(mode) {
            $0.commitWindow = .milliseconds(350)
            $0.commitsEagerly = false
            $0.ackTimeout = .milliseconds(200)
        }
        var lab = Lab(
            Policy(groups: [waiting], rules: [free, rule("all")], apps: [AppID("A"): settings, AppID("B"): settings]))
        lab.add("B")
        lab.add("A")
        lab.addDetector("a.tilt", to: "A", preset: "tilt")
        lab.addDetector("b.tilt", to: "B", preset: "tilt")
        lab.hit(["b"], at: 0)
        lab.hit(["a", "b.tilt"], at: 100)
        lab.hit(["a.tilt"], at: 400)
        lab.pass(to: 1_000)
        lab.hit(["a.tilt"], at: 2_500)
        let heard = lab.deliveries.filter { $0.id.name == "A" }.map(\.hit.time)
        #expect(heard == (mode == .ordered ? [ms(100), ms(2_500)] : [ms(400), ms(2_500)]), "\(lab.said)")
        #expect(lab.said.contains("2 B S3.app-cooldown"), "\(lab.said)")
    }

    /// Another user's app of the same name is another app.
    @Test func whatAnAppUsedUpIsNotAnotherUsers() {
        var settings = AppSettings()
        settings.quota = Quota(count: 1, period: .seconds(60), burst: 1)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], everyApp: settings))
        for (index, user) in [UInt32(7), 8, 7].enumerated() {
            lab.add("A", AppEntrance(user: user))
            lab.hit(["a"], at: 1_000 * Int64(index))
            lab.apps["A"].map { lab.take(.leave($0)) }
        }
        #expect(
            lab.take() == [
                "1 deliver A a", "1 A S5.sent", "2 deliver A a", "2 A S5.sent", "3 A S3.quota",
            ])
    }

    /// Also one that is never gone, because its app file stays.
    @Test func whatAnAppUsedUpStaysWhenItPassesToAnotherUser() {
        var settings = AppSettings()
        settings.quota = Quota(count: 1, period: .seconds(60), burst: 1)
        var lab = Lab(Policy(rules: [rule("all", group: nil)], everyApp: settings))
        lab.add("A", AppEntrance(user: 7))
        for (index, user) in [UInt32(7), 8, 7].enumerated() {
            lab.apps["A"].map { lab.take(.back($0, AppEntrance(user: user))) }
            lab.hit(["a"], at: 1_000 * Int64(index))
            lab.apps["A"].map { lab.take(.away($0)) }
        }
        #expect(
            lab.take() == [
                "1 deliver A a", "1 A S5.sent", "2 deliver A a", "2 A S5.sent", "3 A S3.quota",
            ])
    }

    /// Nor is another's how long it has waited, and that it was just used.
    @Test(arguments: [SelectKey.roundRobin, .recent], [7, 8] as [UInt32])
    func howAnAppFaredIsNotAnotherUsers(_ key: SelectKey, _ user: UInt32) throws {
        let chosen = group(.exclusive) {
            $0.select = [key]
            $0.commitWindow = .zero
        }
        var lab = Lab(Policy(groups: [chosen], rules: [rule("all")]))
        lab.add("B", AppEntrance(told: .background))
        lab.now = 10
        lab.add("A", AppEntrance(user: 7))
        lab.hit(["a"], at: 100)
        lab.hit(["b"], at: 2_000)
        lab.pass(to: 4_000)
        let app = try #require(lab.apps["A"])
        lab.take(.away(app))
        lab.take(.back(app, AppEntrance(told: .background, user: user)))
        lab.hit(["a", "b"], at: 4_000)
        #expect(lab.deliveries.map(\.id.name) == ["A", "B", user == 7 ? "A" : "B"])
    }

    @Test func cooldownOfAGroupHoldsBetweenEpisodesNotWithinOne() {
        var lab = Lab(Policy(groups: [group(.broadcast) { $0.cooldown = .seconds(3) }], rules: [rule("all")]))
        lab.add("A")
        lab.add("B")
        lab.hit(["a"], at: 0)
        lab.hit(["b"], at: 100)
        lab.hit(["a"], at: 2_000)
        lab.hit(["b"], at: 3_100)
        #expect(
            lab.take() == [
                "1 deliver A a", "1 A S5.sent", "1 deliver B b", "1 B S5.sent", "2 A S3.group-cooldown",
                "3 deliver B b", "3 B S5.sent",
            ])
    }

    /// What comes late, and is older, does not end it sooner.
    @Test func cooldownOfAGroupGoesByItsNewestEvent() {
        var lab = Lab(Policy(groups: [group(.broadcast) { $0.cooldown = .seconds(3) }], rules: [rule("all")]))
        lab.add("A")
        lab.add("B")
        lab.hit(["a"], at: 1_000)
        lab.hit(["b"], at: 400)
        lab.hit(["a"], at: 3_600)
        #expect(
            lab.take() == [
                "1 deliver A a", "1 A S5.sent", "1 deliver B b", "1 B S5.sent", "2 A S3.group-cooldown",
            ])
    }

    @Test func wakesHaveAQuotaOfTheirOwn() {
        var settings = AppSettings()
        settings.wakeQuota = Quota(count: 1, period: .seconds(3_600), burst: 1)
        var lab = Lab(Policy(rules: [rule("all", group: nil, terms: terms(.wake))], everyApp: settings))
        lab.add("A", AppEntrance(told: .dead))
        lab.hit(["a"], at: 0)
        lab.hit(["a"], at: 2_000)
        lab.tell("A", .foreground)
        lab.hit(["a"], at: 4_000)
        #expect(
            lab.take() == [
                "1 deliver A a wake", "1 A S5.woken", "2 A S3.wake-quota", "3 deliver A a", "3 A S5.sent",
            ])
    }

    @Test func aNewPolicyIsNamedByWhatItDecides() {
        var lab = Lab(Policy(otherwise: .deny))
        lab.add("A")
        lab.hit(["a"], at: 0)
        lab.perform { $0.take(.policy(Policy(otherwise: .allow)), at: ms(100), into: &$1) }
        lab.hit(["a"], at: 2_000)
        #expect(lab.verdicts.map(\.generation) == [1, 2])
        #expect(lab.deliveries.map(\.generation) == [2])
    }
}
