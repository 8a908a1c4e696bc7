package import Motion

/// Who gets the event of a group's episode.
package enum GroupMode: UInt8, Word {
    /// Every candidate, at once.
    case broadcast
    /// The best candidate.
    case exclusive
    /// The best first; each may consume the event or pass it on.
    case ordered
    /// Whoever may be heard beside the others, by class.
    case mixable

    package var name: String {
        switch self {
        case .broadcast: "broadcast"
        case .exclusive: "exclusive"
        case .ordered: "ordered"
        case .mixable: "mixable"
        }
    }

    /// Whether its candidates are decided together, and not each when its hit comes.
    package var compares: Bool {
        switch self {
        case .broadcast, .mixable: false
        case .exclusive, .ordered: true
        }
    }
}

/// What candidates are compared by.
package enum SelectKey: UInt8, Word {
    /// The strength of the rule, plus what the app gained by waiting.
    case strength
    /// The highest threshold that fired.
    case specificity
    /// The strongest motion that was seen.
    case intensity
    /// Foreground before background, and so on.
    case state
    /// Whom the user had to do with last.
    case recent
    /// Who has waited longest since it last won.
    case roundRobin

    package var name: String {
        switch self {
        case .strength: "strength"
        case .specificity: "specificity"
        case .intensity: "intensity"
        case .state: "state"
        case .recent: "recent"
        case .roundRobin: "round-robin"
        }
    }
}

/// How strength grows with waiting: by `step` for each `denials` in a row, up to `limit`.
package struct Aging: Hashable, Sendable {
    package var step: Int
    package var denials: Int
    package var limit: Int

    package init(step: Int, denials: Int, limit: Int) {
        self.step = step
        self.denials = denials
        self.limit = limit
    }

    package func bonus(after count: Int) -> Int {
        guard self.denials > 0 else { return 0 }
        let (product, overflow) = (count / self.denials).multipliedReportingOverflow(by: self.step)
        return overflow ? self.limit : min(product, self.limit)
    }
}

/// A group as policy sets it up.
package struct GroupConfiguration: Hashable, Sendable {
    package var name: String
    package var place: Place
    package var mode = GroupMode.broadcast
    package var select: [SelectKey] = [.strength]
    /// How long after its first hit an episode is decided at the latest, in sample time.
    package var commitWindow = TimeSpan.zero
    /// Decide as soon as waiting cannot change the answer.
    package var commitsEagerly = true
    /// An episode ends when no condition has been true for so long, in sample time.
    package var quiet = TimeSpan.seconds(1)
    /// No new episode for so long after the first event that an app got of one, in sample time.
    package var cooldown = TimeSpan.zero
    /// The winner keeps the group for the lease.
    package var isSticky = false
    /// From the first event of the last motion, or the answer to that, in arrival time; `nil`: as long as the holder lives.
    package var lease: TimeSpan?
    /// By how much strength must exceed the holder's to take the group from it.
    package var hysteresis = 0
    package var ackTimeout = TimeSpan.milliseconds(400)
    package var orderBudget = TimeSpan.milliseconds(1_200)
    package var aging: Aging?

    package init(name: String, place: Place) {
        self.name = name
        self.place = place
    }
}
