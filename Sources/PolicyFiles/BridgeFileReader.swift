import Arbitration
package import FleetCore
import Motion

/// Makes a bridge's configuration of the bytes of `bridge.conf`, with what is wrong in it.
package struct BridgeFileReader {
    private var configuration = BridgeConfiguration()
    private var findings = FindingList()
    private let name: String
    private var headers: [String: Int] = [:]
    private var conditionBytes = 0
    private var section = Section.none
    /// Where the server's section stands.
    private var serverPlace: Place?

    private enum Section {
        /// None, or one that is not to be read.
        case none
        case keys(BridgeFile.Keys, MergedSection, lines: [String: Int])
        case detector(DetectorSection)
    }

    /// Reads a configuration. One with an error says nothing: a bridge goes by all of it or does not begin.
    package static func read(_ file: PolicyFile) -> (configuration: BridgeConfiguration?, findings: [Finding]) {
        var reader = BridgeFileReader(name: file.name)
        var parser = IniParser(file, atMost: BridgeFile.most, "bridge-file-bytes")
        while !reader.findings.isFull, let lines = parser.next() {
            for line in lines { reader.take(line) }
        }
        reader.close()
        for finding in parser.findings.all { reader.findings.append(finding) }
        reader.checkWhole()
        let all = reader.findings.all.inReadingOrder()
        return (all.contains { $0.severity == .error } ? nil : reader.configuration, all)
    }

    private init(name: String) { self.name = name }

    private mutating func take(_ line: PolicyLine) {
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

    private mutating func open(_ header: [PlacedText], _ place: Place) throws(ValueProblem) {
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
        if kind.text == "Detector" { return self.section = .detector(try DetectorSection(header, place)) }
        guard let section = BridgeFile.sections.first(where: { $0.name == kind.text }) else {
            throw Values.unknown(kind, "section", among: BridgeFile.sections.map(\.name) + ["Detector"])
        }
        if header.count > 1 {
            throw ValueProblem(
                check: .syntax, place: header[1].place, message: "[\(kind.text)] takes no name",
                advice: "write [\(kind.text)]")
        }
        if kind.text == "Server" { self.serverPlace = place }
        self.section = .keys(
            section.keys, MergedSection(kind: kind.text, argument: nil, layer: .system, place: place), lines: [:])
    }

    private mutating func take(_ assignment: Assignment) {
        switch self.section {
        case .none: return
        case .detector(var detector):
            detector.take(assignment, &self.findings)
            self.section = .detector(detector)
        case .keys(let keys, var merged, var lines):
            let name = assignment.key.text
            guard let key = keys.first(where: { $0.name == name }) else {
                return self.findings.append(
                    Values.unknown(assignment.key, "key of [\(merged.kind)]", among: keys.map(\.name)).finding)
            }
            if let line = lines[name], !key.type.isList {
                return self.findings.append(Finding(repeated: assignment.key, line))
            }
            if lines[name] == nil { lines[name] = assignment.key.place.line }
            merged.assign(name, assignment.value, isList: key.type.isList)
            self.section = .keys(keys, merged, lines: lines)
        }
    }

    /// Makes of a section what it means.
    private mutating func close() {
        let section = self.section
        self.section = .none
        switch section {
        case .none: return
        case .detector(let detector):
            do throws(ValueProblem) {
                self.configuration.detectors.append(
                    try detector.request(behind: self.configuration.detectors.count, &self.conditionBytes))
            } catch {
                self.findings.append(error.finding)
            }
        case .keys(let keys, let merged, _):
            for key in keys {
                guard let words = merged[key.name] else { continue }
                do throws(ValueProblem) {
                    if let problem = merged.problem(key.name) { throw problem }
                    try key.set(&self.configuration, words)
                } catch {
                    self.findings.append(error.finding)
                }
            }
        }
    }

    /// What is wrong with the whole, where its parts are not.
    private mutating func checkWhole() {
        guard !self.findings.all.contains(where: { $0.severity == .error }) else { return }
        let place = self.serverPlace ?? Place(file: self.name, line: 1)
        let server = self.configuration.server
        if server.host.isEmpty {
            self.findings.append(
                Finding(.incomplete, at: place, "no server is named", advice: "say in [Server] Host where it is"))
        }
        if (server.certificate == nil) != (server.key == nil) {
            self.findings.append(
                Finding(
                    .incomplete, at: place, "a certificate and its key go together",
                    advice: "say Certificate and Key, or neither"))
        }
        if !server.isSecure, server.certificate != nil || server.authorities != nil {
            self.findings.append(
                Finding(.contradiction, at: place, "certificates are of no use with TLS=no", advice: "remove TLS=no"))
        }
        if !server.isSecure, server.password != nil {
            self.findings.append(
                Finding(
                    .unencrypted, at: place, "the password goes to the server as it is, and so does all that is told",
                    advice: "remove TLS=no"))
        }
        if self.configuration.publish.home != nil, self.configuration.format != .json {
            self.findings.append(
                Finding(
                    .contradiction, at: place, "Home Assistant reads JSON alone",
                    advice: "remove Format, or HomeAssistant"))
        }
        if !self.configuration.allow.changes.isEmpty, self.configuration.allow.signedBy == nil {
            self.findings.append(
                Finding(
                    .unsigned, at: place, "whoever may publish to the server may change what [Allow] Desired names",
                    advice: "say in [Allow] SignedBy whose signature is believed"))
        }
    }
}
