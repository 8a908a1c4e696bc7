/// Keeps keys in their order, and whose they are.
///
/// They stand in chunks of bounded size, so that adding or removing one moves few others. A place is an index that other
/// columns share: whoever keeps one is told what moved.
struct SortedKeys {
    static let capacity = 256
    private static let pivotsByChunk = capacity / 16
    /// Places of the first chunk while that is enough; most features have few thresholds.
    private static let leastRoom = 16

    /// Keys that moved, all by as much.
    struct Move {
        var from: Int
        var to: Int
        var count: Int

        /// Moves what stands there in a column, too.
        func apply<Element: BitwiseCopyable>(to column: inout [Element]) {
            var column = column.mutableSpan
            if self.from < self.to {
                for index in (0..<self.count).reversed() { column[self.to + index] = column[self.from + index] }
            } else {
                for index in 0..<self.count { column[self.to + index] = column[self.from + index] }
            }
        }
    }

    /// What became of the places when a key came.
    struct Insertion {
        var place: Int
        /// How many places there are now.
        var places: Int
        /// A chunk that was begun for it.
        var begun: Int?
        /// How that chunk got the upper half of a full one, before all else moved.
        var split: Move?
        /// Those behind the new one in its chunk.
        var shift: Move
    }

    /// The first key that is not below a value: an index into the chunks in their order, and one into the chunk.
    struct Position: Equatable {
        var chunk: Int
        var offset: Int
    }

    // A chunk owns `capacity` places of each column. Behind the entries the keys are infinite.
    private var keys: [Double] = []
    private var pivots: [Double] = []
    private(set) var ids: [UInt32] = []
    private var counts: [Int] = []
    private var free: [Int32] = []
    /// The chunks in the order of their keys; none is empty.
    private var order: [Int32] = []
    private(set) var count = 0

    /// How many chunks there are.
    var chunks: Int { self.order.count }

    /// The number of the chunk that stands there in the order.
    func chunk(_ index: Int) -> Int { Int(self.order[index]) }

    func count(of chunk: Int) -> Int { self.counts[chunk] }

    func key(at place: Int) -> Double { self.keys[place] }

    /// The lowest key, infinite without any.
    var lowest: Double { self.order.isEmpty ? .infinity : self.keys[Int(self.order[0]) * Self.capacity] }

    // MARK: Searching

    /// The first entry of a chunk whose key is not below `value`.
    ///
    /// Without branches on the keys, which a shake makes unpredictable, and without waiting for one to choose the next:
    /// the last of every sixteen tells the sixteen.
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

    /// The first chunk whose last key is not below `value`, as an index into the order.
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

    func position(of value: Double) -> Position {
        let index = self.chunkIndex(of: value)
        guard index < self.order.count else { return Position(chunk: index, offset: 0) }
        return Position(chunk: index, offset: self.place(of: value, in: Int(self.order[index])))
    }

    /// The key at a position, infinite at the end.
    func key(at position: Position) -> Double {
        guard position.chunk < self.order.count else { return .infinity }
        return self.keys[Int(self.order[position.chunk]) * Self.capacity + position.offset]
    }

    /// The last key before a position, the least of all at the beginning.
    func key(before position: Position) -> Double {
        if position.offset > 0 {
            return self.keys[Int(self.order[position.chunk]) * Self.capacity + position.offset - 1]
        }
        guard position.chunk > 0 else { return -.infinity }
        let chunk = Int(self.order[position.chunk - 1])
        return self.keys[chunk * Self.capacity + self.counts[chunk] - 1]
    }

    /// True when there is a key from `low` on and below `high`.
    func hasKey(from low: Double, below high: Double) -> Bool {
        let index = self.chunkIndex(of: low)
        guard index < self.order.count else { return false }
        let chunk = Int(self.order[index])
        return self.keys[chunk * Self.capacity + self.place(of: low, in: chunk)] < high
    }

    // MARK: Adding and removing

    /// Adds a key, behind equal ones of lower ids.
    mutating func insert(_ key: Double, _ id: UInt32) -> Insertion {
        var index = self.chunkIndex(for: key, id)
        var begun: Int?
        var split: Move?
        if self.order.isEmpty {
            let chunk = self.newChunk()
            self.order.append(Int32(chunk))
            begun = chunk
            index = 0
        }
        let room = self.room(of: Int(self.order[index]))
        if room < Self.capacity, self.counts[Int(self.order[index])] == room { self.makeRoom(4 * room) }
        if self.counts[Int(self.order[index])] == Self.capacity {
            let half = self.split(index)
            split = half
            begun = half.to / Self.capacity
            if self.isFirst(ofChunk: index + 1, before: key, id) { index += 1 }
        }
        let chunk = Int(self.order[index])
        let start = chunk * Self.capacity
        let end = start + self.counts[chunk]
        var place = start
        while place < end, self.isEntry(at: place, before: key, id) { place += 1 }
        let shift = Move(from: place, to: place + 1, count: end - place)
        self.move(shift)
        self.keys[place] = key
        self.ids[place] = id
        self.counts[chunk] += 1
        self.count += 1
        self.refreshPivots(chunk)
        return Insertion(place: place, places: self.keys.count, begun: begun, split: split, shift: shift)
    }

    /// Removes the key at a place; returns how those behind it in its chunk moved.
    mutating func remove(at place: Int) -> Move {
        let chunk = place / Self.capacity
        let last = chunk * Self.capacity + self.counts[chunk] - 1
        let shift = Move(from: place + 1, to: place, count: last - place)
        self.move(shift)
        self.keys[last] = .infinity
        self.counts[chunk] -= 1
        self.count -= 1
        self.refreshPivots(chunk)
        if self.counts[chunk] == 0 {
            self.order.removeAll { $0 == Int32(chunk) }
            self.free.append(Int32(chunk))
        }
        return shift
    }

    private mutating func move(_ move: Move) {
        move.apply(to: &self.keys)
        move.apply(to: &self.ids)
    }

    private func isEntry(at place: Int, before key: Double, _ id: UInt32) -> Bool {
        self.keys[place] < key || (self.keys[place] == key && self.ids[place] < id)
    }

    private func isFirst(ofChunk index: Int, before key: Double, _ id: UInt32) -> Bool {
        self.isEntry(at: Int(self.order[index]) * Self.capacity, before: key, id)
    }

    /// The last chunk whose first key stands before this one, or the first.
    private func chunkIndex(for key: Double, _ id: UInt32) -> Int {
        var (low, high) = (0, self.order.count)
        while low < high {
            let middle = (low + high) / 2
            if self.isFirst(ofChunk: middle, before: key, id) { low = middle + 1 } else { high = middle }
        }
        return max(0, low - 1)
    }

    private mutating func newChunk() -> Int {
        if let known = self.free.popLast() { return Int(known) }
        let chunk = self.counts.count
        self.makeRoom(chunk == 0 ? Self.leastRoom : (chunk + 1) * Self.capacity)
        self.pivots.append(contentsOf: repeatElement(.infinity, count: Self.pivotsByChunk))
        self.counts.append(0)
        return chunk
    }

    private mutating func makeRoom(_ places: Int) {
        let missing = places - self.keys.count
        self.keys.append(contentsOf: repeatElement(.infinity, count: missing))
        self.ids.append(contentsOf: repeatElement(0, count: missing))
    }

    /// The places of a chunk: only a lone one has fewer than its capacity.
    private func room(of chunk: Int) -> Int { min(Self.capacity, self.keys.count - chunk * Self.capacity) }

    /// Moves the upper half of a full chunk into a new one behind it.
    private mutating func split(_ index: Int) -> Move {
        let chunk = Int(self.order[index])
        let new = self.newChunk()
        self.order.insert(Int32(new), at: index + 1)
        let start = chunk * Self.capacity + Self.capacity / 2
        let half = Move(from: start, to: new * Self.capacity, count: Self.capacity / 2)
        self.move(half)
        self.counts[chunk] -= half.count
        self.counts[new] = half.count
        for place in start..<start + half.count { self.keys[place] = .infinity }
        self.refreshPivots(chunk)
        self.refreshPivots(new)
        return half
    }

    /// Keeps the last key of every sixteen beside the others.
    private mutating func refreshPivots(_ chunk: Int) {
        for index in 0..<self.room(of: chunk) / 16 {
            self.pivots[chunk * Self.pivotsByChunk + index] = self.keys[chunk * Self.capacity + index * 16 + 15]
        }
    }
}
