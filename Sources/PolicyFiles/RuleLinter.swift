import Arbitration

/// Holds rules against the rules before them: what they never decide, change or leave to their order.
struct RuleLinter {
    private let policy: Policy
    private var notes: LintNotes
    /// How many comparisons of rules and names are left.
    private var budget: Int
    /// The positions of the rules with exceptions in their lists of names, once somebody asked.
    private var withExceptions: [Int]?

    static func check(_ policy: Policy, _ notes: LintNotes, budget: Int) -> [Finding] {
        var linter = RuleLinter(policy: policy, notes: notes, budget: budget)
        linter.checkRules()
        return linter.notes.findings
    }

    private mutating func checkRules() {
        let index = RuleIndex(self.policy.rules)
        let regions = self.policy.rules.map { RuleRegion($0.conditions) }
        for position in index.rules.indices {
            if self.budget > 0 { self.check(position, index, regions) }
            guard self.budget <= 0 else { continue }
            let left = index.rules.count - position
            self.notes.find(
                .undecided, at: index.rules[position].place,
                "\(left) rules from here on were not fully compared with those before them",
                advice: "name apps or presets in more rules, or allow more work")
            return
        }
        self.checkExceptions(index, regions)
    }

    /// What the rules before one leave of it.
    private mutating func check(_ position: Int, _ index: RuleIndex, _ regions: [RuleRegion]) {
        let rule = index.rules[position]
        let conditions = rule.conditions
        var deciders: Set<Int> = []
        // Told once for each of the others, however many names both have.
        var compared: Set<Int> = []
        var crossing: Int?
        var isCovered = true
        var isExact = true
        let earlier = self.exceptions(before: position, index)
        let presets = RuleIndex.witnesses(of: conditions.presets, beside: earlier.map(\.presets), &self.budget)
        for app in RuleIndex.witnesses(of: conditions.apps, beside: earlier.map(\.apps), &self.budget) {
            for preset in presets {
                guard self.budget > 0 else { return }
                var rest = [regions[position]]
                var work = 1
                var compare = 0
                index.visit(app: app, preset: preset, before: position) { other in
                    work += index.cost(of: other)
                    guard index.matches(other, app: app, preset: preset) else { return work < self.budget }
                    work += regions[other].cost
                    guard regions[other].intersects(regions[position]) else { return work < self.budget }
                    if crossing == nil, self.contradicts(index.rules[other], rule), compared.insert(other).inserted,
                        !self.covers(rule, index.rules[other], regions[position], regions[other], &compare),
                        !self.covers(index.rules[other], rule, regions[other], regions[position], &compare)
                    {
                        crossing = other
                    }
                    guard rest.contains(where: { $0.intersects(regions[other]) }) else { return work < self.budget }
                    deciders.insert(other)
                    rest = rest.flatMap { $0.subtracting(regions[other]) }
                    work += rest.count * regions[other].cost
                    // A policy that splits a rule into very many parts is too much to follow.
                    if rest.count > 4_096 { isExact = false }
                    return !rest.isEmpty && isExact && work < self.budget
                }
                self.budget -= work + compare
                if !rest.isEmpty { isCovered = false }
            }
        }
        // Names may be missing.
        guard self.budget > 0 else { return }
        if isCovered, !deciders.isEmpty {
            self.report(rule, hiddenBy: deciders.sorted().map { index.rules[$0] })
        } else if !isExact {
            self.notes.find(
                .undecided, at: rule.place,
                "whether the rules before it leave anything of \(LintNotes.named(rule)) was too "
                    + "much work to find out", advice: "make the rules before it simpler, or allow more work")
        }
        if !isCovered, let crossing {
            let other = index.rules[crossing]
            self.notes.find(
                .orderDependent, at: rule.place,
                "\(LintNotes.named(rule)) and \(LintNotes.named(other)) in \(other.place.lineDescription) contradict each other "
                    + "with the same Priority, and the one that stands first decides",
                advice: "give one of them a higher Priority")
        }
    }

    /// Rules whose next rule takes in all they match and says something else: only their order makes them exceptions.
    private mutating func checkExceptions(_ index: RuleIndex, _ regions: [RuleRegion]) {
        var exceptions: [Int: [Int]] = [:]
        for (position, rule) in index.rules.enumerated() {
            guard self.budget > 0 else { return }
            guard let app = RuleIndex.witness(of: rule.conditions.apps),
                let preset = RuleIndex.witness(of: rule.conditions.presets)
            else { continue }
            let next = index.next(after: position, app: app, preset: preset, &self.budget)
            guard let next, self.contradicts(rule, index.rules[next]) else { continue }
            var work = 0
            let isCovered = self.covers(rule, index.rules[next], regions[position], regions[next], &work)
            self.budget -= work
            guard isCovered else { continue }
            exceptions[next, default: []].append(position)
        }
        for (wider, narrow) in exceptions {
            guard let first = narrow.first else { continue }
            let (rule, other) = (index.rules[wider], index.rules[first])
            let more = narrow.count > 1 ? " and \(narrow.count - 1) more" : ""
            self.notes.find(
                .exception, at: rule.place,
                "\(LintNotes.named(other)) in \(other.place.lineDescription)\(more) is an exception of \(LintNotes.named(rule)) "
                    + "only because it stands first", advice: "give it a higher Priority, if files may come between")
        }
    }

    /// The earlier rules with exceptions: these may leave single names over.
    private mutating func exceptions(before position: Int, _ index: RuleIndex) -> [Conditions] {
        guard position > 0 else { return [] }
        if self.withExceptions == nil {
            self.withExceptions = index.rules.indices.filter {
                let conditions = index.rules[$0].conditions
                return !conditions.apps.except.isEmpty || !conditions.presets.except.isEmpty
            }
        }
        let earlier = (self.withExceptions ?? []).prefix { $0 < position }
        self.budget -= earlier.count
        return earlier.map { index.rules[$0].conditions }
    }

    private func contradicts(_ a: Rule, _ b: Rule) -> Bool { a.priority == b.priority && a.effect != b.effect }

    /// Whether all that `inner` matches, `outer` does. Adds to `work` what it cost; what is too much is not covered.
    private func covers(
        _ inner: Rule, _ outer: Rule, _ innerRegion: RuleRegion, _ outerRegion: RuleRegion, _ work: inout Int
    ) -> Bool {
        work += innerRegion.cost + outerRegion.cost
        // What costs least comes first.
        guard innerRegion.isCovered(by: outerRegion) else { return false }
        func covers(_ inner: NameList, _ outer: NameList) -> Bool {
            var left = self.budget - work
            let names = RuleIndex.witnesses(of: inner, beside: [outer], &left)
            left -= names.count * (outer.any.globCount + outer.except.globCount)
            work = self.budget - left
            return left > 0 && names.allSatisfy { outer.matches($0) }
        }
        return covers(inner.conditions.apps, outer.conditions.apps)
            && covers(inner.conditions.presets, outer.conditions.presets)
    }

    private mutating func report(_ rule: Rule, hiddenBy others: [Rule]) {
        let names = others.prefix(3).map { "\(LintNotes.named($0)) in \($0.place.lineDescription)" }.joined(
            separator: ", ")
        let more = others.count > 3 ? " and \(others.count - 3) more" : ""
        let isSame = others.allSatisfy { other in
            guard other.effect == rule.effect else { return false }
            return rule.effect == .deny
                || (other.group == rule.group && other.strength == rule.strength
                    && other.sessionClass == rule.sessionClass && other.terms == rule.terms)
        }
        if isSame {
            self.notes.find(
                .redundant, at: rule.place, "\(LintNotes.named(rule)) changes nothing after \(names)\(more)",
                advice: "remove it")
        } else {
            // A rule from outside stands behind those of the device that have a lower one.
            let isBehind = others.allSatisfy { $0.priority < rule.priority }
            self.notes.find(
                .shadowed, at: rule.place,
                "\(LintNotes.named(rule)) never decides: \(names)\(more) match all it matches",
                advice: isBehind
                    ? "what the device itself says goes first, whatever the Priority: have it said there, or remove it"
                    : "give it a higher Priority, or remove it")
        }
    }
}
