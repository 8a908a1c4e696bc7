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
}
