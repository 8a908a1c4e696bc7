import Motion

/// The detectors that compete in a group: those with a rule that names it.
struct Members: Sendable {
    /// Most promising first once sorted. Behind them is who came since, and who is gone since is still among them.
    private(set) var detectors: [DetectorID] = []
    private var order = Order.sorted
    /// The episode that they were brought up to date for; `nil`: none, or they may be others altogether since.
    private var epoch: UInt64?

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

    /// Some may be gone. Who looks at one of those finds no detector.
    mutating func lose() { self.order = .stale }

    /// They are to be found out anew: any may compete elsewhere.
    mutating func forget() {
        self.order = .stale
        self.epoch = nil
    }

    /// Brings them up to date for an episode, the most promising first. Returns whether any may have another place since.
    ///
    /// Sorting them costs more than looking at each once, so that one episode does it once, whoever comes and goes meanwhile.
    ///
    /// - Parameter group: Its index in the policy.
    mutating func sort(
        for epoch: UInt64, of group: Int, _ select: [SelectKey], _ all: Detectors, _ rules: [Rule]
    ) -> Bool {
        guard self.epoch != epoch else { return false }
        self.epoch = epoch
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
        if self.order == .stale {
            self.detectors = []
            self.epoch = nil
        }
        self.detectors.shrink()
    }
}
