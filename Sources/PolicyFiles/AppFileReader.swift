import Arbitration
import Detection
import Motion

/// Makes an app file of its bytes.
package struct AppFileReader {
    private var file: AppFile
    private var findings: [Finding] = []
    private let document: PolicyDocument

    /// Reads an app file. One with an error says nothing.
    package static func read(_ source: PolicyFile) -> (file: AppFile?, findings: [Finding]) {
        let (document, findings) = IniParser.parse(source)
        var reader = AppFileReader(file: AppFile(id: AppID("")), findings: findings, document: document)
        reader.readName()
        reader.readSections()
        let all = reader.findings.inReadingOrder()
        return (all.contains { $0.severity == .error } ? nil : reader.file, all)
    }

    /// Without its directory and its ending, the name is the app's id.
    private mutating func readName() {
        let name = self.document.name.split(separator: "/").last.map { String($0) } ?? ""
        let id = name.hasSuffix(".conf") ? String(name.dropLast(5)) : name
        guard name.hasSuffix(".conf"), AppID.isValid(id) else {
            self.findings.append(
                Finding(
                    .notAnAppID, at: Place(file: self.document.name, line: 1),
                    "'\(printable(name))' is not named like an app",
                    advice: "name it APPID.conf, as org.example.App.conf"))
            return
        }
        self.file.id = AppID(id)
    }

    private mutating func readSections() {
        var seen: [String: Int] = [:]
        for section in self.document.sections {
            let header = section.header.map(\.text).joined(separator: " ")
            if let line = seen.updateValue(section.place.line, forKey: header) {
                self.findings.append(
                    Finding(
                        .duplicate, at: section.place,
                        "[\(printable(header))] stands in this file twice, first in line \(line)",
                        advice: "put the keys into one section"))
                continue
            }
            do throws(ValueProblem) {
                try self.read(section)
            } catch {
                self.findings.append(error.finding)
            }
        }
        guard self.file.asksForMore, self.file.usage.isEmpty else { return }
        let place = self.document.sections.first?.place ?? Place(file: self.document.name, line: 1)
        self.findings.append(
            Finding(
                .noUsage, at: place, "the app asks for more than to listen while it is used, and does not say why",
                advice: "say in [App] Usage what it wants motion for"))
    }

    private mutating func read(_ section: DocumentSection) throws(ValueProblem) {
        guard let kind = section.header.first else {
            throw ValueProblem(
                check: .syntax, place: section.place, message: "the section has no name", advice: "name it")
        }
        let names = section.header.dropFirst()
        switch kind.text {
        case "App":
            if let extra = names.first {
                throw ValueProblem(
                    check: .syntax, place: extra.place, message: "[App] takes no name here",
                    advice: "the file's name is the app's id")
            }
            self.readApp(section)
        case "Detector":
            guard let name = names.first, names.count == 1 else {
                throw ValueProblem(
                    check: .syntax, place: names.dropFirst().first?.place ?? kind.place,
                    message: "a detector has one name", advice: "write [Detector NAME]")
            }
            try self.readDetector(try Values.name(name), section)
        default: throw Values.unknown(kind, "section", among: ["App", "Detector"])
        }
    }

    private mutating func readApp(_ section: DocumentSection) {
        var merged = MergedSection(kind: "App", argument: nil, layer: .system, place: section.place)
        var lines: [String: Int] = [:]
        for assignment in section.assignments {
            let name = assignment.key.text
            guard let key = AppFile.keys.first(where: { $0.name == name }) else {
                self.findings.append(
                    Values.unknown(assignment.key, "key of [App]", among: AppFile.keys.map(\.name)).finding)
                continue
            }
            if let line = lines[name], !key.type.isList {
                self.findings.append(Self.repeated(assignment.key, line))
                continue
            }
            if lines[name] == nil { lines[name] = assignment.key.place.line }
            merged.assign(name, assignment.value, isList: key.type.isList)
        }
        for key in AppFile.keys {
            guard let words = merged[key.name] else { continue }
            do throws(ValueProblem) {
                try key.set(&self.file, words)
            } catch {
                self.findings.append(error.finding)
            }
        }
    }

    /// The keys are the options of a detector, and are checked as the broker would check them.
    private mutating func readDetector(_ name: String, _ section: DocumentSection) throws(ValueProblem) {
        guard self.file.detectors.count < AppFile.mostDetectors else {
            throw ValueProblem(
                place: section.place, message: "more than \(AppFile.mostDetectors) detectors", advice: "remove some")
        }
        var request = DetectorRequest(name: name, options: [:])
        var places: [String: Assignment] = [:]
        for assignment in section.assignments {
            let key = assignment.key.text
            if let first = places.updateValue(assignment, forKey: key) {
                self.findings.append(Self.repeated(assignment.key, first.key.place.line))
                continue
            }
            request.options[key] = .text(assignment.value.text)
        }
        do throws(DetectorProblem) {
            _ = try DetectorCompiler.compile(request, for: nil)
        } catch {
            let found = error.key.flatMap { places[$0] }
            var place = section.place
            if let found {
                place = error.code == .unknownKey ? found.key.place : found.value.place
                if let column = error.column { place.column = found.value.place.column + column - 1 }
            }
            throw ValueProblem(
                check: error.code == .unknownKey ? .unknownWord : .badValue, place: place, message: error.message,
                advice: "see 'jostle presets'")
        }
        self.file.detectors.append(request)
    }

    private static func repeated(_ key: PlacedText, _ line: Int) -> Finding {
        Finding(
            .duplicate, at: key.place, "'\(printable(key.text))' stands in this section twice, first in line \(line)",
            advice: "remove one")
    }
}
