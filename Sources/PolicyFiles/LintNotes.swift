import Arbitration

/// Gathers what a check finds in a policy, and knows where the policy's sections stand.
struct LintNotes {
    private let sections: [MergedSection]
    /// The section that each rule, group, class or cell was read from.
    private let sectionOf: [Place: Int]
    private(set) var findings: [Finding] = []

    init(_ sections: [MergedSection]) {
        self.sections = sections
        self.sectionOf = Dictionary(sections.enumerated().map { ($0.element.place, $0.offset) }) { _, last in last }
    }

    mutating func find(_ check: Check, at place: Place, _ message: String, advice: String) {
        self.findings.append(Finding(check, at: place, message, advice: advice))
    }

    /// The section that a rule, a group, a class or a cell of the matrix was read from.
    func section(at place: Place) -> MergedSection? { self.sectionOf[place].map { self.sections[$0] } }

    /// Where a key of one of these stands.
    func place(of key: String, at place: Place) -> Place { self.section(at: place)?.place(of: key) ?? place }

    static func named(_ rule: Rule) -> String { "[Rule \(rule.name)]" }
}
