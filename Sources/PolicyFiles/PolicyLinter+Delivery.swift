import Arbitration
import Motion

extension PolicyLinter {
    mutating func checkDelivery() {
        var keeps: Rule?
        let modes = Dictionary(self.policy.groups.map { ($0.name, $0.mode) }) { first, _ in first }
        for rule in self.policy.rules {
            self.checkTimes(rule)
            if rule.effect == .deny {
                self.checkIdle(
                    rule, ["Strength", "Class", "Deliver", "Reliability", "Durability", "Lifespan"], "which denies")
                continue
            }
            if let name = rule.group {
                let mode = modes[name] ?? .broadcast
                if mode != .mixable { self.checkIdle(rule, ["Class"], "whose group is \(mode.name)") }
            } else {
                self.checkIdle(rule, ["Strength", "Class"], "which names no group")
            }
            self.checkTerms(rule)
            if rule.terms.kind != .live, keeps == nil { keeps = rule }
        }
        if let keeps, self.policy.everyApp.quota == nil {
            self.find(
                .unlimited, at: keeps.place,
                "\(Self.named(keeps)) wakes apps or stores for them, and [App *] has no Quota",
                advice: "give [App *] a Quota")
        }
    }

    private mutating func checkIdle(_ rule: Rule, _ keys: [String], _ why: String) {
        guard let section = self.section(at: rule.place) else { return }
        for key in keys where section[key] != nil {
            self.find(
                .withoutEffect, at: section.place(of: key), "\(key) does nothing in \(Self.named(rule)), \(why)",
                advice: "remove it")
        }
    }

    /// On two Sundays a year the hour from two to three is left out, or comes twice.
    private mutating func checkTimes(_ rule: Rule) {
        guard let times = rule.conditions.times else { return }
        let change = (6 * 1_440 + 120)...(6 * 1_440 + 180)
        let isInside = times.ranges.contains { range in
            let ends = [range.lowerBound, range.upperBound]
            return ends.contains { $0 > change.lowerBound && $0 < change.upperBound }
                || ends.allSatisfy { change.contains($0) }
        }
        guard isInside else { return }
        self.find(
            .clockChange, at: self.place(of: "WhenTime", at: rule.place),
            "\(Self.named(rule)) begins or ends on Sunday between 02:00 and 03:00, which clocks leave out in spring and "
                + "repeat in autumn", advice: "choose another hour, or leave Sunday out")
    }

    private mutating func checkTerms(_ rule: Rule) {
        let conditions = rule.conditions
        let names = conditions.apps.any
        let isForNamed = !names.isEmpty && names.areLiteral
        let isForGranted = conditions.grants.any != nil || conditions.activities.any != nil
        if rule.terms.kind == .wake, !isForNamed, !isForGranted {
            self.find(
                .wakeForAnybody, at: self.place(of: "Deliver", at: rule.place),
                "\(Self.named(rule)) wakes any app that asks", advice: "name the apps, or ask for a grant")
        }
        if rule.terms.kind == .live, conditions.states.elements.allSatisfy({ !$0.canReceive }) {
            self.find(
                .lostByDesign, at: self.place(of: "WhenState", at: rule.place),
                "\(Self.named(rule)) is for apps that are not there, and delivers only to those that are",
                advice: "add Deliver=wake or Deliver=store")
        }
        let isGesture = conditions.presets.any.contains { $0.text.hasPrefix("shake") || $0.text == "system.shake" }
        if rule.terms.durability == .persistent, isGesture, rule.terms.lifespan > .seconds(60) {
            self.find(
                .staleGesture, at: self.place(of: "Lifespan", at: rule.place),
                "a shake may be delivered \(rule.terms.lifespan.text) after it was made",
                advice: "make Lifespan 1min at most")
        }
        let isWeak = conditions.proofs.contains(.name) || conditions.proofs.contains(.uid)
        if isWeak, rule.terms.kind == .wake || rule.strength >= 100 {
            self.find(
                .weakIdentity, at: rule.place,
                "\(Self.named(rule)) is strong, and matches whoever takes the name first",
                // Of an app that never registered for good nothing but its name is known while it is not there.
                advice: rule.terms.kind == .wake
                    ? "add WhenIdentity=unit flatpak, if the app registers for good"
                    : "add WhenIdentity=unit flatpak")
        }
    }

    // MARK: Installed apps

    mutating func checkInstalled() {
        guard let installed = self.installed else { return }
        let ids = Set(installed.map(\.id.name))
        let sorted = ids.sorted()
        for rule in self.inForce.rules {
            for pattern in rule.conditions.apps.any where pattern.isLiteral && !ids.contains(pattern.text) {
                self.missing(pattern.text, at: self.place(of: "WhenApp", at: rule.place), sorted)
            }
        }
        self.checkStarting(Set(installed.filter { !$0.canBeStarted }.map(\.id.name)))
        for section in self.reading.sections where section.kind == "App" {
            guard let id = section.argument, id.text != "*", !ids.contains(id.text) else { continue }
            self.missing(id.text, at: section.place, sorted)
        }
        for app in installed {
            for detector in app.detectors { self.checkServed(app, detector) }
            self.tellCoverage(app)
        }
        for group in self.inForce.groups where group.mode == .exclusive && group.select.first == .strength {
            if group.aging == nil { self.checkDominated(group, installed) }
        }
    }

    /// Whoever is not on the bus is woken by being started.
    private mutating func checkStarting(_ unstartable: Set<String>) {
        for rule in self.inForce.rules
        where rule.effect == .allow && rule.terms.kind == .wake && rule.conditions.states.contains(.dead) {
            for pattern in rule.conditions.apps.any where pattern.isLiteral && unstartable.contains(pattern.text) {
                self.find(
                    .notStartable, at: self.place(of: "Deliver", at: rule.place),
                    "\(Self.named(rule)) wakes '\(printable(pattern.text))', which the bus cannot start",
                    advice: "install its D-Bus service file, or leave the state dead out")
            }
        }
    }

    private mutating func missing(_ id: String, at place: Place, _ ids: [String]) {
        // Whoever misspelt all of them is not helped.
        let near = self.suggestions > 0 ? Suggestion.nearest(to: id, among: ids) : nil
        self.suggestions -= 1
        self.find(
            .notInstalled, at: place, "the app '\(printable(id))' is not installed",
            advice: near.map { "did you mean '\($0)'?" } ?? "install it, or remove what is said about it")
    }

    /// What an app hears, for those who look whether it is what they meant.
    private mutating func tellCoverage(_ app: InstalledApp) {
        guard !app.detectors.isEmpty else { return }
        let place =
            self.appSections[app.id.name].map { self.reading.sections[$0].place }
            ?? self.inForce.rules.first?.place ?? Place(file: "", line: 1)
        let presets = Set(app.detectors.map(\.preset)).subtracting([""]).sorted()
        for table in PolicyCoverage(of: self.inForce, apps: [app.id], presets: presets).tables {
            for (column, names) in table.columns.enumerated() {
                let heard = names.filter { name in
                    name != PolicyCoverage.ownCondition || app.detectors.contains { $0.preset.isEmpty }
                }
                if heard.isEmpty { continue }
                let heardWhen = table.rows.filter { $0.cells[column].text != "no" }.map { row in
                    let words = PolicyCoverage.words(of: row.situation)
                    let with = row.situation.right == .nothing ? "" : " with \(words.right)"
                    let how = row.cells[column].text
                    return words.state + with + (how == "yes" ? "" : " (\(how))")
                }
                self.find(
                    .coverage, at: place,
                    "\(app.id) hears \(heard.joined(separator: ", ")) "
                        + (heardWhen.isEmpty ? "nowhere" : "when it is \(heardWhen.joined(separator: "; "))"),
                    advice: "see it all with 'jostle policy coverage'")
            }
        }
    }

    private mutating func checkServed(_ app: InstalledApp, _ detector: DetectorFacts) {
        let rules = self.inForce.rulesTried(for: app.id, preset: detector.preset)
        if self.inForce.otherwise == .allow || rules.contains(where: { $0.effect == .allow }) { return }
        let place = self.inForce.rules.last?.place ?? Place(file: "", line: 1)
        self.find(
            .neverDelivered, at: place,
            "no rule ever allows '\(printable(detector.name))' of \(app.id), which listens for "
                + "'\(printable(detector.preset))'", advice: "add a rule for it, or tell the app's author")
    }

    /// Strengths with which a detector can come to a group.
    private func strengths(_ id: AppID, _ detector: DetectorFacts, _ group: String) -> [Int] {
        var strengths: [Int] = []
        let everything = RuleRegion(Conditions())
        for rule in self.inForce.rulesTried(for: id, preset: detector.preset) {
            if rule.effect == .allow, rule.group == group { strengths.append(rule.strength) }
            // What stands behind a rule that always matches is never asked.
            if everything.isCovered(by: RuleRegion(rule.conditions)) { break }
        }
        return strengths
    }

    /// Detectors that fire only when another fires, too, of an app that is always stronger.
    private mutating func checkDominated(_ group: GroupConfiguration, _ installed: [InstalledApp]) {
        struct Claim {
            var id: AppID
            var detector: DetectorFacts
            var threshold: Double
            var weakest: Int
            var strongest: Int
        }
        var byPreset: [String: [Claim]] = [:]
        for app in installed {
            for detector in app.detectors where !detector.preset.isEmpty {
                let strengths = self.strengths(app.id, detector, group.name)
                guard let threshold = detector.threshold, let low = strengths.min(), let high = strengths.max() else {
                    continue
                }
                byPreset[detector.preset, default: []].append(
                    Claim(id: app.id, detector: detector, threshold: threshold, weakest: low, strongest: high))
            }
        }
        for (_, claims) in byPreset.sorted(by: { $0.key < $1.key }) {
            // From the most sensitive on, the strongest of those before is the one that may dominate.
            var dominant: Claim?
            for claim in claims.sorted(by: { ($0.threshold, $0.id) < ($1.threshold, $1.id) }) {
                if let other = dominant, other.id != claim.id, other.weakest > claim.strongest {
                    self.find(
                        .dominated, at: group.place,
                        "whenever '\(printable(claim.detector.name))' of \(claim.id) fires, \(other.id) fires too and "
                            + "is stronger in [Group \(group.name)]",
                        advice: "add Aging, or select by specificity first")
                }
                if claim.weakest > dominant?.weakest ?? .min { dominant = claim }
            }
        }
    }
}
