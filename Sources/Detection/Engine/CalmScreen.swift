package import Motion

/// Which edge of a screen is up, as the preset `orientation.screen` tells it, for one who has samples and no engine.
package struct CalmScreen: Sendable {
    private static let preset = "orientation.screen"

    private let turn: Instruction
    private let history: Instruction
    private var state: [Double]
    private var last: Timestamp?
    /// How often it wants to look, in Hz.
    package let rate: Double

    /// - Parameter options: Those of the preset that are not to be as they are by default.
    package init(_ options: DetectorOptions = [:]) throws(DetectorProblem) {
        var options = options
        options["preset"] = .text(Self.preset)
        let detector = try DetectorCompiler.compile(DetectorRequest(name: Self.preset, options: options), for: nil)
        self.rate = detector.neededRate
        var history = Instruction(
            operation: .history, destination: 3, a: 0, b: 1, c: 2, state: 0, p: 0, q: 0, r: 0, s: 0)
        var turn = Instruction(
            operation: .orientation, destination: 3, a: 0, b: 1, c: 2, state: 0, p: 0, q: 0, r: 0, s: 0)
        for node in detector.condition.formula.nodes where node.operation == .orientation {
            (turn.p, turn.q, turn.r, turn.s) = (node.p, node.q, node.r, node.s)
            (turn.t, turn.u) = (node.t, node.u)
            if node.d >= 0 { turn.history = Int32(turn.operation.stateSize) }
        }
        history.state = Int32(turn.operation.stateSize)
        (self.turn, self.history) = (turn, history)
        self.state = [Double](repeating: .nan, count: turn.operation.stateSize + history.operation.stateSize)
    }

    /// The edge that is up and has been for a while: 1 to 4 for x, -x, y, -y; `nil` while none has.
    package var edge: Int? { self.state[0].isNaN ? nil : Int(self.state[0]) }

    /// Takes a sample, in g and our axes.
    package mutating func take(_ sample: SIMD3<Double>, at time: Timestamp) {
        let elapsed = self.last.map { time - $0 } ?? .zero
        guard elapsed >= .zero else { return }
        if elapsed > SensorLimits.gap { self.forget() }
        self.last = time
        let times: InlineArray<1, Int64> = [time.microseconds]
        // x, y and z of the look, and how many ticks of history there are.
        var look: InlineArray<4, Double> = [sample.x, sample.y, sample.z, 0]
        let (history, turn) = (self.history, self.turn)
        var columns = look.mutableSpan
        var state = self.state.mutableSpan
        RhythmHistory.take(history, &columns, 1, &state, times.span)
        _ = CalmOrientation.take(
            &state, sample, turn, ticks: columns[3], now: Double(time.microseconds),
            elapsed: elapsed > SensorLimits.gap ? 0 : Double(elapsed.microseconds))
    }

    /// Begins anew, as if nothing had been seen.
    package mutating func forget() {
        for index in self.state.indices { self.state[index] = .nan }
        self.last = nil
    }
}
