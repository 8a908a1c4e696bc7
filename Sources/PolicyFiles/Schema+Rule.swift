import Arbitration
import Motion

extension Schema {
    static let rule: [Key<RuleDraft>] = [
        Key(
            "Priority", .number, "0", "Rules of higher priority are tried first, then those that stand first.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.priority = try Values.number(words, -Limits.priority...Limits.priority)
        },
        Key(names: "WhenApp", of: .app, "App ids.") { $0.conditions.apps = $1 },
        Key(
            names: "WhenPreset", of: .preset,
            "Presets. A detector with a condition of its own has none, which only * matches."
        ) { $0.conditions.presets = $1 },
        Key(
            "WhenState", .words, "", "The app's state: foreground, inactive, background, suspended, dead.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.conditions.states = try Values.set(words, "state")
        },
        Key("WhenLocked", .flag, "", "Whether the screen is locked.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.conditions.locked = try Values.flag(words)
        },
        Key("WhenGrant", .words, "", "Modes the app is granted, one of them.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.conditions.grants = try Values.modes(words)
        },
        Key("WhenActivity", .words, "", "Modes the app is granted and at work in, one of them.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.conditions.activities = try Values.modes(words)
        },
        Key("WhenAssertion", .flag, "", "Whether the app holds an assertion.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.conditions.assertion = try Values.flag(words)
        },
        Key(
            "WhenIdentity", .words, "", "How the app is proven to be what it says: flatpak, unit, name, uid.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.conditions.proofs = try Values.set(words, "proof")
        },
        Key("WhenIntensity", .ranges, "", "How strong the motion was: '>=2.5g', '<1g', '2g..3g'.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.conditions.intensity = try Values.intensity(words)
        },
        Key(
            "WhenTime", .hours, "", "Local time: '22:00-06:00', 'Mon..Fri/08:00-18:00', 'Sat,Sun/00:00-24:00'.",
            isForUsers: true
        ) { (target, words) throws(ValueProblem) in
            target.conditions.times = try Values.times(words)
        },
        Key("WhenPower", .power, "", "What the device runs on: ac, battery, 'battery<20%'.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.conditions.power = try Values.power(words)
        },
        Key("Then", .word, "", "allow or deny. Every rule has it.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.effect = try Values.word(words, "effect")
        },
        Key("Reason", .text, "", "What people are told when the rule decides.", isForUsers: true) {
            (target, words) throws(ValueProblem) in
            target.note = try Values.text(words)
        },
        Key("Group", .name, "", "The group in which the app competes. Without it the app competes with nobody.") {
            (target, words) throws(ValueProblem) in
            target.group = try Values.name(words)
        },
        Key("Strength", .number, "0", "How the app stands in its group.") { (target, words) throws(ValueProblem) in
            target.strength = try Values.number(words, -Limits.strength...Limits.strength)
        },
        Key("Class", .name, "", "In a mixable group: the class that an app stands for that has no session.") {
            (target, words) throws(ValueProblem) in
            target.sessionClass = try Values.name(words)
        },
        Key("Deliver", .word, "live", "live to an app that runs; store or wake for one that does not.") {
            (target, words) throws(ValueProblem) in
            target.terms.kind = try Values.word(words, "way to deliver")
        },
        Key("Reliability", .word, "best-effort", "best-effort, or ack: kept until the app acknowledges it.") {
            (target, words) throws(ValueProblem) in
            target.terms.reliability = try Values.word(words, "reliability")
        },
        Key("Durability", .word, "volatile", "volatile, or persistent: outlives the broker.") {
            (target, words) throws(ValueProblem) in
            target.terms.durability = try Values.word(words, "durability")
        },
        Key("Lifespan", .time, "3s", "An event that could not be delivered for so long is given up.") {
            (target, words) throws(ValueProblem) in
            target.terms.lifespan = try Values.span(words, .milliseconds(1)...Limits.longestSpan)
        },
    ]
}
