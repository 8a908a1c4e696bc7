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

    /// Runs `program` once: a look at `now` µs; `elapsed` µs since the look before, 0 at the first.
    @inline(__always)
    static func run(
        _ program: Span<Instruction>, _ slots: inout MutableSpan<Double>, _ state: inout MutableSpan<Double>,
        now: Int64, elapsed: Int64
    ) {
        // SAFETY: the graph builds the program, and gives every operand and destination a slot before it does. The fields
        // are read one by one because a copy of the whole instruction costs more than most operations.
        for index in 0..<program.count {
            let result: Double
            switch program[unchecked: index].operation {
            case .hypotenuse:
                let x = slots[unchecked: Int(program[unchecked: index].a)]
                let y = slots[unchecked: Int(program[unchecked: index].b)]
                result = (x * x + y * y).squareRoot()
            case .norm:
                let x = slots[unchecked: Int(program[unchecked: index].a)]
                let y = slots[unchecked: Int(program[unchecked: index].b)]
                let z = slots[unchecked: Int(program[unchecked: index].c)]
                result = (x * x + y * y + z * z).squareRoot()
            case .largest:
                let x = slots[unchecked: Int(program[unchecked: index].a)].magnitude
                let y = slots[unchecked: Int(program[unchecked: index].b)].magnitude
                let z = slots[unchecked: Int(program[unchecked: index].c)].magnitude
                let xy = x > y ? x : y
                result = xy > z ? xy : z
            default:
                result = self.other(program[unchecked: index], slots, &state, Double(now), Double(elapsed))
            }
            slots[unchecked: Int(program[unchecked: index].destination)] = result
        }
    }

    /// The operations that are not worth a place in the loop itself.
    @inline(never)
    private static func other(
        _ node: Instruction, _ slots: borrowing MutableSpan<Double>, _ state: inout MutableSpan<Double>, _ now: Double,
        _ elapsed: Double
    ) -> Double {
        // SAFETY: as in `run`.
        let a = node.a >= 0 ? slots[unchecked: Int(node.a)] : .nan
        let b = node.b >= 0 ? slots[unchecked: Int(node.b)] : .nan
        switch node.operation {
        case .add: return a + b
        case .subtract: return a - b
        case .multiply, .both: return a * b
        case .divide:
            let quotient = a / b
            return quotient.isFinite ? quotient : .nan
        case .negate: return -a
        case .absolute: return a.magnitude
        case .minimum: return a.isNaN || b.isNaN ? .nan : (a < b ? a : b)
        case .maximum, .either: return a.isNaN || b.isNaN ? .nan : (a > b ? a : b)
        case .greater:
            let signed = node.q * a
            return signed.isNaN ? .nan : signed > node.p ? 1 : 0
        case .squareRoot: return a.squareRoot()
        case .arctangent: return Mathematics.arctangent(a, b)
        case .arccosine: return a.isNaN ? .nan : Mathematics.arccosine(a)
        case .channel, .constant: return a
        case .hypotenuse, .norm, .largest, .smooth, .smoothByLook, .delta, .rate, .mean, .rms, .peak, .range, .fraction,
            .count, .held, .sequence, .reversals, .shake, .tilted, .orientation, .strength:
            return self.remembering(node, slots, &state, now, elapsed)
        }
    }
}
