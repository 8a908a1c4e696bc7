package import Arbitration
package import Motion

/// What a policy makes of every app, in every state, for every preset: computed by the matching that decides live.
package struct PolicyCoverage: Sendable {
    /// A state of an app, with what it has in it.
    package struct Situation: Hashable, Sendable {
        package var state: AppState
        /// `nil` where the lock makes no difference.
        package var isLocked: Bool?
        package var right: Right
    }

    package enum Right: Hashable, Sendable {
        case nothing
        /// Granted, and not at work.
        case grant(WordSet<BackgroundMode>)
        /// Granted and at work in one of them.
        case activity(WordSet<BackgroundMode>)
        case assertion

        package var name: String {
            switch self {
            case .nothing: "nothing"
            case .grant(let modes): "a grant of \(Self.names(modes))"
            case .activity(let modes): "\(Self.names(modes)) at work"
            case .assertion: "an assertion"
            }
        }

        private static func names(_ modes: WordSet<BackgroundMode>) -> String {
            modes.isAll ? "any mode" : modes.elements.map(\.name).joined(separator: " or ")
        }
    }

    /// What becomes of a hit, by what rules ask of it that is not of the app.
    package struct Outcome: Hashable, Sendable {
        /// `yes`, `no`, `stored`, `woken`, each with its group; in the order of the rules that say so.
        package fileprivate(set) var words: [String] = []
        /// The keys that decide between them.
        package fileprivate(set) var keys: Set<String> = []
        /// Where each rule stands that may decide.
        package fileprivate(set) var rules: [String] = []

        /// What a reader is told in a word or two.
        package var text: String {
            let different = Set(self.words)
            if different.count <= 1 { return self.words.first ?? "" }
            return "by " + self.keys.map { $0.dropFirst(4).lowercased() }.sorted().joined(separator: ", ")
        }
    }

    /// Apps for which everything is the same.
    package struct Table: Sendable {
        package fileprivate(set) var apps: [String]
        /// Presets for which everything is the same, in columns.
        package fileprivate(set) var columns: [[String]]
        package fileprivate(set) var rows: [(situation: Situation, cells: [Outcome])]

        /// What makes two tables the same one, whatever apps they are of.
        fileprivate var shape: [String] {
            self.columns.map { $0.joined(separator: " ") }
                + self.rows.flatMap { ["\($0.situation)"] + $0.cells.map(\.text) }
        }
    }

    package private(set) var tables: [Table] = []

    /// What stands for a detector that has a condition of its own.
    package static let ownCondition = "a condition of its own"
    /// What stands for every app that no rule and no section names.
    package static let otherApps = "any other app"

    /// - Parameters:
    ///   - apps: Of these; none: of those that the policy names, and of any other.
    ///   - presets: The presets there are.
    package init(of policy: Policy, apps: [AppID] = [], presets: [String]) {
        var subjects: [(label: String, id: AppID)] = apps.map { ($0.name, $0) }
        if subjects.isEmpty {
            var names = Set(policy.apps.keys.map(\.name))
            var patterns: Set<NamePattern> = []
            for rule in policy.rules {
                for list in [rule.conditions.apps.any, rule.conditions.apps.except] {
                    for pattern in list where pattern.text != "*" {
                        if pattern.isLiteral { names.insert(pattern.text) } else { patterns.insert(pattern) }
                    }
                }
            }
            subjects = names.sorted().map { ($0, AppID($0)) }
            subjects += patterns.sorted { $0.text < $1.text }.map { ($0.text, AppID(RuleIndex.witness($0))) }
            subjects.append((Self.otherApps, AppID(RuleIndex.witness(NamePattern("*")))))
        }
        let given = Set(apps)
        // Apps of which nothing tells them apart have one table, which is made once.
        var ofAlike: [Alike: Int] = [:]
        var ofShape: [[String]: Int] = [:]
        for subject in subjects {
            let isNamed = given.contains(subject.id) || policy.apps[subject.id] != nil
            // Of an app that nobody names it is not known what it is granted: shown is what each grant would bring.
            let grants = isNamed ? policy.settings(for: subject.id).grants : .all
            let alike = Alike(
                rules: policy.rulesTried(for: subject.id).map { ObjectIdentifier($0) }, grants: grants)
            if let same = ofAlike[alike] {
                self.tables[same].apps.append(subject.label)
                continue
            }
            let table = Self.table(of: subject, policy, presets, grants)
            if let same = ofShape[table.shape] {
                self.tables[same].apps += table.apps
                ofAlike[alike] = same
            } else {
                ofAlike[alike] = self.tables.count
                ofShape[table.shape] = self.tables.count
                self.tables.append(table)
            }
        }
    }

    /// All by which one app's table can differ from another's.
    private struct Alike: Hashable {
        var rules: [ObjectIdentifier]
        var grants: WordSet<BackgroundMode>
    }

    private static func table(
        of subject: (label: String, id: AppID), _ policy: Policy, _ presets: [String], _ grants: WordSet<BackgroundMode>
    ) -> Table {
        let names = presets + [""]
        let tried = names.map { policy.rulesTried(for: subject.id, preset: $0) }
        var rows: [(situation: Situation, cells: [Outcome])] = []
        for state in AppState.allCases {
            var byLock: [[(right: Right, cells: [Outcome])]] = []
            for isLocked in state == .foreground ? [false] : [false, true] {
                byLock.append(
                    Self.rights(of: state, grants).map { right, facts in
                        let device = DeviceFacts(isLocked: isLocked)
                        return (right, tried.map { Self.outcome($0, facts, device, policy.otherwise) })
                    })
            }
            let isLockFree =
                byLock.count == 1
                || zip(byLock[0], byLock[1]).allSatisfy { $0.cells.map(\.text) == $1.cells.map(\.text) }
            for (index, outcomes) in byLock.enumerated() where index == 0 || !isLockFree {
                for row in Self.merged(outcomes) {
                    let lock: Bool? = isLockFree ? nil : index == 1
                    rows.append((Situation(state: state, isLocked: lock, right: row.right), row.cells))
                }
            }
        }
        return Self.withMergedColumns(
            Table(
                apps: [subject.label], columns: names.map { [$0.isEmpty ? Self.ownCondition : $0] }, rows: rows))
    }

    /// All an app can have in a state, without what makes no difference to another.
    private static func rights(
        of state: AppState, _ grants: WordSet<BackgroundMode>
    ) -> [(right: Right, facts: AppFacts)] {
        var rights: [(Right, AppFacts)] = [(.nothing, AppFacts(state: state))]
        for mode in grants.elements {
            let one = WordSet([mode])
            rights.append((.grant(one), AppFacts(state: state, grants: one)))
            if state.canReceive {
                rights.append((.activity(one), AppFacts(state: state, grants: one, activities: one)))
            }
        }
        if state.canReceive { rights.append((.assertion, AppFacts(state: state, hasAssertion: true))) }
        return rights
    }

    /// Modes that bring the same stand in one row; a right that brings no more than nothing has none.
    private static func merged(_ outcomes: [(right: Right, cells: [Outcome])]) -> [(right: Right, cells: [Outcome])] {
        var rows: [(right: Right, cells: [Outcome])] = []
        func texts(_ cells: [Outcome]) -> [String] { cells.map(\.text) }
        for (right, cells) in outcomes {
            if let first = rows.first, texts(first.cells) == texts(cells) { continue }
            let same = rows.indices.first { index in
                switch (rows[index].right, right) {
                case (.grant, .grant), (.activity, .activity): texts(rows[index].cells) == texts(cells)
                case (.nothing, _), (.assertion, _), (.grant, _), (.activity, _): false
                }
            }
            guard let same else {
                rows.append((right, cells))
                continue
            }
            switch (rows[same].right, right) {
            case (.grant(let a), .grant(let b)): rows[same].right = .grant(a.union(b))
            case (.activity(let a), .activity(let b)): rows[same].right = .activity(a.union(b))
            case (.nothing, _), (.assertion, _), (.grant, _), (.activity, _): break
            }
        }
        return rows
    }

    private static func withMergedColumns(_ table: Table) -> Table {
        var merged = Table(apps: table.apps, columns: [], rows: table.rows.map { ($0.situation, []) })
        for column in table.columns.indices {
            let texts = table.rows.map { $0.cells[column].text }
            let same = merged.columns.indices.first { index in merged.rows.map { $0.cells[index].text } == texts }
            if let same {
                merged.columns[same] += table.columns[column]
            } else {
                merged.columns.append(table.columns[column])
                for row in merged.rows.indices { merged.rows[row].cells.append(table.rows[row].cells[column]) }
            }
        }
        return merged
    }

    // MARK: Matching

    /// What a rule can ask that is neither of the app's doing nor of its state.
    private static let free: Conditions.Keys = [.identity, .time, .power]

    private static func outcome(
        _ rules: [Rule], _ facts: AppFacts, _ device: DeviceFacts, _ otherwise: Effect
    ) -> Outcome {
        var outcome = Outcome()
        var rest = [RuleRegion(Conditions())]
        for rule in rules where rule.conditions.unmet(facts, device).subtracting(self.free).isEmpty {
            var asked = Conditions()
            asked.proofs = rule.conditions.proofs
            asked.intensity = rule.conditions.intensity
            asked.times = rule.conditions.times
            asked.power = rule.conditions.power
            let region = RuleRegion(asked)
            guard rest.contains(where: { $0.intersects(region) }) else { continue }
            rest = rest.flatMap { $0.subtracting(region) }
            if !rest.isEmpty {
                if !asked.proofs.isAll { outcome.keys.insert("WhenIdentity") }
                if asked.intensity != nil { outcome.keys.insert("WhenIntensity") }
                if asked.times != nil { outcome.keys.insert("WhenTime") }
                if asked.power != nil { outcome.keys.insert("WhenPower") }
            }
            outcome.words.append(self.word(rule.effect, rule.terms, rule.group, facts.state))
            outcome.rules.append("\(rule.name) \(rule.place.lineDescription)")
            // What splits into more parts than that is told as it stands.
            if rest.isEmpty || rest.count > 1_024 { return outcome }
        }
        outcome.words.append(self.word(otherwise, DeliveryTerms(), nil, facts.state))
        outcome.rules.append("Default")
        return outcome
    }

    private static func word(_ effect: Effect, _ terms: DeliveryTerms, _ group: String?, _ state: AppState) -> String {
        guard effect == .allow, terms.reach(state) else { return "no" }
        let word = state.canReceive ? "yes" : terms.kind == .wake ? "woken" : "stored"
        return group.map { "\(word), in \($0)" } ?? word
    }
}
