import Motion

/// Keeps the formulas of a lane's detectors, each once, and in which slots of the graph their nodes are.
struct FormulaPool {
    private struct Use {
        var formula: Formula
        var slots: [Int32]
        var users = 1
    }

    private var uses: [Use] = []
    private var free = FreePlaces()
    private var known: [Formula: Int32] = [:]
    /// Slots that are compared and can be undefined, with repetitions.
    private(set) var partial: [Int32] = []

    /// The index of a formula that somebody uses already, and one user more for it.
    mutating func join(_ formula: Formula) -> Int32? {
        guard let known = self.known[formula] else { return nil }
        self.uses[Int(known)].users += 1
        return known
    }

    /// The slots of the nodes of a formula that somebody uses already.
    func slots(ofKnown formula: Formula) -> [Int32]? { self.known[formula].map { self.slots(of: $0) } }

    /// Takes in a formula that is new, with one user.
    mutating func insert(_ formula: Formula, slots: [Int32]) -> Int32 {
        let index = self.free.put(Use(formula: formula, slots: slots), into: &self.uses)
        self.known[formula] = index
        for node in formula.partial { self.partial.append(slots[Int(node)]) }
        return index
    }

    /// Takes a user away; with the last one the formula goes, and its slots are returned for the graph to have back.
    mutating func leave(_ index: Int32) -> [Int32]? {
        let index = Int(index)
        self.uses[index].users -= 1
        guard self.uses[index].users == 0 else { return nil }
        let use = self.uses[index]
        self.known[use.formula] = nil
        self.free.add(Int32(index))
        for node in use.formula.partial {
            if let place = self.partial.firstIndex(of: use.slots[Int(node)]) { self.partial.remove(at: place) }
        }
        self.uses[index].slots = []
        return use.slots
    }

    func formula(_ index: Int32) -> Formula { self.uses[Int(index)].formula }

    /// The slots of a formula's nodes.
    func slots(of index: Int32) -> [Int32] { self.uses[Int(index)].slots }

    /// The slot of the number whose extreme a hit carries.
    func quantity(of index: Int32) -> Int32 {
        self.uses[Int(index)].slots[Int(self.uses[Int(index)].formula.quantity)]
    }

    /// Gives back memory that was needed for formulas that are gone.
    mutating func shrink() {
        self.uses.removeLast(self.free.cut(from: self.uses.count))
        self.uses.shrink()
        self.known.shrink()
        self.partial.shrink()
    }
}
