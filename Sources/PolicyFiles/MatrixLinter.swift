import Arbitration

/// Finds cells that say something else than the classes do, and classes that wait for each other.
struct MatrixLinter {
    private let policy: Policy
    private var notes: LintNotes

    static func check(_ policy: Policy, _ notes: LintNotes) -> [Finding] {
        var linter = MatrixLinter(policy: policy, notes: notes)
        linter.checkMatrix()
        return linter.notes.findings
    }

    private mutating func checkMatrix() {
        let matrix = self.policy.matrix
        for asking in matrix.classes {
            for name in asking.interrupts ?? [] where matrix[name]?.isUninterruptible == true {
                self.contradict(
                    self.notes.place(of: "Interrupts", at: asking.place),
                    "[Class \(asking.name)] interrupts \(name), which is Uninterruptible",
                    advice: "take it out of one of them")
            }
            if asking.isMixable, asking.interrupts != nil {
                self.contradict(
                    self.notes.place(of: "Interrupts", at: asking.place),
                    "[Class \(asking.name)] is Mixable, which interrupts nobody",
                    advice: "remove Mixable or Interrupts")
            }
        }
        for interaction in self.policy.matrix.interactions {
            guard let holder = matrix[interaction.holder], let requester = matrix[interaction.requester] else {
                continue
            }
            self.check(interaction, holder, requester)
        }
        self.checkDelays()
    }

    private mutating func check(_ interaction: Interaction, _ holder: SessionClass, _ requester: SessionClass) {
        let place = self.notes.place(of: "Action", at: interaction.place)
        let cell = "[Interaction \(holder.name) \(requester.name)]"
        if !requester.isMixable, requester.interrupts?.contains(holder.name) == true {
            self.contradict(
                place,
                "\(cell) says \(interaction.action.name), and [Class \(requester.name)] interrupts \(holder.name)",
                advice: "take \(holder.name) out of its Interrupts, or remove the cell")
        }
        switch interaction.action {
        case .delay, .reject:
            guard holder.isMixable, requester.isMixable else { break }
            self.contradict(
                place, "\(cell) says \(interaction.action.name), and both classes are Mixable",
                advice: "make one of them not Mixable, or remove the cell")
        case .concurrent, .duck: break
        }
        if interaction.action != .duck, let section = self.notes.section(at: interaction.place), section["Duck"] != nil
        {
            self.notes.find(
                .withoutEffect, at: section.place(of: "Duck"),
                "Duck does nothing in \(cell), whose Action is \(interaction.action.name)", advice: "remove it")
        }
    }

    /// Classes each of which waits for the next, and the last for the first: while some of them go on, others wait for ever.
    private mutating func checkDelays() {
        var waitsFor: [String: [String]] = [:]
        for interaction in self.policy.matrix.interactions where interaction.action == .delay {
            waitsFor[interaction.requester, default: []].append(interaction.holder)
        }
        for interaction in self.policy.matrix.interactions
        where interaction.action == .delay && interaction.holder != interaction.requester {
            guard let way = Self.way(from: interaction.holder, to: interaction.requester, waitsFor) else { continue }
            // Told once, at the first of its cells.
            let cells = self.policy.matrix.interactions.filter { $0.action == .delay }
            let cycle = Set(way)
            let first = cells.first {
                cycle.contains($0.holder) && cycle.contains($0.requester) && $0.holder != $0.requester
            }
            guard first == interaction else { continue }
            self.contradict(
                self.notes.place(of: "Action", at: interaction.place),
                "classes delay each other: \((way + [way[0]]).joined(separator: " waits for "))",
                advice: "let one of them do something else")
        }
    }

    /// The shortest way along what waits for what.
    private static func way(from start: String, to end: String, _ next: [String: [String]]) -> [String]? {
        var ways = [[start]]
        var seen: Set<String> = [start]
        while !ways.isEmpty {
            var longer: [[String]] = []
            for way in ways {
                for name in next[way[way.count - 1]] ?? [] where seen.insert(name).inserted {
                    if name == end { return way + [name] }
                    longer.append(way + [name])
                }
            }
            ways = longer
        }
        return nil
    }

    private mutating func contradict(_ place: Place, _ message: String, advice: String) {
        self.notes.find(.contradiction, at: place, message, advice: advice)
    }
}
