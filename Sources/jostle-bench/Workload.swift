import Detection
import Glibc
import Motion
import TestSupport

/// Detectors that look at so many samples, and nothing else, for whoever counts or profiles from outside.
///
/// The detectors are a crowd at four paces, and all presets.
struct Workload {
    private let detectors: Int
    private let features: Int
    private let samples: Int

    /// Reads `DETECTORS,FEATURES,SAMPLES`.
    init?(_ text: String) {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard numbers.count == 3, numbers.allSatisfy({ (1...1_000_000_000).contains($0) }) else { return nil }
        (self.detectors, self.features, self.samples) = (numbers[0], numbers[1], numbers[2])
    }

    /// Runs it and tells what it holds in memory, as one line of JSON.
    func run() throws(Failure) -> String {
        var engine = try Crowd(count: self.detectors, features: self.features, paces: Crowd.fourPaces).engine()
        for (index, preset) in PresetCatalogue.all.enumerated() where preset.content == nil {
            guard preset.sensor == SensorDescription.accelerometer else { continue }
            let request = DetectorRequest(name: preset.name, options: ["preset": .text(preset.name)])
            engine.add(try compile(request), as: UInt32(self.detectors + index))
        }
        let motion = MadeMotion(looks: 20_000, shaken: true)
        motion.play(self.samples, &engine)
        let resident = try ProcessAccount.memory(of: getpid()).resident
        return "{\"samples\":\(self.samples),\"hits\":\(engine.hitCount),\"resident_kib\":\(Int(resident))}"
    }

    /// What a run in a process of its own tells.
    static func measure(
        detectors: Int, features: Int, samples: Int, environment: [String: String] = [:]
    ) throws(Failure) -> Figures {
        let program = try BackgroundProgram(
            "jostle-bench", ["--workload", "\(detectors),\(features),\(samples)"], environment: environment)
        let line = try program.waitForLine(timeout: .seconds(600)) { $0.hasPrefix("{") }
        guard let figures = Figures(line), try figures.number("hits") > 0 else {
            throw Failure("a workload did nothing: \(line)")
        }
        return figures
    }
}
