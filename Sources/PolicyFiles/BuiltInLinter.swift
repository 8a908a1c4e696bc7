import Arbitration
import Motion

/// Says when files end the built-in policy and put nothing in the place of what it gives every app.
enum BuiltInLinter {
    static func check(_ reading: PolicyReading, _ policy: Policy) -> [Finding] {
        // Who says what holds where no rule does has thought of it.
        guard !reading.standsOnBuiltIn, policy.otherwise == .deny,
            !reading.sections.contains(where: { $0.layer == .system && $0.kind == "Policy" && $0["Default"] != nil })
        else { return [] }
        let anyApp = AppID(RuleIndex.witness(NamePattern("*")))
        let serves = policy.rulesTried(for: anyApp).contains {
            $0.effect == .allow && $0.conditions.states.contains(.foreground)
        }
        guard !serves, let first = reading.sections.first(where: { $0.layer == .system }) else { return [] }
        return [
            Finding(
                .endsBuiltIn, at: first.place,
                "with this file the built-in policy ends, and no rule allows an app that is not named anything, not even "
                    + "in the foreground",
                advice: "allow it with WhenState=foreground, as the built-in policy does, or say [Policy] Default=deny")
        ]
    }
}
