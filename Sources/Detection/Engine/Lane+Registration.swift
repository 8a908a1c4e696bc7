import Motion

extension Lane {
    /// Takes in a detector, which looks for the first time at the lane's next look.
    ///
    /// Its features exist from now on; it stands in no table before that look, so that no crossing counts for it that it
    /// has not seen.
    mutating func add(
        _ detector: CompiledDetector, as id: UInt32, channels: [Int32], at registration: Timestamp,
        _ around: inout Surroundings
    ) {
        var condition = detector.condition
        let formula = self.use(condition.formula, channels: channels)
        // Equal formulas exist once here, so that what waits holds no memory of its own for them.
        condition.formula = self.formulas[Int(formula)].formula
        self.formulas[Int(formula)].users += 1
        for atom in condition.atoms { self.graph.show(self.formulas[Int(formula)].slots[Int(atom.node)]) }
        around.records[Int(id)].formula = formula
        around.records[Int(id)].restMode = detector.restMode
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
            self.tables[Int(seat.table)].remove(at: seat.place, seats: &around.seats, wheel: &self.wheel)
            if record.compound >= 0 {
                self.leave(compound: Int(record.compound))
            } else {
                self.tidy(table: Int(seat.table))
            }
        }
        self.release(formula: Int(record.formula))
        self.isShortestRestStale = true
        self.detectors -= 1
    }

    /// The last one takes its place; they look in no order.
    private mutating func removePending(at place: Int, _ around: inout Surroundings) {
        self.pending.swapAt(place, self.pending.count - 1)
        self.pending.removeLast()
        if place < self.pending.count { around.records[Int(self.pending[place].id)].pending = Int32(place) }
    }

    /// Lets the waiting detectors look: puts them where they belong at the present values.
    mutating func admitPending(at time: Int64, _ around: inout Surroundings) {
        for pending in self.pending { self.admit(pending, at: time, &around) }
        self.pending.removeAll(keepingCapacity: true)
        self.refreshShortestRest()
    }

    private mutating func admit(_ pending: Pending, at time: Int64, _ around: inout Surroundings) {
        let index = Int(pending.id)
        let condition = pending.condition
        let slots = self.formulas[Int(around.records[index].formula)].slots
        let purpose: ThresholdTable.Purpose = around.records[index].restMode == .restarting ? .restarting : .leading
        let table: Int
        let value: Double
        var entry = ThresholdTable.Entry(id: pending.id, key: 0.5, rest: pending.rest)
        if condition.isDirect {
            let atom = condition.atoms[0]
            table = self.table(slot: slots[Int(atom.node)], sign: atom.sign, purpose)
            let now = atom.sign * self.graph.value(slots[Int(atom.node)])
            value = now.isNaN ? -.infinity : now
            entry.key = atom.key
        } else {
            let compound = self.join(condition, slots, at: time)
            around.records[index].compound = Int32(compound)
            table = self.table(ofCompound: compound, purpose)
            value = self.compounds[compound].isTrue ? 1 : 0
        }
        if purpose == .leading { entry.stamp = time }
        around.seats[index].table = Int32(table)
        around.seats[index].key = entry.key

        if let registration = pending.registration {
            if purpose == .restarting {
                entry.stamp = registration
            } else if registration + entry.rest > time {
                entry.deadline = registration + entry.rest
            }
        }
        self.tables[table].add(entry, value: value, seats: &around.seats, wheel: &self.wheel)
        self.refreshGate(ofTable: table)
        if around.records[index].compound >= 0, self.compounds[Int(around.records[index].compound)].noting >= 0 {
            return self.join(pending.id, compound: Int(around.records[index].compound), table, at: time, &around)
        }
        guard self.tables[table].isTrue(entry.key), entry.deadline == nil else { return }
        let peak = self.presentQuantity(of: pending.id, around)
        if purpose == .leading {
            around.hits.add(pending.id, peak: peak)
            self.tables[table].beginRest(at: around.seats[index].place, time, &self.wheel)
            self.refreshGate(ofTable: table)
        } else if entry.stamp == ThresholdTable.never || time - entry.stamp >= entry.rest {
            around.hits.add(pending.id, peak: peak)
        }
    }

    /// Tells one that joins a condition that notes what happens how things stand: what others heard before is news to it.
    private mutating func join(_ id: UInt32, compound: Int, _ table: Int, at time: Int64, _ around: inout Surroundings)
    {
        let note = HitNote(joining: self.graph.value(self.compounds[compound].noting))
        let peak = self.presentQuantity(of: id, around)
        if note != .none {
            around.hits.add(id, peak: peak)
            // The others have no hit at this look, or one of just this note.
            (self.compounds[compound].note, self.compounds[compound].noted) = (note, peak)
        }
        guard self.compounds[compound].isTrue else { return }
        self.tables[table].beginRest(at: around.seats[Int(id)].place, time, &self.wheel)
        self.refreshGate(ofTable: table)
    }

    private func presentQuantity(of id: UInt32, _ around: borrowing Surroundings) -> Double {
        let use = self.formulas[Int(around.records[Int(id)].formula)]
        return self.graph.value(use.slots[Int(use.formula.quantity)])
    }

    // MARK: Memory

    /// Gives back memory that was needed for detectors that are gone.
    mutating func shrink() {
        if self.pending.isEmpty { self.pending.shrink() }
        self.formulas.removeLast(Self.cut(self.formulas.count, &self.freeFormulas))
        self.formulas.shrink()
        self.knownFormulas.shrink()
        let tables = Self.cut(self.tables.count, &self.freeTables)
        self.tables.removeLast(tables)
        self.tables.shrink()
        self.owners.removeLast(tables)
        self.owners.shrink()
        self.knownTables.shrink()
        self.gates.shrink()
        let compounds = Self.cut(self.compounds.count, &self.freeCompounds)
        self.compounds.removeLast(compounds)
        self.compounds.shrink()
        self.compoundKeys.removeLast(compounds)
        self.compoundKeys.shrink()
        self.knownCompounds.shrink()
        if self.compounds.isEmpty { (self.code, self.freeCode) = ([], [:]) }
        let atoms = Self.cut(self.atoms.count, &self.freeAtoms)
        self.atoms.removeLast(atoms)
        self.atoms.shrink()
        self.atomSeats.removeLast(atoms)
        self.atomSeats.shrink()
        self.knownAtoms.shrink()
        self.edges.removeLast(Self.cut(self.edges.count, &self.freeEdges))
        self.edges.shrink()
        self.partial.shrink()
        self.graph.shrink()
    }

    /// How many of the last ones of a table are free; they are not offered any more.
    static func cut(_ count: Int, _ free: inout [Int32]) -> Int {
        guard !free.isEmpty else { return 0 }
        let known = Set(free)
        var left = count
        while left > 0, known.contains(Int32(left - 1)) { left -= 1 }
        guard left < count else { return 0 }
        free.removeAll { $0 >= Int32(left) }
        free.shrink()
        return count - left
    }

    // MARK: Formulas

    private mutating func use(_ formula: Formula, channels: [Int32]) -> Int32 {
        if let known = self.knownFormulas[formula] { return known }
        let slots = self.graph.insert(formula, channels: channels)
        let use = FormulaUse(formula: formula, slots: slots)
        let index: Int32
        if let free = self.freeFormulas.popLast() {
            index = free
            self.formulas[Int(index)] = use
        } else {
            index = Int32(self.formulas.count)
            self.formulas.append(use)
        }
        self.knownFormulas[formula] = index
        self.graph.show(slots[Int(formula.quantity)])
        for node in formula.partial { self.graph.show(slots[Int(node)]) }
        self.partial.append(contentsOf: formula.partial.map { slots[Int($0)] })
        return index
    }

    private mutating func release(formula index: Int) {
        self.formulas[index].users -= 1
        guard self.formulas[index].users == 0 else { return }
        let use = self.formulas[index]
        self.knownFormulas[use.formula] = nil
        self.freeFormulas.append(Int32(index))
        for node in use.formula.partial {
            if let place = self.partial.firstIndex(of: use.slots[Int(node)]) { self.partial.remove(at: place) }
        }
        self.graph.release(use.slots)
        self.formulas[index].slots = []
    }

    // MARK: Tables

    private mutating func newTable(_ purpose: ThresholdTable.Purpose, sign: Double, compound: Int = -1) -> Int {
        if let free = self.freeTables.popLast() {
            self.tables[Int(free)] = ThresholdTable(purpose, number: Int(free))
            self.owners[Int(free)] = (sign, Int32(compound), -1)
            return Int(free)
        }
        self.tables.append(ThresholdTable(purpose, number: self.tables.count))
        self.owners.append((sign, Int32(compound), -1))
        return self.tables.count - 1
    }

    /// The table of a compared value; a new one stands at the present value.
    private mutating func table(slot: Int32, sign: Double, _ purpose: ThresholdTable.Purpose) -> Int {
        let key = TableKey(slot: slot, sign: sign, purpose: purpose)
        if let known = self.knownTables[key] { return Int(known) }
        let table = self.newTable(purpose, sign: sign)
        self.knownTables[key] = Int32(table)
        self.owners[table].gate = Int32(self.gates.count)
        self.gates.append(Gate(slot: slot, table: Int32(table), sign: sign, isLeading: purpose == .leading))
        return table
    }

    private mutating func table(ofCompound index: Int, _ purpose: ThresholdTable.Purpose) -> Int {
        let known = purpose == .restarting ? self.compounds[index].restarting : self.compounds[index].leading
        if known >= 0 { return Int(known) }
        let table = self.newTable(purpose, sign: 1, compound: index)
        if purpose == .restarting {
            self.compounds[index].restarting = Int32(table)
        } else {
            self.compounds[index].leading = Int32(table)
        }
        return table
    }

    mutating func refreshGate(ofTable table: Int) {
        let gate = self.owners[table].gate
        if gate >= 0 { self.refresh(gate: Int(gate)) }
    }

    /// Drops an empty table, and keeps the gate of another right.
    private mutating func tidy(table: Int) {
        guard self.tables[table].count == 0 else {
            self.refreshGate(ofTable: table)
            return
        }
        let index = Int(self.owners[table].gate)
        let gate = self.gates[index]
        self.knownTables[TableKey(slot: gate.slot, sign: gate.sign, purpose: self.tables[table].purpose)] = nil
        // The last gate takes its place: what gates let through is brought into order later.
        self.gates.swapAt(index, self.gates.count - 1)
        self.gates.removeLast()
        if index < self.gates.count { self.owners[Int(self.gates[index].table)].gate = Int32(index) }
        self.drop(table: table)
    }

    private mutating func drop(table: Int) {
        self.tables[table].dissolve(&self.wheel)
        self.tables[table] = ThresholdTable(.leading, number: table)
        self.freeTables.append(Int32(table))
    }

    mutating func refreshShortestRest() {
        self.isShortestRestStale = false
        self.shortestRest = .max
        // By index: a table as a whole would be copied.
        for index in self.tables.indices where self.tables[index].purpose == .restarting {
            self.shortestRest = min(self.shortestRest, self.tables[index].shortestRest)
        }
    }

    // MARK: Compound conditions

    /// The lane's condition for a detector's, and one user more for it.
    private mutating func join(_ condition: Condition, _ slots: [Int32], at time: Int64) -> Int {
        let atoms = condition.atoms.map { atom in
            self.watch(AtomKey(slot: slots[Int(atom.node)], sign: atom.sign, key: atom.key))
        }
        let code = condition.code.map { $0 >= 0 ? atoms[Int($0)] : $0 }
        let key = CompoundKey(
            code: code, slot: slots[Int(condition.formula.quantity)], sign: condition.formula.quantitySign)
        if let known = self.knownCompounds[key] {
            self.compounds[Int(known)].users += 1
            return Int(known)
        }
        let history = self.quantity(slot: key.slot, sign: key.sign)
        var compound = Compound(code: self.place(of: code), length: Int32(code.count), history: history)
        compound.users = 1
        if condition.formula.nodes[Int(condition.atoms[0].node)].operation.isNoting {
            compound.noting = slots[Int(condition.atoms[0].node)]
            self.notingCompounds += 1
        }
        let index: Int
        if let free = self.freeCompounds.popLast() {
            index = Int(free)
            self.compounds[index] = compound
            self.compoundKeys[index] = key
        } else {
            index = self.compounds.count
            self.compounds.append(compound)
            self.compoundKeys.append(key)
        }
        self.knownCompounds[key] = Int32(index)
        for atom in Set(atoms) { self.connect(atom: Int(atom), compound: Int32(index)) }
        if self.value(ofCompound: index) {
            self.compounds[index].isTrue = true
            self.compounds[index].since = time
            self.quantities[Int(history)].peaks.begin(at: time, self.quantity(Int(history)))
            self.activeQuantities += 1
        }
        return index
    }

    private mutating func leave(compound index: Int) {
        for table in [self.compounds[index].leading, self.compounds[index].restarting]
        where table >= 0 && self.tables[Int(table)].count == 0 {
            self.drop(table: Int(table))
            if self.compounds[index].leading == table { self.compounds[index].leading = -1 }
            if self.compounds[index].restarting == table { self.compounds[index].restarting = -1 }
        }
        self.compounds[index].users -= 1
        guard self.compounds[index].users == 0 else { return }
        let history = Int(self.compounds[index].history)
        if self.compounds[index].isTrue {
            self.quantities[history].peaks.end()
            self.activeQuantities -= 1
        }
        self.compounds[index].isTrue = false
        if self.compounds[index].noting >= 0 { self.notingCompounds -= 1 }
        self.compounds[index].noting = -1
        self.quantities[history].uses -= 1
        let key = self.compoundKeys[index]
        self.knownCompounds[key] = nil
        self.freeCode[Int32(key.code.count), default: []].append(self.compounds[index].code)
        self.compounds[index].length = 0
        for atom in Set(key.code.filter { $0 >= 0 }) { self.disconnect(atom: Int(atom), compound: Int32(index)) }
        self.freeCompounds.append(Int32(index))
    }

    private mutating func quantity(slot: Int32, sign: Double) -> Int32 {
        var free: Int?
        for index in self.quantities.indices {
            if self.quantities[index].uses == 0 {
                free = index
            } else if self.quantities[index].slot == slot, self.quantities[index].sign == sign {
                self.quantities[index].uses += 1
                return Int32(index)
            }
        }
        let quantity = Quantity(slot: slot, sign: sign, uses: 1)
        if let free {
            self.quantities[free] = quantity
            return Int32(free)
        }
        self.quantities.append(quantity)
        return Int32(self.quantities.count - 1)
    }

    private mutating func place(of code: [Int32]) -> Int32 {
        if let free = self.freeCode[Int32(code.count)]?.popLast() {
            for index in code.indices { self.code[Int(free) + index] = code[index] }
            return free
        }
        self.code.append(contentsOf: code)
        return Int32(self.code.count - code.count)
    }

    /// The lane's atom for a comparison, true or false as the present value has it.
    private mutating func watch(_ key: AtomKey) -> Int32 {
        if let known = self.knownAtoms[key] { return known }
        let table = self.table(slot: key.slot, sign: key.sign, .watching)
        let index: Int32
        let atom = WatchedAtom(key: key, table: Int32(table))
        if let free = self.freeAtoms.popLast() {
            index = free
            self.atoms[Int(index)] = atom
        } else {
            index = Int32(self.atoms.count)
            self.atoms.append(atom)
            self.atomSeats.append(.none)
        }
        self.knownAtoms[key] = index
        let value = key.sign * self.graph.value(key.slot)
        self.tables[table].add(
            ThresholdTable.Entry(id: UInt32(index), key: key.key), value: value.isNaN ? -.infinity : value,
            seats: &self.atomSeats, wheel: &self.wheel)
        self.refreshGate(ofTable: table)
        self.atoms[Int(index)].isTrue = self.tables[table].isTrue(key.key)
        return index
    }

    private mutating func connect(atom: Int, compound: Int32) {
        let edge = Edge(compound: compound, next: self.atoms[atom].firstEdge)
        if let free = self.freeEdges.popLast() {
            self.edges[Int(free)] = edge
            self.atoms[atom].firstEdge = free
        } else {
            self.edges.append(edge)
            self.atoms[atom].firstEdge = Int32(self.edges.count - 1)
        }
        self.atoms[atom].uses += 1
    }

    private mutating func disconnect(atom: Int, compound: Int32) {
        var before: Int32 = -1
        var edge = self.atoms[atom].firstEdge
        while edge >= 0, self.edges[Int(edge)].compound != compound {
            before = edge
            edge = self.edges[Int(edge)].next
        }
        guard edge >= 0 else { return }
        if before >= 0 {
            self.edges[Int(before)].next = self.edges[Int(edge)].next
        } else {
            self.atoms[atom].firstEdge = self.edges[Int(edge)].next
        }
        self.freeEdges.append(edge)
        self.atoms[atom].uses -= 1
        guard self.atoms[atom].uses == 0 else { return }
        let table = Int(self.atoms[atom].table)
        self.tables[table].remove(at: self.atomSeats[atom].place, seats: &self.atomSeats, wheel: &self.wheel)
        self.knownAtoms[self.atoms[atom].key] = nil
        self.freeAtoms.append(Int32(atom))
        self.tidy(table: table)
    }
}
