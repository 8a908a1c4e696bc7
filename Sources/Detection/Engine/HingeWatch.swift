package import Motion

/// Whether a hinge's angle is in the range of a preset such as `tablet-mode`, for one who has samples and no engine.
package struct HingeWatch: Sendable {
    private let instruction: Instruction
    private var state = [Double](repeating: .nan, count: HingePosture.size)
    /// How often it wants to look, in Hz.
    package let rate: Double

    /// - Parameter options: The preset, and those of its options that are not to be as they are by default.
    package init(_ options: DetectorOptions) throws(DetectorProblem) {
        let detector = try DetectorCompiler.compile(DetectorRequest(name: "hinge", options: options), for: nil)
        self.rate = detector.neededRate
        var instruction = Instruction(
            operation: .posture, destination: 0, a: 0, b: 1, c: 0, state: 0, p: 0, q: 0, r: 0, s: 0)
        for node in detector.condition.formula.nodes where node.operation == .posture {
            (instruction.p, instruction.q, instruction.r) = (node.p, node.q, node.r)
            (instruction.s, instruction.t) = (node.s, node.t)
        }
        self.instruction = instruction
    }

    /// Whether it is in the range, as far as anybody knows.
    package var isIn: Bool { self.state[2] == 1 }

    /// Takes a sample of the hinge, in degrees and percent. True when the range begins or ends with it.
    package mutating func take(angle: Double, confidence: Double, at time: Timestamp) -> Bool {
        let instruction = self.instruction
        var state = self.state.mutableSpan
        return HingePosture.take(
            &state, at: 0, angle: angle, confidence: confidence, instruction, now: Double(time.microseconds)) == 1
    }

    /// What comes next does not follow on from what came before.
    package mutating func gap() { self.state[1] = .nan }

    /// Begins anew, as if nothing had been seen.
    package mutating func forget() {
        for index in self.state.indices { self.state[index] = .nan }
    }
}
