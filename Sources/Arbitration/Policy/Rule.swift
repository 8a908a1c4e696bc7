package import Motion

/// Where something stands in a policy file. Lines and columns count from 1; columns count bytes.
package struct Place: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var file: String
    package var line: Int
    package var column: Int

    package init(file: String, line: Int, column: Int = 1) {
        self.file = file
        self.line = line
        self.column = column
    }

    package var description: String { "\(self.file):\(self.line):\(self.column)" }
    /// As explanations name a rule: the column would say nothing.
    package var lineDescription: String { "\(self.file):\(self.line)" }

    package static func < (a: Place, b: Place) -> Bool { (a.file, a.line, a.column) < (b.file, b.line, b.column) }
}

/// What a rule, or the policy's default, says.
package enum Effect: UInt8, Word {
    case allow, deny

    package var name: String { self == .allow ? "allow" : "deny" }
}

/// How far an event is carried.
package enum DeliveryKind: UInt8, Word {
    /// To an app that runs.
    case live
    /// Kept for an app that does not, until it does.
    case store
    /// To an app that is started or resumed for it.
    case wake

    package var name: String {
        switch self {
        case .live: "live"
        case .store: "store"
        case .wake: "wake"
        }
    }
}

package enum Reliability: UInt8, Word {
    case bestEffort, ack

    package var name: String { self == .ack ? "ack" : "best-effort" }
}

package enum Durability: UInt8, Word {
    case volatile, persistent

    package var name: String { self == .volatile ? "volatile" : "persistent" }
}

/// What a rule gives to the events it allows.
package struct DeliveryTerms: Equatable, Sendable {
    package var kind = DeliveryKind.live
    package var reliability = Reliability.bestEffort
    package var durability = Durability.volatile
    /// An event that could not be delivered for so long is given up.
    package var lifespan = TimeSpan.seconds(3)

    package init() {}

    /// Whether an app in this state can be served on these terms.
    package func reach(_ state: AppState) -> Bool { state.canReceive || self.kind != .live }
}

/// One rule of a policy.
///
/// Immutable, so that sharing one is as good as copying it: candidates and verdicts keep the rule that decided, and a
/// new policy does not change what they hold.
package final class Rule: Sendable {
    package let name: String
    package let place: Place
    package let priority: Int
    package let conditions: Conditions
    package let effect: Effect
    /// What to tell people; from `Reason=`.
    package let note: String
    package let group: String?
    package let strength: Int
    /// In a mixable group: what an app stands for that has no session.
    package let sessionClass: String?
    package let terms: DeliveryTerms

    package init(
        name: String, place: Place, priority: Int = 0, conditions: Conditions = Conditions(), effect: Effect,
        note: String = "", group: String? = nil, strength: Int = 0, sessionClass: String? = nil,
        terms: DeliveryTerms = DeliveryTerms()
    ) {
        self.name = name
        self.place = place
        self.priority = priority
        self.conditions = conditions
        self.effect = effect
        self.note = note
        self.group = group
        self.strength = strength
        self.sessionClass = sessionClass
        self.terms = terms
    }
}

extension Rule: Equatable {
    package static func == (a: Rule, b: Rule) -> Bool {
        a === b || (a.place == b.place && a.says(sameAs: b))
    }

    /// Whether both say the same, wherever they stand.
    package func says(sameAs other: Rule) -> Bool {
        self.name == other.name && self.priority == other.priority && self.conditions == other.conditions
            && self.effect == other.effect && self.note == other.note && self.group == other.group
            && self.strength == other.strength && self.sessionClass == other.sessionClass
            && self.terms == other.terms
    }
}
