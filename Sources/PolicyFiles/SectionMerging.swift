import Arbitration
import Motion

/// Makes one section of all that have the same name, line by line, over all files.
struct SectionMerging {
    /// The sections as all files so far together make them, in the order of files and lines.
    private(set) var sections: [MergedSection] = []
    private var indices: [SectionName: Int] = [:]
    /// How many sections of apps there are.
    private(set) var appSections = 0
    /// Words in all lists together.
    private var words = 0

    // The file at work, and the section that its lines belong to.
    private var fileNumber = 0
    private var layer = PolicyLayer.system
    private var section: Int?
    /// The keys that stood in it, and the line of each. So few that looking through is fastest.
    private var seen: [(key: String, line: Int)] = []

    /// Makes room for all sections that can come, so that nothing is ever moved as a whole.
    init(reserving most: Int) {
        self.sections.reserveCapacity(most)
        self.indices.reserveCapacity(most)
    }

    /// The section of a name.
    subscript(_ name: SectionName) -> MergedSection? { self.indices[name].map { self.sections[$0] } }

    func contains(_ name: SectionName) -> Bool { self.indices[name] != nil }

    /// The next file begins.
    mutating func begin(_ layer: PolicyLayer) {
        self.layer = layer
        self.section = nil
        self.fileNumber += 1
    }

    mutating func take(_ line: PolicyLine, _ findings: inout FindingList) {
        switch line {
        case .section(let header, let place): self.section = self.open(header, place, &findings)
        case .assignment(let assignment): self.take(assignment, &findings)
        }
    }

    /// The section that a header begins or goes on with; `nil`, with a finding, when its lines are not to be read.
    private mutating func open(_ header: [PlacedText], _ place: Place, _ findings: inout FindingList) -> Int? {
        self.seen.removeAll(keepingCapacity: true)
        let (name, argument): (SectionName, PlacedText?)
        do throws(ValueProblem) {
            (name, argument) = try SectionName.read(header, place, self.layer)
        } catch {
            findings.append(error.finding)
            return nil
        }
        if self.layer == .outside, self.contains(SectionName(name.kind, name.argument)) {
            findings.append(
                Finding(
                    .notForOutside, at: place, "the device itself says what [\(printable(name.text))] is",
                    advice: "give it another name, or leave it out"))
            return nil
        }
        if let known = self.indices[name] {
            let latest = self.sections[known].latest
            self.sections[known].latest = (self.fileNumber, latest.file == self.fileNumber ? latest.line : place.line)
            guard latest.file == self.fileNumber else { return known }
            findings.append(
                Finding(
                    .duplicate, at: place,
                    "[\(printable(name.text))] stands in this file twice, first in line \(latest.line)",
                    advice: "put the keys into one section"))
            return nil
        }
        guard self.sections.count < PolicyLimits.sections else {
            findings.exceed("there are too many sections", "policy-sections", PolicyLimits.sections, at: place)
            return nil
        }
        if name.kind == "App" { self.appSections += 1 }
        self.indices[name] = self.sections.count
        self.sections.append(
            MergedSection(kind: name.kind, argument: argument, layer: self.layer, place: place, file: self.fileNumber))
        return self.sections.count - 1
    }

    private mutating func take(_ assignment: Assignment, _ findings: inout FindingList) {
        guard let index = self.section else { return }
        let kind = self.sections[index].kind
        guard let keys = Schema.keyFacts[kind] else { return }
        let name = assignment.key.text
        guard let key = keys[name] else {
            guard !findings.isFull else { return }
            return findings.append(
                Values.unknown(assignment.key, "key of [\(kind)]", among: keys.keys.sorted()).finding)
        }
        if let first = self.seen.first(where: { $0.key == name }) {
            if !key.type.isList {
                return findings.append(
                    Finding(
                        .duplicate, at: assignment.key.place,
                        "'\(name)' stands in this section twice, first in line \(first.line)", advice: "remove one"))
            }
        } else {
            self.seen.append((name, assignment.key.place.line))
        }
        if self.layer == .user, !key.isForUsers {
            return findings.append(
                Finding(
                    .notForUsers, at: assignment.key.place, "'\(name)' is not for a user's own files",
                    advice: SectionName.adviceToUsers))
        }
        guard self.words < PolicyLimits.wordsInAll else {
            return findings.exceed(
                "the lists are too long", "policy-words-in-all", PolicyLimits.wordsInAll, at: assignment.value.place)
        }
        let count = self.sections[index].assign(
            name, assignment.value, isList: key.type.isList, names: key.names)
        if key.type.isList { self.words += count }
    }
}
