import Motion

/// The numbers that a lane's detectors compute, each once: slots, and the instructions that fill them.
struct FeatureGraph {
    private struct Node {
        var key: FormulaNode
        var uses: Int
        var instruction: Instruction
        /// True when not only other nodes ask for its values.
        var isShown = false
    }

    /// A column of a block's looks for each slot: the channels first, then one that is undefined, then the nodes.
    private(set) var columns: [Double] = []
    /// Looks of a block at most, the length of a column.
    private(set) var stride = 0
    /// The look of the block whose values `value` tells.
    var look = 0
    /// Slots so far, free ones too.
    private var slots: Int
    /// Never empty: the unique span of an empty array costs more than that of any other.
    private var state: [Double] = [.nan]
    private var program: [Instruction] = []
    /// The program without nodes that nobody needs by themselves.
    private var compiled: [Instruction] = []
    private var isStale = false
    /// Slots of the channels and the undefined one.
    private let fixed: Int
    private var nodes: [Node?] = []
    private var known: [FormulaNode: Int32] = [:]
    /// Places in `nodes`.
    private var freeNodes = FreePlaces()
    /// Slots that nobody uses any more, but the program may still mention.
    private var deadSlots: [Int32] = []
    /// Free stretches of the state by size.
    private var freeState: [Int: [Int32]] = [:]
    /// Nodes that remember something.
    private(set) var stateful = 0

    init(channels: Int) {
        self.fixed = channels + 1
        self.slots = channels + 1
        self.layOut()
    }

    /// The present look's value of a slot.
    func value(_ slot: Int32) -> Double { self.columns[Int(slot) * self.stride + self.look] }

    /// The hits that a shake has held back because of the rhythm that it came in; none for a slot of anything else.
    func held(_ slot: Int32) -> HeldHits {
        guard let node = self.node(slot), node.key.operation == .shake else { return HeldHits() }
        let place = Int(node.instruction.state) + ReversalRun.size
        let (count, last) = (self.state[place], self.state[place + 1])
        guard count > 0, last >= 0 else { return HeldHits() }
        return HeldHits(count: UInt64(count), last: Timestamp(microseconds: Int64(last)))
    }

    /// When a node that rests by itself hit last; `nil` before it did.
    func lastHit(_ slot: Int32) -> Double? {
        guard let node = self.node(slot), node.key.rest != nil else { return nil }
        let last = self.state[Int(node.instruction.state) + node.key.operation.stateSize - 1]
        return last.isNaN ? nil : last
    }

    /// Gives the slots columns so long that all of them stay in the nearest cache, as far as that is possible.
    private mutating func layOut() {
        var stride = 64
        while stride > Evaluation.Looks.scalarCount, stride * self.slots > 4_096 { stride /= 2 }
        guard stride != self.stride else {
            let missing = self.slots * stride + Evaluation.Looks.scalarCount - self.columns.count
            self.columns.append(contentsOf: repeatElement(.nan, count: max(0, missing)))
            return
        }
        self.stride = stride
        self.look = 0
        self.columns = [Double](repeating: .nan, count: self.slots * stride + Evaluation.Looks.scalarCount)
        for case let node? in self.nodes { self.fillColumn(of: node.instruction) }
    }

    /// A constant's column is filled once; any other has no value yet.
    private mutating func fillColumn(of instruction: Instruction) {
        let first = Int(instruction.destination) * self.stride
        let value = instruction.operation == .constant ? instruction.p : .nan
        for place in first..<first + self.stride { self.columns[place] = value }
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
            mapped.append(self.insert(node.over(mapped)))
        }
        return mapped
    }

    /// Gives back the slots that `insert` returned; what nobody uses any more disappears.
    mutating func release(_ mapped: [Int32]) {
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
            if node.key.operation == .strength { self.setStrength(of: node.key.a, to: -1) }
            self.deadSlots.append(slot)
            self.isStale = true
            let size = node.key.stateSize
            if size > 0 {
                self.freeState[size, default: []].append(node.instruction.state)
                self.stateful -= node.key.memories
            }
        }
    }

    /// Takes the dead slots out of the program, all in one go: many go together.
    private mutating func bury() {
        guard !self.deadSlots.isEmpty else { return }
        self.program.removeAll { self.nodes[Int($0.destination) - self.fixed] == nil }
        for slot in self.deadSlots { self.freeNodes.add(slot - Int32(self.fixed)) }
        self.deadSlots.removeAll()
    }

    /// Lets a block take its looks; their values come into the channels' columns.
    mutating func fill(
        _ block: inout LookBlock, _ clock: inout LookClock, _ times: Span<Int64>, _ values: Span<Double>, to end: Int,
        origin: Int64
    ) {
        let stride = self.stride
        block.fill(
            &clock, &self.columns, stride: stride, times, values, width: self.fixed - 1, to: end, origin: origin)
    }

    /// Fills the nodes' columns for a block.
    mutating func run(_ block: borrowing LookBlock) {
        if self.isStale { self.compile() }
        Self.run(self.compiled, &self.columns, self.stride, &self.state, block)
    }

    private static func run(
        _ program: borrowing [Instruction], _ columns: inout [Double], _ stride: Int, _ state: inout [Double],
        _ block: borrowing LookBlock
    ) {
        var columns = columns.mutableSpan
        var state = state.mutableSpan
        Evaluation.run(
            program.span, &columns, stride: stride, &state, times: block.times.span.extracting(first: block.count),
            before: block.before)
    }

    /// Gives back memory that was needed for nodes that are gone.
    mutating func shrink() {
        self.bury()
        let gone = self.freeNodes.cut(from: self.nodes.count)
        self.nodes.removeLast(gone)
        self.nodes.shrink()
        self.known.shrink()
        self.program.shrink()
        self.compiled.shrink()
        if self.stateful == 0 {
            (self.state, self.freeState) = ([.nan], [:])
        }
        guard gone > 0 else { return }
        // What remains stands where it stood, in columns that may be longer now.
        self.slots = self.nodes.count + self.fixed
        let size = self.slots * self.stride + Evaluation.Looks.scalarCount
        self.columns.removeLast(max(0, self.columns.count - size))
        self.columns.shrink()
    }

    /// At how many of a block's looks a slot has no value.
    func undefined(_ slot: Int32, looks: Int) -> Int {
        let first = Int(slot) * self.stride
        return self.columns[first..<first + looks].reduce(0) { $0 + ($1.isNaN ? 1 : 0) }
    }

    /// Forgets what filters and windows hold.
    mutating func reset() {
        self.bury()
        Evaluation.reset(self.program, &self.state, keepsRest: true)
    }

    private mutating func insert(_ key: FormulaNode) -> Int32 {
        if let slot = self.known[key] {
            self.nodes[Int(slot) - self.fixed]?.uses += 1
            return slot
        }
        if self.freeNodes.isEmpty, self.deadSlots.count > self.program.count / 2 { self.bury() }
        let slot: Int32
        if let free = self.freeNodes.take() {
            slot = free + Int32(self.fixed)
        } else {
            slot = Int32(self.slots)
            self.slots += 1
            self.nodes.append(nil)
            self.layOut()
        }
        var instruction = Instruction(
            operation: key.operation, destination: slot, a: key.a, b: key.b, c: key.c, d: key.d,
            state: self.statePlace(for: key), p: key.p, q: key.q, r: key.r, s: key.s, t: key.t, u: key.u)
        if let history = self.node(key.operation == .activity ? key.a : key.d), history.key.operation == .history {
            instruction.history = history.instruction.state
        }
        Evaluation.reset([instruction], &self.state, keepsRest: false)
        if let gesture = key.gesture {
            // What it compares with stands behind what it remembers, and no gap touches it.
            let place = Int(instruction.state) + key.operation.stateSize
            self.state.replaceSubrange(place..<place + gesture.table.count, with: gesture.table)
        }
        self.nodes[Int(slot) - self.fixed] = Node(key: key, uses: 1, instruction: instruction)
        self.known[key] = slot
        self.fillColumn(of: instruction)
        self.isStale = true
        // Operands were inserted before, so they stand before it in the program.
        switch key.operation {
        case .constant: break
        case .strength: self.setStrength(of: key.a, to: slot)
        default: self.program.append(instruction)
        }
        return slot
    }

    private mutating func statePlace(for key: FormulaNode) -> Int32 {
        let size = key.stateSize
        guard size > 0 else { return 0 }
        self.stateful += key.memories
        if let place = self.freeState[size]?.popLast() { return place }
        let place = Int32(self.state.count)
        self.state.append(contentsOf: repeatElement(.nan, count: size))
        return place
    }

    /// Lets a node fill the column of the one that tells its strength, look by look, before it goes on.
    private mutating func setStrength(of slot: Int32, to strength: Int32) {
        self.nodes[Int(slot) - self.fixed]?.instruction.strength = strength
        for index in self.program.indices where self.program[index].destination == slot {
            self.program[index].strength = strength
        }
        self.isStale = true
    }

    /// Lets `value` tell the values of a slot from the next look on.
    mutating func show(_ slot: Int32) {
        let index = Int(slot) - self.fixed
        guard index >= 0, self.nodes[index]?.isShown == false else { return }
        self.nodes[index]?.isShown = true
        self.isStale = true
    }

    /// Makes one instruction of a product with a constant and the only sum that reads it.
    private mutating func compile() {
        self.isStale = false
        self.bury()
        var readers = [Int](repeating: 0, count: self.slots)
        for instruction in self.program {
            for slot in [instruction.a, instruction.b, instruction.c, instruction.d] where slot >= 0 {
                readers[Int(slot)] += 1
            }
        }
        var joined = Set<Int32>()
        self.compiled = self.program.map { instruction in
            guard instruction.operation == .add else { return instruction }
            for (product, other) in [(instruction.a, instruction.b), (instruction.b, instruction.a)] {
                guard readers[Int(product)] == 1, let (factor, slot) = self.multiple(product) else { continue }
                joined.insert(product)
                var sum = instruction
                (sum.operation, sum.a, sum.b, sum.p) = (.addMultiple, other, slot, factor)
                return sum
            }
            return instruction
        }
        self.compiled.removeAll { joined.contains($0.destination) }
    }

    /// The constant and the other operand of a product that is not shown.
    private func multiple(_ product: Int32) -> (factor: Double, slot: Int32)? {
        guard let node = self.node(product), node.key.operation == .multiply, !node.isShown else { return nil }
        if let a = self.node(node.key.a), a.key.operation == .constant { return (a.key.p, node.key.b) }
        if let b = self.node(node.key.b), b.key.operation == .constant { return (b.key.p, node.key.a) }
        return nil
    }

    private func node(_ slot: Int32) -> Node? {
        Int(slot) >= self.fixed ? self.nodes[Int(slot) - self.fixed] : nil
    }
}
