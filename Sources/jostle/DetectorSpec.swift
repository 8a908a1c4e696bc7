import DaemonSupport
import Detection
import JostleClient
import Motion

/// A detector as it is written on the command line: `PRESET[,option=value…]`.
///
/// Numbers may carry a unit: `shake.planar,threshold=2.3g,every=100ms`.
struct DetectorSpec: Equatable {
    var detector: Detector

    /// What was wrong with a specification.
    struct Problem: Swift.Error, Equatable {
        var message: String
    }

    /// - Parameter name: the detector's own name; the preset's when nothing else is said.
    init(_ text: String) throws(Problem) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard let preset = parts.first, !preset.isEmpty else {
            throw Problem(message: "expected PRESET[,option=value…], got '\(printable(text))'")
        }
        self.detector = Detector(String(preset), preset: String(preset))
        for part in parts.dropFirst() {
            let (key, value) = try Self.option(part, in: text)
            switch key {
            case "name": self.detector.name = value
            case "preset", "when":
                throw Problem(message: "'\(printable(text))' says '\(key)' although it begins with a preset")
            default: self.detector.options[key] = .text(value)
            }
        }
    }

    /// A condition instead of a preset, with the options that the command line has for it.
    init(when condition: String, sensor: String?, every: String?, rest: String?) {
        self.detector = Detector("when", when: condition)
        if let sensor { self.detector.options["sensor"] = .text(sensor) }
        if let every { self.detector.options["every"] = .text(every) }
        if let rest { self.detector.options["rest"] = .text(rest) }
    }

    /// Points at what is wrong with a condition before anybody else is asked: a place is easier seen than counted.
    ///
    /// Presets are the broker's business; it may know others than we do.
    static func checkConditions(_ detectors: [Detector]) throws(CommandFailure) {
        for detector in detectors {
            guard case .text(let condition) = detector.options["when"] else { continue }
            do throws(DetectorProblem) {
                _ = try DetectorCompiler.compile(detector.request, for: nil)
            } catch {
                guard error.key == "when", let column = error.column else { throw .usage("\(error)") }
                throw .usage(
                    "column \(column): \(error.message)", showing: self.pointing(at: column, in: condition))
            }
        }
    }

    /// The part of a condition around a column, counted in characters from 1, and a caret under it.
    private static func pointing(at column: Int, in condition: String) -> [String] {
        let characters = condition.map {
            $0.unicodeScalars.contains(where: isControl) ? " " : $0
        }
        let place = min(max(0, column - 1), characters.count)
        let start = max(0, place - 60)
        let text = String(characters[start..<min(characters.count, start + 76)])
        return ["  \(text)", "  " + String(repeating: " ", count: place - start) + "^"]
    }

    private static func option(_ part: Substring, in text: String) throws(Problem) -> (String, String) {
        guard let equals = part.firstIndex(of: "="), equals != part.startIndex else {
            throw Problem(
                message: "expected option=value after a comma in '\(printable(text))', got '\(printable(part))'")
        }
        return (String(part[..<equals]), String(part[part.index(after: equals)...]))
    }

    /// One detector for each specification, under names that differ.
    static func detectors(_ texts: [String]) throws(Problem) -> [Detector] {
        var detectors: [Detector] = []
        for text in texts {
            var detector = try DetectorSpec(text).detector
            detector.name = Self.name(detector.name, besides: detectors)
            detectors.append(detector)
        }
        return detectors
    }

    /// A name that none of the others has: the wanted one, or that with a number.
    static func name(_ wanted: String, besides others: [Detector]) -> String {
        var name = wanted
        var number = 2
        while others.contains(where: { $0.name == name }) {
            name = "\(wanted)-\(number)"
            number += 1
        }
        return name
    }
}

extension Arguments {
    /// Refuses what only a condition takes where there is none: a preset says it itself, or has it among its own options.
    func checkOptionsOfConditions() throws(UsageProblem) {
        guard !self.has(CommonOption.when) else { return }
        for option in CommonOption.ofConditions where self.has(option) {
            let hint =
                option == CommonOption.sensorOfCondition
                ? "a preset has a sensor of its own" : "a preset takes it as PRESET,\(option.name)=TIME"
            throw UsageProblem("--\(option.name) goes with --when; \(hint)")
        }
    }

    /// A condition, with the options for it.
    ///
    /// - Parameter sensor: what it is about that does not say so.
    func detector(when condition: String, sensor: String? = nil) -> Detector {
        DetectorSpec(
            when: condition, sensor: self.value(of: CommonOption.sensorOfCondition) ?? sensor,
            every: self.value(of: CommonOption.every), rest: self.value(of: CommonOption.rest)
        ).detector
    }

    /// The detectors that were asked for: presets, and a condition.
    ///
    /// - Parameters:
    ///   - presets: as `DetectorSpec` reads them; `nil`: the arguments told by their place.
    ///   - sensor: what a condition is about that does not say so.
    func detectors(presets: [String]? = nil, sensor: String? = nil) throws -> [Detector] {
        try self.checkOptionsOfConditions()
        var detectors: [Detector]
        do throws(DetectorSpec.Problem) {
            detectors = try DetectorSpec.detectors(presets ?? self.positionals)
        } catch {
            throw UsageProblem(error.message)
        }
        if let condition = self.value(of: CommonOption.when) {
            detectors.append(self.detector(when: condition, sensor: sensor))
        }
        for path in self.values(of: CommonOption.gesture) {
            var detector = try GestureFile.detector(path)
            detector.name = DetectorSpec.name(detector.name, besides: detectors)
            detectors.append(detector)
        }
        guard !detectors.isEmpty else { throw UsageProblem("give a preset, or a condition with --when") }
        try DetectorSpec.checkConditions(detectors)
        return detectors
    }
}
