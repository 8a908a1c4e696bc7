import Detection
import Motion

/// Evaluates one condition look by look, each operation as its definition reads: what the engine must agree with.
///
/// Windows keep every look they cover, and nothing is shared with other conditions.
package struct PlainEvaluator {
    /// What an operation remembers.
    private struct Memory {
        /// The filter's value, or the value before.
        var last: Double?
        /// Since when the condition has been true, or when it was last.
        var since: Double?
        /// The looks of a window: their slice and value.
        var looks: [(slice: Double, value: Double)] = []
        /// Whether the look before was of a run of true ones.
        var isRunning = false
        /// Times at which a condition became true.
        var starts: [(slice: Double, value: Double)] = []
        var lobes = Lobes()
    }

    /// Lobes that reverse each other.
    private struct Lobes {
        var starts: [Double] = []
        var peak = (x: 0.0, y: 0.0, z: 0.0, length: 0.0)
        var seen = 0.0
        var strength: Double?
    }

    private var memories: [Term: Memory] = [:]
    /// The values of this look, so that what remembers is asked once.
    private var values: [Term: Double] = [:]
    private var channels: [Double] = []
    private var now = 0.0
    private var elapsed = 0.0
    /// A number grew beyond a Double: what follows is nobody's business.
    package private(set) var hasOverflown = false

    package init() {}

    /// Looks at a sample. `elapsed` is the time since the look before in µs, 0 at the first.
    package mutating func look(at now: Int64, elapsed: Int64, _ channels: [Double]) {
        self.now = Double(now)
        self.elapsed = Double(elapsed)
        self.channels = channels
        self.values = [:]
    }

    /// Forgets everything, as a gap does.
    package mutating func reset() { self.memories = [:] }

    /// Takes over what another evaluator remembers of a term and its parts.
    package mutating func adopt(_ other: PlainEvaluator, of term: Term) {
        guard case .call(let operation, let parts, let constants) = term else { return }
        if let memory = other.memories[term] { self.memories[term] = memory }
        for part in parts { self.adopt(other, of: part) }
        if operation == .strength { self.adopt(other, of: .call(.reversals, parts, constants)) }
    }

    package mutating func value(of term: Term) -> Double {
        switch term {
        case .channel(let index): return self.channels[index]
        case .constant(let value): return value
        case .call(let operation, let terms, let constants):
            if let known = self.values[term] { return known }
            // All parts are evaluated, whatever the first ones say: what remembers must see each look.
            let operands = terms.map { self.value(of: $0) }
            let value: Double
            if operation == .recall {
                value = self.recall(term, operands, constants)
            } else if operands.contains(where: \.isNaN) {
                value = .nan
            } else if let plain = Self.plain(operation, operands) {
                value = plain
                if !plain.isFinite, operation != .divide, operation != .squareRoot, operation != .angle {
                    self.hasOverflown = true
                }
            } else {
                value = self.remembering(operation, term, operands, constants)
                if !value.isFinite { self.hasOverflown = true }
            }
            self.values[term] = value
            return value
        }
    }

    /// What needs no memory.
    private static func plain(_ operation: Term.Operation, _ o: [Double]) -> Double? {
        func truth(_ value: Bool) -> Double { value ? 1 : 0 }
        func norm(_ parts: ArraySlice<Double>) -> Double { parts.reduce(0) { $0 + $1 * $1 }.squareRoot() }
        func quotient(_ a: Double, _ b: Double) -> Double { (a / b).isFinite ? a / b : .nan }
        switch operation {
        case .add: return o[0] + o[1]
        case .subtract: return o[0] - o[1]
        case .multiply: return o[0] * o[1]
        case .divide: return quotient(o[0], o[1])
        case .negate: return -o[0]
        case .absolute: return abs(o[0])
        case .minimum: return o.min()
        case .maximum: return o.max()
        case .squareRoot: return o[0].squareRoot()
        case .norm: return norm(o[...])
        case .arctangent: return Mathematics.arctangent(o[0], o[1])
        case .angle:
            let dot = o[0] * o[3] + o[1] * o[4] + o[2] * o[5]
            let cosine = quotient(dot, norm(o[..<3]) * norm(o[3...]))
            return cosine.isNaN ? .nan : Mathematics.arccosine(cosine)
        case .greater: return truth(o[0] > o[1])
        case .greaterOrEqual: return truth(o[0] >= o[1])
        case .less: return truth(o[0] < o[1])
        case .lessOrEqual: return truth(o[0] <= o[1])
        case .and: return truth(o[0] > 0 && o[1] > 0)
        case .or: return truth(o[0] > 0 || o[1] > 0)
        case .not: return truth(o[0] == 0)
        case .smooth, .smoothByLook, .delta, .rate, .mean, .rms, .peak, .range, .fraction, .count, .held, .sequence,
            .reversals, .strength, .recall:
            return nil
        }
    }

    private mutating func remembering(
        _ operation: Term.Operation, _ term: Term, _ o: [Double], _ constants: [Double]
    ) -> Double {
        // A strength is that of the reversals with the same parts, whoever is asked first.
        if operation == .strength, case .call(_, let terms, _) = term {
            let run = Term.call(.reversals, terms, constants)
            _ = self.value(of: run)
            return self.memories[run]?.lobes.strength ?? 0
        }
        var memory = self.memories[term] ?? Memory()
        defer { self.memories[term] = memory }
        let value = o[0]
        switch operation {
        case .smooth:
            guard let last = memory.last ?? (constants.count > 1 ? constants[1] : nil) else {
                memory.last = value
                return value
            }
            let next = last + (value - last) * Mathematics.approach(self.elapsed / constants[0])
            memory.last = next
            return next
        case .smoothByLook:
            guard let last = memory.last ?? (constants.count > 1 ? constants[1] : nil) else {
                memory.last = value
                return value
            }
            let next = constants[0] * value + (1 - constants[0]) * last
            memory.last = next
            return next
        case .delta:
            let change = (memory.last ?? constants.first).map { value - $0 } ?? 0
            memory.last = value
            return change
        case .rate:
            let change = memory.last.map { self.elapsed > 0 ? (value - $0) / (self.elapsed / 1_000_000) : 0 } ?? 0
            memory.last = value
            return change
        case .held:
            guard value > 0 else {
                memory.since = nil
                return 0
            }
            let since = memory.since ?? self.now
            memory.since = since
            return self.now - since >= constants[0] ? 1 : 0
        case .sequence:
            let isTrue = o[1] > 0 && (memory.since.map { self.now - $0 <= constants[0] } ?? false)
            if value > 0 { memory.since = self.now }
            return isTrue ? 1 : 0
        case .reversals: return self.reversals(&memory.lobes, o, over: constants[0], within: constants[1])
        default: return self.window(operation, &memory, value, constants[0])
        }
    }

    private mutating func recall(_ term: Term, _ o: [Double], _ constants: [Double]) -> Double {
        var memory = self.memories[term] ?? Memory()
        if o[0] > 0 {
            if memory.isRunning, let last = memory.last {
                memory.last = constants[0] * o[1] > constants[0] * last ? o[1] : last
            } else {
                memory.last = o[1].isNaN ? nil : o[1]
            }
            memory.isRunning = true
        } else if o[0] == 0 {
            memory.isRunning = false
        }
        self.memories[term] = memory
        return memory.last ?? o[1]
    }

    /// A window of 32 slices: those that end with the present one.
    private func window(_ operation: Term.Operation, _ memory: inout Memory, _ value: Double, _ length: Double)
        -> Double
    {
        let slice = (self.now / (length / 32)).rounded(.down)
        memory.looks.append((slice, value))
        memory.looks.removeAll { $0.slice <= slice - 32 }
        let values = memory.looks.map(\.value)
        switch operation {
        case .mean: return Self.sum(memory.looks) / Double(values.count)
        case .rms:
            return (Self.sum(memory.looks.map { ($0.slice, $0.value * $0.value) }) / Double(values.count)).squareRoot()
        case .peak: return values.map(abs).max() ?? 0
        case .range: return (values.max() ?? 0) - (values.min() ?? 0)
        case .fraction:
            let since = memory.since ?? self.now
            memory.since = since
            return self.now - since >= length ? Self.sum(memory.looks) / Double(values.count) : 0
        default:
            if value > 0, !((memory.last ?? 0) > 0) { memory.starts.append((slice, 1)) }
            memory.last = value
            memory.starts.removeAll { $0.slice <= slice - 32 }
            return Double(memory.starts.count)
        }
    }

    /// The sum, every fourth slice of a ring of 32 by itself: a sum of Doubles depends on the order.
    private static func sum(_ looks: [(slice: Double, value: Double)]) -> Double {
        var slices = [Double](repeating: 0, count: 32)
        for look in looks { slices[Int(look.slice.truncatingRemainder(dividingBy: 32))] += look.value }
        let fourths = (0..<4).map { first in stride(from: first, to: 32, by: 4).reduce(0) { $0 + slices[$1] } }
        return (fourths[0] + fourths[1]) + (fourths[2] + fourths[3])
    }

    private func reversals(_ lobes: inout Lobes, _ o: [Double], over: Double, within: Double) -> Double {
        let square = o[0] * o[0] + o[1] * o[1] + o[2] * o[2]
        if square > over * over { self.take(&lobes, (o[0], o[1], o[2], square.squareRoot())) }
        guard !lobes.starts.isEmpty, self.now - lobes.seen <= 400_000 else { return 0 }
        return Double(min(16, lobes.starts.count { self.now - $0 <= within }))
    }

    private func take(_ lobes: inout Lobes, _ sample: (x: Double, y: Double, z: Double, length: Double)) {
        guard let last = lobes.starts.last, self.now - lobes.seen <= 400_000 else {
            lobes = Lobes(starts: [self.now], peak: sample, seen: self.now, strength: sample.length)
            return
        }
        let peak = lobes.peak
        let cosine = (sample.x * peak.x + sample.y * peak.y + sample.z * peak.z) / (sample.length * peak.length)
        if cosine < -0.3 {
            if self.now - last >= 30_000 {
                lobes.starts.append(self.now)
                lobes.peak = sample
                lobes.seen = self.now
            }
        } else if cosine > 0 {
            lobes.seen = self.now
            if sample.length > peak.length { lobes.peak = sample }
        }
        lobes.strength = max(lobes.strength ?? 0, sample.length)
    }
}
