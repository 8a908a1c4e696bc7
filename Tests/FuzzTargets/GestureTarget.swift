import Detection
import Motion

/// The text of a taught gesture: what is read of it is written as the same gesture, and looks for nothing that it should not.
enum GestureTarget {
    static func run(_ bytes: [UInt8]) -> String? {
        guard let gesture = try? GestureText.read(String(decoding: bytes, as: UTF8.self)) else { return nil }
        guard TaughtGesture.Limits.examples.contains(gesture.examples.count) else {
            return "\(gesture.examples.count) examples"
        }
        let text = GestureText.write(gesture)
        guard let again = try? GestureText.read(text) else { return "what is written does not read" }
        guard GestureText.write(again) == text, again.examples.count == gesture.examples.count else {
            return "what is written reads as another gesture"
        }
        for example in gesture.examples {
            guard example.shape.allSatisfy(\.isFinite) else { return "a shape that is no number" }
        }
        return self.look(text)
    }

    /// Lets a detector look at a motion between two calm moments.
    private static func look(_ text: String) -> String? {
        let options: [String: OptionValue] = ["preset": .text("gesture"), CompiledDetector.gestureKey: .text(text)]
        guard let detector = try? DetectorCompiler.compile(DetectorRequest(name: "fuzz", options: options), for: nil)
        else { return "what is read does not compile" }
        var engine = DetectionEngine(channels: ["x", "y", "z"])
        engine.add(detector, as: DetectorID(0), at: .zero)
        var block = SampleBlock(channels: 3)
        for step in 1...120 {
            let push = (40..<80).contains(step) ? Double(step * 7_919 % 100) / 50 - 1 : 0
            block.append(Timestamp(microseconds: Int64(step) * 20_000), [push, -push, 1])
        }
        var hits: [Hit] = []
        engine.process(times: block.times.span, values: block.values.span, hits: &hits)
        return hits.allSatisfy { (0...1).contains($0.peak) } ? nil : "a score of \(hits.map(\.peak))"
    }
}
