/// All comparisons `value > key` of one value, sorted, with a cursor between those that are true and those that are not.
///
/// A move of the value visits only the keys between its old and its new place. Entries stand in chunks of bounded size,
/// so that adding or removing one moves few others. What an entry stands for is its owner's business: a detector with a
/// leading or a restarting rest, or a comparison of a compound condition.
struct ThresholdTable {
    enum Purpose {
        /// Entries are detectors; those that rest are left out until the owner ends their rest.
        case leading
        /// Entries are detectors, which may fire when they have not been true for their rest.
        case restarting
        /// Entries are comparisons; every crossing is reported.
        case watching
    }

    static let capacity = 256
    private static let words = capacity / 64
    /// The stamp of an entry that has never been true.
    static let never = Int64.min

    let purpose: Purpose
    // One entry's numbers stand at the same place of each column; a chunk owns `capacity` places.
    private var keys: [Double] = []
    private var ids: [UInt32] = []
    /// When the entry was last true, as far as it is not now.
    private var stamps: [Int64] = []
    private var rests: [Int64] = []
    private var resting: [UInt64] = []
    private var counts: [Int] = []
    private var shortest: [Int64] = []
    private var free: [Int32] = []
    /// The chunks in the order of their keys; none is empty.
    private var order: [Int32] = []
    private var cursor = Cursor(chunk: 0, offset: 0)
    private(set) var count = 0
    /// The value that the cursor stands for; not exactly the latest, but no key lies between.
    private(set) var value = -Double.infinity
    private var ladder = PeakLadder()
    /// While the value stays above `lower` and up to `upper`, nothing changes.
    private(set) var lower = -Double.infinity
    private(set) var upper = Double.infinity
    /// The shortest rest of all, for the looks that lie so far apart that a true entry may fire again.
    private(set) var shortestRest = Int64.max

    /// The first false entry: an index into `order`, and one into the chunk.
    private struct Cursor: Equatable {
        var chunk: Int
        var offset: Int
    }

    init(_ purpose: Purpose) {
        self.purpose = purpose
    }

    var hasTrue: Bool { self.cursor.chunk > 0 || self.cursor.offset > 0 }

    // MARK: Moving

    /// Moves the value, and appends to `crossed` the entries that became true and may fire, or that a watcher must know.
    ///
    /// `previous` is the time of the look before, at which entries that fall now were last true.
    mutating func move(to value: Double, now: Int64, previous: Int64, crossed: inout [UInt32]) {
        if value > self.value {
            self.rise(to: value, now: now, &crossed)
        } else {
            self.fall(to: value, previous: previous, &crossed)
        }
        self.value = value
        self.updateBounds()
    }

    private mutating func rise(to value: Double, now: Int64, _ crossed: inout [UInt32]) {
        self.ladder.rise(from: self.value, to: value)
        while self.cursor.chunk < self.order.count {
            let chunk = Int(self.order[self.cursor.chunk])
            let (start, count) = (chunk * Self.capacity, self.counts[chunk])
            let end = self.place(of: value, start: start, from: self.cursor.offset, to: count)
            self.risen(chunk, self.cursor.offset, end, now, &crossed)
            guard end == count else {
                self.cursor.offset = end
                return
            }
            self.cursor = Cursor(chunk: self.cursor.chunk + 1, offset: 0)
        }
    }

    private mutating func risen(_ chunk: Int, _ from: Int, _ to: Int, _ now: Int64, _ crossed: inout [UInt32]) {
        guard from < to else { return }
        let start = chunk * Self.capacity
        switch self.purpose {
        case .watching:
            for place in start + from..<start + to { crossed.append(self.ids[place]) }
        case .restarting:
            for place in start + from..<start + to where self.isRested(place, at: now) {
                crossed.append(self.ids[place])
            }
        case .leading:
            // 64 entries at a time: during a rest, crossing back and forth costs next to nothing.
            var word = from / 64
            while word * 64 < to {
                let low = max(from - word * 64, 0)
                let high = min(to - word * 64, 64)
                let mask = (high == 64 ? ~0 : (UInt64(1) << UInt64(high)) - 1) & (~0 << UInt64(low))
                let index = chunk * Self.words + word
                var awake = mask & ~self.resting[index]
                self.resting[index] |= mask
                while awake != 0 {
                    crossed.append(self.ids[start + word * 64 + awake.trailingZeroBitCount])
                    awake &= awake - 1
                }
                word += 1
            }
        }
    }

    private mutating func fall(to value: Double, previous: Int64, _ crossed: inout [UInt32]) {
        self.ladder.fall(to: value)
        while true {
            if self.cursor.offset == 0 {
                guard self.cursor.chunk > 0 else { return }
                self.cursor.chunk -= 1
                self.cursor.offset = self.counts[Int(self.order[self.cursor.chunk])]
            }
            let chunk = Int(self.order[self.cursor.chunk])
            let start = chunk * Self.capacity
            let end = self.place(of: value, start: start, from: 0, to: self.cursor.offset)
            Self.fill(&self.stamps, start + end..<start + self.cursor.offset, previous)
            if self.purpose == .watching {
                for place in start + end..<start + self.cursor.offset { crossed.append(self.ids[place]) }
            }
            self.cursor.offset = end
            if end == self.counts[chunk] { self.cursor = Cursor(chunk: self.cursor.chunk + 1, offset: 0) }
            if end > 0 { return }
        }
    }

    private static func fill(_ stamps: inout [Int64], _ places: Range<Int>, _ time: Int64) {
        var stamps = stamps.mutableSpan
        precondition(places.upperBound <= stamps.count)
        // SAFETY: checked just now, and a range of places does not begin below 0.
        for place in places { stamps[unchecked: place] = time }
    }

    /// The first entry of a chunk, between two offsets, whose key is not below `value`.
    ///
    /// Without branches on the keys, which a shake makes unpredictable.
    private func place(of value: Double, start: Int, from: Int, to: Int) -> Int {
        guard from < to else { return from }
        let keys = self.keys.span.extracting(start + from..<start + to)
        var base = 0
        var count = keys.count
        while count > 1 {
            let half = count / 2
            // SAFETY: base + count never exceeds the span's count.
            base = keys[unchecked: base + half - 1] < value ? base + half : base
            count -= half
        }
        return from + base + (keys[unchecked: base] < value ? 1 : 0)
    }

    private func isRested(_ place: Int, at now: Int64) -> Bool {
        let stamp = self.stamps[place]
        return stamp == Self.never || now - stamp >= self.rests[place]
    }

    /// Appends the entries that stay true and may fire again because the look before is a whole rest ago.
    mutating func repeated(after pause: Int64, crossed: inout [UInt32]) {
        for index in 0..<min(self.order.count, self.cursor.chunk + 1) {
            let chunk = Int(self.order[index])
            guard self.shortest[chunk] <= pause else { continue }
            let end = index == self.cursor.chunk ? self.cursor.offset : self.counts[chunk]
            let start = chunk * Self.capacity
            for place in start..<start + end where self.rests[place] <= pause { crossed.append(self.ids[place]) }
        }
    }

    private mutating func updateBounds() {
        if self.cursor.chunk < self.order.count {
            self.upper = self.keys[Int(self.order[self.cursor.chunk]) * Self.capacity + self.cursor.offset]
        } else {
            self.upper = .infinity
        }
        if let top = self.ladder.top { self.upper = min(self.upper, top) }
        if self.cursor.offset > 0 {
            self.lower = self.keys[Int(self.order[self.cursor.chunk]) * Self.capacity + self.cursor.offset - 1]
        } else if self.cursor.chunk > 0 {
            let chunk = Int(self.order[self.cursor.chunk - 1])
            self.lower = self.keys[chunk * Self.capacity + self.counts[chunk] - 1]
        } else {
            self.lower = -.infinity
        }
    }

    // MARK: One entry

    /// True when an entry of that key is.
    func isTrue(_ key: Double) -> Bool { key < self.value }

    func stamp(at place: Int32) -> Int64 { self.stamps[Int(place)] }

    /// The largest value since entries of that key became true.
    func peak(of key: Double) -> Double { self.ladder.peak(of: key) ?? self.value }

    mutating func setResting(_ isResting: Bool, at place: Int32) {
        let (word, bit) = (Int(place) / 64, UInt64(1) << UInt64(Int(place) % 64))
        if isResting { self.resting[word] |= bit } else { self.resting[word] &= ~bit }
    }

    // MARK: Adding and removing

    /// What an entry is.
    struct Entry {
        var id: UInt32
        var key: Double
        var rest: Int64 = 0
        var stamp = ThresholdTable.never
        var isResting = false
    }

    /// Adds an entry at the present value, and keeps the places in `seats` right.
    ///
    /// The caller asks `isTrue` and sees to what follows: an added entry has not been crossed.
    mutating func add(_ entry: Entry, value: Double, seats: inout [Seat]) {
        var index = self.chunkIndex(for: entry)
        if self.order.isEmpty {
            self.order.append(self.newChunk())
            index = 0
        }
        if self.counts[Int(self.order[index])] == Self.capacity {
            self.split(index, &seats)
            if self.isBefore(self.firstEntry(index + 1), entry) { index += 1 }
        }
        let chunk = Int(self.order[index])
        let start = chunk * Self.capacity
        let count = self.counts[chunk]
        var place = start
        while place < start + count, self.isBefore((self.keys[place], self.ids[place]), entry) { place += 1 }
        var last = start + count
        while last > place {
            self.copy(last - 1, last, &seats)
            last -= 1
        }
        self.keys[place] = entry.key
        self.ids[place] = entry.id
        self.stamps[place] = entry.stamp
        self.rests[place] = entry.rest
        self.setResting(entry.isResting, at: Int32(place))
        seats[Int(entry.id)].place = Int32(place)
        self.counts[chunk] += 1
        self.count += 1
        self.shortest[chunk] = min(self.shortest[chunk], entry.rest)
        self.shortestRest = min(self.shortestRest, entry.rest)
        self.settle(at: value)
    }

    /// Removes the entry at a place.
    mutating func remove(at position: Int32, seats: inout [Seat]) {
        let chunk = Int(position) / Self.capacity
        let start = chunk * Self.capacity
        for place in Int(position) + 1..<max(Int(position) + 1, start + self.counts[chunk]) {
            self.copy(place, place - 1, &seats)
        }
        self.counts[chunk] -= 1
        self.count -= 1
        if self.counts[chunk] == 0 {
            self.order.removeAll { $0 == Int32(chunk) }
            self.free.append(Int32(chunk))
        } else {
            self.shortest[chunk] = self.rests[start..<start + self.counts[chunk]].min() ?? .max
        }
        self.shortestRest = self.order.map { self.shortest[Int($0)] }.min() ?? .max
        self.settle(at: self.value)
    }

    private mutating func settle(at value: Double) {
        self.value = value
        var (low, high) = (0, self.order.count)
        while low < high {
            let middle = (low + high) / 2
            let chunk = Int(self.order[middle])
            if self.keys[chunk * Self.capacity + self.counts[chunk] - 1] < value {
                low = middle + 1
            } else {
                high = middle
            }
        }
        var offset = 0
        if low < self.order.count {
            let chunk = Int(self.order[low])
            offset = self.place(of: value, start: chunk * Self.capacity, from: 0, to: self.counts[chunk])
        }
        self.cursor = Cursor(chunk: low, offset: offset)
        if self.hasTrue, self.ladder.top == nil { self.ladder.rise(from: -.infinity, to: value) }
        if !self.hasTrue { self.ladder.fall(to: -.infinity) }
        self.updateBounds()
    }

    private func isBefore(_ a: (key: Double, id: UInt32), _ b: Entry) -> Bool {
        a.key < b.key || (a.key == b.key && a.id < b.id)
    }

    private func firstEntry(_ index: Int) -> (key: Double, id: UInt32) {
        let start = Int(self.order[index]) * Self.capacity
        return (self.keys[start], self.ids[start])
    }

    /// The last chunk whose first entry stands before `entry`, or the first.
    private func chunkIndex(for entry: Entry) -> Int {
        var (low, high) = (0, self.order.count)
        while low < high {
            let middle = (low + high) / 2
            if self.isBefore(self.firstEntry(middle), entry) { low = middle + 1 } else { high = middle }
        }
        return max(0, low - 1)
    }

    private mutating func newChunk() -> Int32 {
        let chunk: Int32
        if let known = self.free.popLast() {
            chunk = known
        } else {
            chunk = Int32(self.counts.count)
            self.keys.append(contentsOf: repeatElement(0, count: Self.capacity))
            self.ids.append(contentsOf: repeatElement(0, count: Self.capacity))
            self.stamps.append(contentsOf: repeatElement(Self.never, count: Self.capacity))
            self.rests.append(contentsOf: repeatElement(0, count: Self.capacity))
            self.resting.append(contentsOf: repeatElement(0, count: Self.words))
            self.counts.append(0)
            self.shortest.append(.max)
        }
        self.counts[Int(chunk)] = 0
        self.shortest[Int(chunk)] = .max
        return chunk
    }

    /// Moves the upper half of a full chunk into a new one behind it.
    private mutating func split(_ index: Int, _ seats: inout [Seat]) {
        let chunk = Int(self.order[index])
        let new = self.newChunk()
        self.order.insert(new, at: index + 1)
        let half = Self.capacity / 2
        for offset in half..<Self.capacity {
            self.copy(chunk * Self.capacity + offset, Int(new) * Self.capacity + offset - half, &seats)
        }
        self.counts[chunk] = half
        self.counts[Int(new)] = Self.capacity - half
        self.shortest[Int(new)] = self.shortest[chunk]
    }

    private mutating func copy(_ from: Int, _ to: Int, _ seats: inout [Seat]) {
        self.keys[to] = self.keys[from]
        self.ids[to] = self.ids[from]
        self.stamps[to] = self.stamps[from]
        self.rests[to] = self.rests[from]
        self.setResting(self.resting[from / 64] & (UInt64(1) << UInt64(from % 64)) != 0, at: Int32(to))
        seats[Int(self.ids[to])].place = Int32(to)
    }
}
