/// A node of the engine's graph as it is executed: from slots to a slot.
struct Instruction {
    var operation: Operation
    var destination: Int32
    var a: Int32
    var b: Int32
    var c: Int32
    var d: Int32 = -1
    /// Where the numbers of the history stand that a shake, an activity or an orientation asks.
    var history: Int32 = -1
    /// The slot of the node that tells this one's strength; -1 when there is none.
    var strength: Int32 = -1
    /// Where its numbers stand in the lane's state.
    var state: Int32
    var p: Double
    var q: Double
    var r: Double
    var s: Double
    var t = 0.0
    var u = 0.0

    /// Sets what the operation remembers to its beginning; a gap keeps the rests of the catalogue's own functions.
    func reset(_ state: inout MutableSpan<Double>, keepsRest: Bool) {
        let base = Int(self.state)
        let size = self.operation.stateSize
        guard size > 0, !(keepsRest && self.operation.isNoting) else { return }
        // A shake also keeps how many hits were held back, and when the last of them was.
        let kept = state[base + size - 1]
        let told = state[base]
        let isShake = self.operation == .shake
        let held = isShake ? (state[base + ReversalRun.size], state[base + ReversalRun.size + 1]) : (.nan, .nan)
        for index in base..<base + size { state[index] = .nan }
        switch self.operation {
        case .smooth, .smoothByLook, .delta, .rate:
            state[base] = self.q
        case .tilted:
            state[base] = 0
            state[base + 1] = 0
            if keepsRest { state[base + 2] = kept }
        case .shake:
            if keepsRest {
                state[base + size - 1] = kept
                (state[base + ReversalRun.size], state[base + ReversalRun.size + 1]) = held
            }
        case .gesture, .posture:
            if keepsRest { state[base + size - 1] = kept }
        // Which axis was up last: who is turned meanwhile is told so.
        case .orientation:
            if keepsRest { state[base] = told }
        default:
            break
        }
    }
}
