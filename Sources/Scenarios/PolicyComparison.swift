package import Arbitration
package import Motion

/// What would have become of hits under another policy.
package struct PolicyComparison: Sendable {
    /// A hit that would have ended otherwise.
    package struct Difference: Sendable {
        package var was: HitFate
        package var wouldBe: HitFate
        /// The verdict that the hit comes from, if it is known by that alone.
        package var past: PastVerdict?
    }

    package private(set) var hits = 0
    /// Hits that made an event.
    package private(set) var events = 0
    package private(set) var eventsThen = 0
    package private(set) var differences: [Difference] = []

    /// Runs a scenario twice.
    ///
    /// - Parameters:
    ///   - old: What it was decided by; `nil`: what a recording says itself.
    ///   - new: What it would be decided by.
    ///   - read: Reads the policies that a recording holds.
    ///   - onStep: Is told how far each run is.
    package init(
        of scenario: Scenario, from old: Policy?, to new: Policy,
        read: @escaping ScenarioRunner.PolicyReading = { _ in nil }, onStep: ScenarioRunner.Watching? = nil
    ) {
        // Where a policy is given, those that a recording says came later do not come.
        let before = ScenarioRunner.run(
            scenario, policy: old, read: { files in old == nil ? read(files) : nil }, onStep: onStep)
        let after = ScenarioRunner.run(scenario, policy: new, onStep: onStep)
        for (was, wouldBe) in zip(before.fates, after.fates) {
            self.add(Difference(was: was, wouldBe: wouldBe), isLike: was.isLike(wouldBe))
        }
    }

    /// Runs again what led to verdicts.
    ///
    /// - Parameters:
    ///   - old: What to compare with; `nil`: the verdicts as they were made.
    ///   - new: What it would be decided by.
    ///   - start: Hits before this time are run, but not told of.
    ///   - onStep: Is told how far each run is.
    package init(
        of past: [PastVerdict], from old: Policy?, to new: Policy, since start: TimeSpan = .zero,
        onStep: ScenarioRunner.Watching? = nil
    ) {
        let (scenario, hits) = Scenario.leading(to: past)
        let before =
            old.map { ScenarioRunner.run(scenario, policy: $0, onStep: onStep).fates } ?? hits.map { HitFate($0) }
        let after = ScenarioRunner.run(scenario, policy: new, onStep: onStep)
        for ((was, wouldBe), one) in zip(zip(before, after.fates), hits) where one.hit >= start {
            // What became of an event that went out is up to its app, and not told by all verdicts.
            let isSent = old == nil && was.isDelivered && wouldBe.isDelivered
            self.add(Difference(was: was, wouldBe: wouldBe, past: one), isLike: isSent || was.isLike(wouldBe))
        }
    }

    private mutating func add(_ difference: Difference, isLike: Bool) {
        self.hits += 1
        if difference.was.isDelivered { self.events += 1 }
        if difference.wouldBe.isDelivered { self.eventsThen += 1 }
        if !isLike { self.differences.append(difference) }
    }
}
