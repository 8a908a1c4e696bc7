import Arbitration
import Motion

/// Holds a policy against the apps that there are: who is missing, who hears nothing, and what the others hear.
struct InstalledAppLinter {
    /// With the built-in policy behind it, if it is.
    private let inForce: Policy
    private let sections: [MergedSection]
    private let installed: [PolicyLinter.InstalledApp]
    private var notes: LintNotes
    /// The sections of apps.
    private let appSections: [String: MergedSection]
    /// How many names that are not there are still compared with all that are.
    private var suggestions = 64

    private init(
        _ inForce: Policy, _ sections: [MergedSection], _ installed: [PolicyLinter.InstalledApp], _ notes: LintNotes
    ) {
        self.inForce = inForce
        self.sections = sections
        self.installed = installed
        self.notes = notes
        self.appSections = Dictionary(
            sections.compactMap { $0.kind == "App" ? ($0.argument?.text ?? "", $0) : nil }
        ) { first, _ in first }
    }

    static func check(
        _ inForce: Policy, _ sections: [MergedSection], _ installed: [PolicyLinter.InstalledApp], _ notes: LintNotes
    ) -> [Finding] {
        var linter = InstalledAppLinter(inForce, sections, installed, notes)
        linter.checkInstalled()
        return linter.notes.findings
    }

    private mutating func checkInstalled() {
        let ids = Set(self.installed.map(\.id.name))
        let sorted = ids.sorted()
        for rule in self.inForce.rules {
            for pattern in rule.conditions.apps.any where pattern.isLiteral && !ids.contains(pattern.text) {
                self.missing(pattern.text, at: self.notes.place(of: "WhenApp", at: rule.place), sorted)
            }
        }
        self.checkStarting(Set(self.installed.filter { !$0.canBeStarted }.map(\.id.name)))
        for section in self.sections where section.kind == "App" {
            guard let id = section.argument, id.text != "*", !ids.contains(id.text) else { continue }
            self.missing(id.text, at: section.place, sorted)
        }
        self.checkWindows()
        for app in self.installed {
            for detector in app.detectors { self.checkServed(app, detector) }
            self.tellCoverage(app)
        }
        for group in self.inForce.groups where group.mode == .exclusive && group.select.first == .strength {
            if group.aging == nil { self.checkDominated(group) }
        }
    }

    /// Whoever is not on the bus is woken by being started.
    private mutating func checkStarting(_ unstartable: Set<String>) {
        for rule in self.inForce.rules
        where rule.effect == .allow && rule.terms.kind == .wake && rule.conditions.states.contains(.dead) {
            for pattern in rule.conditions.apps.any where pattern.isLiteral && unstartable.contains(pattern.text) {
                self.notes.find(
                    .notStartable, at: self.notes.place(of: "Deliver", at: rule.place),
                    "\(LintNotes.named(rule)) wakes '\(printable(pattern.text))', which the bus cannot start",
                    advice: "install its D-Bus service file, or leave the state dead out")
            }
        }
    }

    /// A window that several apps could be meant by is nobody's. One with stars gives way to one without, and one of a Flatpak to
    /// one of the host.
    private mutating func checkWindows() {
        self.checkWindows(of: self.installed.filter { !$0.isOfFlatpak })
        self.checkWindows(of: self.installed.filter(\.isOfFlatpak))
    }

    private mutating func checkWindows(of apps: [PolicyLinter.InstalledApp]) {
        var claims: [String: [PolicyLinter.InstalledApp]] = [:]
        for app in apps {
            for pattern in Set(app.windows) { claims[pattern.text, default: []].append(app) }
        }
        for (window, apps) in claims.sorted(by: { $0.key < $1.key }) where apps.count > 1 {
            let apps = apps.sorted { $0.id < $1.id }
            self.notes.find(
                .sharedWindow, at: Place(file: apps[1].file, line: 1),
                "\(apps[0].shown) and \(apps[1].shown) both say 'Windows=\(printable(window))', so that such a window is nobody's",
                advice: "take it out of one of them")
        }
    }

    private mutating func missing(_ id: String, at place: Place, _ ids: [String]) {
        // Whoever misspelt all of them is not helped.
        let near = self.suggestions > 0 ? Suggestion.nearest(to: id, among: ids) : nil
        self.suggestions -= 1
        self.notes.find(
            .notInstalled, at: place, "the app '\(printable(id))' is not installed",
            advice: near.map { "did you mean '\($0)'?" } ?? "install it, or remove what is said about it")
    }

    /// What an app hears, for those who look whether it is what they meant.
    private mutating func tellCoverage(_ app: PolicyLinter.InstalledApp) {
        guard !app.detectors.isEmpty else { return }
        let place =
            self.appSections[app.id.name]?.place ?? self.inForce.rules.first?.place ?? Place(file: "", line: 1)
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
                self.notes.find(
                    .coverage, at: place,
                    "\(app.shown) hears \(heard.joined(separator: ", ")) "
                        + (heardWhen.isEmpty ? "nowhere" : "when it is \(heardWhen.joined(separator: "; "))"),
                    advice: "see it all with 'jostle policy coverage'")
            }
        }
    }

    private mutating func checkServed(_ app: PolicyLinter.InstalledApp, _ detector: DetectorFacts) {
        let rules = self.inForce.rulesTried(for: app.id, preset: detector.preset)
        if self.inForce.otherwise == .allow || rules.contains(where: { $0.effect == .allow }) { return }
        let place = self.inForce.rules.last?.place ?? Place(file: "", line: 1)
        self.notes.find(
            .neverDelivered, at: place,
            "no rule ever allows '\(printable(detector.name))' of \(app.shown), which listens for "
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
    private mutating func checkDominated(_ group: GroupConfiguration) {
        struct Claim {
            var id: AppID
            var detector: DetectorFacts
            var threshold: Double
            var weakest: Int
            var strongest: Int
        }
        var byPreset: [String: [Claim]] = [:]
        for app in self.installed {
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
                    self.notes.find(
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
