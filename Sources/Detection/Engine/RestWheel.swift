/// Where a detector stands in its lane, and when its rest ends.
struct DetectorRecord {
    var lane: Int32 = -1
    /// The table of the lane that holds it; -1 while it waits for its first look.
    var table: Int32 = -1
    /// Index into the lane's conditions; -1 for a comparison of its own.
    var compound: Int32 = -1
    /// Index into the lane's formulas.
    var formula: Int32 = -1
    var key = 0.0
    var rest: Int64 = 0
    /// When the running rest ends; meaningful while `isTimed` or after the last.
    var deadline = Int64.min
    var isTimed = false
    /// Neighbours in the wheel; -1 at the ends.
    var next: Int32 = -1
    var previous: Int32 = -1
    /// The wheel's slot.
    var slot: Int32 = -1
    var restMode = RestMode.none
    var neededRate = 0.0

    static let none = DetectorRecord()
}

/// The rests that run in a lane, by the time they end: a timer wheel of three levels in sample time.
///
/// Arming and ending cost the same however many run. The links stand in the detectors' records.
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

    /// Starts a rest that ends at the record's deadline.
    mutating func arm(_ id: Int32, _ records: inout [DetectorRecord]) {
        records[Int(id)].isTimed = true
        self.count += 1
        self.insert(id, &records)
    }

    /// Ends a rest before its time.
    mutating func disarm(_ id: Int32, _ records: inout [DetectorRecord]) {
        guard records[Int(id)].isTimed else { return }
        self.unlink(id, &records)
        records[Int(id)].isTimed = false
        self.count -= 1
    }

    /// Takes out the rests that end at or before `now` and appends their detectors, in no particular order.
    mutating func end(at now: Int64, _ records: inout [DetectorRecord], due: inout [UInt32]) {
        guard self.count > 0 else {
            self.tick = max(self.tick, now >> Self.shift)
            return
        }
        let target = now >> Self.shift
        if target - self.tick > Self.horizon {
            self.endAll(at: now, &records, &due)
            return
        }
        while self.tick < target, self.count > 0 {
            self.endSlot(at: now, &records, &due)
            // With the first level empty nothing can end before the next slot of the second is spread.
            self.tick = self.near == 0 ? min(target, (self.tick | 255) + 1) : self.tick + 1
            if self.tick & 255 == 0 { self.cascade(&records) }
        }
        self.tick = max(self.tick, target)
        if self.near > 0 { self.endSlot(at: now, &records, &due) }
    }

    private mutating func endSlot(at now: Int64, _ records: inout [DetectorRecord], _ due: inout [UInt32]) {
        var id = self.heads[Int(self.tick & 255)]
        while id >= 0 {
            let next = records[Int(id)].next
            if records[Int(id)].deadline <= now {
                self.disarm(id, &records)
                due.append(UInt32(id))
            }
            id = next
        }
    }

    private mutating func endAll(at now: Int64, _ records: inout [DetectorRecord], _ due: inout [UInt32]) {
        var kept: [Int32] = []
        for slot in self.heads.indices {
            while self.heads[slot] >= 0 {
                let id = self.heads[slot]
                self.disarm(id, &records)
                if records[Int(id)].deadline <= now { due.append(UInt32(id)) } else { kept.append(id) }
            }
        }
        self.tick = now >> Self.shift
        for id in kept { self.arm(id, &records) }
    }

    /// Spreads the next slot of the second level, and of the third when that has come round.
    private mutating func cascade(_ records: inout [DetectorRecord]) {
        if (self.tick >> 8) & 255 == 0 { self.spread(2 * Self.slots + Int((self.tick >> 16) & 255), &records) }
        self.spread(Self.slots + Int((self.tick >> 8) & 255), &records)
    }

    private mutating func spread(_ slot: Int, _ records: inout [DetectorRecord]) {
        var id = self.heads[slot]
        self.heads[slot] = -1
        while id >= 0 {
            let next = records[Int(id)].next
            self.insert(id, &records)
            id = next
        }
    }

    private mutating func insert(_ id: Int32, _ records: inout [DetectorRecord]) {
        // What ended already waits in the present slot.
        let due = max(records[Int(id)].deadline >> Self.shift, self.tick)
        let slot: Int
        if due >> 8 == self.tick >> 8 {
            slot = Int(due & 255)
            self.near += 1
        } else if due >> 16 == self.tick >> 16 {
            slot = Self.slots + Int((due >> 8) & 255)
        } else {
            // Beyond the third level's reach an entry waits in its last slot and is put off again.
            let reach = ((self.tick >> 16) + 255) << 16
            slot = 2 * Self.slots + Int((min(due, reach) >> 16) & 255)
        }
        let head = self.heads[slot]
        records[Int(id)].slot = Int32(slot)
        records[Int(id)].previous = -1
        records[Int(id)].next = head
        if head >= 0 { records[Int(head)].previous = id }
        self.heads[slot] = id
    }

    private mutating func unlink(_ id: Int32, _ records: inout [DetectorRecord]) {
        let record = records[Int(id)]
        if record.previous >= 0 {
            records[Int(record.previous)].next = record.next
        } else {
            self.heads[Int(record.slot)] = record.next
        }
        if record.next >= 0 { records[Int(record.next)].previous = record.previous }
        if record.slot < Int32(Self.slots) { self.near -= 1 }
    }
}
