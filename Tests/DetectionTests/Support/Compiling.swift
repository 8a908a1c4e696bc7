import Motion

@testable import Detection

/// A detector with a condition of its own.
func detector(_ condition: String, _ options: [String: OptionValue] = [:]) throws(DetectorProblem) -> CompiledDetector {
    var options = options
    options["when"] = .text(condition)
    return try DetectorCompiler.compile(DetectorRequest(name: "d", options: options), for: nil)
}

/// What a preset needs and has no default for: the middle of its range, and a circle where it takes a gesture.
func needs(of preset: String) -> [String: OptionValue] {
    let found = PresetCatalogue.named(preset)
    var needs: [String: OptionValue] = Dictionary(
        uniqueKeysWithValues: (found?.parameters ?? []).filter(\.isRequired).map {
            ($0.name, .number(($0.range.lowerBound + $0.range.upperBound) / 2))
        })
    if let content = found?.content { needs[content] = .text(GestureText.write(MadeGesture.circles)) }
    return needs
}

/// A preset with some options, and what it needs besides.
func preset(
    _ name: String, _ options: [String: OptionValue] = [:], for sensor: SensorDescription? = nil
) throws(DetectorProblem) -> CompiledDetector {
    var options = options
    options["preset"] = .text(name)
    options.merge(needs(of: name)) { given, _ in given }
    return try DetectorCompiler.compile(DetectorRequest(name: "d", options: options), for: sensor)
}

extension DetectionEngine {
    /// An engine of one accelerometer with these detectors, whose ids are their indices.
    init(_ detectors: [CompiledDetector]) {
        self.init(channels: ["x", "y", "z"])
        for (index, detector) in detectors.enumerated() {
            self.add(detector, as: DetectorID(UInt32(index)), at: .zero)
        }
    }

    /// The hits of a whole trace.
    mutating func run(_ block: SampleBlock) -> [Hit] {
        var hits: [Hit] = []
        self.process(times: block.times.span, values: block.values.span, hits: &hits)
        return hits
    }
}

/// Builds a trace from a function of time in seconds.
func trace(
    rate: Double, seconds: Double, from start: Double = 10, _ motion: (Double) -> (Double, Double, Double)
) -> SampleBlock {
    var block = SampleBlock(channels: 3)
    for index in 0..<Int(rate * seconds) {
        let time = start + Double(index) / rate
        let (x, y, z) = motion(time - start)
        block.append(TimeSpan(seconds: time).map { Timestamp.zero + $0 } ?? .zero, [x, y, z])
    }
    return block
}
