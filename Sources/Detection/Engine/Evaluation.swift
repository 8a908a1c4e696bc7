import Motion

/// Executes the instructions of a lane over a block of looks: each instruction fills the column of its slot.
///
/// What costs something by instruction is so paid once for many looks, and what remembers nothing is computed eight looks
/// at a time. An instruction reads columns that are full and memories that nobody else touches, so the results are those
/// of one look after the other.
enum Evaluation {
    /// Looks that are computed at once. Columns are as long as a multiple of this many.
    typealias Looks = SIMD8<Double>

    /// Sets what the instructions remember to its beginning.
    static func reset(_ program: borrowing [Instruction], _ state: inout [Double], keepsRest: Bool) {
        var state = state.mutableSpan
        for index in program.indices { program[index].reset(&state, keepsRest: keepsRest) }
    }

    /// Runs `program` for the looks at `times`; `before` is the time of the look before them, negative without one.
    ///
    /// Each slot's column has `stride` places in `columns`. Places behind the looks get values that mean nothing.
    static func run(
        _ program: Span<Instruction>, _ columns: inout MutableSpan<Double>, stride: Int,
        _ state: inout MutableSpan<Double>, times: Span<Int64>, before: Int64
    ) {
        // SAFETY: the graph builds the program, and gives every operand and destination a slot before it does. The fields
        // are read one by one because a copy of the whole instruction costs more than most operations.
        for index in 0..<program.count {
            let operation = program[unchecked: index].operation
            let a = Int(program[unchecked: index].a) &* stride
            let b = Int(program[unchecked: index].b) &* stride
            let c = Int(program[unchecked: index].c) &* stride
            let to = Int(program[unchecked: index].destination) &* stride
            let count = times.count
            switch operation {
            case .add: self.fill(&columns, to, a, b, count) { $0 + $1 }
            case .addMultiple:
                let factor = program[unchecked: index].p
                self.fill(&columns, to, a, b, count) { $0 + factor * $1 }
            case .subtract: self.fill(&columns, to, a, b, count) { $0 - $1 }
            case .multiply, .both: self.fill(&columns, to, a, b, count) { $0 * $1 }
            case .divide: self.fill(&columns, to, a, b, count) { self.finite($0 / $1) }
            case .minimum:
                self.fill(&columns, to, a, b, count) { self.defined($1.replacing(with: $0, where: $0 .< $1), $0, $1) }
            case .maximum, .either:
                self.fill(&columns, to, a, b, count) { self.defined($1.replacing(with: $0, where: $0 .> $1), $0, $1) }
            case .negate: self.fill(&columns, to, a, count) { -$0 }
            case .absolute: self.fill(&columns, to, a, count) { self.magnitude($0) }
            case .squareRoot: self.fill(&columns, to, a, count) { $0.squareRoot() }
            case .greater:
                let (sign, key) = (program[unchecked: index].q, program[unchecked: index].p)
                self.fill(&columns, to, a, count) { value in
                    let signed = sign * value
                    return self.defined(Looks.zero.replacing(with: 1, where: signed .> key), value, value)
                }
            case .hypotenuse: self.fill(&columns, to, a, b, count) { ($0 * $0 + $1 * $1).squareRoot() }
            case .norm:
                self.fill(&columns, to, a, b, c, count) { ($0 * $0 + $1 * $1 + $2 * $2).squareRoot() }
            case .largest:
                self.fill(&columns, to, a, b, c, count) { a, b, c in
                    let (x, y, z) = (self.magnitude(a), self.magnitude(b), self.magnitude(c))
                    let xy = y.replacing(with: x, where: x .> y)
                    return z.replacing(with: xy, where: xy .> z)
                }
            case .arctangent:
                for look in 0..<count {
                    columns[unchecked: to &+ look] = Mathematics.arctangent(
                        columns[unchecked: a &+ look], columns[unchecked: b &+ look])
                }
            case .arccosine:
                for look in 0..<count {
                    let value = columns[unchecked: a &+ look]
                    columns[unchecked: to &+ look] = value.isNaN ? .nan : Mathematics.arccosine(value)
                }
            case .smooth:
                let (base, constant) = (Int(program[unchecked: index].state), program[unchecked: index].p)
                self.smooth(by: constant, &columns, to, a, &state, base, times, before)
            case .smoothByLook, .delta, .rate, .held, .sequence, .reversals, .tilted, .posture, .adaptive,
                .displacement, .visit, .fence, .segment, .gesture:
                self.remember(program[unchecked: index], &columns, stride, &state, times, before)
            case .mean, .rms, .peak, .range, .fraction, .count:
                let (base, length) = (Int(program[unchecked: index].state), program[unchecked: index].p)
                SlicedWindow.take(operation, over: length, &columns, to, a, &state, base, times)
            case .history: RhythmHistory.take(program[unchecked: index], &columns, stride, &state, times)
            case .activity: self.activity(program[unchecked: index], &columns, stride, &state, count)
            case .shake:
                self.shake(program[unchecked: index], &columns, stride, &state, times)
            case .orientation:
                self.orientation(program[unchecked: index], &columns, stride, &state, times, before)
            case .recall:
                let (base, sign) = (Int(program[unchecked: index].state), program[unchecked: index].q)
                self.recall(&columns, to, a, b, count, sign: sign, &state, base)
            case .channel, .constant, .strength:
                // Their columns are filled by others.
                break
            }
        }
    }

    /// An operation that remembers something, look by look, and what it found of strength.
    private static func remember(
        _ node: Instruction, _ columns: inout MutableSpan<Double>, _ stride: Int, _ state: inout MutableSpan<Double>,
        _ times: Span<Int64>, _ before: Int64
    ) {
        let a = Int(node.a) &* stride
        let b = node.b >= 0 ? Int(node.b) &* stride : a
        let c = node.c >= 0 ? Int(node.c) &* stride : a
        let to = Int(node.destination) &* stride
        let strength = Int(node.strength) &* stride
        let found = Int(node.state) &+ node.operation.strengthPlace
        var previous = before
        for look in 0..<times.count {
            let time = times[look]
            // SAFETY: as in `run`.
            columns[unchecked: to &+ look] = self.remembering(
                node, columns[unchecked: a &+ look], columns[unchecked: b &+ look], columns[unchecked: c &+ look],
                &state, Double(time), previous >= 0 ? Double(time - previous) : 0)
            if node.strength >= 0 { columns[unchecked: strength &+ look] = state[found].isNaN ? 0 : state[found] }
            previous = time
        }
    }

    /// The most that a number was while a condition was last true: the extreme, and whether the look before was of that run.
    private static func recall(
        _ columns: inout MutableSpan<Double>, _ to: Int, _ a: Int, _ b: Int, _ count: Int, sign: Double,
        _ state: inout MutableSpan<Double>, _ base: Int
    ) {
        var (extreme, isTrue) = (state[base], state[base + 1] > 0)
        for look in 0..<count {
            // SAFETY: as in `run`.
            let (truth, value) = (columns[unchecked: a &+ look], columns[unchecked: b &+ look])
            if truth > 0 {
                if !isTrue || sign * value > sign * extreme || extreme.isNaN { extreme = value }
                isTrue = true
            } else if truth == 0 {
                isTrue = false
            }
            columns[unchecked: to &+ look] = extreme.isNaN ? value : extreme
        }
        state[base] = extreme
        state[base + 1] = isTrue ? 1 : 0
    }

    // MARK: Eight looks at a time

    static func magnitude(_ value: Looks) -> Looks {
        let bits = unsafeBitCast(value, to: SIMD8<UInt64>.self) & SIMD8(repeating: UInt64.max >> 1)
        return unsafeBitCast(bits, to: Looks.self)
    }

    /// What is not finite becomes undefined.
    private static func finite(_ value: Looks) -> Looks {
        // x - x is 0 for every finite number and undefined for the others.
        value.replacing(with: .nan, where: (value - value) .!= 0)
    }

    /// Undefined where an operand is.
    private static func defined(_ value: Looks, _ a: Looks, _ b: Looks) -> Looks {
        value.replacing(with: .nan, where: (a .!= a) .| (b .!= b))
    }

    @inline(__always)
    private static func load(_ bytes: borrowing MutableRawSpan, _ place: Int) -> Looks {
        // SAFETY: columns are whole numbers of vectors long, and any bits are numbers.
        bytes.unsafeLoadUnaligned(
            fromUncheckedByteOffset: place &* MemoryLayout<Double>.stride, as: Looks.self)
    }

    @inline(__always)
    private static func store(_ value: Looks, _ bytes: inout MutableRawSpan, _ place: Int) {
        // SAFETY: as in `load`.
        bytes.storeBytes(of: value, toUncheckedByteOffset: place &* MemoryLayout<Double>.stride, as: Looks.self)
    }

    @inline(__always)
    private static func fill(
        _ columns: inout MutableSpan<Double>, _ to: Int, _ a: Int, _ count: Int, _ operation: (Looks) -> Looks
    ) {
        var bytes = columns.mutableBytes
        var look = 0
        while look < count {
            let result = operation(self.load(bytes, a &+ look))
            self.store(result, &bytes, to &+ look)
            look &+= Looks.scalarCount
        }
    }

    @inline(__always)
    private static func fill(
        _ columns: inout MutableSpan<Double>, _ to: Int, _ a: Int, _ b: Int, _ count: Int,
        _ operation: (Looks, Looks) -> Looks
    ) {
        var bytes = columns.mutableBytes
        var look = 0
        while look < count {
            let result = operation(self.load(bytes, a &+ look), self.load(bytes, b &+ look))
            self.store(result, &bytes, to &+ look)
            look &+= Looks.scalarCount
        }
    }

    @inline(__always)
    private static func fill(
        _ columns: inout MutableSpan<Double>, _ to: Int, _ a: Int, _ b: Int, _ c: Int, _ count: Int,
        _ operation: (Looks, Looks, Looks) -> Looks
    ) {
        var bytes = columns.mutableBytes
        var look = 0
        while look < count {
            let result = operation(
                self.load(bytes, a &+ look), self.load(bytes, b &+ look), self.load(bytes, c &+ look))
            self.store(result, &bytes, to &+ look)
            look &+= Looks.scalarCount
        }
    }

    // MARK: Bounds

    /// The first look from `first` on at which the value leaves the bounds, or `end`. An undefined value leaves them.
    @inline(__always)
    static func firstOutside(
        _ columns: Span<Double>, _ column: Int, lower: Double, upper: Double, from first: Int, to end: Int
    ) -> Int {
        self.first(columns, column, from: first, to: end) { .!(($0 .<= upper) .& ($0 .> lower)) }
    }

    /// The same for bounds of the value's opposite.
    @inline(__always)
    static func firstOutside(
        _ columns: Span<Double>, _ column: Int, oppositeLower: Double, oppositeUpper: Double, from first: Int,
        to end: Int
    ) -> Int {
        let (lower, upper) = (-oppositeUpper, -oppositeLower)
        return self.first(columns, column, from: first, to: end) { .!(($0 .>= lower) .& ($0 .< upper)) }
    }

    /// The first look from `first` on at which sign · value is above a bound, or `end`.
    @inline(__always)
    static func firstAbove(
        _ columns: Span<Double>, _ column: Int, sign: Double, _ bound: Double, from first: Int, to end: Int
    ) -> Int {
        if sign > 0 { return self.first(columns, column, from: first, to: end) { $0 .> bound } }
        let bound = -bound
        return self.first(columns, column, from: first, to: end) { $0 .< bound }
    }

    @inline(__always)
    private static func first(
        _ columns: Span<Double>, _ column: Int, from first: Int, to end: Int,
        _ isFound: (Looks) -> SIMDMask<Looks.MaskStorage>
    ) -> Int {
        let bytes = columns.bytes
        var look = first
        var found = SIMDMask<Looks.MaskStorage>(repeating: false)
        while look < end {
            // What lies behind the last look only costs a second glance.
            // SAFETY: behind the last column there is room for a vector.
            let value = bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: (column &+ look) &* MemoryLayout<Double>.stride, as: Looks.self)
            found = found .| isFound(value)
            look &+= Looks.scalarCount
        }
        guard any(found) else { return end }
        look = first
        while look < end {
            if isFound(Looks(repeating: columns[unchecked: column &+ look]))[0] { return look }
            look &+= 1
        }
        return end
    }
}
