import Arbitration
import Detection
import Motion

/// The lines of a `[Detector NAME]` section: its keys are the options of a detector.
struct DetectorSection {
    let name: String
    private let place: Place
    private var assignments: [Assignment] = []

    /// No detector has more options.
    private static let mostKeys = 64

    /// What a header begins.
    init(_ header: [PlacedText], _ place: Place) throws(ValueProblem) {
        let names = header.dropFirst()
        guard let name = names.first, names.count == 1 else {
            throw ValueProblem(
                check: .syntax, place: names.dropFirst().first?.place ?? header.first?.place ?? place,
                message: "a detector has one name", advice: "write [Detector NAME]")
        }
        self.name = try Values.name(name)
        self.place = place
    }

    /// Takes a line of it.
    mutating func take(_ assignment: Assignment, _ findings: inout FindingList) {
        let key = assignment.key.text
        if let first = self.assignments.first(where: { $0.key.text == key }) {
            findings.append(Finding(repeated: assignment.key, first.key.place.line))
        } else if self.assignments.count < Self.mostKeys {
            self.assignments.append(assignment)
        } else {
            findings.append(
                Finding(
                    .tooMuch, at: assignment.key.place, "a detector has at most \(Self.mostKeys) keys",
                    advice: "remove some"))
        }
    }

    /// Makes a detector of it, checked as the broker would check it.
    ///
    /// - Parameters:
    ///   - count: How many there are already.
    ///   - conditionBytes: The bytes of their conditions.
    func request(behind count: Int, _ conditionBytes: inout Int) throws(ValueProblem) -> DetectorRequest {
        guard count < AppFile.mostDetectors else {
            throw ValueProblem(
                place: self.place, message: "more than \(AppFile.mostDetectors) detectors", advice: "remove some")
        }
        var request = DetectorRequest(name: self.name, options: [:])
        for assignment in self.assignments { request.options[assignment.key.text] = .text(assignment.value.text) }
        conditionBytes += request.conditionBytes
        guard conditionBytes <= AppFile.mostConditionBytes else {
            throw ValueProblem(
                place: self.place, message: "more than \(AppFile.mostConditionBytes) bytes of conditions",
                advice: "say it with fewer")
        }
        do throws(DetectorProblem) {
            _ = try DetectorCompiler.compile(request, for: nil)
        } catch {
            let found = error.key.flatMap { key in self.assignments.first { $0.key.text == key } }
            var place = self.place
            if let found {
                place = error.code == .unknownKey ? found.key.place : found.value.place
                if let column = error.column { place.column = found.value.place.column + column - 1 }
            }
            throw ValueProblem(
                check: error.code == .unknownKey ? .unknownWord : .badValue, place: place, message: error.message,
                advice: "see 'jostle presets'")
        }
        return request
    }
}

extension Finding {
    /// A key that stands twice in a section.
    init(repeated key: PlacedText, _ first: Int) {
        self.init(
            .duplicate, at: key.place, "'\(printable(key.text))' stands in this section twice, first in line \(first)",
            advice: "remove one")
    }
}
