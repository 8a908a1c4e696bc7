import Motion

extension Explanation: CustomStringConvertible {
    /// The explanation as people read it, one line for each stage.
    package var description: String {
        let outcome = self.reason.isDelivered ? "DELIVERED" : "NOT DELIVERED"
        let preset = self.preset.isEmpty ? "" : " (\(self.preset))"
        var lines = [
            "epoch \(self.epoch)  \(self.detector)\(preset)  \(self.intensity)  at \(self.time.microseconds) us"
                + "  policy \(self.generation)",
            "\(Self.shown(self.app))  \(outcome)  \(self.reason.name)",
        ]
        for step in self.steps {
            let label = Self.padded(Self.label(step.stage), to: 12)
            let line = "  \(label)  \(Self.padded(step.result.rawValue, to: 4))"
            lines.append(step.seen.isEmpty ? line : "\(line)  \(step.seen)")
        }
        if !self.otherwise.isEmpty {
            lines.append("  it would have got it if \(self.otherwise.joined(separator: ", or "))")
        }
        return lines.map(Self.trimmed).joined(separator: "\n")
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func trimmed(_ line: String) -> String {
        var line = Substring(line)
        while line.last == " " { line.removeLast() }
        return String(line)
    }
}
