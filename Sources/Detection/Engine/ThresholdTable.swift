/// Compares one value with many keys: an entry is true while `value > key`. Tells what changes when the value moves.
///
/// A cursor stands between the keys that are true and those that are not, and a move of the value visits only the keys
/// between its old and its new place. In a table of leading detectors it does not visit even those, as long as all of
/// them rest. Whoever is true there rests, or fires and rests from then on: so only entries that the value has not reached
/// can fire, and the value may go where it likes below the first of them that does not rest. What the others must know
/// later, how high it went and when it fell, two ladders keep.
///
/// What an entry stands for is its owner's business: a detector with a leading or a restarting rest, or a comparison of a
/// compound condition.
struct ThresholdTable {
    enum Purpose {
        /// Entries are detectors; those that rest are left out until the owner ends their rest.
        case leading
        /// Entries are detectors, which may fire when they have not been true for their rest.
        case restarting
        /// Entries are comparisons; every crossing is reported.
        case watching
    }

    /// What an entry is.
    struct Entry {
        var id: UInt32
        var key: Double
        var rest: Int64 = 0
        var stamp = EntryRests.never
        /// When a rest ends that runs already.
        var deadline: Int64?
    }

    let purpose: Purpose
    private var keys = SortedKeys()
    private var rests: EntryRests
    /// The first false entry; not kept for leading ones.
    private var cursor = SortedKeys.Position(chunk: 0, offset: 0)
    /// The latest value, or another that no key lies between.
    private(set) var value = -Double.infinity
    private var ladder = PeakLadder()
    /// When the false entries of a leading table were last true.
    private var falls = FallLadder()
    /// Up to this value no leading entry can fire: all below rest.
    private(set) var fireAbove = Double.infinity
    /// While the value stays above `lower` and up to `upper`, nothing changes.
    private(set) var lower = -Double.infinity
    private(set) var upper = Double.infinity

    /// `number` is what the rest wheel tells of this table's words: whose they are.
    init(_ purpose: Purpose, number: Int) {
        self.purpose = purpose
        self.rests = EntryRests(number: purpose == .leading ? Int32(number) : -1)
    }

    var count: Int { self.keys.count }

    var hasTrue: Bool { self.cursor.chunk > 0 || self.cursor.offset > 0 }

    /// The lowest key, infinite without any.
    var lowest: Double { self.keys.lowest }

    var shortestRest: Int64 { self.rests.shortest }

    // MARK: Moving

    /// Moves the value. Detectors that became true and may fire are hits with the peak `peak`; crossed comparisons are
    /// appended to `crossed`.
    ///
    /// `previous` is the time of the look before, at which entries that fall now were last true.
    mutating func move(
        to value: Double, peak: Double, now: Int64, previous: Int64, hits: inout HitCollector,
        crossed: inout [UInt32], wheel: inout RestWheel
    ) {
        guard self.purpose != .leading else {
            self.glide(to: value, previous: previous)
            if value > self.fireAbove { self.wake(upTo: value, peak: peak, at: now, &hits, &wheel) }
            return
        }
        if value > self.value {
            self.rise(to: value, peak, now, &hits, &crossed)
        } else {
            self.fall(to: value, previous: previous, &crossed)
        }
        self.value = value
        self.updateBounds()
    }

    private mutating func rise(
        to value: Double, _ peak: Double, _ now: Int64, _ hits: inout HitCollector, _ crossed: inout [UInt32]
    ) {
        self.ladder.rise(from: self.value, to: value)
        while self.cursor.chunk < self.keys.chunks {
            let chunk = self.keys.chunk(self.cursor.chunk)
            let start = chunk * SortedKeys.capacity
            let from = self.cursor.offset
            let end = self.keys.place(of: value, in: chunk)
            if from < end {
                if self.purpose == .watching {
                    crossed.append(contentsOf: self.keys.ids[start + from..<start + end])
                } else {
                    for place in start + from..<start + end where self.rests.isRested(place, at: now) {
                        hits.add(self.keys.ids[place], peak: peak)
                    }
                }
            }
            guard end == self.keys.count(of: chunk) else {
                self.cursor.offset = end
                return
            }
            self.cursor = SortedKeys.Position(chunk: self.cursor.chunk + 1, offset: 0)
        }
    }

    private mutating func fall(to value: Double, previous: Int64, _ crossed: inout [UInt32]) {
        self.ladder.fall(to: value)
        while true {
            if self.cursor.offset == 0 {
                guard self.cursor.chunk > 0 else { return }
                self.cursor.chunk -= 1
                self.cursor.offset = self.keys.count(of: self.keys.chunk(self.cursor.chunk))
            }
            let chunk = self.keys.chunk(self.cursor.chunk)
            let start = chunk * SortedKeys.capacity
            let from = self.cursor.offset
            let end = self.keys.place(of: value, in: chunk)
            self.rests.stamp(start + end..<start + from, previous)
            if self.purpose == .watching { crossed.append(contentsOf: self.keys.ids[start + end..<start + from]) }
            self.cursor.offset = end
            if end == self.keys.count(of: chunk) {
                self.cursor = SortedKeys.Position(chunk: self.cursor.chunk + 1, offset: 0)
            }
            if end > 0 { return }
        }
    }

    /// Appends the entries that stay true and may fire again because the look before is a whole rest ago.
    func repeated(after pause: Int64, into ids: inout [UInt32]) {
        for index in 0..<min(self.keys.chunks, self.cursor.chunk + 1) {
            let chunk = self.keys.chunk(index)
            guard self.rests.shortest(in: chunk) <= pause else { continue }
            let end = index == self.cursor.chunk ? self.cursor.offset : self.keys.count(of: chunk)
            let start = chunk * SortedKeys.capacity
            for place in start..<start + end where self.rests.rest(at: place) <= pause {
                ids.append(self.keys.ids[place])
            }
        }
    }

    private mutating func updateBounds() {
        self.upper = self.keys.key(at: self.cursor)
        if let top = self.ladder.top { self.upper = min(self.upper, top) }
        self.lower = self.keys.key(before: self.cursor)
    }

    // MARK: Leading rests

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
            self.glide(to: value.orLeast, previous: look > 0 ? times[look - 1] : before)
            look += 1
        }
    }

    /// Lets the value go on; `previous` is the time of the look before.
    private mutating func glide(to value: Double, previous: Int64) {
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
        ladder.shorten { self.keys.hasKey(from: $0, below: $1) }
        swap(&ladder, &self.ladder)
    }

    private mutating func shorten(to value: Double) {
        var falls = FallLadder()
        swap(&falls, &self.falls)
        falls.shorten(above: value) { self.keys.hasKey(from: $0, below: $1) }
        swap(&falls, &self.falls)
    }

    /// Hits of the entries below `value` that do not rest, 64 at a time.
    private mutating func wake(
        upTo value: Double, peak: Double, at now: Int64, _ hits: inout HitCollector, _ wheel: inout RestWheel
    ) {
        var index = self.keys.chunkIndex(of: self.fireAbove)
        self.fireAbove = .infinity
        while index < self.keys.chunks {
            let chunk = self.keys.chunk(index)
            let count = self.keys.count(of: chunk)
            let end = self.keys.place(of: value, in: chunk)
            for word in 0..<EntryRests.words where word * 64 < end {
                let mask = end >= word * 64 + 64 ? ~0 : (UInt64(1) << UInt64(end - word * 64)) - 1
                let place = chunk * EntryRests.words + word
                let awake = mask & self.rests.awake(chunk, word, count: count)
                guard awake != 0 else { continue }
                hits.add(awake, of: self.keys.ids, at: place * 64, peak: peak)
                self.rests.begin(awake, inWord: place, at: now, &wheel)
            }
            if end < count {
                self.findAwake(from: index, offset: end)
                return
            }
            index += 1
        }
    }

    /// Sets `fireAbove` to the key of the first entry from a place on that does not rest, or to one before it: so many
    /// may rest that they are not worth looking at all of them now.
    private mutating func findAwake(from index: Int, offset: Int) {
        var index = index
        var offset = offset
        for _ in 0..<16 {
            let chunk = self.keys.chunk(index)
            for word in offset / 64..<EntryRests.words {
                var awake = self.rests.awake(chunk, word, count: self.keys.count(of: chunk))
                if word == offset / 64 { awake &= ~0 << UInt64(offset % 64) }
                guard awake != 0 else { continue }
                self.fireAbove = self.keys.key(
                    at: chunk * SortedKeys.capacity + word * 64 + awake.trailingZeroBitCount)
                return
            }
            index += 1
            offset = 0
            guard index < self.keys.chunks else { return }
        }
        self.fireAbove = self.keys.key(at: self.keys.chunk(index) * SortedKeys.capacity)
    }

    /// Begins the rest of an entry that fires by itself.
    mutating func beginRest(at place: Int32, _ now: Int64, _ wheel: inout RestWheel) {
        self.rests.begin(UInt64(1) << UInt64(Int(place) % 64), inWord: Int(place) / 64, at: now, &wheel)
    }

    /// Ends the rests of a word that are over, and begins those of its entries that are true anew: these are appended to
    /// `repeated`.
    mutating func endRests(inWord word: Int, at now: Int64, repeated: inout [UInt32], wheel: inout RestWheel) {
        let start = word * 64
        let (ended, next) = self.rests.ended(inWord: word, at: now)
        var again: UInt64 = 0
        // The keys rise, so that those that are true stand first.
        var left = ended
        while left != 0 {
            let bit = left.trailingZeroBitCount
            guard self.isTrue(self.keys.key(at: start + bit)) else { break }
            left &= left - 1
            again |= 1 << UInt64(bit)
            repeated.append(self.keys.ids[start + bit])
        }
        if left != 0 { self.fireAbove = min(self.fireAbove, self.keys.key(at: start + left.trailingZeroBitCount)) }
        self.rests.end(ended, again: again, next: next, inWord: word, at: now, &wheel)
    }

    // MARK: One entry

    /// True when an entry of that key is.
    func isTrue(_ key: Double) -> Bool { key < self.value }

    /// When an entry that is not true was last true; `nil` before it ever was.
    func lastTrue(_ key: Double, at place: Int32) -> Int64? {
        let stamp = self.rests.stamp(at: Int(place))
        guard self.purpose == .leading else { return stamp == EntryRests.never ? nil : stamp }
        // What happened before it was added did not happen to it.
        return self.falls.time(of: key).flatMap { $0 >= stamp ? $0 : nil }
    }

    /// The largest value since entries of that key became true.
    func peak(of key: Double) -> Double { self.ladder.peak(of: key) ?? self.value }

    func rest(at place: Int32) -> Int64 { self.rests.rest(at: Int(place)) }

    /// When the rest of an entry ends, or ended last; `nil` before any.
    func deadline(at place: Int32) -> Int64? { self.rests.deadline(at: Int(place)) }

    // MARK: Adding and removing

    /// Adds an entry at the present value, and keeps the places in `seats` right.
    ///
    /// The caller asks `isTrue` and sees to what follows: an added entry has not been crossed.
    mutating func add(_ entry: Entry, value: Double, seats: inout [Seat], wheel: inout RestWheel) {
        let added = self.keys.insert(entry.key, entry.id)
        if let split = added.split { self.seat(split.to, split.count, &seats) }
        self.seat(added.place, added.shift.count + 1, &seats)
        self.rests.add(entry, added, &wheel)
        // One that is true fires by itself.
        if entry.deadline == nil, entry.key >= value { self.fireAbove = min(self.fireAbove, entry.key) }
        self.settle(at: value)
    }

    /// Removes the entry at a place.
    mutating func remove(at place: Int32, seats: inout [Seat], wheel: inout RestWheel) {
        let shift = self.keys.remove(at: Int(place))
        self.seat(shift.to, shift.count, &seats)
        self.rests.remove(shift, &wheel)
        self.settle(at: self.value)
    }

    /// Gives the wheel its words back, when nothing is left.
    func dissolve(_ wheel: inout RestWheel) { self.rests.dissolve(&wheel) }

    private func seat(_ first: Int, _ count: Int, _ seats: inout [Seat]) {
        for place in first..<first + count { seats[Int(self.keys.ids[place])].place = Int32(place) }
    }

    /// After an entry came or went: what follows from the present value.
    private mutating func settle(at value: Double) {
        guard self.purpose != .leading else {
            self.settleLeading(at: value)
            return
        }
        self.value = value
        self.cursor = self.keys.position(of: value)
        if self.hasTrue, self.ladder.top == nil { self.ladder.rise(from: -.infinity, to: value) }
        if !self.hasTrue { self.ladder.fall(to: -.infinity) }
        self.updateBounds()
    }

    private mutating func settleLeading(at value: Double) {
        if value > self.value { self.falls.rise(to: value) }
        self.value = value
        if self.keys.count == 0 { self.fireAbove = .infinity }
        if value <= self.lowest {
            self.ladder.clear()
        } else if self.ladder.top == nil {
            self.ladder.rise(from: -.infinity, to: value)
        }
    }
}
