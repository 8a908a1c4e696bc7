import Detection
import FleetCore
import Motion

/// The bridge's detectors with other thresholds. What detectors there are, the device's own configuration says.
enum DesiredDetectors {
    static func apply(
        _ thresholds: [DesiredThreshold], to detectors: [DetectorRequest]
    ) throws(DesiredProblem) -> [DetectorRequest] {
        var all = detectors
        for wanted in thresholds {
            guard let index = all.firstIndex(where: { $0.name == wanted.detector }) else {
                throw DesiredProblem("this bridge has no detector '\(printable(wanted.detector))'")
            }
            all[index].options["threshold"] = .text(wanted.threshold)
            do throws(DetectorProblem) {
                _ = try DetectorCompiler.compile(all[index], for: nil)
            } catch {
                throw DesiredProblem("detector '\(wanted.detector)': \(error)")
            }
        }
        return all
    }
}
