import Motion

/// The detectors that compete in a group: those with a rule that names it.
struct Members: Sendable {
    /// Most promising first once sorted.
    private(set) var detectors: [DetectorID] = []
    private var order = Order.sorted

    private enum Order: Sendable {
        case sorted
        /// Some were added behind.
        case unsorted
        /// Some are gone.
        case stale
    }

    mutating func add(_ member: DetectorID) {
        self.detectors.append(member)
        if self.order == .sorted { self.order = .unsorted }
    }

    /// They are to be found out anew: some may be gone.
    mutating func lose() { self.order = .stale }

    /// Brings them up to date, the most promising first. Returns whether they were not.
    ///
    /// - Parameter group: Its index in the policy.
    mutating func sort(of group: Int, _ select: [SelectKey], _ all: Detectors, _ rules: [Rule]) -> Bool {
        switch self.order {
        case .sorted: return false
        case .unsorted: break
        case .stale: self.detectors = all.members(of: group)
        }
        let promise = self.detectors.map { member in
            let detector = all[member]
            let strengths = (detector?.rules ?? []).map { rules[Int($0)].strength }
            return (strength: strengths.max() ?? .min, threshold: detector?.facts.threshold ?? -.infinity, member)
        }
        let isStrengthFirst = select.first == .strength
        self.detectors = promise.sorted { a, b in
            if isStrengthFirst, a.strength != b.strength { return a.strength > b.strength }
            if a.threshold != b.threshold { return a.threshold > b.threshold }
            return a.2 < b.2
        }.map { $0.2 }
        self.order = .sorted
        return true
    }

    mutating func shrink() {
        if self.order == .stale { self.detectors = [] }
        self.detectors.shrink()
    }
}
