package import Motion

/// Everything policy says, checked and indexed. Immutable; a new one replaces the old one whole.
package struct Policy: Sendable {
    /// What holds where no rule does.
    package let otherwise: Effect
    /// In the order in which the files name them.
    package let groups: [GroupConfiguration]
    /// In the order in which they are tried: by priority, then by file and line.
    package let rules: [Rule]
    /// What comes of sessions of different classes.
    package let matrix: InteractionMatrix
    /// What each app may do, and what those may that are not named.
    package let apps: [AppID: AppSettings]
    package let everyApp: AppSettings

    /// Per rule, the index of its group, or -1.
    let ruleGroups: [Int32]
    /// Rules that can only ever match one of these apps.
    private let rulesOfApp: [AppID: [Int32]]
    /// Rules that may match any app.
    private let generalRules: [Int32]

    /// Puts a policy together.
    ///
    /// - Parameter rules: In the order of files and lines. A group that a rule names and `groups` does not have is made,
    ///   with the defaults.
    package init(
        otherwise: Effect = .deny, groups: [GroupConfiguration] = [], rules: [Rule] = [],
        matrix: InteractionMatrix = InteractionMatrix(), apps: [AppID: AppSettings] = [:],
        everyApp: AppSettings = AppSettings()
    ) {
        let order = rules.indices.sorted { a, b in
            rules[a].priority == rules[b].priority ? a < b : rules[a].priority > rules[b].priority
        }
        let sorted = order.map { rules[$0] }
        var all: [GroupConfiguration] = []
        var indices: [String: Int32] = [:]
        for group in groups where indices[group.name] == nil {
            indices[group.name] = Int32(truncatingIfNeeded: all.count)
            all.append(group)
        }
        var ruleGroups: [Int32] = []
        var rulesOfApp: [AppID: [Int32]] = [:]
        var general: [Int32] = []
        ruleGroups.reserveCapacity(sorted.count)
        for (index, rule) in sorted.enumerated() {
            let handle = Int32(truncatingIfNeeded: index)
            if let name = rule.group {
                if indices[name] == nil {
                    indices[name] = Int32(truncatingIfNeeded: all.count)
                    all.append(GroupConfiguration(name: name, place: rule.place))
                }
                ruleGroups.append(indices[name] ?? -1)
            } else {
                ruleGroups.append(-1)
            }
            let names = rule.conditions.apps.any
            if names.isEmpty || !names.allSatisfy(\.isLiteral) {
                general.append(handle)
            } else {
                for name in Set(names) { rulesOfApp[AppID(name.text), default: []].append(handle) }
            }
        }
        self.otherwise = otherwise
        self.groups = all
        self.rules = sorted
        self.matrix = matrix
        self.apps = apps
        self.everyApp = everyApp
        self.ruleGroups = ruleGroups
        self.rulesOfApp = rulesOfApp
        self.generalRules = general
    }

    /// Who may do something that concerns other apps.
    package enum Entitled: Equatable, Sendable {
        /// Policy names nobody.
        case nobodyNamed
        case named([AppID])
        case everybody
    }

    /// Who may say which app is in the foreground. If policy names nobody, the user decides.
    package var reporters: Entitled { self.those(who: \.mayReportForeground) }
    /// Who may have other apps launched.
    package var pushers: Entitled { self.those(who: \.mayPush) }

    private func those(who may: KeyPath<AppSettings, Bool>) -> Entitled {
        if self.everyApp[keyPath: may] { return .everybody }
        let named = self.apps.filter { $0.value[keyPath: may] }.keys.sorted()
        return named.isEmpty ? .nobodyNamed : .named(named)
    }

    /// The apps that rules and settings speak of by name.
    package var namedApps: Set<AppID> {
        let ruled = self.rules.flatMap { $0.conditions.apps.any.filter(\.isLiteral) }.map { AppID($0.text) }
        return Set(ruled).union(self.apps.keys)
    }

    package func settings(for app: AppID) -> AppSettings { self.apps[app] ?? self.everyApp }

    /// The rules that are tried for a preset of an app, in that order. Rules for other apps are not among them.
    package func rulesTried(for app: AppID, preset: String) -> [Rule] {
        self.rules(for: app, preset: preset).map { self.rules[Int($0)] }
    }

    /// The rules that can match a preset of an app, in the order in which they are tried.
    func rules(for app: AppID, preset: String) -> [Int32] {
        let own = self.rulesOfApp[app] ?? []
        var merged: [Int32] = []
        var i = 0
        var j = 0
        while i < own.count || j < self.generalRules.count {
            let takesOwn = j == self.generalRules.count || (i < own.count && own[i] < self.generalRules[j])
            let index = takesOwn ? own[i] : self.generalRules[j]
            if takesOwn { i += 1 } else { j += 1 }
            let conditions = self.rules[Int(index)].conditions
            if conditions.presets.matches(preset), conditions.apps.matches(app.name) { merged.append(index) }
        }
        return merged
    }
}
