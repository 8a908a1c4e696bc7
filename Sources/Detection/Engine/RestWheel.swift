/// The rests that run in a lane, by the time they end: a timer wheel of three levels in sample time.
///
/// Arming and ending cost the same however many run. The links stand in the detectors' seats.
struct RestWheel {
    /// One tick is 2^13 µs.
    private static let shift: Int64 = 13
    private static let slots = 256
    private static let levels = 3
    /// Rests end within a day, so whoever is further behind has slept through them all.
    private static let horizon: Int64 = 2 * 86_400 * 1_000_000 >> shift

    private var heads = [Int32](repeating: -1, count: slots * levels)
    /// Armed entries in the slots of the first level.
    private var near = 0
    private(set) var count = 0
    private var tick: Int64 = 0
    /// A bit for each slot of the first level that holds something.
    private var occupied = [UInt64](repeating: 0, count: slots / 64)
    /// Nothing ends before this time.
    private(set) var nextEnd = Int64.max

    /// Starts a rest that ends at the seat's deadline.
    mutating func arm(_ id: UInt32, _ seats: inout [Seat]) {
        var seats = seats.mutableSpan
        self.arm(Int32(id), &seats)
    }

    /// Starts the rests of detectors that fired at `time`.
    mutating func arm(_ ids: borrowing [UInt32], firedAt time: Int64, _ seats: inout [Seat]) {
        let ids = ids.span
        var seats = seats.mutableSpan
        for index in ids.indices {
            let id = Int(ids[index])
            seats[id].deadline = time + seats[id].rest
            self.arm(Int32(id), &seats)
        }
    }

    private mutating func arm(_ id: Int32, _ seats: inout MutableSpan<Seat>) {
        self.count += 1
        self.insert(id, &seats)
        self.nextEnd = min(self.nextEnd, seats[Int(id)].deadline)
    }

    /// Ends a rest before its time.
    mutating func disarm(_ id: Int32, _ seats: inout [Seat]) {
        let seat = seats[Int(id)]
        guard seat.slot >= 0 else { return }
        if seat.previous >= 0 {
            seats[Int(seat.previous)].next = seat.next
        } else {
            self.heads[Int(seat.slot)] = seat.next
        }
        if seat.next >= 0 { seats[Int(seat.next)].previous = seat.previous }
        if seat.slot < Int32(Self.slots) { self.near -= 1 }
        seats[Int(id)].slot = -1
        self.count -= 1
    }

    /// Lets the time pass while no rest runs.
    mutating func pass(to now: Int64) {
        self.tick = max(self.tick, now >> Self.shift)
    }

    /// Takes out the rests that end at or before `now` and appends their detectors, in no particular order.
    mutating func end(at now: Int64, _ seats: inout [Seat], due: inout [UInt32]) {
        var seats = seats.mutableSpan
        let target = now >> Self.shift
        if target - self.tick > Self.horizon {
            self.endAll(at: now, &seats, &due)
            return
        }
        while self.tick < target, self.count > 0 {
            if self.near > 0 { self.endSlot(Int(self.tick & 255), at: now, &seats, &due) }
            // With the first level empty nothing can end before the next slot of the second is spread.
            self.tick = self.near == 0 ? min(target, (self.tick | 255) + 1) : self.tick + 1
            if self.tick & 255 == 0 { self.cascade(&seats) }
        }
        self.tick = max(self.tick, target)
        if self.near > 0 { self.endSlot(Int(self.tick & 255), at: now, &seats, &due) }
        self.nextEnd = self.bound(after: now, seats)
    }

    /// A time before which nothing ends, not far from the next end when that is near.
    private func bound(after now: Int64, _ seats: borrowing MutableSpan<Seat>) -> Int64 {
        guard self.count > 0 else { return .max }
        let turn = ((self.tick | 255) + 1) << Self.shift
        guard self.near > 0 else { return turn }
        let present = Int(self.tick & 255)
        // What is left in the present slot ends within this tick.
        if self.heads[present] >= 0 { return now + 1 }
        var word = present / 64
        var bits = self.occupied[word] & (~0 << UInt64(present % 64))
        while bits == 0, word + 1 < self.occupied.count {
            word += 1
            bits = self.occupied[word]
        }
        guard bits != 0 else { return turn }
        return (self.tick & ~255 | Int64(word * 64 + bits.trailingZeroBitCount)) << Self.shift
    }

    /// Takes what is due out of a slot of the first level and leaves the others.
    private mutating func endSlot(
        _ slot: Int, at now: Int64, _ seats: inout MutableSpan<Seat>, _ due: inout [UInt32]
    ) {
        var id = self.heads[slot]
        var kept: Int32 = -1
        while id >= 0 {
            let index = Int(id)
            let next = seats[index].next
            if seats[index].deadline <= now {
                seats[index].slot = -1
                self.near -= 1
                self.count -= 1
                due.append(UInt32(id))
            } else {
                seats[index].previous = -1
                seats[index].next = kept
                if kept >= 0 { seats[Int(kept)].previous = id }
                kept = id
            }
            id = next
        }
        self.heads[slot] = kept
        if kept < 0 { self.occupied[slot / 64] &= ~(1 << UInt64(slot % 64)) }
    }

    /// After a sleep beyond every rest: what is due ends, the rest is sorted in anew.
    private mutating func endAll(at now: Int64, _ seats: inout MutableSpan<Seat>, _ due: inout [UInt32]) {
        var kept: [Int32] = []
        for slot in self.heads.indices {
            var id = self.heads[slot]
            self.heads[slot] = -1
            while id >= 0 {
                if seats[Int(id)].deadline <= now {
                    seats[Int(id)].slot = -1
                    due.append(UInt32(id))
                } else {
                    kept.append(id)
                }
                id = seats[Int(id)].next
            }
        }
        self.tick = now >> Self.shift
        self.near = 0
        self.occupied = [UInt64](repeating: 0, count: Self.slots / 64)
        self.count = kept.count
        for id in kept { self.insert(id, &seats) }
        self.nextEnd = self.bound(after: now, seats)
    }

    /// Spreads the next slot of the second level, and of the third when that has come round.
    private mutating func cascade(_ seats: inout MutableSpan<Seat>) {
        if (self.tick >> 8) & 255 == 0 { self.spread(2 * Self.slots + Int((self.tick >> 16) & 255), &seats) }
        self.spread(Self.slots + Int((self.tick >> 8) & 255), &seats)
    }

    private mutating func spread(_ slot: Int, _ seats: inout MutableSpan<Seat>) {
        var id = self.heads[slot]
        self.heads[slot] = -1
        while id >= 0 {
            let next = seats[Int(id)].next
            self.insert(id, &seats)
            id = next
        }
    }

    private mutating func insert(_ id: Int32, _ seats: inout MutableSpan<Seat>) {
        let index = Int(id)
        // What ended already waits in the present slot.
        let due = max(seats[index].deadline >> Self.shift, self.tick)
        let slot: Int
        if due >> 8 == self.tick >> 8 {
            slot = Int(due & 255)
            self.near += 1
            self.occupied[slot / 64] |= 1 << UInt64(slot % 64)
        } else if due >> 16 == self.tick >> 16 {
            slot = Self.slots + Int((due >> 8) & 255)
        } else {
            // Beyond the third level's reach an entry waits in its last slot and is put off again.
            let reach = ((self.tick >> 16) + 255) << 16
            slot = 2 * Self.slots + Int((min(due, reach) >> 16) & 255)
        }
        let head = self.heads[slot]
        seats[index].slot = Int32(slot)
        seats[index].previous = -1
        seats[index].next = head
        if head >= 0 { seats[Int(head)].previous = id }
        self.heads[slot] = id
    }
}
