import Motion

extension Explanation: CustomStringConvertible {
    package var description: String { self.lines.joined(separator: "\n") }

    /// The explanation as people read it, one line for each stage.
    package var lines: [String] {
        let outcome =
            self.reason.isWaiting ? "NOT DELIVERED YET" : self.reason.isDelivered ? "DELIVERED" : "NOT DELIVERED"
        let lines = [
            Self.heading(
                self.epoch, self.detector, self.preset, self.intensity, Self.seconds(self.time - .zero), self.generation
            ),
            "\(Self.shown(self.app))  \(outcome)  \(self.reason.name)",
        ]
        return lines + self.stepLines + self.otherwiseLine("it would have got it if")
    }

    /// The first line, for who has a clock that says more than the seconds of a sample's time.
    package static func heading(
        epoch: UInt64, detector: String, preset: String, intensity: Double, unit: String, time: String, policy: UInt64
    ) -> String {
        self.heading(epoch, detector, preset, self.value(self.rounded(intensity), unit: unit), time, policy)
    }

    private static func heading(
        _ epoch: UInt64, _ detector: String, _ preset: String, _ intensity: String, _ time: String, _ policy: UInt64
    ) -> String {
        let preset = preset.isEmpty ? "" : " (\(preset))"
        return "epoch \(epoch)  \(detector)\(preset)  \(intensity)  at \(time)  policy \(policy)"
    }

    /// A line for each stage.
    package var stepLines: [String] {
        self.steps.map { step in
            let label = Self.padded(Self.label(step.stage), to: 12)
            let line = "  \(label)  \(Self.padded(step.result.rawValue, to: 4))"
            return Self.trimmed(step.seen.isEmpty ? line : "\(line)  \(step.seen)")
        }
    }

    /// The line that says what would have had to differ, after these words; none when the app got the event.
    package func otherwiseLine(_ words: String) -> [String] {
        self.otherwise.isEmpty ? [] : ["  \(words) \(self.otherwise.joined(separator: ", or "))"]
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
