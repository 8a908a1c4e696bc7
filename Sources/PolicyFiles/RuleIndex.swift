import Arbitration

/// Finds the rules that match a name of an app and of a preset, without asking all of them.
struct RuleIndex {
    /// By position, in the order in which they are tried.
    let rules: [Rule]
    private var byApp: [String: [Int]] = [:]
    /// Of the rules that are not for single apps.
    private var byPreset: [String: [Int]] = [:]
    private var general: [Int] = []
    private let costs: [Int]

    init(_ rules: [Rule]) {
        self.rules = rules
        self.costs = rules.map { rule in
            let (apps, presets) = (rule.conditions.apps, rule.conditions.presets)
            return 1 + apps.any.globCount + apps.except.globCount + presets.any.globCount + presets.except.globCount
        }
        for (index, rule) in rules.enumerated() {
            let (apps, presets) = (rule.conditions.apps.any, rule.conditions.presets.any)
            if !apps.isEmpty, apps.areLiteral {
                for app in apps { Self.enter(index, app.text, &self.byApp) }
            } else if !presets.isEmpty, presets.areLiteral {
                for preset in presets { Self.enter(index, preset.text, &self.byPreset) }
            } else {
                self.general.append(index)
            }
        }
    }

    private static func enter(_ rule: Int, _ name: String, _ rules: inout [String: [Int]]) {
        // A name may stand in a list twice.
        if rules[name]?.last != rule { rules[name, default: []].append(rule) }
    }

    /// A name that stands for all names a pattern matches and nothing narrower does.
    ///
    /// Its stars are filled with a letter that nobody writes, so another pattern matches it only if it matches them all.
    static func witness(_ pattern: NamePattern) -> String {
        if pattern.isLiteral { return pattern.text }
        return pattern.text.split(separator: "*", omittingEmptySubsequences: false).joined(separator: "\u{1}")
    }

    /// Names that together stand for all that a list matches; `others` are lists that may single out some of them.
    ///
    /// - Parameter budget: each pattern that is looked at costs one, and one for each that it is compared with. When it is
    ///   used up, names are missing.
    static func witnesses(
        of list: NameList, beside others: some Sequence<NameList>, _ budget: inout Int
    ) -> [String] {
        let own: NamePatterns = list.any.isEmpty ? [NamePattern("*")] : list.any
        // What most rules have: one pattern, and nobody makes exceptions.
        if own.count == 1, list.except.isEmpty, others.allSatisfy(\.except.isEmpty) { return [self.witness(own[0])] }
        var names: [String] = []
        var seen: Set<String> = []
        let exceptions = 1 + list.except.globCount
        for pattern in own where budget > 0 {
            budget -= exceptions
            let name = self.witness(pattern)
            if !list.except.matches(name), seen.insert(name).inserted { names.append(name) }
        }
        // In a list of names there is nothing else to be singled out.
        if own.areLiteral { return names }
        let patterns = exceptions + own.globCount
        for other in others {
            for pattern in other.except where budget > 0 {
                budget -= patterns
                let name = self.witness(pattern)
                if seen.insert(name).inserted, list.matches(name) { names.append(name) }
            }
        }
        return names
    }

    /// One of the names that a list matches; `nil` when there is none among the first, which are all that is looked at.
    static func witness(of list: NameList) -> String? {
        if list.any.isEmpty {
            let name = self.witness(NamePattern("*"))
            return list.except.matches(name) ? nil : name
        }
        for pattern in list.any.prefix(Self.mostTried) {
            let name = self.witness(pattern)
            if !list.except.matches(name) { return name }
        }
        return list.any.count > Self.mostTried ? list.any.last.map { self.witness($0) } : nil
    }

    private static let mostTried = 512

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
                budget -= self.costs[list[low]]
                if self.matches(list[low], app: app, preset: preset) {
                    found = list[low]
                    break
                }
                low += 1
            }
        }
        return found
    }

    /// What `matches` costs.
    func cost(of index: Int) -> Int { self.costs[index] }

    /// Whether a rule is for a name of an app and of a preset.
    func matches(_ index: Int, app: String, preset: String) -> Bool {
        let conditions = self.rules[index].conditions
        return conditions.apps.matches(app) && conditions.presets.matches(preset)
    }
}
