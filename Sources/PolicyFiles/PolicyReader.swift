package import Arbitration
import Motion

/// What came of reading policy files.
package struct PolicyReading: Sendable {
    /// `nil` when there is an error: a broken policy is refused as a whole.
    package var policy: Policy?
    /// The policy with the built-in one behind it, where nobody but the user said anything.
    package var standing: Policy?
    /// Whether anybody but the user said anything.
    var hasSystemFiles: Bool
    /// What was found while reading, in reading order.
    package var findings: [Finding]
    /// The sections as all files together make them, in the order of files and lines.
    var sections: [MergedSection]

    /// Throws a few of the sections away; false when none are left. To be rid of all at once takes a while.
    package mutating func discard() -> Bool {
        self.sections.removeLast(min(128, self.sections.count))
        return !self.sections.isEmpty
    }

    package var errors: [Finding] { self.findings.filter { $0.severity == .error } }

    /// Whether nobody but the user said anything, so that the built-in policy stands behind it.
    package var standsOnBuiltIn: Bool { !self.hasSystemFiles }

    /// The policy that a broker goes by: where there are no files but users' own, the built-in policy stands behind them.
    package var inForce: Policy? { self.policy == nil ? nil : self.standing ?? self.policy }
}

/// Makes a policy of the bytes of its files, a little at a time: nobody has to wait until a large one is done.
package struct PolicyReader {
    private var findings = FindingList()
    private var sections: [MergedSection] = []
    private var indices: [Identity: Int] = [:]
    private var stage = Stage.parsing
    private let hasSystemFiles: Bool

    // While files are parsed: those that are left, the one at work, and the section that its lines belong to.
    private var files: ArraySlice<PolicyFile>
    private var fileNumber = 0
    private var parser: IniParser?
    private var layer = PolicyLayer.system
    private var section: Int?
    /// The keys that stood in it, and the line of each. So few that looking through is fastest.
    private var seen: [(key: String, line: Int)] = []
    private var words = 0
    private var appSections = 0

    // While sections are made into what they mean: what came of it so far.
    private var draft = PolicyDraft()
    private var groups: [GroupConfiguration] = []
    private var classes: [SessionClass] = []
    private var interactions: [Interaction] = []
    private var rules: [Rule] = []
    private var apps: [AppID: AppSettings] = [:]
    private var common = AppSettings()
    private var suggested: [String: [String]] = [:]
    private var policy: Policy?
    private var standing: Policy?
    private var builder: PolicyBuilder?

    private enum Stage {
        case parsing
        /// The number of the next section.
        case applying(Int)
        case building
        /// The same once more, on top of the built-in policy.
        case standing
        case done
    }

    /// So many sections are made into what they mean in a step.
    private static let stepSections = 8
    /// So many names are looked at for the one that was meant.
    private static let mostSuggested = 64

    /// What makes two sections the same one.
    private struct Identity: Hashable {
        var layer: PolicyLayer
        var kind: String
        var argument: String
    }

    /// Reads files in the order in which they count; those of users first.
    package static func read(_ files: [PolicyFile]) -> PolicyReading {
        var reader = PolicyReader(files)
        while reader.step() {}
        return reader.finish()
    }

    /// Begins to read files, which count in this order; those of users come first.
    init(_ files: [PolicyFile]) {
        self.files = (files.filter { $0.layer == .user } + files.filter { $0.layer == .system })[...]
        self.hasSystemFiles = files.contains { $0.layer == .system }
        // Room for all that can come, so that nothing is ever moved as a whole.
        let most = min(PolicyLimits.sections, files.reduce(0) { $0 + $1.bytes.count } / 8)
        self.sections.reserveCapacity(most)
        self.indices.reserveCapacity(most)
    }

    /// Goes on for a moment; false when all is read.
    mutating func step() -> Bool {
        switch self.stage {
        case .parsing: self.parse()
        case .applying(let index): self.apply(from: index)
        case .building:
            if self.builder?.step() != true, let builder = self.builder.take() { self.built(Policy(builder)) }
        case .standing:
            if self.builder?.step() != true, let builder = self.builder.take() {
                self.standing = Policy(builder)
                self.stage = .done
            }
        case .done: return false
        }
        return true
    }

    /// What came of it.
    consuming func finish() -> PolicyReading {
        PolicyReading(
            policy: self.policy, standing: self.standing, hasSystemFiles: self.hasSystemFiles,
            findings: self.findings.all.inReadingOrder(), sections: self.sections)
    }

    // MARK: Merging

    private mutating func parse() {
        if self.parser == nil {
            guard let file = self.files.popFirst() else { return self.beginToApply() }
            self.parser = IniParser(file, atMost: PolicyLimits.fileBytes, "policy-file-bytes")
            self.layer = file.layer
            self.section = nil
            self.fileNumber += 1
        }
        guard let lines = self.parser?.next() else {
            for finding in self.parser?.findings.all ?? [] { self.findings.append(finding) }
            self.parser = nil
            return
        }
        for line in lines {
            switch line {
            case .section(let header, let place): self.section = self.open(header, place)
            case .assignment(let assignment): self.take(assignment)
            }
        }
        // Who has so much to mend need not know of more.
        if self.findings.isFull { self.stage = .done }
    }

    /// The section that a header begins or goes on with; `nil`, with a finding, when its lines are not to be read.
    private mutating func open(_ header: [PlacedText], _ place: Place) -> Int? {
        self.seen.removeAll(keepingCapacity: true)
        guard let (identity, argument) = self.identify(header, place, self.layer) else { return nil }
        if let known = self.indices[identity] {
            let latest = self.sections[known].latest
            self.sections[known].latest = (self.fileNumber, latest.file == self.fileNumber ? latest.line : place.line)
            guard latest.file == self.fileNumber else { return known }
            let name = identity.argument.isEmpty ? identity.kind : "\(identity.kind) \(identity.argument)"
            self.findings.append(
                Finding(
                    .duplicate, at: place,
                    "[\(printable(name))] stands in this file twice, first in line \(latest.line)",
                    advice: "put the keys into one section"))
            return nil
        }
        guard self.sections.count < PolicyLimits.sections else {
            self.exceed("there are too many sections", "policy-sections", PolicyLimits.sections, at: place)
            return nil
        }
        if identity.kind == "App" { self.appSections += 1 }
        self.indices[identity] = self.sections.count
        self.sections.append(
            MergedSection(
                kind: identity.kind, argument: argument, layer: self.layer, place: place, file: self.fileNumber))
        return self.sections.count - 1
    }

    private mutating func exceed(_ what: String, _ name: String, _ limit: Int, at place: Place) {
        self.findings.append(
            Finding(.tooMuch, at: place, PolicyLimits.excess(what, name, limit), advice: "say it with fewer"))
    }

    private mutating func take(_ assignment: Assignment) {
        guard let index = self.section else { return }
        let kind = self.sections[index].kind
        guard let keys = Schema.keyFacts[kind] else { return }
        let name = assignment.key.text
        guard let key = keys[name] else {
            guard !self.findings.isFull else { return }
            return self.findings.append(
                Values.unknown(assignment.key, "key of [\(kind)]", among: keys.keys.sorted()).finding)
        }
        if let first = self.seen.first(where: { $0.key == name }) {
            if !key.type.isList {
                return self.findings.append(
                    Finding(
                        .duplicate, at: assignment.key.place,
                        "'\(name)' stands in this section twice, first in line \(first.line)", advice: "remove one"))
            }
        } else {
            self.seen.append((name, assignment.key.place.line))
        }
        if self.layer == .user, !key.isForUsers {
            return self.findings.append(
                Finding(
                    .notForUsers, at: assignment.key.place, "'\(name)' is not for a user's own files",
                    advice: "these may deny and make limits smaller; ask the administrator for more"))
        }
        guard self.words < PolicyLimits.wordsInAll else {
            return self.exceed(
                "the lists are too long", "policy-words-in-all", PolicyLimits.wordsInAll, at: assignment.value.place)
        }
        let count = self.sections[index].assign(
            name, assignment.value, isList: key.type.isList, areNames: key.areNames)
        if key.type.isList { self.words += count }
    }

    /// What a header names; `nil`, with a finding, when it names nothing.
    private mutating func identify(
        _ header: [PlacedText], _ place: Place, _ layer: PolicyLayer
    ) -> (Identity, PlacedText?)? {
        do throws(ValueProblem) {
            guard let kind = header.first else {
                throw ValueProblem(
                    check: .syntax, place: place, message: "the section has no name", advice: "name it")
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
            guard header.count == wanted else {
                let expected = wantedArgument.isEmpty ? kind.text : "\(kind.text) \(wantedArgument)"
                throw ValueProblem(
                    check: .syntax, place: header.count > wanted ? header[wanted].place : kind.place,
                    message: "expected [\(expected)]", advice: "write it that way")
            }
            let words = header.dropFirst()
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

    private mutating func beginToApply() {
        self.stage = .applying(0)
        self.apps.reserveCapacity(self.appSections)
        guard let index = self.index("App", "*") else { return }
        var common = AppSettings()
        self.apply(Schema.appKeys, self.sections[index], to: &common)
        self.common = common
    }

    private func index(_ kind: String, _ argument: String, of layer: PolicyLayer = .system) -> Int? {
        self.indices[Identity(layer: layer, kind: kind, argument: argument)]
    }

    private mutating func apply(from start: Int) {
        let end = min(start + Self.stepSections, self.sections.count)
        for index in start..<end { self.apply(self.sections[index]) }
        self.stage = .applying(end)
        if self.findings.isFull { self.stage = .done }
        if end == self.sections.count { self.applied() }
    }

    private mutating func apply(_ section: MergedSection) {
        let name = section.argument?.text ?? ""
        switch section.kind {
        case "Policy":
            var draft = self.draft
            self.apply(Schema.policyKeys, section, to: &draft)
            self.draft = draft
            if section.layer == .user, draft.otherwise == .allow { self.refuse(section, "Default") }
        case "Group":
            guard self.groups.count < PolicyLimits.groups else {
                return self.exceed("there are too many groups", "policy-groups", PolicyLimits.groups, at: section.place)
            }
            var group = GroupConfiguration(name: name, place: section.place)
            self.apply(Schema.groupKeys, section, to: &group)
            self.groups.append(group)
        case "Class":
            guard self.classes.count < PolicyLimits.classes else {
                return self.exceed(
                    "there are too many classes", "policy-classes", PolicyLimits.classes, at: section.place)
            }
            var one = SessionClass(name: name, place: section.place)
            self.apply(Schema.classKeys, section, to: &one)
            self.checkClasses(section["Interrupts"] ?? [])
            if one.isDefault, self.classes.contains(where: \.isDefault) {
                self.findings.append(
                    Finding(
                        .duplicate, at: section.place(of: "Default"), "two classes are the default",
                        advice: "leave Default=yes to one"))
            }
            self.classes.append(one)
        case "Interaction":
            let words = section.argument?.words ?? []
            self.checkClasses(words)
            guard words.count == 2 else { return }
            var interaction = Interaction(holder: words[0].text, requester: words[1].text, place: section.place)
            self.apply(Schema.interactionKeys, section, to: &interaction)
            self.interactions.append(interaction)
        case "Rule": self.applyRule(name, section)
        case "App": self.applyApp(name, section)
        default: break
        }
    }

    private mutating func applyRule(_ name: String, _ section: MergedSection) {
        var rule = RuleDraft(name: name, place: section.place)
        self.apply(Schema.ruleKeys, section, to: &rule)
        if section.layer == .user, rule.effect == .allow { self.refuse(section, "Then") }
        if rule.effect == nil, section["Then"] == nil {
            self.findings.append(
                Finding(
                    .incomplete, at: section.place, "[Rule \(rule.name)] says neither allow nor deny",
                    advice: "add Then=allow or Then=deny"))
        }
        self.checkPossible(rule, section)
        if let group = rule.group, self.index("Group", group) == nil {
            self.undefined("Group", group, at: section.place(of: "Group"))
        }
        self.checkClasses(section["Class"] ?? [])
        self.rules.append(
            Rule(
                name: rule.name, place: rule.place, priority: rule.priority, conditions: rule.conditions,
                effect: rule.effect ?? .deny, note: rule.note, group: rule.group, strength: rule.strength,
                sessionClass: rule.sessionClass, terms: rule.terms))
    }

    /// What an app may do: its own section over that of every app, and then what users made smaller.
    private mutating func applyApp(_ name: String, _ section: MergedSection) {
        guard name != "*" else { return }
        // What the system says of it comes by itself.
        if section.layer == .user, self.index("App", name) != nil { return }
        var settings = self.common
        if section.layer == .system { self.apply(Schema.appKeys, section, to: &settings) }
        self.apps[AppID(name)] = self.tightened(settings, for: name)
    }

    private mutating func tightened(_ settings: AppSettings, for name: String) -> AppSettings {
        var settings = settings
        var done: Set<String> = []
        for own in [name, name == "*" ? "" : "*"] {
            guard let index = self.index("App", own, of: .user) else { continue }
            var smaller = AppSettings()
            self.apply(Schema.appKeys, self.sections[index], to: &smaller)
            for key in self.sections[index].keys where done.insert(key).inserted {
                Schema.tighten(&settings, to: smaller, key)
            }
        }
        return settings
    }

    /// All sections are made into what they mean; what is left is to put that in order.
    private mutating func applied() {
        let everyApp = self.tightened(self.common, for: "*")
        guard !self.findings.all.contains(where: { $0.severity == .error }) else {
            self.stage = .done
            return
        }
        self.builder = PolicyBuilder(
            otherwise: self.draft.otherwise, groups: self.groups, rules: self.rules,
            matrix: InteractionMatrix(self.classes, self.interactions), apps: self.apps, everyApp: everyApp)
        self.stage = .building
    }

    private mutating func built(_ policy: Policy) {
        self.policy = policy
        self.stage = .done
        if self.hasSystemFiles { return }
        self.builder = PolicyBuilder(
            otherwise: Policy.builtIn.otherwise, groups: Policy.builtIn.groups,
            rules: policy.rules + Policy.builtIn.rules, matrix: Policy.builtIn.matrix, apps: policy.apps,
            everyApp: policy.everyApp)
        self.stage = .standing
    }

    private mutating func apply<Target>(
        _ keys: [String: Key<Target>], _ section: MergedSection, to target: inout Target
    ) {
        for name in section.keys {
            guard let key = keys[name], let words = section[name] else { continue }
            do throws(ValueProblem) {
                if let problem = section.problem(name) { throw problem }
                if let setNames = key.setNames {
                    setNames(&target, section.names(name))
                } else {
                    try key.set(&target, words)
                }
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
        if keys.isEmpty, RuleIndex.witness(of: rule.conditions.apps) == nil { keys = ["WhenApp"] }
        if keys.isEmpty, RuleIndex.witness(of: rule.conditions.presets) == nil { keys = ["WhenPreset"] }
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

    /// A name of something that no section makes.
    private mutating func undefined(_ kind: String, _ name: String, at place: Place) {
        guard !self.findings.isFull else { return }
        let names =
            self.suggested[kind]
            ?? Array(
                self.sections.lazy.filter { $0.kind == kind }.compactMap(\.argument?.text).prefix(Self.mostSuggested))
        self.suggested[kind] = names
        let near = Suggestion.nearest(to: name, among: names)
        self.findings.append(
            Finding(
                .undefined, at: place, "there is no \(kind.lowercased()) '\(printable(name))'",
                advice: near.map { "did you mean '\($0)'?" } ?? "add [\(kind) \(printable(name))]"))
    }

    /// Names of classes that are not there.
    private mutating func checkClasses(_ words: [PlacedText]) {
        for word in words where self.index("Class", word.text) == nil {
            self.undefined("Class", word.text, at: word.place)
        }
    }
}
