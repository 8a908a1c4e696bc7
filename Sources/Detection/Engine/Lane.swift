import Motion

/// Lets all detectors of one pace look: their looks fall on the same samples.
///
/// The order within a look: the features, the rests that end, the comparisons crossed, the compound conditions these
/// touch, and last the detectors that look for the first time.
struct Lane {
    /// What a look may touch outside the lane.
    struct Surroundings {
        var records: [DetectorRecord] = []
        var seats: [Seat] = []
        var hits = HitCollector()
        var undefined: UInt64 = 0
    }

    /// A detector that has not looked yet.
    private struct Pending {
        var id: UInt32
        var condition: Condition
        var rest: Int64
        var registration: Int64?
    }

    let decimation: Decimation
    private var clock: LookClock
    private var block = LookBlock()
    /// The look that waits to be finished: its row, or -1; and the look before it.
    private(set) var stop = -1
    private var beforeStop: Int64 = 0
    /// What a `mean` or `peak` lane gathers between looks.
    private var bucket: SampleBucket
    private var graph: FeatureGraph
    private var formulas = FormulaPool()
    private var thresholds = Thresholds()
    private var compounds = CompoundConditions()
    private var pending: [Pending] = []
    private var detectors = 0

    /// The first bucket of its grid begins after `time`; without one the first sample is looked at.
    init(every: Int64, decimation: Decimation, channels: Int, after time: Int64, origin: Int64?) {
        self.clock = LookClock(every: every)
        if let origin { self.clock.nextDue = self.clock.boundary(after: time, origin: origin) }
        self.decimation = decimation
        self.bucket = SampleBucket(decimation, channels: channels)
        self.graph = FeatureGraph(channels: channels)
    }

    func hasPace(every: Int64, _ decimation: Decimation) -> Bool {
        self.clock.every == every && self.decimation == decimation
    }

    var isEmpty: Bool { self.detectors == 0 }

    /// Distinct filters, windows and other memories.
    var stateful: Int { self.graph.stateful }

    // MARK: Samples

    /// Begins with the rows from `first` on; `advance` looks at them.
    mutating func start(at first: Int) {
        self.thresholds.start()
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
                self.graph.fill(&self.block, &self.clock, times, values, to: end, origin: origin)
                guard self.block.count > 0 else { continue }
                self.graph.run(self.block)
                for slot in self.formulas.partial {
                    undefined &+= UInt64(self.graph.undefined(slot, looks: self.block.count))
                }
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
        guard self.pending.isEmpty, !self.compounds.isFollowing else { return self.block.next }
        return self.thresholds.quietEnd(&self.block, self.graph.columns, stride: self.graph.stride)
    }

    /// Ends the look that `advance` stopped at.
    mutating func finish(at time: Int64, _ around: inout Surroundings) {
        self.finish(at: time, before: self.beforeStop, &around)
    }

    /// When the open bucket of a `mean` or `peak` lane closes.
    var bucketEnd: Int64? { self.bucket.end }

    /// Gathers a sample in the bucket of a `mean` or `peak` lane; the caller has closed what ends before.
    mutating func gather(_ values: Span<Double>, at first: Int, time: Int64, origin: Int64) {
        if self.bucket.end == nil {
            guard time >= self.clock.nextDue else { return }
            self.bucket.open(until: self.clock.boundary(after: time, origin: origin))
        }
        self.bucket.add(values, at: first)
    }

    /// Closes the bucket and looks at what it held.
    mutating func close(_ around: inout Surroundings) {
        guard let end = self.bucket.close() else { return }
        self.clock.nextDue = .min
        let times: InlineArray<1, Int64> = [end]
        let values = self.bucket.values
        self.start(at: 0)
        let row = self.advance(times.span, values.span, to: 1, origin: end, &around.undefined)
        self.clock.nextDue = end
        if row == 0 { self.finish(at: end, &around) }
        self.stop = -1
    }

    /// Forgets filters, windows and the open bucket; every comparison is false until the next look.
    mutating func gap(_ around: inout Surroundings) {
        self.clock.nextDue = .min
        self.bucket.discard()
        self.graph.reset()
        let last = self.clock.lastLook
        guard last >= 0 else { return }
        for index in self.thresholds.gates.indices {
            self.move(gate: index, to: -.infinity, at: last, previous: last, &around)
        }
        self.settleCompounds(at: last, previous: last, &around)
        self.clock.lastLook = -1
    }

    // MARK: A look

    /// Draws the consequences of a look whose features are computed.
    private mutating func finish(at time: Int64, before: Int64, _ around: inout Surroundings) {
        let previous = before >= 0 ? before : time
        if self.compounds.isFollowing { self.followQuantities() }
        self.thresholds.pass(to: time)
        let repeats = before >= 0 && self.thresholds.canRepeat(after: time - previous)
        if repeats { self.repeatNumbers(at: time, previous: previous, &around) }
        for index in self.thresholds.gates.indices {
            let value = self.value(atGate: index)
            if self.thresholds.gates[index].admits(value) { continue }
            self.move(gate: index, to: value.orLeast, at: time, previous: previous, &around)
        }
        self.settleCompounds(at: time, previous: previous, &around)
        if repeats { self.repeatCompounds(at: time, previous: previous, &around) }
        if self.thresholds.hasEndingRests {
            self.thresholds.endRests(at: time)
            self.tellRepeated(&around)
        }
        if !self.pending.isEmpty { self.admitPending(at: time, &around) }
        if self.compounds.isNoting { self.takeNotes() }
    }

    private func value(atGate index: Int) -> Double {
        self.thresholds.gates[index].sign * self.graph.value(self.thresholds.gates[index].slot)
    }

    private mutating func followQuantities() {
        for quantity in self.compounds.quantityIndices where self.compounds.isFollowed(quantity: quantity) {
            self.compounds.look(
                quantity: quantity, self.graph.value(self.compounds.slot(ofQuantity: quantity)))
        }
    }

    private mutating func move(
        gate index: Int, to value: Double, at time: Int64, previous: Int64, _ around: inout Surroundings
    ) {
        let rises = self.thresholds.move(gate: index, to: value, at: time, previous: previous, &around.hits)
        for comparison in self.thresholds.crossed { self.compounds.turn(comparison: Int32(comparison), rises) }
    }

    private mutating func settleCompounds(at time: Int64, previous: Int64, _ around: inout Surroundings) {
        guard self.compounds.hasQueued else { return }
        while let index = self.compounds.nextTurned() {
            let turn = self.turn(compound: index, at: time)
            if turn.leading >= 0 {
                self.thresholds.move(
                    table: turn.leading, to: turn.value, peak: turn.peak, at: time, previous: previous, &around.hits)
            }
            if turn.restarting >= 0 {
                self.thresholds.move(
                    table: turn.restarting, to: turn.value, peak: turn.peak, at: time, previous: previous,
                    &around.hits)
            }
        }
    }

    /// Lets a compound condition turn, and what else may give its hits their peak.
    private mutating func turn(compound index: Int, at time: Int64) -> CompoundConditions.Turn {
        var turn = self.compounds.turn(index, at: time, self.graph.value(self.compounds.slot(of: index)))
        guard self.compounds.hasRivals(index) else { return turn }
        for rival in self.compounds.rivals(of: index) {
            self.compounds.turn(rival, of: index, at: time, self.graph.value(rival.slot))
        }
        if self.compounds.isTrue(index) { turn.peak = self.peak(ofCompound: index) }
        return turn
    }

    /// Hits of restarting detectors that stay true over a pause as long as their rest.
    private mutating func repeatNumbers(at time: Int64, previous: Int64, _ around: inout Surroundings) {
        for index in self.thresholds.gates.indices {
            let value = self.value(atGate: index)
            self.thresholds.repeatTrue(gate: index, value: value, at: time, previous: previous, &around.hits)
            self.tellRepeated(&around)
        }
    }

    private mutating func repeatCompounds(at time: Int64, previous: Int64, _ around: inout Surroundings) {
        for index in self.compounds.indices {
            guard let table = self.compounds.restarting(trueBefore: time, index) else { continue }
            self.thresholds.repeatTrue(table: table, after: time - previous)
            self.tellRepeated(&around)
        }
    }

    private func tellRepeated(_ around: inout Surroundings) {
        for id in self.thresholds.repeated { around.hits.add(id, peak: self.peak(of: around.seats[Int(id)])) }
    }

    /// The extreme of a detector's quantity since its condition became true.
    private func peak(of seat: Seat) -> Double {
        guard let compound = self.thresholds.compound(ofTable: seat.table) else {
            return self.thresholds.peak(of: seat)
        }
        return self.peak(ofCompound: compound)
    }

    /// What a hit of a compound condition that is true carries: of the quantities that may, the one that is most in proportion to
    /// its threshold.
    private func peak(ofCompound index: Int) -> Double {
        var peak = self.compounds.peak(of: index, self.graph.value(self.compounds.slot(of: index)))
        guard self.compounds.hasRivals(index) else { return peak }
        var share = peak / self.compounds.scale(of: index)
        for rival in self.compounds.rivals(of: index) {
            let other = self.compounds.peak(of: rival, since: index, self.graph.value(rival.slot))
            guard other / rival.scale > share else { continue }
            (peak, share) = (other, other / rival.scale)
        }
        return peak
    }

    /// Keeps what this look noted until its hits are told: the lane runs ahead before they are.
    private mutating func takeNotes() {
        for index in self.compounds.indices where self.compounds.isTrue(index) {
            guard let slot = self.compounds.noteSlot(of: index) else { continue }
            self.compounds.setNote(
                of: index, HitNote(change: self.graph.value(slot)),
                self.graph.value(self.compounds.slot(of: index)))
        }
    }

    // MARK: What hits say, and how detectors stand

    /// True when a detector's hits say more than a peak.
    var isNoting: Bool { self.compounds.isNoting }

    /// What a compound condition noted last, and how much it was; `nil` for one that notes nothing.
    func note(ofCompound compound: Int32) -> (note: HitNote, amount: Double)? {
        self.compounds.note(of: Int(compound))
    }

    /// How many hits the shakes of a detector's formula have held back because of the rhythm that they came in.
    func held(ofFormula formula: Int32) -> HeldHits {
        self.formulas.slots(of: formula).reduce(HeldHits()) { $0 + self.graph.held($1) }
    }

    /// How a detector stands that has looked.
    func status(of seat: Seat, _ restMode: RestMode) -> DetectionEngine.Status {
        let isTrue = self.thresholds.isTrue(seat)
        let last = isTrue ? self.clock.lastLook : self.thresholds.lastTrue(seat)
        let ends =
            switch restMode {
            case .leading: self.thresholds.deadline(seat)
            case .restarting: last.map { $0 + self.thresholds.rest(seat) }
            case .none: Int64?.none
            }
        return DetectionEngine.Status(
            isTrue: isTrue, lastTrue: last.map(Timestamp.init(microseconds:)),
            restEnds: ends.map(Timestamp.init(microseconds:)))
    }

    // MARK: Adding and removing

    /// Takes in a detector, which looks for the first time at the lane's next look.
    ///
    /// Its features exist from now on; it stands in no table before that look, so that no crossing counts for it that it
    /// has not seen.
    mutating func add(
        _ detector: CompiledDetector, as id: UInt32, channels: [Int32], at registration: Timestamp,
        _ around: inout Surroundings
    ) {
        var condition = detector.condition
        self.keepApart(&condition.formula)
        let formula = self.use(condition.formula, channels: channels)
        // Equal formulas exist once here, so that what waits holds no memory of its own for them.
        condition.formula = self.formulas.formula(formula)
        let slots = self.formulas.slots(of: formula)
        for atom in condition.atoms { self.graph.show(slots[Int(atom.node)]) }
        around.records[Int(id)].formula = formula
        around.records[Int(id)].restMode = detector.restMode
        around.records[Int(id)].heldBefore = UInt32(clamping: self.held(ofFormula: formula).count)
        around.records[Int(id)].pending = Int32(self.pending.count)
        around.seats[Int(id)] = .none
        self.pending.append(
            Pending(
                id: id, condition: condition, rest: detector.restMode == .none ? 0 : detector.rest.microseconds,
                registration: detector.startsResting && detector.restMode != .none
                    ? max(0, min(registration.microseconds, .max / 2)) : nil))
        self.detectors += 1
    }

    /// Takes a detector out, and with it what nobody else uses.
    mutating func remove(_ id: UInt32, _ around: inout Surroundings) {
        let record = around.records[Int(id)]
        let seat = around.seats[Int(id)]
        if seat.table < 0 {
            self.removePending(at: Int(record.pending), &around)
        } else {
            let isTableGone = self.thresholds.remove(seat, seats: &around.seats)
            if record.compound >= 0 {
                let compound = Int(record.compound)
                if isTableGone { self.compounds.drop(table: seat.table, of: compound) }
                for comparison in self.compounds.leave(compound) { self.thresholds.unwatch(comparison) }
            }
        }
        if let slots = self.formulas.leave(record.formula) { self.graph.release(slots) }
        self.detectors -= 1
    }

    /// Has one that comes while others like it rest hit as if it were alone: it does not share what rests by itself with them, but with
    /// those who came since they hit.
    private func keepApart(_ formula: inout Formula) {
        guard let node = formula.nodes.firstIndex(where: { $0.rest != nil }), let rest = formula.nodes[node].rest
        else { return }
        while let slots = self.formulas.slots(ofKnown: formula), let last = self.graph.lastHit(slots[node]),
            last > formula.nodes[node].u, Double(self.clock.lastLook) - last < rest
        { formula.nodes[node].u = last }
    }

    private mutating func use(_ formula: Formula, channels: [Int32]) -> Int32 {
        if let known = self.formulas.join(formula) { return known }
        let slots = self.graph.insert(formula, channels: channels)
        self.graph.show(slots[Int(formula.quantity)])
        for rival in formula.rivals { self.graph.show(slots[Int(rival)]) }
        for node in formula.partial { self.graph.show(slots[Int(node)]) }
        return self.formulas.insert(formula, slots: slots)
    }

    /// The last one takes its place; they look in no order.
    private mutating func removePending(at place: Int, _ around: inout Surroundings) {
        self.pending.swapAt(place, self.pending.count - 1)
        self.pending.removeLast()
        if place < self.pending.count { around.records[Int(self.pending[place].id)].pending = Int32(place) }
    }

    /// Lets the waiting detectors look: puts them where they belong at the present values.
    private mutating func admitPending(at time: Int64, _ around: inout Surroundings) {
        for pending in self.pending { self.admit(pending, at: time, &around) }
        self.pending.removeAll(keepingCapacity: true)
        self.thresholds.refreshShortestRest()
    }

    private mutating func admit(_ pending: Pending, at time: Int64, _ around: inout Surroundings) {
        let index = Int(pending.id)
        let condition = pending.condition
        let slots = self.formulas.slots(of: around.records[index].formula)
        let purpose: ThresholdTable.Purpose = around.records[index].restMode == .restarting ? .restarting : .leading
        let table: Int32
        let value: Double
        var entry = ThresholdTable.Entry(id: pending.id, key: 0.5, rest: pending.rest)
        if condition.isDirect {
            let atom = condition.atoms[0]
            table = self.thresholds.table(slot: slots[Int(atom.node)], sign: atom.sign, purpose)
            value = self.amount(slots[Int(atom.node)], atom.sign)
            entry.key = atom.key
        } else {
            let compound = self.join(condition, slots, at: time)
            around.records[index].compound = Int32(compound)
            table = self.table(ofCompound: compound, purpose)
            value = self.compounds.isTrue(compound) ? 1 : 0
        }
        if purpose == .leading { entry.stamp = time }
        around.seats[index].table = table
        around.seats[index].key = entry.key

        if let registration = pending.registration {
            if purpose == .restarting {
                entry.stamp = registration
            } else if registration + entry.rest > time {
                entry.deadline = registration + entry.rest
            }
        }
        self.thresholds.add(entry, to: table, value: value, seats: &around.seats)
        let compound = Int(around.records[index].compound)
        if compound >= 0, let slot = self.compounds.noteSlot(of: compound) {
            return self.tellNote(to: pending.id, HitNote(joining: self.graph.value(slot)), compound, at: time, &around)
        }
        guard self.thresholds.isTrue(around.seats[index]), entry.deadline == nil else { return }
        let peak =
            condition.formula.rivals.isEmpty
            ? self.presentQuantity(of: pending.id, around) : self.peak(ofCompound: compound)
        if purpose == .leading {
            around.hits.add(pending.id, peak: peak)
            self.thresholds.beginRest(of: around.seats[index], at: time)
        } else if entry.stamp == EntryRests.never || time - entry.stamp >= entry.rest {
            around.hits.add(pending.id, peak: peak)
        }
    }

    /// Tells one that joins a condition that notes what happens how things stand: what others heard before is news to it.
    private mutating func tellNote(
        to id: UInt32, _ note: HitNote, _ compound: Int, at time: Int64, _ around: inout Surroundings
    ) {
        if note != .none {
            let peak = self.presentQuantity(of: id, around)
            around.hits.add(id, peak: peak)
            // The others have no hit at this look, or one of just this note.
            self.compounds.setNote(of: compound, note, peak)
        }
        if self.compounds.isTrue(compound) { self.thresholds.beginRest(of: around.seats[Int(id)], at: time) }
    }

    /// A detector's quantity at this look, as a hit tells it.
    private func presentQuantity(of id: UInt32, _ around: borrowing Surroundings) -> Double {
        let value = self.graph.value(self.formulas.quantity(of: around.records[Int(id)].formula))
        let compound = Int(around.records[Int(id)].compound)
        return compound < 0 ? value : self.compounds.presentPeak(of: compound, value)
    }

    /// A slot's present value, signed so that more is larger; the least of all when undefined.
    private func amount(_ slot: Int32, _ sign: Double) -> Double {
        (sign * self.graph.value(slot)).orLeast
    }

    /// The lane's condition for a detector's, and one user more for it.
    private mutating func join(_ condition: Condition, _ slots: [Int32], at time: Int64) -> Int {
        let comparisons = condition.atoms.map { atom in
            self.watch(WatchedComparisons.Key(slot: slots[Int(atom.node)], sign: atom.sign, key: atom.key))
        }
        let index = self.compounds.join(condition, comparisons, slots)
        if self.compounds.isDue(index) { _ = self.turn(compound: index, at: time) }
        return index
    }

    /// The lane's comparison, true or false as the present value has it.
    private mutating func watch(_ key: WatchedComparisons.Key) -> Int32 {
        if let known = self.compounds.number(of: key) { return known }
        let comparison = self.compounds.insert(key)
        let isTrue = self.thresholds.watch(
            comparison, slot: key.slot, sign: key.sign, key: key.key, value: self.amount(key.slot, key.sign))
        self.compounds.begin(comparison: comparison, isTrue)
        return comparison
    }

    private mutating func table(ofCompound index: Int, _ purpose: ThresholdTable.Purpose) -> Int32 {
        if let known = self.compounds.table(of: index, purpose) { return known }
        let table = self.thresholds.newTable(ofCompound: index, purpose)
        self.compounds.setTable(table, of: index, purpose)
        return table
    }

    /// Gives back memory that was needed for detectors that are gone.
    mutating func shrink() {
        if self.pending.isEmpty { self.pending.shrink() }
        self.formulas.shrink()
        self.compounds.shrink()
        self.thresholds.shrink(comparisons: self.compounds.comparisonLimit)
        self.graph.shrink()
    }
}
