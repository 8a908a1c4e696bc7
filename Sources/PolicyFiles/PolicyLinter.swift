package import Arbitration
package import Motion

/// Finds what is probably not meant in a policy that can be read.
///
/// Pure: what apps there are is told, nothing is looked up. The same policy always gives the same findings.
package struct PolicyLinter {
    /// An app that is there, and what it listens to, as far as that is known.
    package struct InstalledApp: Sendable {
        package var id: AppID
        package var detectors: [DetectorFacts]
        /// Whether a call starts it.
        package var canBeStarted: Bool

        package init(_ id: AppID, detectors: [DetectorFacts] = [], canBeStarted: Bool = true) {
            self.id = id
            self.detectors = detectors
            self.canBeStarted = canBeStarted
        }
    }

    let policy: Policy
    /// With the built-in policy behind it, if it is: what apps are held against.
    let inForce: Policy
    let reading: PolicyReading
    let installed: [InstalledApp]?
    /// How many comparisons of rules and names are left.
    var budget: Int
    /// How many names that are not there are still compared with all that are.
    var suggestions = 64
    /// The section that each rule and group was read from.
    private let sectionOf: [Place: Int]
    /// The sections of apps.
    let appSections: [String: Int]
    var findings: [Finding] = []
    /// The positions of the rules with exceptions in their lists of names, once somebody asked.
    var withExceptions: [Int]?

    private init(policy: Policy, reading: PolicyReading, installed: [InstalledApp]?, budget: Int) {
        self.policy = policy
        self.inForce = reading.inForce ?? policy
        self.reading = reading
        self.installed = installed
        self.budget = budget
        let sections = reading.sections.enumerated()
        self.sectionOf = Dictionary(sections.map { ($0.element.place, $0.offset) }) { _, last in last }
        self.appSections = Dictionary(
            sections.compactMap { $0.element.kind == "App" ? ($0.element.argument?.text ?? "", $0.offset) : nil }
        ) { first, _ in first }
    }

    /// Checks a policy.
    ///
    /// - Parameters:
    ///   - installed: The apps there are; `nil`: not known, and what depends on it is not checked.
    ///   - budget: How many rules and names may be compared with each other. What is left over then is said, not guessed.
    /// - Returns: What was found, in reading order, together with what reading found. Only that when it found an error.
    package static func check(
        _ reading: PolicyReading, installed: [InstalledApp]? = nil, budget: Int = 3_000_000
    ) -> [Finding] {
        guard let policy = reading.policy else { return reading.findings }
        var linter = PolicyLinter(policy: policy, reading: reading, installed: installed, budget: budget)
        linter.checkRules()
        linter.checkGroups()
        linter.checkMatrix()
        linter.checkDelivery()
        linter.checkInstalled()
        return (reading.findings + linter.findings).inReadingOrder()
    }

    mutating func find(_ check: Check, at place: Place, _ message: String, advice: String) {
        self.findings.append(Finding(check, at: place, message, advice: advice))
    }

    /// The section that a rule or group was read from.
    func section(at place: Place) -> MergedSection? { self.sectionOf[place].map { self.reading.sections[$0] } }

    /// Where a key of a rule or group stands.
    func place(of key: String, at place: Place) -> Place { self.section(at: place)?.place(of: key) ?? place }

    static func named(_ rule: Rule) -> String { "[Rule \(rule.name)]" }
}
