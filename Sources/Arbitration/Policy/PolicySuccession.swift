import Motion

/// A policy that is to come into force, and what it says to the detectors there are: looked up a little at a time, while the
/// old one decides, so that the change itself is short.
package struct PolicySuccession: Sendable {
    package let policy: Policy
    /// By the index of the detector; its order tells whether it is still the same one.
    private var all: [Found?] = []

    private struct Found {
        var order: UInt64
        var rules: [Int32]
        var groups: [Int32]
    }

    /// So many rules are looked at in a step, or those for one detector.
    private static let work = 2_048

    package init(_ policy: Policy) { self.policy = policy }

    /// Looks on; false when all detectors are through. Those that come later are looked up when the policy is in force.
    package mutating func step(_ arbiter: Arbiter) -> Bool {
        let (detectors, apps) = (arbiter.contests.detectors, arbiter.apps)
        var left = Self.work
        while left > 0, self.all.count < detectors.count {
            left -= 1
            let next = DetectorID(UInt32(truncatingIfNeeded: self.all.count))
            guard let detector = detectors[next], let app = apps[detector.app] else {
                self.all.append(nil)
                continue
            }
            left -= self.policy.cost(for: app.id)
            var (rules, groups) = self.policy.rulesAndGroups(for: app.id, detector.facts)
            // Most apps have the same rules: one list for all of them.
            if let neighbour = self.all.last, let neighbour {
                if neighbour.rules == rules { rules = neighbour.rules }
                if neighbour.groups == groups { groups = neighbour.groups }
            }
            self.all.append(Found(order: detector.order, rules: rules, groups: groups))
        }
        return self.all.count < detectors.count
    }

    /// What it says to a detector; `nil` when that came later.
    func found(_ detector: DetectorEntry, _ index: Int) -> (rules: [Int32], groups: [Int32])? {
        guard index < self.all.count, let found = self.all[index], found.order == detector.order else { return nil }
        return (found.rules, found.groups)
    }
}
