import Arbitration

/// Finds the rules that match a name of an app and of a preset, without asking all of them.
struct RuleIndex {
    /// By position, in the order in which they are tried.
    let rules: [Rule]
    private var byApp: [String: [Int]] = [:]
    /// Of the rules that are not for single apps.
    private var byPreset: [String: [Int]] = [:]
    private var general: [Int] = []

    init(_ rules: [Rule]) {
        self.rules = rules
        for (index, rule) in rules.enumerated() {
            let (apps, presets) = (rule.conditions.apps.any, rule.conditions.presets.any)
            if !apps.isEmpty, apps.allSatisfy(\.isLiteral) {
                for app in Set(apps) { self.byApp[app.text, default: []].append(index) }
            } else if !presets.isEmpty, presets.allSatisfy(\.isLiteral) {
                for preset in Set(presets) { self.byPreset[preset.text, default: []].append(index) }
            } else {
                self.general.append(index)
            }
        }
    }

    /// A name that stands for all names a pattern matches and nothing narrower does.
    ///
    /// Its stars are filled with a letter that nobody writes, so another pattern matches it only if it matches them all.
    static func witness(_ pattern: NamePattern) -> String {
        if pattern.isLiteral { return pattern.text }
        return pattern.text.split(separator: "*", omittingEmptySubsequences: false).joined(separator: "\u{1}")
    }

    /// Names that together stand for all that a list matches; `others` are lists that may single out some of them.
    static func witnesses(of list: NameList, beside others: some Sequence<NameList>) -> [String] {
        let own = list.any.isEmpty ? [NamePattern("*")] : list.any
        // What most rules have: one pattern, and nobody makes exceptions.
        if own.count == 1, list.except.isEmpty, others.allSatisfy(\.except.isEmpty) { return [self.witness(own[0])] }
        var names: [String] = []
        var seen: Set<String> = []
        for pattern in own + others.flatMap(\.except) {
            let name = self.witness(pattern)
            if seen.insert(name).inserted, list.matches(name) { names.append(name) }
        }
        return names
    }

    /// Visits the rules before `end` that match, in their order, until `visit` says no.
    func visit(app: String, preset: String, before end: Int, _ visit: (Int) -> Bool) {
        let lists = [self.byApp[app] ?? [], self.byPreset[preset] ?? [], self.general]
        var positions = [0, 0, 0]
        while true {
            var next: (list: Int, index: Int)?
            for list in 0..<3 where positions[list] < lists[list].count {
                let index = lists[list][positions[list]]
                if index < end, next.map({ index < $0.index }) ?? true { next = (list, index) }
            }
            guard let next else { return }
            positions[next.list] += 1
            if !visit(next.index) { return }
        }
    }

    /// The first rule after one that matches; each rule looked at costs one of `budget`.
    func next(after position: Int, app: String, preset: String, _ budget: inout Int) -> Int? {
        var found: Int?
        for list in [self.byApp[app] ?? [], self.byPreset[preset] ?? [], self.general] {
            // Sorted, so that what stands before need not be passed over one by one.
            var (low, high) = (0, list.count)
            while low < high {
                let middle = (low + high) / 2
                if list[middle] <= position { low = middle + 1 } else { high = middle }
            }
            while low < list.count, found.map({ list[low] < $0 }) ?? true, budget > 0 {
                budget -= 1
                if self.matches(list[low], app: app, preset: preset) {
                    found = list[low]
                    break
                }
                low += 1
            }
        }
        return found
    }

    /// Whether a rule is for a name of an app and of a preset.
    func matches(_ index: Int, app: String, preset: String) -> Bool {
        let conditions = self.rules[index].conditions
        return conditions.apps.matches(app) && conditions.presets.matches(preset)
    }
}
