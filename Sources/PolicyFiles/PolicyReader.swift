package import Arbitration

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
    /// What is wrong with a user's own files, which were left out for it.
    var ownErrors: [Finding] = []
    /// The sections as all files together make them, in the order of files and lines.
    var sections: [MergedSection]

    /// Throws the sections away, of which there may be very many: that takes a while.
    package mutating func discardSections() { self.sections = [] }

    package var errors: [Finding] { self.findings.filter { $0.severity == .error } }

    /// Whether nobody but the user said anything, so that the built-in policy stands behind it.
    package var standsOnBuiltIn: Bool { !self.hasSystemFiles }

    /// The policy that a broker goes by: where there are no files but users' own, the built-in policy stands behind them.
    package var inForce: Policy? { self.policy == nil ? nil : self.standing ?? self.policy }
}

/// Makes a policy of the bytes of its files, a little at a time: nobody has to wait until a large one is done.
package struct PolicyReader {
    private let hasSystemFiles: Bool
    private var stage = Stage.parsing
    private var findings = FindingList()
    /// The files that are left, and the one at work.
    private var files: ArraySlice<PolicyFile>
    private var parser: IniParser?
    private var merging: SectionMerging
    private var applying: SectionApplying?
    private var builder: PolicyBuilder?
    private var policy: Policy?
    private var standing: Policy?

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

    /// Reads files in the order in which they count; those of users first.
    package static func read(_ files: [PolicyFile]) -> PolicyReading {
        var reader = PolicyReader(files)
        while reader.step() {}
        return reader.finish()
    }

    /// Begins to read files, which count in this order; those of users come first, those from outside last.
    init(_ files: [PolicyFile]) {
        self.files = [PolicyLayer.user, .system, .outside].flatMap { layer in files.filter { $0.layer == layer } }[...]
        self.hasSystemFiles = files.contains { $0.layer == .system }
        self.merging = SectionMerging(
            reserving: min(PolicyLimits.sections, files.reduce(0) { $0 + $1.bytes.count } / 8))
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
            findings: self.findings.all.inReadingOrder(), sections: self.merging.sections)
    }

    private mutating func parse() {
        if self.parser == nil {
            guard let file = self.files.popFirst() else {
                self.applying = SectionApplying(of: self.merging, &self.findings)
                self.stage = .applying(0)
                return
            }
            self.parser = IniParser(file, atMost: PolicyLimits.fileBytes, "policy-file-bytes")
            self.merging.begin(file.layer)
        }
        guard let lines = self.parser?.next() else {
            for finding in self.parser?.findings.all ?? [] { self.findings.append(finding) }
            self.parser = nil
            return
        }
        for line in lines { self.merging.take(line, &self.findings) }
        // Who has so much to mend need not know of more.
        if self.findings.isFull { self.stage = .done }
    }

    private mutating func apply(from start: Int) {
        let end = min(start + Self.stepSections, self.merging.sections.count)
        for index in start..<end {
            self.applying?.take(self.merging.sections[index], of: self.merging, &self.findings)
        }
        self.stage = .applying(end)
        if self.findings.isFull { self.stage = .done }
        if end == self.merging.sections.count { self.applied() }
    }

    /// All sections are made into what they mean; what is left is to put that in order.
    private mutating func applied() {
        self.builder = self.applying?.builder(self.merging, &self.findings)
        self.stage = self.builder == nil ? .done : .building
    }

    private mutating func built(_ policy: Policy) {
        self.policy = policy
        self.stage = .done
        if self.hasSystemFiles { return }
        // What comes from outside is tried beside the built-in rules, behind users' own.
        let outside = self.applying?.rulesFromOutside.count ?? 0
        let own = Array(policy.rules.dropLast(outside))
        self.builder = PolicyBuilder(
            otherwise: Policy.builtIn.otherwise, groups: policy.groups + Policy.builtIn.groups,
            rules: outside == 0 ? own + Policy.builtIn.rules : own,
            behind: outside == 0 ? [] : Array(policy.rules.suffix(outside)) + Policy.builtIn.rules,
            matrix: Policy.builtIn.matrix, apps: policy.apps, everyApp: policy.everyApp)
        self.stage = .standing
    }
}
