import Motion

/// Holds the threshold tables of a lane, the gate before each compared number, and the rests that run in them.
///
/// Tables are numbered. Those of numbers are shared by whoever compares the same one; a compound condition, which counts as
/// 0 or 1, has tables of its own and no gate: it is known when it turns.
struct Thresholds {
    private struct Key: Hashable {
        var slot: Int32
        var sign: Double
        var purpose: ThresholdTable.Purpose
    }

    /// What a table compares.
    private struct Subject {
        /// 1 or -1 as its values are signed.
        var sign: Double
        /// The compound condition, or -1.
        var compound: Int32 = -1
        /// The gate of a number, or -1.
        var gate: Int32 = -1
    }

    private(set) var gates: [Gate] = []
    private var tables: [ThresholdTable] = []
    private var subjects: [Subject] = []
    private var free = FreePlaces()
    private var known: [Key: Int32] = [:]
    /// Where the comparisons of compound conditions stand, by their number there.
    private var watched: [Seat] = []
    private var wheel = RestWheel()
    /// Words of the wheel in which rests end at this look.
    private var due: [UInt32] = []
    /// The shortest rest of a restarting table: looks that lie no further apart can repeat nothing.
    private var shortestRest = Int64.max
    /// The shortest rest may have gone with its detector.
    private var isShortestRestStale = false
    /// Comparisons of compound conditions that the last move of a gate crossed.
    private(set) var crossed: [UInt32] = []
    /// Detectors that stay true and fire again, as `repeat…` or `endRests` found last.
    private(set) var repeated: [UInt32] = []

    // MARK: Quiet looks

    /// Before the first of some looks.
    mutating func start() {
        if self.isShortestRestStale { self.refreshShortestRest() }
    }

    /// The first look of the block, from the next on, from which something may follow; the block's count when nothing
    /// does. Lets leading tables glide until then.
    mutating func quietEnd(_ block: inout LookBlock, _ columns: borrowing [Double], stride: Int) -> Int {
        let next = block.next
        // Until then quiet looks are quiet altogether: no rest ends, and nothing repeats.
        var end = block.count
        let quietUntil = self.wheel.nextEnd
        if block.times[end - 1] >= quietUntil {
            end = next
            while block.times[end] < quietUntil { end += 1 }
        }
        if self.shortestRest < .max { end = min(end, block.firstStep(of: self.shortestRest)) }
        guard next < end else { return next }
        end = Gate.firstLook(&self.gates, columns, stride: stride, from: next, to: end)
        for index in self.gates.indices {
            let first = self.gates[index].firstGlide
            guard first < end else { continue }
            self.tables[Int(self.gates[index].table)].glide(
                columns, Int(self.gates[index].slot) * stride, sign: self.gates[index].sign, looks: first..<end,
                block.times, before: block.before)
            self.refresh(gate: index)
        }
        return end
    }

    /// Keeps what a gate says of its table right.
    private mutating func refresh(gate index: Int) {
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

    private mutating func refreshGate(ofTable table: Int) {
        let gate = self.subjects[table].gate
        if gate >= 0 { self.refresh(gate: Int(gate)) }
    }

    // MARK: A look

    /// Lets the time come to a look. Which rests end is seen now, before others begin; `endRests` ends them.
    mutating func pass(to time: Int64) {
        if self.wheel.count > 0 {
            if self.wheel.nextEnd <= time { self.wheel.end(at: time, due: &self.due) }
        } else {
            self.wheel.pass(to: time)
        }
    }

    /// True when detectors may fire again because they have been true through a pause between two looks.
    func canRepeat(after pause: Int64) -> Bool { pause >= self.shortestRest }

    /// Moves the table behind a gate. What it crossed is in `crossed`; returns true when the value rose.
    mutating func move(
        gate index: Int, to value: Double, at time: Int64, previous: Int64, _ hits: inout HitCollector
    ) -> Bool {
        let gate = self.gates[index]
        let table = Int(gate.table)
        let rises = value > self.tables[table].value
        if !self.crossed.isEmpty { self.crossed.removeAll(keepingCapacity: true) }
        self.tables[table].move(
            to: value, peak: gate.sign * value, now: time, previous: previous, hits: &hits, crossed: &self.crossed,
            wheel: &self.wheel)
        self.refresh(gate: index)
        return rises
    }

    /// Moves a compound condition's table.
    mutating func move(
        table: Int32, to value: Double, peak: Double, at time: Int64, previous: Int64, _ hits: inout HitCollector
    ) {
        self.tables[Int(table)].move(
            to: value, peak: peak, now: time, previous: previous, hits: &hits, crossed: &self.crossed,
            wheel: &self.wheel)
    }

    /// Finds the detectors behind a gate that restart and stay true over a pause as long as their rest.
    mutating func repeatTrue(
        gate index: Int, value: Double, at time: Int64, previous: Int64, _ hits: inout HitCollector
    ) {
        self.repeated.removeAll(keepingCapacity: true)
        let table = Int(self.gates[index].table)
        guard self.tables[table].purpose == .restarting, self.tables[table].hasTrue,
            self.tables[table].shortestRest <= time - previous
        else { return }
        // What falls now is not true any more, and what rises now fires by itself.
        if !(value >= self.tables[table].value) {
            _ = self.move(gate: index, to: value.orLeast, at: time, previous: previous, &hits)
        }
        self.tables[table].repeated(after: time - previous, into: &self.repeated)
        if value > self.gates[index].upper {
            _ = self.move(gate: index, to: value, at: time, previous: previous, &hits)
        }
    }

    /// Finds those of a compound condition that stays true.
    mutating func repeatTrue(table: Int32, after pause: Int64) {
        self.repeated.removeAll(keepingCapacity: true)
        self.tables[Int(table)].repeated(after: pause, into: &self.repeated)
    }

    var hasEndingRests: Bool { !self.due.isEmpty }

    /// Ends the rests that `pass` saw, and finds the detectors that are still true.
    mutating func endRests(at time: Int64) {
        self.repeated.removeAll(keepingCapacity: true)
        for due in self.due {
            let (table, word) = self.wheel.place(of: due)
            self.tables[table].endRests(inWord: word, at: time, repeated: &self.repeated, wheel: &self.wheel)
            self.refreshGate(ofTable: table)
        }
        self.due.removeAll(keepingCapacity: true)
    }

    // MARK: One entry

    /// The compound condition whose table this is; `nil` for that of a number.
    func compound(ofTable table: Int32) -> Int? {
        let compound = self.subjects[Int(table)].compound
        return compound < 0 ? nil : Int(compound)
    }

    /// The extreme that a number had since an entry became true.
    func peak(of seat: Seat) -> Double {
        self.subjects[Int(seat.table)].sign * self.tables[Int(seat.table)].peak(of: seat.key)
    }

    func isTrue(_ seat: Seat) -> Bool { self.tables[Int(seat.table)].isTrue(seat.key) }

    /// When an entry that is not true was last true; `nil` before it ever was.
    func lastTrue(_ seat: Seat) -> Int64? { self.tables[Int(seat.table)].lastTrue(seat.key, at: seat.place) }

    func rest(_ seat: Seat) -> Int64 { self.tables[Int(seat.table)].rest(at: seat.place) }

    /// When the rest of an entry ends, or ended last; `nil` before any.
    func deadline(_ seat: Seat) -> Int64? { self.tables[Int(seat.table)].deadline(at: seat.place) }

    // MARK: Adding and removing

    /// The table of a compared number.
    mutating func table(slot: Int32, sign: Double, _ purpose: ThresholdTable.Purpose) -> Int32 {
        let key = Key(slot: slot, sign: sign, purpose: purpose)
        if let known = self.known[key] { return known }
        let table = self.newTable(purpose, Subject(sign: sign, gate: Int32(self.gates.count)))
        self.known[key] = table
        self.gates.append(Gate(slot: slot, table: table, sign: sign, isLeading: purpose == .leading))
        return table
    }

    /// A new table of a compound condition.
    mutating func newTable(ofCompound compound: Int, _ purpose: ThresholdTable.Purpose) -> Int32 {
        self.newTable(purpose, Subject(sign: 1, compound: Int32(compound)))
    }

    private mutating func newTable(_ purpose: ThresholdTable.Purpose, _ subject: Subject) -> Int32 {
        if let free = self.free.take() {
            self.tables[Int(free)] = ThresholdTable(purpose, number: Int(free))
            self.subjects[Int(free)] = subject
            return free
        }
        self.tables.append(ThresholdTable(purpose, number: self.tables.count))
        self.subjects.append(subject)
        return Int32(self.tables.count - 1)
    }

    /// Adds an entry to a table at the present value, and keeps the places in `seats` right.
    mutating func add(_ entry: ThresholdTable.Entry, to table: Int32, value: Double, seats: inout [Seat]) {
        self.tables[Int(table)].add(entry, value: value, seats: &seats, wheel: &self.wheel)
        self.refreshGate(ofTable: Int(table))
    }

    /// Begins the rest of an entry that fires by itself.
    mutating func beginRest(of seat: Seat, at time: Int64) {
        self.tables[Int(seat.table)].beginRest(at: seat.place, time, &self.wheel)
        self.refreshGate(ofTable: Int(seat.table))
    }

    /// Removes the entry of a seat. An empty table goes with it: true when that was so.
    mutating func remove(_ seat: Seat, seats: inout [Seat]) -> Bool {
        let table = Int(seat.table)
        self.tables[table].remove(at: seat.place, seats: &seats, wheel: &self.wheel)
        self.isShortestRestStale = true
        return self.tidy(table)
    }

    /// Adds a comparison of compound conditions; returns whether it is true.
    mutating func watch(_ comparison: Int32, slot: Int32, sign: Double, key: Double, value: Double) -> Bool {
        let table = self.table(slot: slot, sign: sign, .watching)
        while self.watched.count <= Int(comparison) { self.watched.append(.none) }
        self.watched[Int(comparison)].table = table
        self.watched[Int(comparison)].key = key
        self.tables[Int(table)].add(
            ThresholdTable.Entry(id: UInt32(comparison), key: key), value: value, seats: &self.watched,
            wheel: &self.wheel)
        self.refreshGate(ofTable: Int(table))
        return self.isTrue(self.watched[Int(comparison)])
    }

    /// Removes a comparison that nobody asks for any more.
    mutating func unwatch(_ comparison: Int32) {
        let seat = self.watched[Int(comparison)]
        self.tables[Int(seat.table)].remove(at: seat.place, seats: &self.watched, wheel: &self.wheel)
        _ = self.tidy(Int(seat.table))
    }

    /// Drops an empty table, and keeps the gate of another right.
    private mutating func tidy(_ table: Int) -> Bool {
        guard self.tables[table].count == 0 else {
            self.refreshGate(ofTable: table)
            return false
        }
        if self.subjects[table].gate >= 0 { self.drop(gate: Int(self.subjects[table].gate)) }
        self.tables[table].dissolve(&self.wheel)
        self.tables[table] = ThresholdTable(.leading, number: table)
        self.subjects[table] = Subject(sign: 1)
        self.free.add(Int32(table))
        return true
    }

    private mutating func drop(gate index: Int) {
        let gate = self.gates[index]
        self.known[Key(slot: gate.slot, sign: gate.sign, purpose: self.tables[Int(gate.table)].purpose)] = nil
        // The last gate takes its place: what gates let through is brought into order later.
        self.gates.swapAt(index, self.gates.count - 1)
        self.gates.removeLast()
        if index < self.gates.count { self.subjects[Int(self.gates[index].table)].gate = Int32(index) }
    }

    /// Looks for the shortest rest anew.
    mutating func refreshShortestRest() {
        self.isShortestRestStale = false
        self.shortestRest = .max
        // By index: a table as a whole would be copied.
        for index in self.tables.indices where self.tables[index].purpose == .restarting {
            self.shortestRest = min(self.shortestRest, self.tables[index].shortestRest)
        }
    }

    /// Gives back memory that was needed for entries that are gone; so many comparisons are left at most.
    mutating func shrink(comparisons: Int) {
        let tables = self.free.cut(from: self.tables.count)
        self.tables.removeLast(tables)
        self.tables.shrink()
        self.subjects.removeLast(tables)
        self.subjects.shrink()
        self.known.shrink()
        self.gates.shrink()
        self.watched.removeLast(max(0, self.watched.count - comparisons))
        self.watched.shrink()
    }
}
