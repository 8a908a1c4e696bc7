import Motion

/// All detectors of one pace: their looks fall on the same samples.
///
/// The order within a look: the features, the rests that end, the comparisons crossed, the compound conditions these
/// touch, and last the detectors that look for the first time.
struct Lane {
    /// A condition of several comparisons, shared by all detectors that have it.
    struct Compound {
        /// Where its code stands: indices of atoms, or the marks of `Condition`.
        var code: Int32
        var length: Int32
        var leading: Int32 = -1
        var restarting: Int32 = -1
        var history: Int32
        var users = 0
        var isTrue = false
        var isQueued = false
        /// Where the note of a hit stands; -1 where there is none.
        var noting: Int32 = -1
        /// What the last look that was true noted, and how much it was.
        var note = HitNote.none
        var noted = 0.0
        /// The look at which it became true.
        var since: Int64 = 0
    }

    struct CompoundKey: Hashable {
        var code: [Int32]
        var slot: Int32
        var sign: Double
    }

    /// A comparison that compound conditions share.
    struct WatchedAtom {
        var key: AtomKey
        var table: Int32
        var uses = 0
        var isTrue = false
        var firstEdge: Int32 = -1
    }

    struct AtomKey: Hashable {
        var slot: Int32
        var sign: Double
        var key: Double
    }

    /// From an atom to a compound that it is part of.
    struct Edge {
        var compound: Int32
        var next: Int32
    }

    /// The quantity of compound conditions and its peaks.
    struct Quantity {
        var slot: Int32
        var sign: Double
        var uses = 0
        var peaks = PeakHistory()
    }

    struct FormulaUse {
        var formula: Formula
        var slots: [Int32]
        var users = 0
    }

    struct TableKey: Hashable {
        var slot: Int32
        var sign: Double
        var purpose: ThresholdTable.Purpose
    }

    let decimation: Decimation
    var clock: LookClock
    private var block = LookBlock()
    /// The look that waits to be finished: its row, or -1; and the look before it.
    var stop = -1
    private var beforeStop: Int64 = 0
    /// The open bucket of a `mean` or `peak` lane: when it closes, its samples and their sums or extremes.
    var bucketEnd: Int64?
    var bucketCount = 0.0
    var bucket: [Double]

    var graph: FeatureGraph
    var gates: [Gate] = []
    var tables: [ThresholdTable] = []
    /// For each table: 1 or -1 as its values are signed, the compound condition it belongs to, or -1, and its gate, or -1.
    var owners: [(sign: Double, compound: Int32, gate: Int32)] = []
    var freeTables: [Int32] = []
    var knownTables: [TableKey: Int32] = [:]
    /// The shortest rest of a restarting table: looks that lie no further apart can repeat nothing.
    var shortestRest = Int64.max
    /// The shortest rest may have gone with its detector.
    var isShortestRestStale = false

    var formulas: [FormulaUse] = []
    var freeFormulas: [Int32] = []
    var knownFormulas: [Formula: Int32] = [:]
    /// Compared slots that can be undefined, with repetitions.
    var partial: [Int32] = []

    var compounds: [Compound] = []
    var compoundKeys: [CompoundKey] = []
    var freeCompounds: [Int32] = []
    var knownCompounds: [CompoundKey: Int32] = [:]
    var code: [Int32] = []
    var freeCode: [Int32: [Int32]] = [:]
    var atoms: [WatchedAtom] = []
    var atomSeats: [Seat] = []
    var freeAtoms: [Int32] = []
    var knownAtoms: [AtomKey: Int32] = [:]
    var edges: [Edge] = []
    var freeEdges: [Int32] = []
    var quantities: [Quantity] = []
    /// Compound conditions that are true: their quantities' peaks are followed.
    var activeQuantities = 0
    var dirty: [Int32] = []

    var wheel = RestWheel()
    /// Detectors that have not looked yet, and what they wait with.
    var pending: [Pending] = []
    var detectors = 0
    /// Compound conditions that note what happened.
    var notingCompounds = 0
    // Scratch, kept for its memory.
    private var crossed: [UInt32] = []
    private var due: [UInt32] = []

    struct Pending {
        var id: UInt32
        var condition: Condition
        var rest: Int64
        var registration: Int64?
    }

    init(every: Int64, decimation: Decimation, channels: Int) {
        self.clock = LookClock(every: every)
        self.decimation = decimation
        self.bucket = [Double](repeating: 0, count: channels)
        self.graph = FeatureGraph(channels: channels)
    }

    /// What a look may touch outside the lane.
    struct Surroundings {
        var records: [DetectorRecord] = []
        var seats: [Seat] = []
        var hits = HitCollector()
        var undefined: UInt64 = 0
    }

    // MARK: Samples

    /// Begins with the rows from `first` on; `advance` looks at them.
    mutating func start(at first: Int) {
        if self.isShortestRestStale { self.refreshShortestRest() }
        self.block.nextRow = first
        self.block.count = 0
        self.block.next = 0
    }

    /// Looks at the rows up to `end` as long as nothing follows from them; returns the row that something may follow
    /// from, whose look `finish` ends, or `end`.
    ///
    /// Quiet looks of different lanes do not touch each other, so each lane runs ahead by itself. Features are computed
    /// for a block of looks: nothing that follows from a look changes them.
    mutating func advance(
        _ times: Span<Int64>, _ values: Span<Double>, to end: Int, origin: Int64, _ undefined: inout UInt64
    ) -> Int {
        while true {
            if self.block.next == self.block.count {
                guard self.block.nextRow < end else {
                    self.stop = end
                    return end
                }
                self.graph.fill(
                    &self.block, &self.clock, times, values, width: self.bucket.count, to: end, origin: origin)
                guard self.block.count > 0 else { continue }
                self.graph.run(self.block)
                for slot in self.partial { undefined &+= UInt64(self.graph.undefined(slot, looks: self.block.count)) }
            }
            let look = self.quietEnd()
            self.block.next = look
            if look < self.block.count {
                self.block.next += 1
                self.graph.look = look
                self.clock.lastLook = self.block.times[look]
                self.beforeStop = look > 0 ? self.block.times[look - 1] : self.block.before
                self.stop = self.block.row(of: look)
                return self.stop
            }
            if look > 0 { self.clock.lastLook = self.block.times[look - 1] }
        }
    }

    /// The first look of the block, from the next on, from which something may follow; the block's count when nothing
    /// does.
    private mutating func quietEnd() -> Int {
        let next = self.block.next
        // Until then quiet looks are quiet altogether: no rest ends, nothing repeats, nobody waits.
        guard self.pending.isEmpty, self.activeQuantities == 0 else { return next }
        var end = self.block.count
        let quietUntil = self.wheel.nextEnd
        if self.block.times[end - 1] >= quietUntil {
            end = next
            while self.block.times[end] < quietUntil { end += 1 }
        }
        if self.shortestRest < .max { end = min(end, self.block.firstStep(of: self.shortestRest)) }
        guard next < end else { return next }
        let stride = self.graph.stride
        end = Gate.firstLook(&self.gates, self.graph.columns, stride: stride, from: next, to: end)
        for index in self.gates.indices {
            let first = self.gates[index].firstGlide
            guard first < end else { continue }
            self.tables[Int(self.gates[index].table)].glide(
                self.graph.columns, Int(self.gates[index].slot) * stride, sign: self.gates[index].sign,
                looks: first..<end, self.block.times, before: self.block.before)
            self.refresh(gate: index)
        }
        return end
    }

    /// Keeps what a gate says of its table right.
    mutating func refresh(gate index: Int) {
        // Not the table as a whole: that would be a copy.
        let table = Int(self.gates[index].table)
        if self.gates[index].isLeading {
            self.gates[index].setGlide(
                at: self.tables[table].value, lowest: self.tables[table].lowest, fireAbove: self.tables[table].fireAbove
            )
        } else {
            self.gates[index].setBounds(self.tables[table].lower, self.tables[table].upper)
        }
    }

    /// Ends the look that `advance` stopped at.
    mutating func finish(at time: Int64, _ around: inout Surroundings) {
        self.finish(at: time, before: self.beforeStop, &around)
    }

    /// Gathers a sample in the bucket of a `mean` or `peak` lane; the caller has closed what ends before.
    mutating func gather(_ values: Span<Double>, at first: Int, time: Int64, origin: Int64) {
        if self.bucketEnd == nil {
            guard time >= self.clock.nextDue else { return }
            self.bucketEnd = self.clock.boundary(after: time, origin: origin)
            self.bucketCount = 0
            for channel in self.bucket.indices { self.bucket[channel] = 0 }
        }
        self.bucketCount += 1
        for channel in self.bucket.indices {
            let value = values[first + channel]
            if self.decimation == .mean {
                self.bucket[channel] += value
            } else if value.magnitude > self.bucket[channel].magnitude {
                self.bucket[channel] = value
            }
        }
    }

    /// Closes the bucket and looks at what it held.
    mutating func close(_ around: inout Surroundings) {
        guard let end = self.bucketEnd else { return }
        self.bucketEnd = nil
        if self.decimation == .mean {
            for channel in self.bucket.indices { self.bucket[channel] /= max(1, self.bucketCount) }
        }
        self.clock.nextDue = .min
        let times: InlineArray<1, Int64> = [end]
        let values = self.bucket
        self.start(at: 0)
        let row = self.advance(times.span, values.span, to: 1, origin: end, &around.undefined)
        self.clock.nextDue = end
        if row == 0 { self.finish(at: end, &around) }
        self.stop = -1
    }

    /// Forgets filters, windows and the open bucket; every comparison is false until the next look.
    mutating func gap(_ around: inout Surroundings) {
        self.clock.nextDue = .min
        self.bucketEnd = nil
        self.graph.reset()
        let last = self.clock.lastLook
        guard last >= 0 else { return }
        for index in self.gates.indices { self.move(gate: index, to: -.infinity, at: last, previous: last, &around) }
        self.settleCompounds(at: last, previous: last, &around)
        self.clock.lastLook = -1
    }

    // MARK: A look

    /// Draws the consequences of a look whose features are computed.
    private mutating func finish(at time: Int64, before: Int64, _ around: inout Surroundings) {
        let previous = before >= 0 ? before : time
        for index in self.quantities.indices where self.quantities[index].peaks.users > 0 {
            self.quantities[index].peaks.look(self.quantity(index))
        }
        if self.wheel.count > 0 {
            if self.wheel.nextEnd <= time { self.wheel.end(at: time, due: &self.due) }
        } else {
            self.wheel.pass(to: time)
        }

        let repeats = time - previous >= self.shortestRest && before >= 0
        if repeats {
            for index in self.gates.indices { self.repeatTrue(gate: index, at: time, previous: previous, &around) }
        }
        for index in self.gates.indices {
            let value = self.gates[index].sign * self.graph.value(self.gates[index].slot)
            if self.gates[index].admits(value) { continue }
            self.move(gate: index, to: value.isNaN ? -.infinity : value, at: time, previous: previous, &around)
        }
        if !self.dirty.isEmpty { self.settleCompounds(at: time, previous: previous, &around) }
        if repeats { self.repeatCompounds(at: time, previous: previous, &around) }
        if !self.due.isEmpty { self.endRests(at: time, &around) }
        if !self.pending.isEmpty { self.admitPending(at: time, &around) }
        if self.notingCompounds > 0 { self.takeNotes() }
    }

    /// Keeps what this look noted until its hits are told: the lane runs ahead before they are.
    private mutating func takeNotes() {
        for index in self.compounds.indices where self.compounds[index].isTrue && self.compounds[index].noting >= 0 {
            self.compounds[index].note = HitNote(change: self.graph.value(self.compounds[index].noting))
            self.compounds[index].noted = self.graph.value(self.quantities[Int(self.compounds[index].history)].slot)
        }
    }

    private mutating func move(
        gate index: Int, to value: Double, at time: Int64, previous: Int64, _ around: inout Surroundings
    ) {
        let gate = self.gates[index]
        let table = Int(gate.table)
        let rises = value > self.tables[table].value
        if !self.crossed.isEmpty { self.crossed.removeAll(keepingCapacity: true) }
        self.tables[table].move(
            to: value, peak: gate.sign * value, now: time, previous: previous, hits: &around.hits,
            crossed: &self.crossed, wheel: &self.wheel)
        self.refresh(gate: index)
        for atom in self.crossed { self.turn(Int(atom), rises) }
    }

    /// Hits of restarting detectors that stay true over a pause as long as their rest.
    private mutating func repeatTrue(
        gate index: Int, at time: Int64, previous: Int64, _ around: inout Surroundings
    ) {
        let gate = self.gates[index]
        let value = gate.sign * self.graph.value(gate.slot)
        let table = Int(gate.table)
        guard self.tables[table].purpose == .restarting, self.tables[table].hasTrue,
            self.tables[table].shortestRest <= time - previous
        else { return }
        // What falls now is not true any more, and what rises now fires by itself.
        if !(value >= self.tables[table].value) {
            self.move(gate: index, to: value.isNaN ? -.infinity : value, at: time, previous: previous, &around)
        }
        self.crossed.removeAll(keepingCapacity: true)
        self.tables[table].repeated(after: time - previous, crossed: &self.crossed)
        if value > self.gates[index].upper {
            let repeated = self.crossed
            self.move(gate: index, to: value, at: time, previous: previous, &around)
            self.crossed = repeated
        }
        for id in self.crossed { around.hits.add(id, peak: self.peak(of: around.seats[Int(id)])) }
    }

    private mutating func repeatCompounds(at time: Int64, previous: Int64, _ around: inout Surroundings) {
        for index in self.compounds.indices {
            let compound = self.compounds[index]
            guard compound.isTrue, compound.since != time, compound.restarting >= 0 else { continue }
            self.crossed.removeAll(keepingCapacity: true)
            self.tables[Int(compound.restarting)].repeated(after: time - previous, crossed: &self.crossed)
            for id in self.crossed { around.hits.add(id, peak: self.peak(of: around.seats[Int(id)])) }
        }
    }

    private mutating func endRests(at time: Int64, _ around: inout Surroundings) {
        self.crossed.removeAll(keepingCapacity: true)
        for due in self.due {
            let (table, word) = self.wheel.place(of: due)
            self.tables[table].endRests(inWord: word, at: time, repeated: &self.crossed, wheel: &self.wheel)
            self.refreshGate(ofTable: table)
        }
        self.due.removeAll(keepingCapacity: true)
        for id in self.crossed { around.hits.add(id, peak: self.peak(of: around.seats[Int(id)])) }
    }

    /// The extreme of a detector's quantity since its condition became true.
    func peak(of seat: Seat) -> Double {
        let owner = self.owners[Int(seat.table)]
        guard owner.compound < 0 else {
            let since = self.compounds[Int(owner.compound)].since
            let history = Int(self.compounds[Int(owner.compound)].history)
            let peak = self.quantities[history].peaks.peak(since: since) ?? self.quantity(history)
            return self.quantities[history].sign * peak
        }
        return owner.sign * self.tables[Int(seat.table)].peak(of: seat.key)
    }

    /// The quantity's present value, signed so that more is larger; the least of all when undefined.
    func quantity(_ index: Int) -> Double {
        let quantity = self.quantities[index]
        let value = quantity.sign * self.graph.value(quantity.slot)
        return value.isNaN ? -.infinity : value
    }

    // MARK: Compound conditions

    private mutating func turn(_ atom: Int, _ isTrue: Bool) {
        self.atoms[atom].isTrue = isTrue
        var edge = self.atoms[atom].firstEdge
        while edge >= 0 {
            let compound = Int(self.edges[Int(edge)].compound)
            if !self.compounds[compound].isQueued {
                self.compounds[compound].isQueued = true
                self.dirty.append(Int32(compound))
            }
            edge = self.edges[Int(edge)].next
        }
    }

    private mutating func settleCompounds(at time: Int64, previous: Int64, _ around: inout Surroundings) {
        guard !self.dirty.isEmpty else { return }
        for index in self.dirty {
            self.compounds[Int(index)].isQueued = false
            let isTrue = self.value(ofCompound: Int(index))
            guard isTrue != self.compounds[Int(index)].isTrue else { continue }
            self.turn(compound: Int(index), isTrue, at: time, previous: previous, &around)
        }
        self.dirty.removeAll(keepingCapacity: true)
    }

    private mutating func turn(
        compound index: Int, _ isTrue: Bool, at time: Int64, previous: Int64, _ around: inout Surroundings
    ) {
        self.compounds[index].isTrue = isTrue
        let compound = self.compounds[index]
        let history = Int(compound.history)
        let quantity = self.quantity(history)
        if isTrue {
            self.compounds[index].since = time
            self.quantities[history].peaks.begin(at: time, quantity)
            self.activeQuantities += 1
        } else {
            self.quantities[history].peaks.end()
            self.activeQuantities -= 1
        }
        let peak = self.quantities[history].sign * quantity
        let value: Double = isTrue ? 1 : 0
        if compound.leading >= 0 {
            self.tables[Int(compound.leading)].move(
                to: value, peak: peak, now: time, previous: previous, hits: &around.hits, crossed: &self.crossed,
                wheel: &self.wheel)
        }
        if compound.restarting >= 0 {
            self.tables[Int(compound.restarting)].move(
                to: value, peak: peak, now: time, previous: previous, hits: &around.hits, crossed: &self.crossed,
                wheel: &self.wheel)
        }
    }

    /// Evaluates a condition's code on a stack of bits.
    func value(ofCompound index: Int) -> Bool {
        let start = Int(self.compounds[index].code)
        // The stack is as deep as the condition has comparisons at most, and 128 bits hold them all.
        var stack: (low: UInt64, high: UInt64) = (0, 0)
        for place in start..<start + Int(self.compounds[index].length) {
            let word = self.code[place]
            if word >= 0 {
                stack.high = stack.high << 1 | stack.low >> 63
                stack.low = stack.low << 1 | (self.atoms[Int(word)].isTrue ? 1 : 0)
            } else {
                let top = stack.low & 1
                stack.low = stack.low >> 1 | stack.high << 63
                stack.high >>= 1
                if word == Condition.and {
                    if top == 0 { stack.low &= ~1 }
                } else {
                    stack.low |= top
                }
            }
        }
        return stack.low & 1 == 1
    }
}
