/// A node of the engine's graph as it is executed: from slots to a slot.
struct Instruction {
    var operation: Operation
    var destination: Int32
    var a: Int32
    var b: Int32
    var c: Int32
    /// Where its numbers stand in the lane's state.
    var state: Int32
    var p: Double
    var q: Double
    var r: Double
    var s: Double

    /// Sets what the operation remembers to its beginning; a gap keeps the rests of the catalogue's own functions.
    func reset(_ state: inout MutableSpan<Double>, keepsRest: Bool) {
        let base = Int(self.state)
        let size = self.operation.stateSize
        guard size > 0 else { return }
        let kept = state[base + size - 1]
        for index in base..<base + size { state[index] = .nan }
        switch self.operation {
        case .smooth, .smoothByLook, .delta, .rate:
            state[base] = self.q
        case .tilted:
            state[base] = 0
            state[base + 1] = 0
            if keepsRest { state[base + 2] = kept }
        case .shake:
            if keepsRest { state[base + size - 1] = kept }
        default:
            break
        }
    }
}

/// Executes the instructions of a lane.
enum Evaluation {
    /// Sets what the instructions remember to its beginning.
    static func reset(_ program: borrowing [Instruction], _ state: inout [Double], keepsRest: Bool) {
        var state = state.mutableSpan
        for index in program.indices { program[index].reset(&state, keepsRest: keepsRest) }
    }

    /// Takes the channels and runs `program` once: a look at `now` µs; `elapsed` µs since the look before, 0 at the first.
    static func run(
        _ program: borrowing [Instruction], _ slots: inout [Double], _ state: inout [Double], _ values: Span<Double>,
        at first: Int, channels: Int, now: Double, elapsed: Double
    ) {
        let program = program.span
        var slots = slots.mutableSpan
        var state = state.mutableSpan
        for channel in 0..<channels { slots[channel] = values[first + channel] }
        // SAFETY: the graph builds the program, and gives every operand and destination a slot before it does.
        for index in 0..<program.count {
            let node = program[unchecked: index]
            let result: Double
            switch node.operation {
            case .hypotenuse:
                let (x, y) = (slots[unchecked: Int(node.a)], slots[unchecked: Int(node.b)])
                result = (x * x + y * y).squareRoot()
            case .norm:
                let (x, y, z) = (
                    slots[unchecked: Int(node.a)], slots[unchecked: Int(node.b)], slots[unchecked: Int(node.c)]
                )
                result = (x * x + y * y + z * z).squareRoot()
            case .largest:
                let (x, y) = (slots[unchecked: Int(node.a)].magnitude, slots[unchecked: Int(node.b)].magnitude)
                let z = slots[unchecked: Int(node.c)].magnitude
                let xy = x > y ? x : y
                result = xy > z ? xy : z
            case .add:
                result = slots[unchecked: Int(node.a)] + slots[unchecked: Int(node.b)]
            case .subtract:
                result = slots[unchecked: Int(node.a)] - slots[unchecked: Int(node.b)]
            case .multiply:
                result = slots[unchecked: Int(node.a)] * slots[unchecked: Int(node.b)]
            case .divide:
                let quotient = slots[unchecked: Int(node.a)] / slots[unchecked: Int(node.b)]
                result = quotient.isFinite ? quotient : .nan
            case .negate:
                result = -slots[unchecked: Int(node.a)]
            case .absolute:
                result = slots[unchecked: Int(node.a)].magnitude
            case .minimum:
                let (x, y) = (slots[unchecked: Int(node.a)], slots[unchecked: Int(node.b)])
                result = x.isNaN || y.isNaN ? .nan : (x < y ? x : y)
            case .maximum, .either:
                let (x, y) = (slots[unchecked: Int(node.a)], slots[unchecked: Int(node.b)])
                result = x.isNaN || y.isNaN ? .nan : (x > y ? x : y)
            case .greater:
                let signed = node.q * slots[unchecked: Int(node.a)]
                result = signed.isNaN ? .nan : signed > node.p ? 1 : 0
            case .both:
                result = slots[unchecked: Int(node.a)] * slots[unchecked: Int(node.b)]
            case .squareRoot:
                result = slots[unchecked: Int(node.a)].squareRoot()
            case .arctangent:
                result = Mathematics.arctangent(slots[unchecked: Int(node.a)], slots[unchecked: Int(node.b)])
            case .arccosine:
                let cosine = slots[unchecked: Int(node.a)]
                result = cosine.isNaN ? .nan : Mathematics.arccosine(cosine)
            case .channel, .constant:
                continue
            case .smooth, .smoothByLook, .delta, .rate, .mean, .rms, .peak, .range, .fraction, .count, .held, .sequence,
                .reversals, .shake, .tilted, .orientation, .strength:
                result = self.remembering(node, slots, &state, now, elapsed)
            }
            slots[unchecked: Int(node.destination)] = result
        }
    }
}
