import Arbitration
import Motion

/// What sections mean, put together one after the other.
struct SectionApplying {
    private var draft = PolicyDraft()
    /// Whether a user denies what no rule matches, whatever the system says.
    private var isDeniedByUser = false
    private var groups: [GroupConfiguration] = []
    private var classes: [SessionClass] = []
    private var interactions: [Interaction] = []
    private var rules: [Rule] = []
    private var apps: [AppID: AppSettings] = [:]
    /// What the system says of every app, or where it says nothing what comes from outside does.
    private var common = AppSettings()
    /// The rules from outside, which are tried behind all others.
    private(set) var rulesFromOutside: [Rule] = []
    /// Names of each kind that may have been meant by one that is not there.
    private var suggested: [String: [String]] = [:]

    /// So many names are looked at for the one that was meant.
    private static let mostSuggested = 64

    /// Begins with what every app may do, on which each app's own section builds.
    init(of merged: SectionMerging, _ findings: inout FindingList) {
        self.apps.reserveCapacity(merged.appSections)
        // Only one of the two is there.
        for layer in [PolicyLayer.system, .outside] {
            merged[SectionName("App", "*", layer)]?.apply(Schema.appKeys, to: &self.common, &findings)
        }
    }

    /// Begins to put in order what all sections together mean; `nil` when there is an error.
    func builder(_ merged: SectionMerging, _ findings: inout FindingList) -> PolicyBuilder? {
        let everyApp = Self.tightened(self.common, for: "*", merged, &findings)
        guard !findings.all.contains(where: { $0.severity == .error }) else { return nil }
        return PolicyBuilder(
            otherwise: self.isDeniedByUser ? .deny : self.draft.otherwise, groups: self.groups, rules: self.rules,
            behind: self.rulesFromOutside, matrix: InteractionMatrix(self.classes, self.interactions), apps: self.apps,
            everyApp: everyApp)
    }

    /// Takes in a section; `merged` knows the others.
    mutating func take(_ section: MergedSection, of merged: SectionMerging, _ findings: inout FindingList) {
        let name = section.argument?.text ?? ""
        switch section.kind {
        case "Policy":
            guard section.layer == .user else { return section.apply(Schema.policyKeys, to: &self.draft, &findings) }
            var own = PolicyDraft()
            section.apply(Schema.policyKeys, to: &own, &findings)
            if own.otherwise == .allow { Self.refuse(section, "Default", &findings) }
            self.isDeniedByUser = section["Default"] != nil
        case "Group":
            guard self.groups.count < PolicyLimits.groups else {
                return findings.exceed(
                    "there are too many groups", "policy-groups", PolicyLimits.groups, at: section.place)
            }
            var group = GroupConfiguration(name: name, place: section.place)
            section.apply(Schema.groupKeys, to: &group, &findings)
            self.groups.append(group)
        case "Class":
            guard self.classes.count < PolicyLimits.classes else {
                return findings.exceed(
                    "there are too many classes", "policy-classes", PolicyLimits.classes, at: section.place)
            }
            var one = SessionClass(name: name, place: section.place)
            section.apply(Schema.classKeys, to: &one, &findings)
            self.checkClasses(section["Interrupts"] ?? [], merged, &findings)
            if one.isDefault, self.classes.contains(where: \.isDefault) {
                findings.append(
                    Finding(
                        .duplicate, at: section.place(of: "Default"), "two classes are the default",
                        advice: "leave Default=yes to one"))
            }
            self.classes.append(one)
        case "Interaction":
            let words = section.argument?.words ?? []
            self.checkClasses(words, merged, &findings)
            guard words.count == 2 else { return }
            var interaction = Interaction(holder: words[0].text, requester: words[1].text, place: section.place)
            section.apply(Schema.interactionKeys, to: &interaction, &findings)
            self.interactions.append(interaction)
        case "Rule": self.takeRule(name, section, merged, &findings)
        case "App": self.takeApp(name, section, merged, &findings)
        default: break
        }
    }

    private mutating func takeRule(
        _ name: String, _ section: MergedSection, _ merged: SectionMerging, _ findings: inout FindingList
    ) {
        var rule = RuleDraft(name: name, place: section.place)
        section.apply(Schema.ruleKeys, to: &rule, &findings)
        if section.layer == .user, rule.effect == .allow { Self.refuse(section, "Then", &findings) }
        if rule.effect == nil, section["Then"] == nil {
            findings.append(
                Finding(
                    .incomplete, at: section.place, "[Rule \(rule.name)] says neither allow nor deny",
                    advice: "add Then=allow or Then=deny"))
        }
        Self.checkPossible(rule, section, &findings)
        // What contends in a group of the device's own, others cannot change.
        if let group = rule.group, !merged.contains(SectionName("Group", group, section.layer.ofGroups)) {
            self.undefined("Group", group, at: section.place(of: "Group"), merged, &findings)
        }
        self.checkClasses(section["Class"] ?? [], merged, &findings)
        let made = Rule(
            name: rule.name, place: rule.place, priority: rule.priority, conditions: rule.conditions,
            effect: rule.effect ?? .deny, note: rule.note, group: rule.group, strength: rule.strength,
            sessionClass: rule.sessionClass, terms: rule.terms)
        if section.layer == .outside { self.rulesFromOutside.append(made) } else { self.rules.append(made) }
    }

    /// What an app may do: its own section over that of every app, and then what users made smaller.
    private mutating func takeApp(
        _ name: String, _ section: MergedSection, _ merged: SectionMerging, _ findings: inout FindingList
    ) {
        guard name != "*" else { return }
        // What the system says of it, or others do, comes by itself.
        if section.layer == .user,
            merged.contains(SectionName("App", name)) || merged.contains(SectionName("App", name, .outside))
        {
            return
        }
        var settings = self.common
        if section.layer != .user { section.apply(Schema.appKeys, to: &settings, &findings) }
        // What the system says of every app holds whatever others say of one.
        if section.layer == .outside {
            merged[SectionName("App", "*")]?.apply(Schema.appKeys, to: &settings, &findings)
        }
        self.apps[AppID(name)] = Self.tightened(settings, for: name, merged, &findings)
    }

    private static func tightened(
        _ settings: AppSettings, for name: String, _ merged: SectionMerging, _ findings: inout FindingList
    ) -> AppSettings {
        var settings = settings
        var done: Set<String> = []
        for own in [name, name == "*" ? "" : "*"] {
            guard let section = merged[SectionName("App", own, .user)] else { continue }
            var smaller = AppSettings()
            section.apply(Schema.appKeys, to: &smaller, &findings)
            for key in section.keys where done.insert(key).inserted {
                Schema.tighten(&settings, to: smaller, key)
            }
        }
        return settings
    }

    /// Conditions that never hold together are nobody's intention.
    private static func checkPossible(
        _ rule: RuleDraft, _ section: MergedSection, _ findings: inout FindingList
    ) {
        var keys = RuleRegion(rule.conditions).contradiction
        let isAway = rule.conditions.states.elements.allSatisfy { !$0.canReceive }
        if keys.isEmpty, isAway, rule.conditions.activities.any != nil { keys = ["WhenState", "WhenActivity"] }
        if keys.isEmpty, RuleIndex.witness(of: rule.conditions.apps) == nil { keys = ["WhenApp"] }
        if keys.isEmpty, RuleIndex.witness(of: rule.conditions.presets) == nil { keys = ["WhenPreset"] }
        keys = keys.filter { section[$0] != nil }
        guard let key = keys.first else { return }
        let together = keys.count == 1 ? "can never hold" : "can never hold together"
        findings.append(
            Finding(
                .impossible, at: section.place(of: key), "\(keys.joined(separator: ", ")) \(together)",
                advice: "change or remove \(keys.count == 1 ? "it" : "one of them")"))
    }

    private static func refuse(_ section: MergedSection, _ key: String, _ findings: inout FindingList) {
        findings.append(
            Finding(
                .notForUsers, at: section.place(of: key), "a user's own files may not allow anything",
                advice: SectionName.adviceToUsers))
    }

    /// A name of something that no section makes.
    private mutating func undefined(
        _ kind: String, _ name: String, at place: Place, _ merged: SectionMerging, _ findings: inout FindingList
    ) {
        guard !findings.isFull else { return }
        let names =
            self.suggested[kind]
            ?? Array(
                merged.sections.lazy.filter { $0.kind == kind }.compactMap(\.argument?.text).prefix(Self.mostSuggested))
        self.suggested[kind] = names
        let near = Suggestion.nearest(to: name, among: names)
        findings.append(
            Finding(
                .undefined, at: place, "there is no \(kind.lowercased()) '\(printable(name))'",
                advice: near.map { "did you mean '\($0)'?" } ?? "add [\(kind) \(printable(name))]"))
    }

    /// Names of classes that are not there.
    private mutating func checkClasses(
        _ words: [PlacedText], _ merged: SectionMerging, _ findings: inout FindingList
    ) {
        for word in words where !merged.contains(SectionName("Class", word.text)) {
            self.undefined("Class", word.text, at: word.place, merged, &findings)
        }
    }
}

extension PolicyLayer {
    /// Where the groups stand that its rules may name.
    fileprivate var ofGroups: PolicyLayer { self == .outside ? .outside : .system }
}

extension MergedSection {
    /// Gives `target` what stands here for each of its keys.
    fileprivate func apply<Target>(
        _ keys: [String: Key<Target>], to target: inout Target, _ findings: inout FindingList
    ) {
        for name in self.keys {
            guard let key = keys[name], let words = self[name] else { continue }
            do throws(ValueProblem) {
                if let problem = self.problem(name) { throw problem }
                if let setNames = key.setNames {
                    setNames(&target, self.names(name))
                } else {
                    try key.set(&target, words)
                }
            } catch {
                findings.append(error.finding)
            }
        }
    }
}
