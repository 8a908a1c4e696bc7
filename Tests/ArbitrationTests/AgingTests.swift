import Arbitration
import Motion
import Testing
import Randomness

/// With aging nobody waits for ever in an exclusive group that selects by strength.
///
/// An app that keeps firing is denied at most k * ceil((Smax - Smin + 1) / a) + n - 1 times in a row, if the limit is as
/// docs/policy.md says.
@Suite struct AgingTests {
    private struct Case {
        var strengths: [Int]
        var aging: Aging
        var bound: Int

        init(_ generator: inout SeededRandom) {
            let count = Int.random(in: 2...12, using: &generator)
            self.strengths = (0..<count).map { _ in Int.random(in: 0...20, using: &generator) }
            let spread = (self.strengths.max() ?? 0) - (self.strengths.min() ?? 0)
            let step = Int.random(in: 1...6, using: &generator)
            let denials = Int.random(in: 1...4, using: &generator)
            let steps = (spread + 1 + step - 1) / step
            self.bound = denials * steps + count - 1
            let limit = steps * step + step * ((count + denials - 1) / denials)
            self.aging = Aging(step: step, denials: denials, limit: limit)
        }
    }

    /// 3 000 groups when all seeds are played. In every other one the rivals of the app that keeps firing come and go.
    @Test(arguments: someSeeds(1...20)) func waitingIsBounded(_ batch: UInt64) {
        print("Aging seed \(batch)")
        var generator = SeededRandom(seed: batch)
        var worst = 0.0
        for index in 0..<150 {
            let group = Case(&generator)
            let presence = index.isMultiple(of: 2) ? 1 : Double.random(in: 0.2...0.9, using: &generator)
            let wait = Self.longestWait(group.strengths, group.aging, group.bound * 2 + 10, presence, &generator)
            #expect(wait <= group.bound, "batch \(batch), group \(index)")
            worst = max(worst, Double(wait) / Double(group.bound))
        }
        // The formula is no wild guess either.
        #expect(worst > 0.8)
    }

    /// Without aging the weakest waits for as long as the others fire.
    @Test func withoutAgingThereIsNoBound() {
        var generator = SeededRandom(seed: 4_242)
        let rounds = 300
        #expect(Self.longestWait([3, 2, 1], nil, rounds, 1, &generator) == rounds)
    }

    /// The longest row of denials of an app that always fires: of any, if all do; otherwise of the weakest.
    private static func longestWait(
        _ strengths: [Int], _ aging: Aging?, _ episodes: Int, _ presence: Double, _ generator: inout SeededRandom
    ) -> Int {
        var configuration = group(.exclusive)
        configuration.aging = aging
        let names = strengths.indices.map { "app\($0)" }
        let weakest = strengths.indices.min { strengths[$0] < strengths[$1] }.map { names[$0] }
        var lab = Lab(
            Policy(groups: [configuration], rules: zip(names, strengths).map { rule(for: $0, strength: $1) }))
        for name in names { lab.add(name) }
        var waits: [String: Int] = [:]
        var longest = 0
        for episode in 0..<episodes {
            let firing = names.filter {
                presence == 1 || $0 == weakest || Double.random(in: 0..<1, using: &generator) < presence
            }
            lab.hit(firing, at: Int64(episode) * 2_000)
            let winner = lab.deliveries.last?.id.name
            for name in presence == 1 ? names : [weakest ?? ""] {
                waits[name] = name == winner ? 0 : (waits[name] ?? 0) + 1
                longest = max(longest, waits[name] ?? 0)
            }
        }
        return longest
    }
}
