package import Arbitration
import Motion

/// What would have become of the hits of a scenario under another policy.
package struct PolicyComparison: Sendable {
    /// A hit that would have ended otherwise.
    package struct Difference: Sendable {
        package var was: HitFate
        package var wouldBe: HitFate
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
    package init(
        of scenario: Scenario, from old: Policy?, to new: Policy,
        read: @escaping ScenarioRunner.PolicyReading = { _ in nil }
    ) {
        // Where a policy is given, those that a recording says came later do not come.
        let before = ScenarioRunner.run(scenario, policy: old) { files in old == nil ? read(files) : nil }
        let after = ScenarioRunner.run(scenario, policy: new)
        for (was, wouldBe) in zip(before.fates, after.fates) {
            self.hits += 1
            if was.isDelivered { self.events += 1 }
            if wouldBe.isDelivered { self.eventsThen += 1 }
            if !was.isLike(wouldBe) { self.differences.append(Difference(was: was, wouldBe: wouldBe)) }
        }
    }
}
