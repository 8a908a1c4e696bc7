/// The numbers that a lane's detectors compute, each once: slots, and the instructions that fill them.
struct FeatureGraph {
    private struct Node {
        var key: FormulaNode
        var uses: Int
        var instruction: Instruction
    }

    /// The channels first, then one that is undefined, then one for each node.
    var slots: [Double]
    /// Never empty: the unique span of an empty array costs more than that of any other.
    var state: [Double] = [.nan]
    private(set) var program: [Instruction] = []
    private let fixed: Int
    private var nodes: [Node?] = []
    private var known: [FormulaNode: Int32] = [:]
    private var freeSlots: [Int32] = []
    /// Free stretches of the state by size.
    private var freeState: [Int: [Int32]] = [:]
    /// Nodes that remember something.
    private(set) var stateful = 0

    init(channels: Int) {
        self.fixed = channels + 1
        self.slots = [Double](repeating: 0, count: channels) + [.nan]
    }

    /// Adds what is missing of a formula; `channels` are the slots of its channel names. Returns the slot of each node.
    mutating func insert(_ formula: Formula, channels: [Int32]) -> [Int32] {
        var mapped: [Int32] = []
        mapped.reserveCapacity(formula.nodes.count)
        for node in formula.nodes {
            if node.operation == .channel {
                mapped.append(channels[Int(node.a)])
                continue
            }
            var key = node
            if key.a >= 0 { key.a = mapped[Int(key.a)] }
            if key.b >= 0 { key.b = mapped[Int(key.b)] }
            if key.c >= 0 { key.c = mapped[Int(key.c)] }
            mapped.append(self.insert(key))
        }
        return mapped
    }

    /// Gives back the slots that `insert` returned; what nobody uses any more disappears.
    mutating func release(_ mapped: [Int32]) {
        var isSmaller = false
        for slot in mapped.reversed() where Int(slot) >= self.fixed {
            let index = Int(slot) - self.fixed
            guard var node = self.nodes[index] else { continue }
            node.uses -= 1
            guard node.uses == 0 else {
                self.nodes[index] = node
                continue
            }
            self.nodes[index] = nil
            self.known[node.key] = nil
            self.freeSlots.append(slot)
            let size = node.key.operation.stateSize
            if size > 0 {
                self.freeState[size, default: []].append(node.instruction.state)
                self.stateful -= 1
            }
            isSmaller = true
        }
        guard isSmaller else { return }
        self.program.removeAll { self.nodes[Int($0.destination) - self.fixed] == nil }
    }

    /// Forgets what filters and windows hold.
    mutating func reset() { Evaluation.reset(self.program, &self.state, keepsRest: true) }

    private mutating func insert(_ key: FormulaNode) -> Int32 {
        if let slot = self.known[key] {
            self.nodes[Int(slot) - self.fixed]?.uses += 1
            return slot
        }
        let slot: Int32
        if let free = self.freeSlots.popLast() {
            slot = free
        } else {
            slot = Int32(self.slots.count)
            self.slots.append(.nan)
            self.nodes.append(nil)
        }
        self.slots[Int(slot)] = key.operation == .constant ? key.p : .nan
        let instruction = Instruction(
            operation: key.operation, destination: slot, a: key.a, b: key.b, c: key.c, state: self.statePlace(for: key),
            p: key.p, q: key.q, r: key.r, s: key.s)
        Evaluation.reset([instruction], &self.state, keepsRest: false)
        self.nodes[Int(slot) - self.fixed] = Node(key: key, uses: 1, instruction: instruction)
        self.known[key] = slot
        // Operands were inserted before, so they stand before it in the program. A constant needs no instruction.
        if key.operation != .constant { self.program.append(instruction) }
        return slot
    }

    private mutating func statePlace(for key: FormulaNode) -> Int32 {
        if key.operation == .strength {
            // It reads what the node before it found.
            guard let source = self.nodes[Int(key.a) - self.fixed] else { return 0 }
            return source.instruction.state
                + (source.key.operation == .orientation ? 0 : Int32(ReversalRun.strength))
        }
        let size = key.operation.stateSize
        guard size > 0 else { return 0 }
        self.stateful += 1
        if let place = self.freeState[size]?.popLast() { return place }
        let place = Int32(self.state.count)
        self.state.append(contentsOf: repeatElement(.nan, count: size))
        return place
    }
}
