package import Arbitration
import Motion

/// What came of reading policy files.
package struct PolicyReading: Sendable {
    /// `nil` when there is an error: a broken policy is refused as a whole.
    package var policy: Policy?
    /// What was found while reading, in reading order.
    package var findings: [Finding]
    /// The sections as all files together make them, in the order of files and lines.
    var sections: [MergedSection]
    /// The section that each rule and group was read from.
    var sectionOf: [Place: Int]

    package var errors: [Finding] { self.findings.filter { $0.severity == .error } }
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
        return reader.build()
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
        guard let schema = Schema.sections.first(where: { $0.name == self.sections[index].kind }) else { return }
        var seen: [String: Int] = [:]
        for assignment in section.assignments {
            guard let key = schema.keys.first(where: { $0.name == assignment.key.text }) else {
                self.findings.append(
                    Values.unknown(
                        assignment.key, "key of [\(schema.name)]", among: schema.keys.map { $0.name }
                    ).finding)
                continue
            }
            let line = assignment.key.place.line
            if let first = seen.updateValue(line, forKey: key.name), !key.type.isList {
                self.findings.append(
                    Finding(
                        .duplicate, at: assignment.key.place,
                        "'\(key.name)' stands in this section twice, first in "
                            + "line \(first)", advice: "remove one"))
                continue
            }
            if self.sections[index].layer == .user, !key.isForUsers {
                self.findings.append(
                    Finding(
                        .notForUsers, at: assignment.key.place, "'\(key.name)' is not for a user's own files",
                        advice: "these may deny and make limits smaller; ask the administrator for more"))
                continue
            }
            self.sections[index].assign(key.name, assignment.value, isList: key.type.isList)
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
            if Schema.later.contains(kind.text) {
                throw ValueProblem(
                    check: .unsupported, place: kind.place, message: "this version has no [\(kind.text)] sections",
                    advice: "remove the section")
            }
            guard let schema = Schema.sections.first(where: { $0.name == kind.text }) else {
                throw Values.unknown(kind, "section", among: Schema.sections.map(\.name) + Schema.later)
            }
            if layer == .user, schema.name == "Group" {
                throw ValueProblem(
                    check: .notForUsers, place: kind.place, message: "groups are not for a user's own files",
                    advice: "these may deny and make limits smaller; ask the administrator for more")
            }
            let wanted = schema.argument.isEmpty ? 1 : 2
            guard section.header.count == wanted else {
                let header = schema.argument.isEmpty ? schema.name : "\(schema.name) \(schema.argument)"
                throw ValueProblem(
                    check: .syntax, place: section.header.count > wanted ? section.header[wanted].place : kind.place,
                    message: "expected [\(header)]", advice: "write it that way")
            }
            let argument = wanted == 2 ? section.header[1] : nil
            if let argument { try Self.check(argument, of: schema.name) }
            return (Identity(layer: layer, kind: schema.name, argument: argument?.text ?? ""), argument)
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

    private mutating func build() -> PolicyReading {
        var draft = PolicyDraft()
        var groups: [GroupConfiguration] = []
        var rules: [RuleDraft] = []
        var sectionOf: [Place: Int] = [:]
        for (index, section) in self.sections.enumerated() {
            sectionOf[section.place] = index
            switch section.kind {
            case "Policy":
                self.apply(Schema.policy, section, to: &draft)
                if section.layer == .user, draft.otherwise == .allow { self.refuse(section, "Default") }
            case "Group":
                var group = GroupConfiguration(name: section.argument?.text ?? "", place: section.place)
                self.apply(Schema.group, section, to: &group)
                groups.append(group)
            case "Rule":
                var rule = RuleDraft(name: section.argument?.text ?? "", place: section.place)
                self.apply(Schema.rule, section, to: &rule)
                if section.layer == .user, rule.effect == .allow { self.refuse(section, "Then") }
                if rule.effect == nil, section["Then"] == nil {
                    self.findings.append(
                        Finding(
                            .incomplete, at: section.place, "[Rule \(rule.name)] says neither allow nor deny",
                            advice: "add Then=allow or Then=deny"))
                }
                rules.append(rule)
            default: break
            }
        }
        let (apps, everyApp) = self.settings()
        self.checkGroups(rules, groups, sectionOf)
        let findings = self.findings.inReadingOrder()
        let policy = Policy(
            otherwise: draft.otherwise, groups: groups,
            rules: rules.map { draft in
                Rule(
                    name: draft.name, place: draft.place, priority: draft.priority, conditions: draft.conditions,
                    effect: draft.effect ?? .deny, note: draft.note, group: draft.group, strength: draft.strength,
                    terms: draft.terms)
            }, apps: apps, everyApp: everyApp)
        return PolicyReading(
            policy: findings.contains { $0.severity == .error } ? nil : policy, findings: findings,
            sections: self.sections, sectionOf: sectionOf)
    }

    private mutating func apply<Target>(_ keys: [Key<Target>], _ section: MergedSection, to target: inout Target) {
        for key in keys {
            guard let words = section[key.name] else { continue }
            do throws(ValueProblem) {
                try key.set(&target, words)
            } catch {
                self.findings.append(error.finding)
            }
        }
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
            let near = Suggestion.nearest(to: group, among: groups.map(\.name))
            self.findings.append(
                Finding(
                    .undefined, at: self.sections[index].place(of: "Group"), "there is no group '\(printable(group))'",
                    advice: near.map { "did you mean '\($0)'?" } ?? "add [Group \(printable(group))]"))
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
        if let section = system["*"] { self.apply(Schema.app, section, to: &common) }
        func tightened(_ settings: AppSettings, for id: String, _ reader: inout PolicyReader) -> AppSettings {
            var settings = settings
            var done: Set<String> = []
            for section in [user[id], id == "*" ? nil : user["*"]] {
                guard let section else { continue }
                var own = AppSettings()
                reader.apply(Schema.app, section, to: &own)
                for key in section.keys where done.insert(key).inserted { Schema.tighten(&settings, to: own, key) }
            }
            return settings
        }
        var apps: [AppID: AppSettings] = [:]
        for id in Set(system.keys).union(user.keys).subtracting(["*"]).sorted() {
            var settings = common
            if let section = system[id] { self.apply(Schema.app, section, to: &settings) }
            apps[AppID(id)] = tightened(settings, for: id, &self)
        }
        return (apps, tightened(common, for: "*", &self))
    }
}
