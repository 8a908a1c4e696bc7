package import Motion

/// Puts a policy together a little at a time: nobody has to wait until a large one is done.
package struct PolicyBuilder: Sendable {
    let otherwise: Effect
    private(set) var groups: [GroupConfiguration] = []
    /// In the order in which they are tried.
    let rules: [Rule]
    let matrix: InteractionMatrix
    let apps: [AppID: AppSettings]
    let everyApp: AppSettings
    private(set) var ruleGroups: [Int32] = []
    private(set) var rulesOfApp: [AppID: [Int32]] = [:]
    private(set) var generalRules: [Int32] = []
    private var indices: [String: Int32] = [:]
    /// The rule that is next, and of the apps that it names the first that is not entered.
    private var next = (rule: 0, name: 0)
    /// The app whose rights are looked at next.
    private var nextApp: Dictionary<AppID, AppSettings>.Index
    /// The apps that may say which one is in the foreground, and those that may have others launched.
    private(set) var reporters: [AppID] = []
    private(set) var pushers: [AppID] = []

    /// So much is done in a step: rules, apps that they name, and apps with settings.
    private static let work = 256

    /// - Parameter rules: In the order of files and lines. A group that a rule names and `groups` does not have is made,
    ///   with the defaults.
    /// - Parameter others: Rules that are tried behind all of these, whatever their priority.
    package init(
        otherwise: Effect, groups: [GroupConfiguration], rules: [Rule], behind others: [Rule] = [],
        matrix: InteractionMatrix, apps: [AppID: AppSettings], everyApp: AppSettings
    ) {
        self.otherwise = otherwise
        self.matrix = matrix
        self.apps = apps
        self.nextApp = apps.startIndex
        self.everyApp = everyApp
        self.rules = Self.inOrder(rules) + Self.inOrder(others)
        for group in groups where self.indices[group.name] == nil { self.add(group) }
        self.ruleGroups.reserveCapacity(self.rules.count)
        // Room for all that can come, so that nothing is ever moved as a whole.
        self.rulesOfApp.reserveCapacity(
            self.rules.reduce(0) { $0 + ($1.conditions.apps.any.areLiteral ? $1.conditions.apps.any.count : 0) })
    }

    /// By priority, the highest first; of equal ones as they stand.
    private static func inOrder(_ rules: [Rule]) -> [Rule] {
        var byPriority: [Int: [Rule]] = [:]
        for rule in rules { byPriority[rule.priority, default: []].append(rule) }
        if byPriority.count <= 1 { return rules }
        var sorted: [Rule] = []
        sorted.reserveCapacity(rules.count)
        for priority in byPriority.keys.sorted(by: >) { sorted += byPriority[priority] ?? [] }
        return sorted
    }

    private mutating func add(_ group: GroupConfiguration) {
        self.indices[group.name] = Int32(truncatingIfNeeded: self.groups.count)
        self.groups.append(group)
    }

    /// Goes on; false when all is done.
    package mutating func step() -> Bool {
        var left = Self.work
        while left > 0, self.next.rule < self.rules.count {
            let rule = self.rules[self.next.rule]
            let names = rule.conditions.apps.any
            if self.next.name == 0 { self.begin(rule) }
            if names.areLiteral {
                let end = min(names.count, self.next.name + left)
                for index in self.next.name..<end { self.enter(AppID(names[index].text)) }
                left -= end - self.next.name
                self.next.name = end
            }
            guard self.next.name == names.count || !names.areLiteral else { break }
            left -= 1
            self.next = (self.next.rule + 1, 0)
        }
        while left > 0, self.nextApp < self.apps.endIndex {
            let (app, settings) = self.apps[self.nextApp]
            if settings.mayReportForeground { self.reporters.append(app) }
            if settings.mayPush { self.pushers.append(app) }
            self.apps.formIndex(after: &self.nextApp)
            left -= 1
        }
        return self.next.rule < self.rules.count || self.nextApp < self.apps.endIndex
    }

    private mutating func begin(_ rule: Rule) {
        let names = rule.conditions.apps.any
        if names.isEmpty || !names.areLiteral { self.generalRules.append(Int32(truncatingIfNeeded: self.next.rule)) }
        guard let name = rule.group else { return self.ruleGroups.append(-1) }
        if self.indices[name] == nil { self.add(GroupConfiguration(name: name, place: rule.place)) }
        self.ruleGroups.append(self.indices[name] ?? -1)
    }

    private mutating func enter(_ app: AppID) {
        let rule = Int32(truncatingIfNeeded: self.next.rule)
        // A name may stand in the list twice.
        if self.rulesOfApp[app]?.last != rule { self.rulesOfApp[app, default: []].append(rule) }
    }
}
