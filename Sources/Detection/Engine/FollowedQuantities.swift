/// Follows the quantities of compound conditions: how far each has gone since a condition became true.
struct FollowedQuantities {
    private struct Quantity {
        var slot: Int32
        /// 1 when larger is more, -1 when smaller is.
        var sign: Double
        var uses = 1
        var peaks = PeakHistory()
    }

    private var quantities: [Quantity] = []
    /// How many conditions are true, so that their quantities are followed.
    private(set) var active = 0

    var indices: Range<Int> { self.quantities.indices }

    /// The quantity of this slot and sign, and one user more for it.
    mutating func join(slot: Int32, sign: Double) -> Int32 {
        var free: Int?
        for index in self.quantities.indices {
            if self.quantities[index].uses == 0 {
                free = index
            } else if self.quantities[index].slot == slot, self.quantities[index].sign == sign {
                self.quantities[index].uses += 1
                return Int32(index)
            }
        }
        let quantity = Quantity(slot: slot, sign: sign)
        if let free {
            self.quantities[free] = quantity
            return Int32(free)
        }
        self.quantities.append(quantity)
        return Int32(self.quantities.count - 1)
    }

    mutating func leave(_ index: Int) { self.quantities[index].uses -= 1 }

    func slot(of index: Int) -> Int32 { self.quantities[index].slot }

    func isFollowed(_ index: Int) -> Bool { self.quantities[index].peaks.users > 0 }

    /// Sees the value that the slot of a followed quantity has at this look.
    mutating func look(_ index: Int, _ value: Double) {
        self.quantities[index].peaks.look(self.amount(index, value))
    }

    /// Follows a quantity for a condition that became true at this look.
    mutating func begin(_ index: Int, at time: Int64, _ value: Double) {
        self.quantities[index].peaks.begin(at: time, self.amount(index, value))
        self.active += 1
    }

    /// A condition is not true any more.
    mutating func end(_ index: Int) {
        self.quantities[index].peaks.end()
        self.active -= 1
    }

    /// The extreme since a condition became true, as hits tell it; `value` is that of its slot at this look.
    func peak(_ index: Int, since time: Int64, _ value: Double) -> Double {
        let peak = self.quantities[index].peaks.peak(since: time) ?? self.amount(index, value)
        return self.quantities[index].sign * peak
    }

    /// A value as hits tell it: the extreme of one look.
    func peak(_ index: Int, _ value: Double) -> Double {
        self.quantities[index].sign * self.amount(index, value)
    }

    /// How much that is, signed so that more is larger; the least of all when undefined.
    private func amount(_ index: Int, _ value: Double) -> Double {
        (self.quantities[index].sign * value).orLeast
    }
}
