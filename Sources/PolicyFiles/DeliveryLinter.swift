import Arbitration
import Motion

/// Looks at how rules deliver: to whom, for how long, and what of it does nothing.
struct DeliveryLinter {
    private let policy: Policy
    private var notes: LintNotes

    static func check(_ policy: Policy, _ notes: LintNotes) -> [Finding] {
        var linter = DeliveryLinter(policy: policy, notes: notes)
        linter.checkDelivery()
        return linter.notes.findings
    }

    private mutating func checkDelivery() {
        var keeps: Rule?
        let modes = Dictionary(self.policy.groups.map { ($0.name, $0.mode) }) { first, _ in first }
        for rule in self.policy.rules {
            self.checkTimes(rule)
            if rule.effect == .deny {
                self.checkIdle(
                    rule, ["Strength", "Class", "Deliver", "Reliability", "Durability", "Lifespan"], "which denies")
                continue
            }
            if let name = rule.group {
                let mode = modes[name] ?? .broadcast
                if mode != .mixable { self.checkIdle(rule, ["Class"], "whose group is \(mode.name)") }
            } else {
                self.checkIdle(rule, ["Strength", "Class"], "which names no group")
            }
            self.checkTerms(rule)
            if rule.terms.kind != .live, keeps == nil { keeps = rule }
        }
        if let keeps, self.policy.everyApp.quota == nil {
            self.notes.find(
                .unlimited, at: keeps.place,
                "\(LintNotes.named(keeps)) wakes apps or stores for them, and [App *] has no Quota",
                advice: "give [App *] a Quota")
        }
    }

    private mutating func checkIdle(_ rule: Rule, _ keys: [String], _ why: String) {
        guard let section = self.notes.section(at: rule.place) else { return }
        for key in keys where section[key] != nil {
            self.notes.find(
                .withoutEffect, at: section.place(of: key), "\(key) does nothing in \(LintNotes.named(rule)), \(why)",
                advice: "remove it")
        }
    }

    /// On two Sundays a year the hour from two to three is left out, or comes twice.
    private mutating func checkTimes(_ rule: Rule) {
        guard let times = rule.conditions.times else { return }
        let change = (6 * 1_440 + 120)...(6 * 1_440 + 180)
        let isInside = times.ranges.contains { range in
            let ends = [range.lowerBound, range.upperBound]
            return ends.contains { $0 > change.lowerBound && $0 < change.upperBound }
                || ends.allSatisfy { change.contains($0) }
        }
        guard isInside else { return }
        self.notes.find(
            .clockChange, at: self.notes.place(of: "WhenTime", at: rule.place),
            "\(LintNotes.named(rule)) begins or ends on Sunday between 02:00 and 03:00, which clocks leave out in spring and "
                + "repeat in autumn", advice: "choose another hour, or leave Sunday out")
    }

    private mutating func checkTerms(_ rule: Rule) {
        let conditions = rule.conditions
        let names = conditions.apps.any
        let isForNamed = !names.isEmpty && names.areLiteral
        let isForGranted = conditions.grants.any != nil || conditions.activities.any != nil
        if rule.terms.kind == .wake, !isForNamed, !isForGranted {
            self.notes.find(
                .wakeForAnybody, at: self.notes.place(of: "Deliver", at: rule.place),
                "\(LintNotes.named(rule)) wakes any app that asks", advice: "name the apps, or ask for a grant")
        }
        if rule.terms.kind == .live, conditions.states.elements.allSatisfy({ !$0.canReceive }) {
            self.notes.find(
                .lostByDesign, at: self.notes.place(of: "WhenState", at: rule.place),
                "\(LintNotes.named(rule)) is for apps that are not there, and delivers only to those that are",
                advice: "add Deliver=wake or Deliver=store")
        }
        let isGesture = conditions.presets.any.contains { $0.text.hasPrefix("shake") || $0.text == "system.shake" }
        if rule.terms.durability == .persistent, isGesture, rule.terms.lifespan > .seconds(60) {
            self.notes.find(
                .staleGesture, at: self.notes.place(of: "Lifespan", at: rule.place),
                "a shake may be delivered \(rule.terms.lifespan.text) after it was made",
                advice: "make Lifespan 1min at most")
        }
        let isWeak = conditions.proofs.contains(.name) || conditions.proofs.contains(.uid)
        if isWeak, rule.terms.kind == .wake || rule.strength >= 100 {
            self.notes.find(
                .weakIdentity, at: rule.place,
                "\(LintNotes.named(rule)) is strong, and matches whoever takes the name first",
                // Of an app that never registered for good nothing but its name is known while it is not there.
                advice: rule.terms.kind == .wake
                    ? "add WhenIdentity=unit flatpak, if the app registers for good"
                    : "add WhenIdentity=unit flatpak")
        }
    }
}
