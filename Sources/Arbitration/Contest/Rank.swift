package import Motion

/// What a candidate is compared by.
package struct Rank: Equatable, Sendable {
    /// The rule's strength.
    package var strength: Int
    /// What waiting added to it.
    package var bonus: Int
    /// The highest threshold that fired; minus infinity when none of its detectors has one.
    package var specificity: Double
    package var intensity: Double
    package var state: AppState
    package var lastUsed: Timestamp
    /// The epoch the app won last in this group; 0: never.
    package var lastWin: UInt64
    /// When the app registered, as a number that no two apps share.
    package var order: UInt64

    package var effectiveStrength: Int {
        let (sum, overflow) = self.strength.addingReportingOverflow(self.bonus)
        return overflow ? (self.bonus < 0 ? .min : .max) : sum
    }

    /// What a comparison was decided by.
    package enum Key: Hashable, Sendable {
        case selected(SelectKey)
        /// The first wins as the holder of a sticky group.
        case holder
        /// All else is equal: whoever registered first.
        case registration

        package var name: String {
            switch self {
            case .selected(let key): key.name
            case .holder: "holder"
            case .registration: "registration"
            }
        }
    }

    /// Whether this one ranks higher than `other`, and by which key. Never undecided for two apps.
    package func outranks(_ other: Rank, by select: [SelectKey]) -> (outranks: Bool, key: Key) {
        for key in select {
            let isHigher: Bool
            switch key {
            case .strength:
                if self.effectiveStrength == other.effectiveStrength { continue }
                isHigher = self.effectiveStrength > other.effectiveStrength
            case .specificity:
                if self.specificity == other.specificity { continue }
                isHigher = self.specificity > other.specificity
            case .intensity:
                if self.intensity == other.intensity { continue }
                isHigher = self.intensity > other.intensity
            case .state:
                if self.state == other.state { continue }
                isHigher = self.state.rawValue < other.state.rawValue
            case .recent:
                if self.lastUsed == other.lastUsed { continue }
                isHigher = self.lastUsed > other.lastUsed
            case .roundRobin:
                if self.lastWin == other.lastWin { continue }
                isHigher = self.lastWin < other.lastWin
            }
            return (isHigher, .selected(key))
        }
        return (self.order < other.order, .registration)
    }

    /// What put this one before another: the first key that says so, or its hold on a sticky group.
    func key(over other: Rank, _ select: [SelectKey]) -> Key {
        let (outranks, key) = self.outranks(other, by: select)
        if outranks { return key }
        return self.effectiveStrength > other.effectiveStrength ? .selected(.strength) : .holder
    }
}
