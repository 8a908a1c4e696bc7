/// Detectors with a leading rest. Whoever is true rests, or fires and rests from then on: so only entries that the value
/// has not reached can fire, and the value may go where it likes below the first of them that does not rest. What the
/// others must know later, how high it went and when it fell, two ladders keep.
extension ThresholdTable {
    /// Lets the value go through some looks, none of which makes anybody fire.
    mutating func glide(
        _ columns: borrowing [Double], _ column: Int, sign: Double, looks: Range<Int>, _ times: borrowing [Int64],
        before: Int64
    ) {
        var look = looks.lowerBound
        while look < looks.upperBound {
            var value = sign * columns[column + look]
            if value > self.value {
                // Of several rises the last one tells all.
                while look + 1 < looks.upperBound, case let next = sign * columns[column + look + 1], next > value {
                    value = next
                    look += 1
                }
            }
            self.glide(to: value.isNaN ? -.infinity : value, previous: look > 0 ? times[look - 1] : before)
            look += 1
        }
    }

    /// Lets the value go on; `previous` is the time of the look before.
    mutating func glide(to value: Double, previous: Int64) {
        let lowest = self.lowest
        if value > self.value {
            if value > lowest {
                self.ladder.rise(from: self.value, to: value)
                if self.ladder.isLong { self.shorten() }
            }
            self.falls.rise(to: value)
        } else if self.value > lowest, value < self.value {
            self.falls.fall(from: self.value, at: previous)
            if self.falls.isLong { self.shorten(to: value) }
            if value > lowest { self.ladder.fall(to: value) } else { self.ladder.clear() }
        }
        self.value = value
    }

    /// Drops what no entry asks for, so that ladders have no more steps than there are entries.
    private mutating func shorten() {
        var ladder = PeakLadder()
        swap(&ladder, &self.ladder)
        ladder.shorten { self.hasKey(from: $0, below: $1) }
        swap(&ladder, &self.ladder)
    }

    private mutating func shorten(to value: Double) {
        var falls = FallLadder()
        swap(&falls, &self.falls)
        falls.shorten(above: value) { self.hasKey(from: $0, below: $1) }
        swap(&falls, &self.falls)
    }

    private func hasKey(from low: Double, below high: Double) -> Bool {
        let index = self.chunkIndex(of: low)
        guard index < self.order.count else { return false }
        let chunk = Int(self.order[index])
        return self.keys[chunk * Self.capacity + self.place(of: low, in: chunk)] < high
    }

    /// Hits of the entries below `value` that do not rest, 64 at a time.
    mutating func wake(
        upTo value: Double, peak: Double, at now: Int64, _ hits: inout HitCollector, _ wheel: inout RestWheel
    ) {
        var index = self.chunkIndex(of: self.fireAbove)
        self.fireAbove = .infinity
        while index < self.order.count {
            let chunk = Int(self.order[index])
            let end = self.place(of: value, in: chunk)
            for word in 0..<Self.words where word * 64 < end {
                let mask = end >= word * 64 + 64 ? ~0 : (UInt64(1) << UInt64(end - word * 64)) - 1
                let place = chunk * Self.words + word
                let awake = mask & self.awake(chunk, word)
                guard awake != 0 else { continue }
                self.resting[place] |= awake
                hits.add(awake, of: self.ids, at: place * 64, peak: peak)
                let end = Self.begin(awake, at: place * 64, self.rests, &self.deadlines, now)
                wheel.arm(self.firstWords[chunk] + Int32(word), at: end)
            }
            if end < self.counts[chunk] {
                self.findAwake(from: index, offset: end)
                return
            }
            index += 1
        }
    }

    /// The entries of a word that do not rest.
    private func awake(_ chunk: Int, _ word: Int) -> UInt64 {
        let present = self.counts[chunk] - word * 64
        guard present > 0 else { return 0 }
        let mask = present >= 64 ? ~0 : (UInt64(1) << UInt64(present)) - 1
        return mask & ~self.resting[chunk * Self.words + word]
    }

    /// Sets `fireAbove` to the key of the first entry from a place on that does not rest, or to one before it: so many
    /// may rest that they are not worth looking at all of them now.
    private mutating func findAwake(from index: Int, offset: Int) {
        var index = index
        var offset = offset
        for _ in 0..<16 {
            let chunk = Int(self.order[index])
            for word in offset / 64..<Self.words {
                var awake = self.awake(chunk, word)
                if word == offset / 64 { awake &= ~0 << UInt64(offset % 64) }
                guard awake != 0 else { continue }
                self.fireAbove = self.keys[chunk * Self.capacity + word * 64 + awake.trailingZeroBitCount]
                return
            }
            index += 1
            offset = 0
            guard index < self.order.count else { return }
        }
        self.fireAbove = self.keys[Int(self.order[index]) * Self.capacity]
    }

    // MARK: Rests

    /// When the rest of an entry ends, or ended last; `nil` before any.
    func deadline(at place: Int32) -> Int64? {
        let deadline = self.deadlines[Int(place)]
        return deadline == Self.never ? nil : deadline
    }

    /// Begins the rest of an entry that fires by itself.
    mutating func beginRest(at place: Int32, _ now: Int64, _ wheel: inout RestWheel) {
        let word = Int(place) / 64
        let bit = UInt64(1) << UInt64(Int(place) % 64)
        self.resting[word] |= bit
        let end = Self.begin(bit, at: word * 64, self.rests, &self.deadlines, now)
        wheel.arm(self.firstWords[word / Self.words] + Int32(word % Self.words), at: end)
    }

    /// Begins the rests of a word's entries; returns when the first of them ends.
    private static func begin(
        _ bits: UInt64, at start: Int, _ rests: borrowing [Int64], _ deadlines: inout [Int64], _ now: Int64
    ) -> Int64 {
        let rests = rests.span.extracting(start..<min(start + 64, rests.count))
        var deadlines = deadlines.mutableSpan
        precondition(deadlines.count >= start + rests.count)
        var first = Int64.max
        var left = bits
        while left != 0 {
            // SAFETY: each bit stands for an entry, whose place both columns have.
            let place = left.trailingZeroBitCount
            left &= left &- 1
            // Even the shortest rest ends at a later look.
            let end = now &+ max(1, rests[unchecked: place])
            deadlines[unchecked: start &+ place] = end
            first = min(first, end)
        }
        return first
    }

    /// Ends the rests of a word that are over, and begins those of its entries that are true anew: these are appended to
    /// `repeated`.
    mutating func endRests(inWord word: Int, at now: Int64, repeated: inout [UInt32], wheel: inout RestWheel) {
        let chunk = word / Self.words
        let start = word * 64
        let (ended, next) = Self.ended(self.resting[word], at: start, self.deadlines, now)
        var end = next
        var again: UInt64 = 0
        // The keys rise, so that those that are true stand first.
        var left = ended
        while left != 0 {
            let bit = left.trailingZeroBitCount
            guard self.isTrue(self.keys[start + bit]) else { break }
            left &= left - 1
            again |= 1 << UInt64(bit)
            repeated.append(self.ids[start + bit])
        }
        self.resting[word] &= ~ended | again
        if left != 0 { self.fireAbove = min(self.fireAbove, self.keys[start + left.trailingZeroBitCount]) }
        if again != 0 { end = min(end, Self.begin(again, at: start, self.rests, &self.deadlines, now)) }
        if end < .max { wheel.arm(self.firstWords[chunk] + Int32(word % Self.words), at: end) }
    }

    /// The entries of a word whose rest is over, and when the next of the others ends.
    private static func ended(
        _ bits: UInt64, at start: Int, _ deadlines: borrowing [Int64], _ now: Int64
    ) -> (UInt64, Int64) {
        let deadlines = deadlines.span.extracting(start..<min(start + 64, deadlines.count))
        var ended: UInt64 = 0
        var next = Int64.max
        var left = bits
        while left != 0 {
            // SAFETY: each bit stands for an entry.
            let place = left.trailingZeroBitCount
            left &= left &- 1
            let end = deadlines[unchecked: place]
            if end <= now {
                ended |= 1 << UInt64(truncatingIfNeeded: place)
            } else {
                next = min(next, end)
            }
        }
        return (ended, next)
    }

    /// Arms the words of a chunk whose entries were moved. A word that is armed too early only finds nothing.
    func rearm(_ chunk: Int, from offset: Int, _ wheel: inout RestWheel) {
        guard self.purpose == .leading else { return }
        for word in offset / 64..<Self.words {
            let index = chunk * Self.words + word
            guard self.resting[index] != 0 else { continue }
            let end = Self.ended(self.resting[index], at: index * 64, self.deadlines, .min).1
            wheel.arm(self.firstWords[chunk] + Int32(word), at: end)
        }
    }

    /// After an entry came or went: the ladders of the present value.
    mutating func settleLeading(at value: Double) {
        if value > self.value { self.falls.rise(to: value) }
        self.value = value
        if self.order.isEmpty { self.fireAbove = .infinity }
        if value <= self.lowest {
            self.ladder.clear()
        } else if self.ladder.top == nil {
            self.ladder.rise(from: -.infinity, to: value)
        }
    }
}
