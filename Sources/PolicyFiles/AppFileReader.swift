import Arbitration
import Motion

/// Makes an app file of its bytes, a little at a time: nobody has to wait until a large one is done.
package struct AppFileReader {
    private var file = AppFile(id: AppID(""))
    private var findings = FindingList()
    private let name: String
    private var parser: IniParser
    private var isDone = false
    /// The sections that there were, and the line of each.
    private var headers: [String: Int] = [:]
    private var conditionBytes = 0
    /// Where the first section stands.
    private var place: Place?
    private var section = Section.none

    /// The section that lines belong to.
    private enum Section {
        /// None, or one that is not to be read.
        case none
        case app(MergedSection, lines: [String: Int])
        case detector(DetectorSection)
    }

    /// Reads an app file. One with an error says nothing.
    package static func read(
        _ source: PolicyFile, ofFlatpak isOfFlatpak: Bool = false
    ) -> (file: AppFile?, findings: [Finding]) {
        var reader = AppFileReader(source, ofFlatpak: isOfFlatpak)
        while reader.step() {}
        return reader.finish()
    }

    init(_ source: PolicyFile, ofFlatpak isOfFlatpak: Bool) {
        self.name = source.name
        self.file.layer = source.layer
        self.file.isOfFlatpak = isOfFlatpak
        self.parser = IniParser(source, atMost: PolicyLimits.appFileBytes, "app-file-bytes")
        self.readName()
    }

    /// Goes on for a moment; false when all is read.
    mutating func step() -> Bool {
        guard !self.isDone else { return false }
        guard !self.findings.isFull, let lines = self.parser.next() else {
            self.end()
            return false
        }
        for line in lines {
            switch line {
            case .section(let header, let place):
                self.close()
                do throws(ValueProblem) {
                    try self.open(header, place)
                } catch {
                    self.findings.append(error.finding)
                }
            case .assignment(let assignment): self.take(assignment)
            }
        }
        return true
    }

    /// What came of it.
    consuming func finish() -> (file: AppFile?, findings: [Finding]) {
        let all = self.findings.all.inReadingOrder()
        return (all.contains { $0.severity == .error } ? nil : self.file, all)
    }

    private mutating func end() {
        self.close()
        self.isDone = true
        for finding in self.parser.findings.all { self.findings.append(finding) }
        if self.file.hasPlayer, !self.file.modes.contains(.audio) {
            self.findings.append(
                Finding(
                    .playerWithoutAudio, at: self.place ?? Place(file: self.name, line: 1),
                    "Mpris=yes does nothing: the app does not ask for audio", advice: "add Modes=audio"))
        }
        guard self.file.asksForMore, self.file.usage.isEmpty else { return }
        self.findings.append(
            Finding(
                .noUsage, at: self.place ?? Place(file: self.name, line: 1),
                "the app asks for more than to listen while it is used, and does not say why",
                advice: "say in [App] Usage what it wants motion for"))
    }

    /// Without its directory and its ending, the name is the app's id.
    private mutating func readName() {
        self.file.path = self.name
        let name = self.name.split(separator: "/").last.map { String($0) } ?? ""
        let id = name.hasSuffix(".conf") ? String(name.dropLast(5)) : name
        guard name.hasSuffix(".conf"), AppID.isValid(id) else {
            return self.findings.append(
                Finding(
                    .notAnAppID, at: Place(file: self.name, line: 1), "'\(printable(name))' is not named like an app",
                    advice: "name it APPID.conf, as org.example.App.conf"))
        }
        self.file.id = AppID(id)
    }

    // MARK: Sections

    private mutating func open(_ header: [PlacedText], _ place: Place) throws(ValueProblem) {
        self.place = self.place ?? place
        let text = header.map(\.text).joined(separator: " ")
        if let line = self.headers[text] {
            throw ValueProblem(
                check: .duplicate, place: place,
                message: "[\(printable(text))] stands in this file twice, first in line \(line)",
                advice: "put the keys into one section")
        }
        self.headers[text] = place.line
        guard let kind = header.first else {
            throw ValueProblem(check: .syntax, place: place, message: "the section has no name", advice: "name it")
        }
        let names = header.dropFirst()
        switch kind.text {
        case "App":
            if let extra = names.first {
                throw ValueProblem(
                    check: .syntax, place: extra.place, message: "[App] takes no name here",
                    advice: "the file's name is the app's id")
            }
            self.section = .app(MergedSection(kind: "App", argument: nil, layer: .system, place: place), lines: [:])
        case "Detector": self.section = .detector(try DetectorSection(header, place))
        default: throw Values.unknown(kind, "section", among: ["App", "Detector"])
        }
    }

    private mutating func take(_ assignment: Assignment) {
        // Taken out, so that it is not copied with each line.
        let section = self.section
        self.section = .none
        switch section {
        case .none: return
        case .app(var merged, var lines):
            self.take(assignment, &merged, &lines)
            self.section = .app(merged, lines: lines)
        case .detector(var detector):
            detector.take(assignment, &self.findings)
            self.section = .detector(detector)
        }
    }

    private mutating func take(_ assignment: Assignment, _ merged: inout MergedSection, _ lines: inout [String: Int]) {
        let name = assignment.key.text
        guard let key = AppFile.keys.first(where: { $0.name == name }) else {
            return self.findings.append(
                Values.unknown(assignment.key, "key of [App]", among: AppFile.keys.map(\.name)).finding)
        }
        if let line = lines[name], !key.type.isList {
            return self.findings.append(Finding(repeated: assignment.key, line))
        }
        if lines[name] == nil { lines[name] = assignment.key.place.line }
        merged.assign(name, assignment.value, isList: key.type.isList)
    }

    /// Makes of a section what it means.
    private mutating func close() {
        let section = self.section
        self.section = .none
        switch section {
        case .none: return
        case .app(let merged, _): self.readApp(merged)
        case .detector(let detector):
            do throws(ValueProblem) {
                self.file.detectors.append(
                    try detector.request(behind: self.file.detectors.count, &self.conditionBytes))
            } catch {
                self.findings.append(error.finding)
            }
        }
    }

    private mutating func readApp(_ merged: MergedSection) {
        for key in AppFile.keys {
            guard let words = merged[key.name] else { continue }
            do throws(ValueProblem) {
                if let problem = merged.problem(key.name) { throw problem }
                try key.set(&self.file, words)
            } catch {
                self.findings.append(error.finding)
            }
        }
    }
}
