package import Arbitration
import Motion

/// What came of reading policy files.
package struct PolicyReading: Sendable {
    /// `nil` when there is an error: a broken policy is refused as a whole.
    package var policy: Policy?
    /// Whether anybody but the user said anything.
    var hasSystemFiles: Bool
    /// What was found while reading, in reading order.
    package var findings: [Finding]
    /// The sections as all files together make them, in the order of files and lines.
    var sections: [MergedSection]
    /// The section that each rule and group was read from.
    var sectionOf: [Place: Int]

    package var errors: [Finding] { self.findings.filter { $0.severity == .error } }

    /// Whether nobody but the user said anything, so that the built-in policy stands behind it.
    package var standsOnBuiltIn: Bool { !self.hasSystemFiles }

    /// The policy that a broker goes by: where there are no files but users' own, the built-in policy stands behind them.
    package var inForce: Policy? {
        guard self.standsOnBuiltIn, let policy = self.policy else { return self.policy }
        return Policy(
            otherwise: Policy.builtIn.otherwise, groups: Policy.builtIn.groups,
            rules: policy.rules + Policy.builtIn.rules, matrix: Policy.builtIn.matrix, apps: policy.apps,
            everyApp: policy.everyApp)
    }
}

/// Makes a policy of the bytes of its files.
package struct PolicyReader {
    private var findings: [Finding] = []
    private var sections: [MergedSection] = []
    private var indices: [Identity: Int] = [:]

    /// What makes two sections the same one.
    private struct Identity: Hashable {
        var layer: PolicyLayer
        var kind: String
        var argument: String
    }

    /// Reads files in the order in which they count; those of users first.
    package static func read(_ files: [PolicyFile]) -> PolicyReading {
        var reader = PolicyReader()
        for layer in [PolicyLayer.user, .system] {
            for file in files where file.layer == layer {
                let (document, findings) = IniParser.parse(file)
                reader.findings += findings
                reader.merge(document)
            }
        }
        return reader.build(hasSystemFiles: files.contains { $0.layer == .system })
    }

    // MARK: Merging

    private mutating func merge(_ document: PolicyDocument) {
        var seen: [Identity: Place] = [:]
        for section in document.sections {
            guard let (identity, argument) = self.identify(section, document.layer) else { continue }
            if let first = seen.updateValue(section.place, forKey: identity) {
                let name = identity.argument.isEmpty ? identity.kind : "\(identity.kind) \(identity.argument)"
                self.findings.append(
                    Finding(
                        .duplicate, at: section.place,
                        "[\(printable(name))] stands in this file twice, first in line "
                            + "\(first.line)", advice: "put the keys into one section"))
                continue
            }
            let index: Int
            if let known = self.indices[identity] {
                index = known
            } else {
                index = self.sections.count
                self.indices[identity] = index
                self.sections.append(
                    MergedSection(
                        kind: identity.kind, argument: argument, layer: document.layer, place: section.place))
            }
            self.merge(section, into: index)
        }
    }

    private mutating func merge(_ section: DocumentSection, into index: Int) {
        let kind = self.sections[index].kind
        guard let keys = Schema.keyFacts[kind] else { return }
        // As many as there are keys at most, so that looking through is fastest.
        var seen: [(key: String, line: Int)] = []
        for assignment in section.assignments {
            let name = assignment.key.text
            guard let key = keys[name] else {
                self.findings.append(
                    Values.unknown(assignment.key, "key of [\(kind)]", among: keys.keys.sorted()).finding)
                continue
            }
            let line = assignment.key.place.line
            if let first = seen.first(where: { $0.key == name }) {
                if !key.type.isList {
                    self.findings.append(
                        Finding(
                            .duplicate, at: assignment.key.place,
                            "'\(name)' stands in this section twice, first in "
                                + "line \(first.line)", advice: "remove one"))
                    continue
                }
            } else {
                seen.append((name, line))
            }
            if self.sections[index].layer == .user, !key.isForUsers {
                self.findings.append(
                    Finding(
                        .notForUsers, at: assignment.key.place, "'\(name)' is not for a user's own files",
                        advice: "these may deny and make limits smaller; ask the administrator for more"))
                continue
            }
            self.sections[index].assign(name, assignment.value, isList: key.type.isList)
        }
    }

    /// What a header names; `nil`, with a finding, when it names nothing.
    private mutating func identify(
        _ section: DocumentSection, _ layer: PolicyLayer
    ) -> (Identity, PlacedText?)? {
        do throws(ValueProblem) {
            guard let kind = section.header.first else {
                throw ValueProblem(
                    check: .syntax, place: section.place, message: "the section has no name", advice: "name it")
            }
            guard let wantedArgument = Schema.arguments[kind.text] else {
                throw Values.unknown(kind, "section", among: Schema.sections.map(\.name))
            }
            if layer == .user, ["Group", "Class", "Interaction"].contains(kind.text) {
                throw ValueProblem(
                    check: .notForUsers, place: kind.place,
                    message: "[\(kind.text)] sections are not for a user's own files",
                    advice: "these may deny and make limits smaller; ask the administrator for more")
            }
            let wanted = wantedArgument.isEmpty ? 1 : kind.text == "Interaction" ? 3 : 2
            guard section.header.count == wanted else {
                let header = wantedArgument.isEmpty ? kind.text : "\(kind.text) \(wantedArgument)"
                throw ValueProblem(
                    check: .syntax, place: section.header.count > wanted ? section.header[wanted].place : kind.place,
                    message: "expected [\(header)]", advice: "write it that way")
            }
            let words = section.header.dropFirst()
            for word in words { try Self.check(word, of: kind.text) }
            let argument = words.first.map {
                PlacedText(text: words.map(\.text).joined(separator: " "), place: $0.place)
            }
            return (Identity(layer: layer, kind: kind.text, argument: argument?.text ?? ""), argument)
        } catch {
            self.findings.append(error.finding)
            return nil
        }
    }

    private static func check(_ argument: PlacedText, of kind: String) throws(ValueProblem) {
        guard kind == "App" else {
            _ = try Values.name(argument)
            return
        }
        let isName =
            argument.text == "*" || (!argument.text.utf8.contains(UInt8(ascii: "*")) && argument.text.utf8.count <= 255)
        guard isName else {
            throw ValueProblem(
                place: argument.place, message: "expected an app id or '*', found '\(printable(argument.text))'",
                advice: "name the app in full")
        }
    }

    // MARK: Building

    private mutating func build(hasSystemFiles: Bool) -> PolicyReading {
        var draft = PolicyDraft()
        var groups: [GroupConfiguration] = []
        var classes: [SessionClass] = []
        var interactions: [Interaction] = []
        var rules: [RuleDraft] = []
        var sectionOf: [Place: Int] = [:]
        for (index, section) in self.sections.enumerated() {
            sectionOf[section.place] = index
            switch section.kind {
            case "Policy":
                self.apply(Schema.policyKeys, section, to: &draft)
                if section.layer == .user, draft.otherwise == .allow { self.refuse(section, "Default") }
            case "Group":
                var group = GroupConfiguration(name: section.argument?.text ?? "", place: section.place)
                self.apply(Schema.groupKeys, section, to: &group)
                groups.append(group)
            case "Class":
                var one = SessionClass(name: section.argument?.text ?? "", place: section.place)
                self.apply(Schema.classKeys, section, to: &one)
                classes.append(one)
            case "Interaction":
                let names = section.argument?.words.map(\.text) ?? []
                guard names.count == 2 else { continue }
                var interaction = Interaction(holder: names[0], requester: names[1], place: section.place)
                self.apply(Schema.interactionKeys, section, to: &interaction)
                interactions.append(interaction)
            case "Rule":
                var rule = RuleDraft(name: section.argument?.text ?? "", place: section.place)
                self.apply(Schema.ruleKeys, section, to: &rule)
                if section.layer == .user, rule.effect == .allow { self.refuse(section, "Then") }
                if rule.effect == nil, section["Then"] == nil {
                    self.findings.append(
                        Finding(
                            .incomplete, at: section.place, "[Rule \(rule.name)] says neither allow nor deny",
                            advice: "add Then=allow or Then=deny"))
                }
                self.checkPossible(rule, section)
                rules.append(rule)
            default: break
            }
        }
        let (apps, everyApp) = self.settings()
        self.checkGroups(rules, groups, sectionOf)
        self.checkClasses(classes)
        let findings = self.findings.inReadingOrder()
        let policy = Policy(
            otherwise: draft.otherwise, groups: groups,
            rules: rules.map { draft in
                Rule(
                    name: draft.name, place: draft.place, priority: draft.priority, conditions: draft.conditions,
                    effect: draft.effect ?? .deny, note: draft.note, group: draft.group, strength: draft.strength,
                    sessionClass: draft.sessionClass, terms: draft.terms)
            }, matrix: InteractionMatrix(classes, interactions), apps: apps, everyApp: everyApp)
        return PolicyReading(
            policy: findings.contains { $0.severity == .error } ? nil : policy, hasSystemFiles: hasSystemFiles,
            findings: findings, sections: self.sections, sectionOf: sectionOf)
    }

    private mutating func apply<Target>(
        _ keys: [String: Key<Target>], _ section: MergedSection, to target: inout Target
    ) {
        for name in section.keys {
            guard let key = keys[name], let words = section[name] else { continue }
            do throws(ValueProblem) {
                try key.set(&target, words)
            } catch {
                self.findings.append(error.finding)
            }
        }
    }

    /// Conditions that never hold together are nobody's intention.
    private mutating func checkPossible(_ rule: RuleDraft, _ section: MergedSection) {
        var keys = RuleRegion(rule.conditions).contradiction
        let isAway = rule.conditions.states.elements.allSatisfy { !$0.canReceive }
        if keys.isEmpty, isAway, rule.conditions.activities.any != nil { keys = ["WhenState", "WhenActivity"] }
        if keys.isEmpty, RuleIndex.witnesses(of: rule.conditions.apps, beside: []).isEmpty { keys = ["WhenApp"] }
        if keys.isEmpty, RuleIndex.witnesses(of: rule.conditions.presets, beside: []).isEmpty { keys = ["WhenPreset"] }
        keys = keys.filter { section[$0] != nil }
        guard let key = keys.first else { return }
        let together = keys.count == 1 ? "can never hold" : "can never hold together"
        self.findings.append(
            Finding(
                .impossible, at: section.place(of: key), "\(keys.joined(separator: ", ")) \(together)",
                advice: "change or remove \(keys.count == 1 ? "it" : "one of them")"))
    }

    private mutating func refuse(_ section: MergedSection, _ key: String) {
        self.findings.append(
            Finding(
                .notForUsers, at: section.place(of: key), "a user's own files may not allow anything",
                advice: "these may deny and make limits smaller; ask the administrator for more"))
    }

    private mutating func checkGroups(
        _ rules: [RuleDraft], _ groups: [GroupConfiguration], _ sectionOf: [Place: Int]
    ) {
        let names = Set(groups.map(\.name))
        for rule in rules {
            guard let group = rule.group, !names.contains(group), let index = sectionOf[rule.place] else { continue }
            self.undefined("Group", group, at: self.sections[index].place(of: "Group"), among: groups.map(\.name))
        }
    }

    /// A name of something that no section makes.
    private mutating func undefined(_ kind: String, _ name: String, at place: Place, among names: [String]) {
        let near = Suggestion.nearest(to: name, among: names)
        self.findings.append(
            Finding(
                .undefined, at: place, "there is no \(kind.lowercased()) '\(printable(name))'",
                advice: near.map { "did you mean '\($0)'?" } ?? "add [\(kind) \(printable(name))]"))
    }

    /// Names of classes that are not there, and more than one class for those who name none.
    private mutating func checkClasses(_ classes: [SessionClass]) {
        let names = classes.map(\.name)
        for section in self.sections {
            let words =
                switch section.kind {
                case "Class": section["Interrupts"] ?? []
                case "Interaction": section.argument?.words ?? []
                case "Rule": section["Class"] ?? []
                default: [PlacedText]()
                }
            for word in words where !names.contains(word.text) {
                self.undefined("Class", word.text, at: word.place, among: names)
            }
        }
        for other in classes.filter(\.isDefault).dropFirst() {
            let section = self.sections.first { $0.place == other.place }
            self.findings.append(
                Finding(
                    .duplicate, at: section?.place(of: "Default") ?? other.place, "two classes are the default",
                    advice: "leave Default=yes to one"))
        }
    }

    /// What each app may do: its own section over that of every app, and then what users made smaller.
    private mutating func settings() -> (apps: [AppID: AppSettings], everyApp: AppSettings) {
        var system: [String: MergedSection] = [:]
        var user: [String: MergedSection] = [:]
        for section in self.sections where section.kind == "App" {
            guard let id = section.argument?.text else { continue }
            if section.layer == .system { system[id] = section } else { user[id] = section }
        }
        var common = AppSettings()
        if let section = system["*"] { self.apply(Schema.appKeys, section, to: &common) }
        func tightened(_ settings: AppSettings, for id: String, _ reader: inout PolicyReader) -> AppSettings {
            var settings = settings
            var done: Set<String> = []
            for section in [user[id], id == "*" ? nil : user["*"]] {
                guard let section else { continue }
                var own = AppSettings()
                reader.apply(Schema.appKeys, section, to: &own)
                for key in section.keys where done.insert(key).inserted { Schema.tighten(&settings, to: own, key) }
            }
            return settings
        }
        var apps: [AppID: AppSettings] = [:]
        for id in Set(system.keys).union(user.keys).subtracting(["*"]).sorted() {
            var settings = common
            if let section = system[id] { self.apply(Schema.appKeys, section, to: &settings) }
            apps[AppID(id)] = tightened(settings, for: id, &self)
        }
        return (apps, tightened(common, for: "*", &self))
    }
}
