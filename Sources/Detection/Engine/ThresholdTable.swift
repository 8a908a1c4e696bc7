/// All comparisons `value > key` of one value, sorted, with a cursor between those that are true and those that are not.
///
/// A move of the value visits only the keys between its old and its new place; in a table of leading detectors not even
/// those, as long as all of them rest. Entries stand in chunks of bounded size, so that adding or removing one moves few
/// others. What an entry stands for is its owner's business: a detector with a leading or a restarting rest, or a
/// comparison of a compound condition.
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
    static let words = capacity / 64
    private static let pivotsByChunk = capacity / 16
    /// Places of a table's first chunk while that is enough; most features have few thresholds.
    private static let leastRoom = 16
    /// The stamp of an entry that has never been true.
    static let never = Int64.min

    let purpose: Purpose
    /// What the rest wheel tells of this table's words: whose they are.
    private let number: Int32
    // One entry's numbers stand at the same place of each column; a chunk owns `capacity` places.
    private(set) var keys: [Double] = []
    private var pivots: [Double] = []
    private(set) var ids: [UInt32] = []
    /// When the entry was last true, as far as it is not now; of a leading entry, when it was added.
    private var stamps: [Int64] = []
    private(set) var rests: [Int64] = []
    /// When the rest of a leading entry that runs, or ran last, ends.
    var deadlines: [Int64] = []
    var resting: [UInt64] = []
    private(set) var counts: [Int] = []
    private var shortest: [Int64] = []
    /// The first of a chunk's words in the wheel.
    private(set) var firstWords: [Int32] = []
    private var free: [Int32] = []
    /// The chunks in the order of their keys; none is empty.
    private(set) var order: [Int32] = []
    private var cursor = Cursor(chunk: 0, offset: 0)
    private(set) var count = 0
    /// The latest value, or another that no key lies between.
    var value = -Double.infinity
    var ladder = PeakLadder()
    /// When the false entries of a leading table were last true.
    var falls = FallLadder()
    /// Up to this value no leading entry can fire: all below rest.
    var fireAbove = Double.infinity
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

    init(_ purpose: Purpose, number: Int) {
        self.purpose = purpose
        self.number = Int32(number)
    }

    var hasTrue: Bool { self.cursor.chunk > 0 || self.cursor.offset > 0 }

    /// The lowest key, infinite without any.
    var lowest: Double { self.order.isEmpty ? .infinity : self.keys[Int(self.order[0]) * Self.capacity] }

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
        while self.cursor.chunk < self.order.count {
            let chunk = Int(self.order[self.cursor.chunk])
            let (start, count) = (chunk * Self.capacity, self.counts[chunk])
            let from = self.cursor.offset
            let end = self.place(of: value, in: chunk)
            if from < end {
                if self.purpose == .watching {
                    crossed.append(contentsOf: self.ids[start + from..<start + end])
                } else {
                    for place in start + from..<start + end where self.isRested(place, at: now) {
                        hits.add(self.ids[place], peak: peak)
                    }
                }
            }
            guard end == count else {
                self.cursor.offset = end
                return
            }
            self.cursor = Cursor(chunk: self.cursor.chunk + 1, offset: 0)
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
            let from = self.cursor.offset
            let end = self.place(of: value, in: chunk)
            Self.fill(&self.stamps, start + end..<start + from, previous)
            if self.purpose == .watching { crossed.append(contentsOf: self.ids[start + end..<start + from]) }
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

    /// The first entry of a chunk whose key is not below `value`.
    ///
    /// Without branches on the keys, which a shake makes unpredictable, and without waiting for one to choose the next:
    /// the last of every sixteen tells the sixteen. Behind the entries the keys are infinite.
    func place(of value: Double, in chunk: Int) -> Int {
        let block = Self.below(value, self.pivots, chunk * Self.pivotsByChunk)
        let room = self.room(of: chunk)
        guard block * 16 < room else { return room }
        return block * 16 + Self.below(value, self.keys, chunk * Self.capacity + block * 16)
    }

    /// How many of sixteen keys are below a value.
    private static func below(_ value: Double, _ keys: borrowing [Double], _ start: Int) -> Int {
        let bytes = keys.span.extracting(start..<start + 16).bytes
        var count = SIMD4<Double>.zero
        for index in 0..<4 {
            // SAFETY: four times four keys.
            let four = bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: index &* MemoryLayout<SIMD4<Double>>.stride, as: SIMD4<Double>.self)
            count += SIMD4<Double>.zero.replacing(with: 1, where: four .< value)
        }
        return Int(count.sum())
    }

    /// Keeps the last key of every sixteen beside the others.
    private mutating func refreshPivots(_ chunk: Int) {
        for index in 0..<self.room(of: chunk) / 16 {
            self.pivots[chunk * Self.pivotsByChunk + index] = self.keys[chunk * Self.capacity + index * 16 + 15]
        }
    }

    /// The places of a chunk: only a lone one has fewer than its capacity.
    private func room(of chunk: Int) -> Int { min(Self.capacity, self.keys.count - chunk * Self.capacity) }

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

    /// When an entry that is not true was last true; `nil` before it ever was.
    func lastTrue(_ key: Double, at place: Int32) -> Int64? {
        let stamp = self.stamps[Int(place)]
        guard self.purpose == .leading else { return stamp == Self.never ? nil : stamp }
        // What happened before it was added did not happen to it.
        return self.falls.time(of: key).flatMap { $0 >= stamp ? $0 : nil }
    }

    /// The largest value since entries of that key became true.
    func peak(of key: Double) -> Double { self.ladder.peak(of: key) ?? self.value }

    func rest(at place: Int32) -> Int64 { self.rests[Int(place)] }

    // MARK: Adding and removing

    /// What an entry is.
    struct Entry {
        var id: UInt32
        var key: Double
        var rest: Int64 = 0
        var stamp = ThresholdTable.never
        /// When a rest ends that runs already.
        var deadline: Int64?
    }

    /// Adds an entry at the present value, and keeps the places in `seats` right.
    ///
    /// The caller asks `isTrue` and sees to what follows: an added entry has not been crossed.
    mutating func add(_ entry: Entry, value: Double, seats: inout [Seat], wheel: inout RestWheel) {
        var index = self.chunkIndex(for: entry)
        if self.order.isEmpty {
            self.order.append(self.newChunk(&wheel))
            index = 0
        }
        let room = self.room(of: Int(self.order[index]))
        if room < Self.capacity, self.counts[Int(self.order[index])] == room { self.makeRoom(4 * room) }
        if self.counts[Int(self.order[index])] == Self.capacity {
            self.split(index, &seats, &wheel)
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
        self.deadlines[place] = entry.deadline ?? Self.never
        self.setResting(entry.deadline != nil, at: place)
        seats[Int(entry.id)].place = Int32(place)
        self.counts[chunk] += 1
        self.count += 1
        self.refreshPivots(chunk)
        self.rearm(chunk, from: place - start, &wheel)
        self.shortest[chunk] = min(self.shortest[chunk], entry.rest)
        self.shortestRest = min(self.shortestRest, entry.rest)
        // One that is true fires by itself.
        if entry.deadline == nil, entry.key >= value { self.fireAbove = min(self.fireAbove, entry.key) }
        self.settle(at: value)
    }

    /// Removes the entry at a place.
    mutating func remove(at position: Int32, seats: inout [Seat], wheel: inout RestWheel) {
        let chunk = Int(position) / Self.capacity
        let start = chunk * Self.capacity
        for place in Int(position) + 1..<max(Int(position) + 1, start + self.counts[chunk]) {
            self.copy(place, place - 1, &seats)
        }
        self.counts[chunk] -= 1
        self.keys[start + self.counts[chunk]] = .infinity
        self.refreshPivots(chunk)
        self.setResting(false, at: start + self.counts[chunk])
        self.rearm(chunk, from: Int(position) - start, &wheel)
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

    /// Gives the wheel its words back, when nothing is left.
    func dissolve(_ wheel: inout RestWheel) {
        for word in self.firstWords { wheel.release(word, Self.words) }
    }

    private mutating func setResting(_ isResting: Bool, at place: Int) {
        let (word, bit) = (place / 64, UInt64(1) << UInt64(place % 64))
        if isResting { self.resting[word] |= bit } else { self.resting[word] &= ~bit }
    }

    /// The first chunk whose last key is not below `value`, as an index into `order`.
    func chunkIndex(of value: Double) -> Int {
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
        return low
    }

    private mutating func settle(at value: Double) {
        guard self.purpose != .leading else {
            self.settleLeading(at: value)
            return
        }
        self.value = value
        let low = self.chunkIndex(of: value)
        var offset = 0
        if low < self.order.count {
            let chunk = Int(self.order[low])
            offset = self.place(of: value, in: chunk)
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

    private mutating func newChunk(_ wheel: inout RestWheel) -> Int32 {
        let chunk: Int32
        if let known = self.free.popLast() {
            chunk = known
        } else {
            chunk = Int32(self.counts.count)
            self.makeRoom(chunk == 0 ? Self.leastRoom : (Int(chunk) + 1) * Self.capacity)
            self.pivots.append(contentsOf: repeatElement(.infinity, count: Self.pivotsByChunk))
            self.resting.append(contentsOf: repeatElement(0, count: Self.words))
            self.counts.append(0)
            self.shortest.append(.max)
            if self.purpose == .leading {
                self.firstWords.append(wheel.allocate(Self.words, for: self.number, from: Int(chunk) * Self.words))
            }
        }
        self.counts[Int(chunk)] = 0
        self.shortest[Int(chunk)] = .max
        return chunk
    }

    /// Lets every column have that many places.
    private mutating func makeRoom(_ places: Int) {
        let missing = places - self.keys.count
        self.keys.append(contentsOf: repeatElement(.infinity, count: missing))
        self.ids.append(contentsOf: repeatElement(0, count: missing))
        self.stamps.append(contentsOf: repeatElement(Self.never, count: missing))
        self.rests.append(contentsOf: repeatElement(0, count: missing))
        self.deadlines.append(contentsOf: repeatElement(Self.never, count: missing))
    }

    /// Moves the upper half of a full chunk into a new one behind it.
    private mutating func split(_ index: Int, _ seats: inout [Seat], _ wheel: inout RestWheel) {
        let chunk = Int(self.order[index])
        let new = self.newChunk(&wheel)
        self.order.insert(new, at: index + 1)
        let half = Self.capacity / 2
        for offset in half..<Self.capacity {
            self.copy(chunk * Self.capacity + offset, Int(new) * Self.capacity + offset - half, &seats)
        }
        self.counts[chunk] = half
        self.counts[Int(new)] = Self.capacity - half
        self.shortest[Int(new)] = self.shortest[chunk]
        for offset in half..<Self.capacity { self.keys[chunk * Self.capacity + offset] = .infinity }
        self.refreshPivots(chunk)
        self.refreshPivots(Int(new))
        for word in half / 64..<Self.words { self.resting[chunk * Self.words + word] = 0 }
        self.rearm(Int(new), from: 0, &wheel)
    }

    private mutating func copy(_ from: Int, _ to: Int, _ seats: inout [Seat]) {
        self.keys[to] = self.keys[from]
        self.ids[to] = self.ids[from]
        self.stamps[to] = self.stamps[from]
        self.rests[to] = self.rests[from]
        self.deadlines[to] = self.deadlines[from]
        self.setResting(self.resting[from / 64] & (UInt64(1) << UInt64(from % 64)) != 0, at: to)
        seats[Int(self.ids[to])].place = Int32(to)
    }
}
