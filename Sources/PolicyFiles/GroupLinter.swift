import Arbitration
import Motion

/// Looks at each group and the rules that send apps to it: keys without effect, times that do not add up, who never wins.
struct GroupLinter {
    private let policy: Policy
    private var notes: LintNotes

    static func check(_ policy: Policy, _ notes: LintNotes) -> [Finding] {
        var linter = GroupLinter(policy: policy, notes: notes)
        linter.checkGroups()
        return linter.notes.findings
    }

    private mutating func checkGroups() {
        var rulesOf: [String: [Rule]] = [:]
        for rule in self.policy.rules where rule.effect == .allow {
            if let group = rule.group { rulesOf[group, default: []].append(rule) }
        }
        for group in self.policy.groups {
            let rules = rulesOf[group.name] ?? []
            self.checkKeys(group)
            self.checkWindow(group, rules)
            switch group.mode {
            case .broadcast, .mixable: break
            case .exclusive: self.checkFairness(group, rules)
            case .ordered: self.checkOrder(group, rules)
            }
            if group.mode.compares {
                self.checkRanking(group, rules)
                self.checkSticky(group, rules)
            }
        }
    }

    /// Keys that mean something only beside others.
    private mutating func checkKeys(_ group: GroupConfiguration) {
        var idle: [String] = []
        if group.mode != .ordered { idle += ["AckTimeout", "OrderBudget"] }
        if !group.mode.compares {
            idle += ["Select", "CommitWindow", "EagerCommit", "Sticky", "Lease", "Hysteresis", "Aging"]
        } else {
            if !group.isSticky { idle += ["Lease", "Hysteresis"] }
            if group.commitWindow == .zero { idle.append("EagerCommit") }
        }
        guard let section = self.notes.section(at: group.place) else { return }
        for key in idle where section[key] != nil {
            self.notes.find(
                .withoutEffect, at: section.place(of: key),
                "\(key) does nothing in [Group \(group.name)], which is \(group.mode.name)"
                    + (group.mode.compares && !group.isSticky && ["Lease", "Hysteresis"].contains(key)
                        ? " and not sticky" : ""),
                advice: "remove it")
        }
    }

    private mutating func checkWindow(_ group: GroupConfiguration, _ rules: [Rule]) {
        guard group.mode.compares else { return }
        let place = self.notes.place(of: "CommitWindow", at: group.place)
        if let rule = rules.min(by: { $0.terms.lifespan < $1.terms.lifespan }),
            group.commitWindow.microseconds > rule.terms.lifespan.microseconds / 2
        {
            self.notes.find(
                .longWindow, at: place,
                "waiting \(group.commitWindow.text) uses up more than half of the "
                    + "\(rule.terms.lifespan.text) that \(LintNotes.named(rule)) gives an event",
                advice: "make CommitWindow shorter or Lifespan longer")
        } else if group.commitWindow > .milliseconds(500) {
            self.notes.find(
                .longWindow, at: place, "people notice a wait of \(group.commitWindow.text)",
                advice: "make it 500ms at most")
        }
    }

    /// The number of apps that can come to a group: as far as rules name them, or those that are installed.
    private func apps(_ rules: [Rule]) -> (names: Set<String>, isOpen: Bool) {
        var names: Set<String> = []
        var isOpen = false
        for rule in rules {
            let any = rule.conditions.apps.any
            if any.isEmpty || !any.areLiteral { isOpen = true }
            for pattern in any where pattern.isLiteral { names.insert(pattern.text) }
        }
        return (names, isOpen)
    }

    private mutating func checkOrder(_ group: GroupConfiguration, _ rules: [Rule]) {
        let named = self.apps(rules)
        let count = named.names.count + (named.isOpen ? 1 : 0)
        let (needed, overflow) = group.ackTimeout.microseconds.multipliedReportingOverflow(by: Int64(count))
        if overflow || needed > group.orderBudget.microseconds {
            self.notes.find(
                .orderArithmetic, at: self.notes.place(of: "OrderBudget", at: group.place),
                "\(count) apps at \(group.ackTimeout.text) each need more than "
                    + "\(group.orderBudget.text)", advice: "make OrderBudget longer or AckTimeout shorter")
        }
        for rule in rules where group.orderBudget > rule.terms.lifespan {
            self.notes.find(
                .orderArithmetic, at: self.notes.place(of: "Lifespan", at: rule.place),
                "an event of \(LintNotes.named(rule)) may die before the order of [Group \(group.name)] comes to its end",
                advice: "make Lifespan at least \(group.orderBudget.text)")
        }
    }

    /// Whether anything but the registration order tells the candidates apart.
    private mutating func checkRanking(_ group: GroupConfiguration, _ rules: [Rule]) {
        guard group.select.allSatisfy({ $0 == .strength }) else { return }
        let byStrength = Dictionary(grouping: rules, by: \.strength)
        for rule in rules {
            let any = rule.conditions.apps.any
            let isForMany = any.isEmpty || !any.areLiteral || any.contains { $0.text != any[0].text }
            guard isForMany || (byStrength[rule.strength]?.count ?? 0) > 1 else { continue }
            self.notes.find(
                .undecidedRank, at: self.notes.place(of: "Select", at: group.place),
                "apps of Strength \(rule.strength) in [Group \(group.name)] differ only in who registered first",
                advice: "add recent, specificity or round-robin to Select")
            return
        }
    }

    /// The weakest and the strongest rule of a group, unless all are the same.
    private func spread(_ rules: [Rule]) -> (weakest: Rule, strongest: Rule, width: Int)? {
        guard let weakest = rules.min(by: { $0.strength < $1.strength }),
            let strongest = rules.max(by: { $0.strength < $1.strength }), weakest.strength < strongest.strength
        else { return nil }
        return (weakest, strongest, strongest.strength - weakest.strength)
    }

    private mutating func checkFairness(_ group: GroupConfiguration, _ rules: [Rule]) {
        guard let spread = self.spread(rules) else { return }
        guard let aging = group.aging else {
            if group.select.first == .strength {
                self.notes.find(
                    .starvation, at: group.place,
                    "\(LintNotes.named(spread.weakest)) may never win [Group \(group.name)] "
                        + "against \(LintNotes.named(spread.strongest))", advice: "add Aging, if it should get its turn"
                )
            }
            return
        }
        let place = self.notes.place(of: "Aging", at: group.place)
        if group.select.first != .strength {
            self.notes.find(
                .agingTooSmall, at: place,
                "Aging adds to strength, which [Group \(group.name)] does not select by first",
                advice: "put strength first in Select")
        } else if aging.limit <= spread.width {
            self.notes.find(
                .agingTooSmall, at: place,
                "at most \(aging.limit) more does not bring \(LintNotes.named(spread.weakest)) "
                    + "before \(LintNotes.named(spread.strongest))", advice: "make its max more than \(spread.width)")
        }
    }

    private mutating func checkSticky(_ group: GroupConfiguration, _ rules: [Rule]) {
        guard group.isSticky else { return }
        let width = (self.spread(rules)?.width ?? 0) + (group.aging?.limit ?? 0)
        if group.lease == nil {
            self.notes.find(
                .sticky, at: group.place, "the holder of [Group \(group.name)] keeps it for as long as it lives",
                advice: "give it a Lease")
        }
        if width < max(1, group.hysteresis) {
            self.notes.find(
                .sticky, at: self.notes.place(of: "Hysteresis", at: group.place),
                "nobody is stronger by \(max(1, group.hysteresis)), so nobody can take [Group \(group.name)] from its holder",
                advice: "make Hysteresis smaller")
        }
    }
}
