/// The words of threshold tables in which rests end, by the time the first of them does: a timer wheel of three levels in
/// sample time.
///
/// A word stands for up to 64 neighbours in a table, most of which cross together and so rest together. Arming and ending
/// cost the same however many run.
struct RestWheel {
    /// One tick is 2^13 µs.
    private static let shift: Int64 = 13
    private static let slots = 256
    private static let levels = 3
    /// Rests end within a day, so whoever is further behind has slept through them all.
    private static let horizon: Int64 = 2 * 86_400 * 1_000_000 >> shift

    /// A word's place in the wheel.
    private struct Link {
        var deadline = Int64.max
        /// Neighbours in the slot; -1 at the ends.
        var next: Int32 = -1
        var previous: Int32 = -1
        /// -1 while the word is not armed.
        var slot: Int32 = -1
        /// Whose word it is, and which of the owner's; for the wheel only numbers.
        var table: Int32
        var word: Int32
    }

    private var links: [Link] = []
    /// Free stretches of words, all of one length.
    private var free: [Int32] = []
    private var heads = [Int32](repeating: -1, count: slots * levels)
    /// Armed words in the slots of the first level.
    private var near = 0
    private(set) var count = 0
    private var tick: Int64 = 0
    /// A bit for each slot of the first level that holds something.
    private var occupied = [UInt64](repeating: 0, count: slots / 64)
    /// Nothing ends before this time.
    private(set) var nextEnd = Int64.max

    // MARK: Words

    /// Makes `count` words of a table, always as many, the first of which is `word` there; returns the first.
    mutating func allocate(_ count: Int, for table: Int32, from word: Int) -> Int32 {
        let first = self.free.popLast() ?? Int32(self.links.count)
        if Int(first) == self.links.count {
            self.links.append(contentsOf: repeatElement(Link(table: 0, word: 0), count: count))
        }
        for index in 0..<count {
            self.links[Int(first) + index].table = table
            self.links[Int(first) + index].word = Int32(word + index)
        }
        return first
    }

    /// Gives words back; none ends any more.
    mutating func release(_ first: Int32, _ count: Int) {
        for word in first..<first + Int32(count) { self.disarm(word) }
        self.free.append(first)
    }

    /// The table and the word there that a word of the wheel stands for.
    func place(of word: UInt32) -> (table: Int, word: Int) {
        (Int(self.links[Int(word)].table), Int(self.links[Int(word)].word))
    }

    /// Lets a word end at `deadline`, or earlier when it does already.
    mutating func arm(_ word: Int32, at deadline: Int64) {
        guard deadline < self.links[Int(word)].deadline else { return }
        self.disarm(word)
        self.links[Int(word)].deadline = deadline
        self.count += 1
        self.insert(word)
        self.nextEnd = min(self.nextEnd, deadline)
    }

    /// Ends nothing in a word any more.
    mutating func disarm(_ word: Int32) {
        let link = self.links[Int(word)]
        guard link.slot >= 0 else { return }
        if link.previous >= 0 {
            self.links[Int(link.previous)].next = link.next
        } else {
            self.heads[Int(link.slot)] = link.next
        }
        if link.next >= 0 { self.links[Int(link.next)].previous = link.previous }
        if link.slot < Int32(Self.slots) { self.near -= 1 }
        self.links[Int(word)].slot = -1
        self.links[Int(word)].deadline = .max
        self.count -= 1
    }

    // MARK: Time

    /// Lets the time pass while nothing is armed.
    mutating func pass(to now: Int64) {
        self.tick = max(self.tick, now >> Self.shift)
    }

    /// Takes out the words that end at or before `now` and appends them, in no particular order.
    mutating func end(at now: Int64, due: inout [UInt32]) {
        let target = now >> Self.shift
        if target - self.tick > Self.horizon {
            self.endAll(at: now, &due)
            return
        }
        while self.tick < target, self.count > 0 {
            let slot = Int(self.tick & 255)
            if self.occupied[slot / 64] & (1 << UInt64(slot % 64)) != 0 { self.endSlot(slot, at: now, &due) }
            // With the first level empty nothing can end before the next slot of the second is spread.
            self.tick = self.near == 0 ? min(target, (self.tick | 255) + 1) : self.tick + 1
            if self.tick & 255 == 0 { self.cascade() }
        }
        self.tick = max(self.tick, target)
        if self.near > 0 { self.endSlot(Int(self.tick & 255), at: now, &due) }
        self.nextEnd = self.bound(after: now)
    }

    /// A time before which nothing ends, not far from the next end when that is near.
    private func bound(after now: Int64) -> Int64 {
        guard self.count > 0 else { return .max }
        // What stands in upper levels ends after the next slot of the second has been spread.
        let turn = self.count > self.near ? ((self.tick | 255) + 1) << Self.shift : .max
        guard self.near > 0 else { return turn }
        // What is left in the present slot ends within this tick.
        let present = Int(self.tick & 255)
        if self.heads[present] >= 0 { return now + 1 }
        for distance in 0...self.occupied.count {
            let word = (present / 64 + distance) % self.occupied.count
            var bits = self.occupied[word]
            // The present word is looked at twice: what lies ahead first, and at the end what lies a turn ahead.
            if distance == 0 { bits &= ~0 << UInt64(present % 64) }
            guard bits != 0 else { continue }
            let slot = Int64(word * 64 + bits.trailingZeroBitCount)
            let ahead = (slot - Int64(present)) & 255
            return min(turn, (self.tick + ahead) << Self.shift)
        }
        return now + 1
    }

    /// Takes what is due out of a slot of the first level and leaves the others.
    private mutating func endSlot(_ slot: Int, at now: Int64, _ due: inout [UInt32]) {
        var word = self.heads[slot]
        guard word >= 0 else {
            self.occupied[slot / 64] &= ~(1 << UInt64(slot % 64))
            return
        }
        var kept: Int32 = -1
        while word >= 0 {
            let index = Int(word)
            let next = self.links[index].next
            if self.links[index].deadline <= now {
                self.links[index].slot = -1
                self.links[index].deadline = .max
                self.near -= 1
                self.count -= 1
                due.append(UInt32(word))
            } else {
                self.links[index].previous = -1
                self.links[index].next = kept
                if kept >= 0 { self.links[Int(kept)].previous = word }
                kept = word
            }
            word = next
        }
        self.heads[slot] = kept
        if kept < 0 { self.occupied[slot / 64] &= ~(1 << UInt64(slot % 64)) }
    }

    /// After a sleep beyond every rest: what is due ends, the rest is sorted in anew.
    private mutating func endAll(at now: Int64, _ due: inout [UInt32]) {
        var kept: Int32 = -1
        self.count = 0
        for slot in self.heads.indices {
            var word = self.heads[slot]
            self.heads[slot] = -1
            while word >= 0 {
                let next = self.links[Int(word)].next
                if self.links[Int(word)].deadline <= now {
                    self.links[Int(word)].slot = -1
                    self.links[Int(word)].deadline = .max
                    due.append(UInt32(word))
                } else {
                    self.links[Int(word)].next = kept
                    kept = word
                    self.count += 1
                }
                word = next
            }
        }
        self.tick = now >> Self.shift
        self.near = 0
        for index in self.occupied.indices { self.occupied[index] = 0 }
        while kept >= 0 {
            let next = self.links[Int(kept)].next
            self.insert(kept)
            kept = next
        }
        self.nextEnd = self.bound(after: now)
    }

    /// Spreads the next slot of the second level, and of the third when that has come round.
    private mutating func cascade() {
        if (self.tick >> 8) & 255 == 0 { self.spread(2 * Self.slots + Int((self.tick >> 16) & 255)) }
        self.spread(Self.slots + Int((self.tick >> 8) & 255))
    }

    private mutating func spread(_ slot: Int) {
        var word = self.heads[slot]
        self.heads[slot] = -1
        while word >= 0 {
            let next = self.links[Int(word)].next
            self.insert(word)
            word = next
        }
    }

    private mutating func insert(_ word: Int32) {
        let index = Int(word)
        // What ended already waits in the present slot.
        let due = max(self.links[index].deadline >> Self.shift, self.tick)
        let slot: Int
        if due - self.tick < 256 {
            slot = Int(due & 255)
            self.near += 1
            self.occupied[slot / 64] |= 1 << UInt64(slot % 64)
        } else if (due >> 8) - (self.tick >> 8) < 256 {
            slot = Self.slots + Int((due >> 8) & 255)
        } else {
            // Beyond the third level's reach a word waits in its last slot and is put off again.
            let reach = ((self.tick >> 16) + 255) << 16
            slot = 2 * Self.slots + Int((min(due, reach) >> 16) & 255)
        }
        let head = self.heads[slot]
        self.links[index].slot = Int32(slot)
        self.links[index].previous = -1
        self.links[index].next = head
        if head >= 0 { self.links[Int(head)].previous = word }
        self.heads[slot] = word
    }
}
