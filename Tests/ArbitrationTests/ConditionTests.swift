import Arbitration
import Motion
import Testing

@Suite struct ConditionTests {
    @Test(arguments: [
        ("*", "", true), ("*", "abc", true), ("abc", "abc", true), ("abc", "ab", false), ("a*c", "ac", true),
        ("a*c", "abbc", true), ("a*c", "abcd", false), ("*.Music", "org.example.Music", true),
        ("org.*.Music", "org.example.Musical", false), ("a*b*c", "a1b2b3c", true), ("a**c", "abc", true),
        ("", "", true), ("", "a", false), ("*a*a*", "ba", false),
    ])
    func patterns(_ pattern: String, _ name: String, _ matches: Bool) {
        #expect(NamePattern(pattern).matches(name) == matches)
    }

    @Test func aPatternOfManyStarsTakesNoLongTime() {
        let pattern = NamePattern(String(repeating: "a*", count: 64) + "b")
        #expect(!pattern.matches(String(repeating: "a", count: 4_096)))
    }

    @Test func aListTakesAnyAndExcepts() {
        let list = NameList(any: [NamePattern("org.*")], except: [NamePattern("org.bad")])
        #expect(list.matches("org.good"))
        #expect(!list.matches("org.bad"))
        #expect(!list.matches("com.good"))
        #expect(NameList(except: [NamePattern("a")]).matches("b"))
        #expect(NameList().matches(""))
    }

    @Test func anActivityCountsOnlyWithItsGrant() {
        var conditions = Conditions()
        conditions.activities.any = .all
        var facts = AppFacts(activities: WordSet([.audio]))
        #expect(conditions.unmet(facts, DeviceFacts()) == .activity)
        facts.grants = WordSet([.audio])
        #expect(conditions.unmet(facts, DeviceFacts()).isEmpty)
    }

    @Test func everyUnmetConditionIsNamed() {
        var conditions = Conditions()
        conditions.states = WordSet([.background])
        conditions.locked = true
        conditions.grants = ModeCondition(any: WordSet([.voip]))
        conditions.assertion = true
        conditions.proofs = WordSet([.unit, .flatpak])
        conditions.times = RangeSet(60..<120)
        conditions.power = PowerCondition(ac: false, charges: RangeSet(0..<0.2), unknownCharge: false)
        let unmet = conditions.unmet(AppFacts(), DeviceFacts())
        #expect(
            unmet.names == [
                "WhenState", "WhenLocked", "WhenGrant", "WhenAssertion", "WhenIdentity", "WhenTime", "WhenPower",
            ])
    }

    @Test(arguments: [(Power.ac, false), (.battery(nil), false), (.battery(0.1), true), (.battery(0.2), false)])
    func charge(_ power: Power, _ holds: Bool) {
        let low = PowerCondition(ac: false, charges: RangeSet(0..<0.2), unknownCharge: false)
        #expect(low.holds(for: power) == holds)
    }

    @Test func intensityOfAnotherDimensionNeverHolds() {
        let strong = IntensityCondition(dimension: .acceleration, ranges: RangeSet(2.5..<Double.infinity))
        #expect(strong.holds(for: 3, .acceleration))
        #expect(!strong.holds(for: 3, .angularVelocity))
        #expect(!strong.holds(for: .nan, .acceleration))
    }

    @Test func theSlowerRateWithTheSmallerBurstIsWithinBoth() {
        let perMinute = Quota(count: 30, period: .seconds(60), burst: 30)
        let perHour = Quota(count: 60, period: .seconds(3_600), burst: 60)
        #expect(perMinute.tightened(to: perHour) == Quota(count: 60, period: .seconds(3_600), burst: 30))
        #expect(perMinute.tightened(to: Quota(count: 1, period: .seconds(1), burst: 5)).burst == 5)
        let quotas = [
            perMinute, perHour, Quota(count: 1, period: .seconds(2), burst: 5),
            Quota(count: 7, period: .seconds(1), burst: 1), Quota(count: 1_000_000, period: .milliseconds(1), burst: 9),
        ]
        for one in quotas {
            #expect(one.tightened(to: one) == one)
            for other in quotas {
                let tight = one.tightened(to: other)
                var (own, others, tights) = (TokenBucket(), TokenBucket(), TokenBucket())
                for step in 0..<400 {
                    let now = Timestamp(microseconds: Int64(step) * 300_000)
                    guard tights.tokens(of: tight, at: now) > 0 else { continue }
                    #expect(own.tokens(of: one, at: now) > 0 && others.tokens(of: other, at: now) > 0)
                    own.spend(one, at: now)
                    others.spend(other, at: now)
                    tights.spend(tight, at: now)
                }
            }
        }
    }
}
