/// A queue that keeps its storage: what was longest in it goes first.
struct Ring<Element> {
    private var slots: [Element?] = []
    private var first = 0
    private(set) var count = 0

    private func slot(_ index: Int) -> Int {
        let slot = self.first + index
        return slot < self.slots.count ? slot : slot - self.slots.count
    }

    /// From the oldest, 0, to the newest.
    subscript(index: Int) -> Element? { index < self.count ? self.slots[self.slot(index)] : nil }

    /// From the newest to the oldest.
    func newest(where fits: (Element) -> Bool) -> Element? {
        for index in (0..<self.count).reversed() {
            if let element = self[index], fits(element) { return element }
        }
        return nil
    }

    /// From the oldest to the newest.
    func oldest(where fits: (Element) -> Bool) -> Element? {
        for index in 0..<self.count {
            if let element = self[index], fits(element) { return element }
        }
        return nil
    }

    /// Whether an element stands there that fits.
    func has(_ index: Int, where fits: (Element) -> Bool) -> Bool { self[index].map(fits) ?? false }

    /// Changes an element where it stands.
    mutating func update(_ index: Int, _ body: (inout Element) -> Void) {
        guard index < self.count else { return }
        let slot = self.slot(index)
        guard var element = self.slots[slot].take() else { return }
        body(&element)
        self.slots[slot] = element
    }

    /// From the oldest to the newest.
    func all(where fits: (Element) -> Bool) -> [Element] {
        var found: [Element] = []
        for index in 0..<self.count {
            if let element = self[index], fits(element) { found.append(element) }
        }
        return found
    }

    mutating func append(_ element: consuming Element) {
        if self.count == self.slots.count {
            // All stand in their order: more slots come behind.
            if self.first == 0 {
                self.slots.append(element)
                self.count += 1
                return
            }
            self.grow()
        }
        self.slots[self.slot(self.count)] = element
        self.count += 1
    }

    @discardableResult
    mutating func removeFirst() -> Element? {
        guard self.count > 0 else { return nil }
        let element = self.slots[self.first]
        self.slots[self.first] = nil
        self.first = self.slot(1)
        self.count -= 1
        return element
    }

    /// Makes room for a quarter more. A ring that goes around is bounded by something, and seldom grows; slots that stand empty are
    /// memory that no bound of bytes counts.
    private mutating func grow() {
        let room = max(16, self.count + self.count / 4)
        var slots: [Element?] = []
        slots.reserveCapacity(room)
        // Taken out, so that nothing is copied.
        for index in 0..<self.count { slots.append(self.slots[self.slot(index)].take()) }
        while slots.count < room { slots.append(nil) }
        self.slots = slots
        self.first = 0
    }
}
