import Motion

/// Holds the conditions of several comparisons, each once for all detectors that have it, and sees which of them turn.
///
/// A comparison that is crossed queues the conditions it is part of; when all of a look are known, `nextTurned` tells those
/// that became true or false.
struct CompoundConditions {
    private struct Compound {
        /// Where its code stands: numbers of comparisons, or the marks of `Condition`.
        var code: Int32
        var length: Int32
        var quantity: Int32
        /// What the quantity is measured by when there are rivals.
        var scale = 1.0
        /// Further quantities that may give a hit its peak.
        var rivals: [Rival] = []
        /// Tables of its detectors, or -1.
        var leading: Int32 = -1
        var restarting: Int32 = -1
        var users = 1
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

    /// A quantity that gives a hit its peak when it is larger in proportion to its threshold.
    struct Rival {
        fileprivate var quantity: Int32
        var slot: Int32
        var scale: Double
    }

    private struct Key: Hashable {
        var code: [Int32]
        var slot: Int32
        var sign: Double
        var rivals: [Int32]
        var scales: [Double]
    }

    /// A condition that became true or false.
    struct Turn {
        var value: Double
        /// The quantity at this look.
        var peak: Double
        /// Tables of its detectors, or -1.
        var leading: Int32
        var restarting: Int32
    }

    private var compounds: [Compound] = []
    private var keys: [Key] = []
    private var free = FreePlaces()
    private var known: [Key: Int32] = [:]
    private var code: [Int32] = []
    /// Free stretches of the code by length.
    private var freeCode: [Int32: [Int32]] = [:]
    private var comparisons = WatchedComparisons()
    private var quantities = FollowedQuantities()
    /// Conditions whose comparisons were crossed, and how many of them `nextTurned` has seen.
    private var queue: [Int32] = []
    private var seen = 0
    /// How many conditions note what happened.
    private var noting = 0

    var indices: Range<Int> { self.compounds.indices }

    // MARK: Turning

    /// A comparison was crossed.
    mutating func turn(comparison: Int32, _ isTrue: Bool) {
        self.comparisons.set(comparison, isTrue)
        var edge = self.comparisons.firstEdge(of: comparison)
        while edge >= 0 {
            let (compound, next) = self.comparisons.edge(edge)
            if !self.compounds[compound].isQueued {
                self.compounds[compound].isQueued = true
                self.queue.append(Int32(compound))
            }
            edge = next
        }
    }

    var hasQueued: Bool { !self.queue.isEmpty }

    /// The next condition that is true and was not, or the other way round. Who asks goes on with `turn`.
    mutating func nextTurned() -> Int? {
        while self.seen < self.queue.count {
            let index = Int(self.queue[self.seen])
            self.seen += 1
            self.compounds[index].isQueued = false
            if self.evaluate(index) != self.compounds[index].isTrue { return index }
        }
        self.seen = 0
        self.queue.removeAll(keepingCapacity: true)
        return nil
    }

    /// Lets a condition turn; `value` is that of its quantity's slot at this look. Its rivals turn by themselves.
    mutating func turn(_ index: Int, at time: Int64, _ value: Double) -> Turn {
        let quantity = Int(self.compounds[index].quantity)
        let isTrue = !self.compounds[index].isTrue
        self.compounds[index].isTrue = isTrue
        if isTrue {
            self.compounds[index].since = time
            self.quantities.begin(quantity, at: time, value)
        } else {
            self.quantities.end(quantity)
        }
        return Turn(
            value: isTrue ? 1 : 0, peak: self.quantities.peak(quantity, value),
            leading: self.compounds[index].leading, restarting: self.compounds[index].restarting)
    }

    /// Lets a rival turn with its condition, which has turned; `value` is that of the rival's slot at this look.
    mutating func turn(_ rival: Rival, of index: Int, at time: Int64, _ value: Double) {
        if self.compounds[index].isTrue {
            self.quantities.begin(Int(rival.quantity), at: time, value)
        } else {
            self.quantities.end(Int(rival.quantity))
        }
    }

    /// Evaluates a condition's code on a stack of bits.
    private func evaluate(_ index: Int) -> Bool {
        let start = Int(self.compounds[index].code)
        // The stack is as deep as the condition has comparisons at most, and 128 bits hold them all.
        var stack: (low: UInt64, high: UInt64) = (0, 0)
        for place in start..<start + Int(self.compounds[index].length) {
            let word = self.code[place]
            if word >= 0 {
                stack.high = stack.high << 1 | stack.low >> 63
                stack.low = stack.low << 1 | (self.comparisons.isTrue(word) ? 1 : 0)
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

    // MARK: While true

    /// True when a condition is, so that looks matter by themselves.
    var isFollowing: Bool { self.quantities.active > 0 }

    /// The quantities that conditions have; `isFollowed` says whether one is true.
    var quantityIndices: Range<Int> { self.quantities.indices }

    func isFollowed(quantity: Int) -> Bool { self.quantities.isFollowed(quantity) }

    func slot(ofQuantity quantity: Int) -> Int32 { self.quantities.slot(of: quantity) }

    /// Sees the value that a followed quantity's slot has at this look.
    mutating func look(quantity: Int, _ value: Double) { self.quantities.look(quantity, value) }

    /// The slot of a condition's quantity.
    func slot(of index: Int) -> Int32 { self.quantities.slot(of: Int(self.compounds[index].quantity)) }

    func isTrue(_ index: Int) -> Bool { self.compounds[index].isTrue }

    /// The quantity's extreme since the condition became true; `value` is that of its slot at this look.
    func peak(of index: Int, _ value: Double) -> Double {
        self.quantities.peak(Int(self.compounds[index].quantity), since: self.compounds[index].since, value)
    }

    /// The quantity at this look, as hits tell it: beside `or` it may be undefined where the condition is true.
    func presentPeak(of index: Int, _ value: Double) -> Double {
        self.quantities.peak(Int(self.compounds[index].quantity), value)
    }

    /// What the quantity is measured by when it has rivals.
    func scale(of index: Int) -> Double { self.compounds[index].scale }

    /// Whether further quantities may give a condition's hits their peak: mostly none, which the list says at a higher price.
    func hasRivals(_ index: Int) -> Bool { !self.compounds[index].rivals.isEmpty }

    /// Further quantities that may give a condition's hits their peak.
    func rivals(of index: Int) -> [Rival] { self.compounds[index].rivals }

    /// A rival's extreme since the condition became true; `value` is that of its slot at this look.
    func peak(of rival: Rival, since index: Int, _ value: Double) -> Double {
        self.quantities.peak(Int(rival.quantity), since: self.compounds[index].since, value)
    }

    /// The table of the restarting detectors of a condition that was true before this look, too.
    func restarting(trueBefore time: Int64, _ index: Int) -> Int32? {
        guard self.compounds[index].isTrue, self.compounds[index].since != time,
            self.compounds[index].restarting >= 0
        else { return nil }
        return self.compounds[index].restarting
    }

    // MARK: Notes

    /// True when some condition notes what happened.
    var isNoting: Bool { self.noting > 0 }

    /// The slot that tells what a condition notes; `nil` when it notes nothing.
    func noteSlot(of index: Int) -> Int32? {
        let slot = self.compounds[index].noting
        return slot < 0 ? nil : slot
    }

    /// Keeps what a look noted, and how much it was.
    mutating func setNote(of index: Int, _ note: HitNote, _ amount: Double) {
        (self.compounds[index].note, self.compounds[index].noted) = (note, amount)
    }

    /// What a condition noted last, and how much it was; `nil` for one that notes nothing.
    func note(of index: Int) -> (note: HitNote, amount: Double)? {
        guard self.compounds[index].noting >= 0 else { return nil }
        return (self.compounds[index].note, self.compounds[index].noted)
    }

    // MARK: Adding and removing

    /// The number of a comparison that some condition has already.
    func number(of key: WatchedComparisons.Key) -> Int32? { self.comparisons.number(of: key) }

    /// Takes in a comparison for a condition that comes next.
    mutating func insert(_ key: WatchedComparisons.Key) -> Int32 { self.comparisons.insert(key) }

    /// Notes whether a comparison that was taken in is true.
    mutating func begin(comparison: Int32, _ isTrue: Bool) { self.comparisons.set(comparison, isTrue) }

    /// The condition of those comparisons, and one user more for it. `slots` are those of its formula. Who asks sees whether it
    /// turns by `isDue`.
    mutating func join(_ condition: Condition, _ comparisons: [Int32], _ slots: [Int32]) -> Int {
        let code = condition.code.map { $0 >= 0 ? comparisons[Int($0)] : $0 }
        let key = Key(
            code: code, slot: slots[Int(condition.formula.quantity)], sign: condition.formula.quantitySign,
            rivals: condition.formula.rivals.map { slots[Int($0)] }, scales: condition.scales)
        if let known = self.known[key] {
            self.compounds[Int(known)].users += 1
            return Int(known)
        }
        let quantity = self.quantities.join(slot: key.slot, sign: key.sign)
        var compound = Compound(code: self.place(of: code), length: Int32(code.count), quantity: quantity)
        if let scale = condition.scales.first { compound.scale = scale }
        for (slot, scale) in zip(key.rivals, condition.scales.dropFirst()) {
            let rival = self.quantities.join(slot: slot, sign: 1)
            compound.rivals.append(Rival(quantity: rival, slot: slot, scale: scale))
        }
        let first = condition.atoms[0].node
        if condition.formula.nodes[Int(first)].operation.isNoting {
            compound.noting = slots[Int(first)]
            self.noting += 1
        }
        let place = self.free.put(compound, into: &self.compounds)
        let index = Int(place)
        if index < self.keys.count { self.keys[index] = key } else { self.keys.append(key) }
        self.known[key] = place
        for comparison in Set(comparisons) { self.comparisons.connect(comparison, to: place) }
        return index
    }

    /// True for a condition that has to turn for its comparisons to agree with it.
    func isDue(_ index: Int) -> Bool { self.evaluate(index) != self.compounds[index].isTrue }

    /// The table of a condition's detectors, if it has one.
    func table(of index: Int, _ purpose: ThresholdTable.Purpose) -> Int32? {
        let table = purpose == .restarting ? self.compounds[index].restarting : self.compounds[index].leading
        return table < 0 ? nil : table
    }

    /// Gives a condition a table for its detectors.
    mutating func setTable(_ table: Int32, of index: Int, _ purpose: ThresholdTable.Purpose) {
        if purpose == .restarting {
            self.compounds[index].restarting = table
        } else {
            self.compounds[index].leading = table
        }
    }

    /// Forgets a table that is gone.
    mutating func drop(table: Int32, of index: Int) {
        if self.compounds[index].leading == table { self.compounds[index].leading = -1 }
        if self.compounds[index].restarting == table { self.compounds[index].restarting = -1 }
    }

    /// Takes a user away; the condition goes with the last one. Returns the comparisons that nobody asks for any more.
    mutating func leave(_ index: Int) -> [Int32] {
        self.compounds[index].users -= 1
        guard self.compounds[index].users == 0 else { return [] }
        for quantity in [self.compounds[index].quantity] + self.compounds[index].rivals.map(\.quantity) {
            if self.compounds[index].isTrue { self.quantities.end(Int(quantity)) }
            self.quantities.leave(Int(quantity))
        }
        self.compounds[index].rivals = []
        self.compounds[index].isTrue = false
        if self.compounds[index].noting >= 0 { self.noting -= 1 }
        self.compounds[index].noting = -1
        let key = self.keys[index]
        self.known[key] = nil
        self.freeCode[Int32(key.code.count), default: []].append(self.compounds[index].code)
        self.compounds[index].length = 0
        self.free.add(Int32(index))
        var gone: [Int32] = []
        for comparison in Set(key.code.filter({ $0 >= 0 }))
        where self.comparisons.disconnect(comparison, from: Int32(index)) { gone.append(comparison) }
        return gone
    }

    private mutating func place(of code: [Int32]) -> Int32 {
        if let free = self.freeCode[Int32(code.count)]?.popLast() {
            for index in code.indices { self.code[Int(free) + index] = code[index] }
            return free
        }
        self.code.append(contentsOf: code)
        return Int32(self.code.count - code.count)
    }

    /// Numbers of comparisons are below this.
    var comparisonLimit: Int { self.comparisons.count }

    /// Gives back memory that was needed for conditions that are gone.
    mutating func shrink() {
        let compounds = self.free.cut(from: self.compounds.count)
        self.compounds.removeLast(compounds)
        self.compounds.shrink()
        self.keys.removeLast(compounds)
        self.keys.shrink()
        self.known.shrink()
        if self.compounds.isEmpty { (self.code, self.freeCode) = ([], [:]) }
        self.comparisons.shrink()
    }
}
