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
        var builder = PolicyBuilder(
            otherwise: otherwise, groups: groups, rules: rules, matrix: matrix, apps: apps, everyApp: everyApp)
        while builder.step() {}
        self.init(builder)
    }

    /// What a builder has put together.
    package init(_ builder: PolicyBuilder) {
        self.otherwise = builder.otherwise
        self.groups = builder.groups
        self.rules = builder.rules
        self.matrix = builder.matrix
        self.apps = builder.apps
        self.everyApp = builder.everyApp
        self.ruleGroups = builder.ruleGroups
        self.rulesOfApp = builder.rulesOfApp
        self.generalRules = builder.generalRules
        let every = builder.everyApp
        self.reporters = every.mayReportForeground ? .everybody : Entitled(builder.reporters)
        self.pushers = every.mayPush ? .everybody : Entitled(builder.pushers)
    }

    /// Who may do something that concerns other apps.
    package enum Entitled: Equatable, Sendable {
        /// Policy names nobody.
        case nobodyNamed
        case named([AppID])
        case everybody

        init(_ apps: [AppID]) { self = apps.isEmpty ? .nobodyNamed : .named(apps.sorted()) }
    }

    /// Who may say which app is in the foreground. If policy names nobody, the user decides.
    package let reporters: Entitled
    /// Who may have other apps launched.
    package let pushers: Entitled

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

    /// The rules that can match an app with some preset, in the order in which they are tried.
    package func rulesTried(for app: AppID) -> [Rule] {
        self.rules(for: app) { _ in true }.map { self.rules[Int($0)] }
    }

    /// The rules that can match a preset of an app, in the order in which they are tried.
    func rules(for app: AppID, preset: String) -> [Int32] {
        self.rules(for: app) { $0.presets.matches(preset) }
    }

    /// The rules that can match a detector, and the groups they name.
    func rulesAndGroups(for app: AppID, _ facts: DetectorFacts) -> (rules: [Int32], groups: [Int32]) {
        let rules = self.rules(for: app, preset: facts.preset)
        var groups: [Int32] = []
        for rule in rules {
            let group = self.ruleGroups[Int(rule)]
            if group >= 0, !groups.contains(group) { groups.append(group) }
        }
        return (rules, groups)
    }

    /// How many rules are looked at for a detector of an app.
    func cost(for app: AppID) -> Int { self.generalRules.count + (self.rulesOfApp[app]?.count ?? 0) }

    private func rules(for app: AppID, where isFit: (Conditions) -> Bool) -> [Int32] {
        let own = self.rulesOfApp[app] ?? []
        var merged: [Int32] = []
        var i = 0
        var j = 0
        while i < own.count || j < self.generalRules.count {
            let takesOwn = j == self.generalRules.count || (i < own.count && own[i] < self.generalRules[j])
            let index = takesOwn ? own[i] : self.generalRules[j]
            if takesOwn { i += 1 } else { j += 1 }
            let conditions = self.rules[Int(index)].conditions
            if isFit(conditions), conditions.apps.matches(app.name) { merged.append(index) }
        }
        return merged
    }
}
