/// Keeps when the entries of a table were last true and how long they rest; and of those with a leading rest, which of
/// them rest now.
///
/// An entry's numbers stand at the place of its key. Rests are kept by words: 64 neighbours, most of which begin and end
/// theirs together.
struct EntryRests {
    /// Words of a chunk.
    static let words = SortedKeys.capacity / 64
    /// The stamp of an entry that has never been true.
    static let never = Int64.min

    /// What the rest wheel tells of the words: whose they are. -1 where no rest runs.
    private let number: Int32
    /// When the entry was last true, as far as it is not now; of a leading entry, when it was added.
    private var stamps: [Int64] = []
    private var rests: [Int64] = []
    /// When the rest of a leading entry that runs, or ran last, ends.
    private var deadlines: [Int64] = []
    private var resting: [UInt64] = []
    /// The shortest rest in each chunk.
    private var shortestByChunk: [Int64] = []
    /// The first of a chunk's words in the wheel.
    private var firstWords: [Int32] = []
    /// The shortest rest of all, for the looks that lie so far apart that a true entry may fire again.
    private(set) var shortest = Int64.max

    init(number: Int32) {
        self.number = number
    }

    // MARK: One entry

    func isRested(_ place: Int, at now: Int64) -> Bool {
        let stamp = self.stamps[place]
        return stamp == Self.never || now - stamp >= self.rests[place]
    }

    func stamp(at place: Int) -> Int64 { self.stamps[place] }

    func rest(at place: Int) -> Int64 { self.rests[place] }

    /// When the rest of an entry ends, or ended last; `nil` before any.
    func deadline(at place: Int) -> Int64? {
        let deadline = self.deadlines[place]
        return deadline == Self.never ? nil : deadline
    }

    /// The shortest rest in a chunk.
    func shortest(in chunk: Int) -> Int64 { self.shortestByChunk[chunk] }

    /// Notes when some entries were last true.
    mutating func stamp(_ places: Range<Int>, _ time: Int64) {
        var stamps = self.stamps.mutableSpan
        precondition(places.upperBound <= stamps.count)
        // SAFETY: checked just now, and a range of places does not begin below 0.
        for place in places { stamps[unchecked: place] = time }
    }

    // MARK: Words

    /// Those of a word that do not rest, of a chunk with `count` entries.
    func awake(_ chunk: Int, _ word: Int, count: Int) -> UInt64 {
        let present = count - word * 64
        guard present > 0 else { return 0 }
        let mask = present >= 64 ? ~0 : (UInt64(1) << UInt64(present)) - 1
        return mask & ~self.resting[chunk * Self.words + word]
    }

    /// Begins the rests of some of a word's entries.
    mutating func begin(_ bits: UInt64, inWord word: Int, at now: Int64, _ wheel: inout RestWheel) {
        self.resting[word] |= bits
        let end = Self.begin(bits, at: word * 64, self.rests, &self.deadlines, now)
        wheel.arm(self.wheelWord(word), at: end)
    }

    /// The entries of a word whose rest is over, and when the next of the others ends.
    func ended(inWord word: Int, at now: Int64) -> (UInt64, next: Int64) {
        Self.ended(self.resting[word], at: word * 64, self.deadlines, now)
    }

    /// Ends the rests of a word that are over, as `ended` told; those of `again` begin anew.
    mutating func end(
        _ ended: UInt64, again: UInt64, next: Int64, inWord word: Int, at now: Int64, _ wheel: inout RestWheel
    ) {
        self.resting[word] &= ~ended | again
        var end = next
        if again != 0 { end = min(end, Self.begin(again, at: word * 64, self.rests, &self.deadlines, now)) }
        if end < .max { wheel.arm(self.wheelWord(word), at: end) }
    }

    private func wheelWord(_ word: Int) -> Int32 {
        self.firstWords[word / Self.words] + Int32(word % Self.words)
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

    private static func ended(
        _ bits: UInt64, at start: Int, _ deadlines: borrowing [Int64], _ now: Int64
    ) -> (UInt64, next: Int64) {
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

    // MARK: Adding and removing

    /// Takes in an entry whose key was added.
    mutating func add(_ entry: ThresholdTable.Entry, _ added: SortedKeys.Insertion, _ wheel: inout RestWheel) {
        self.makeRoom(added.places)
        if let chunk = added.begun { self.begin(chunk: chunk, &wheel) }
        if let split = added.split {
            self.move(split)
            let (from, to) = (split.from / SortedKeys.capacity, split.to / SortedKeys.capacity)
            self.shortestByChunk[to] = self.shortestByChunk[from]
            for word in split.from / 64..<(from + 1) * Self.words { self.resting[word] = 0 }
            self.rearm(from: split.to, &wheel)
        }
        self.move(added.shift)
        let place = added.place
        self.stamps[place] = entry.stamp
        self.rests[place] = entry.rest
        self.deadlines[place] = entry.deadline ?? Self.never
        self.setResting(entry.deadline != nil, at: place)
        self.rearm(from: place, &wheel)
        let chunk = place / SortedKeys.capacity
        self.shortestByChunk[chunk] = min(self.shortestByChunk[chunk], entry.rest)
        self.shortest = min(self.shortest, entry.rest)
    }

    /// Forgets an entry whose key was removed, after which the others of its chunk moved.
    mutating func remove(_ shift: SortedKeys.Move, _ wheel: inout RestWheel) {
        self.move(shift)
        let last = shift.to + shift.count
        self.setResting(false, at: last)
        self.rearm(from: shift.to, &wheel)
        let chunk = shift.to / SortedKeys.capacity
        self.shortestByChunk[chunk] = self.rests[chunk * SortedKeys.capacity..<last].min() ?? .max
        self.shortest = self.shortestByChunk.min() ?? .max
    }

    /// Gives the wheel its words back, when nothing is left.
    func dissolve(_ wheel: inout RestWheel) {
        for word in self.firstWords { wheel.release(word, Self.words) }
    }

    private mutating func begin(chunk: Int, _ wheel: inout RestWheel) {
        guard chunk == self.shortestByChunk.count else {
            self.shortestByChunk[chunk] = .max
            return
        }
        self.resting.append(contentsOf: repeatElement(0, count: Self.words))
        self.shortestByChunk.append(.max)
        guard self.number >= 0 else { return }
        self.firstWords.append(wheel.allocate(Self.words, for: self.number, from: chunk * Self.words))
    }

    private mutating func makeRoom(_ places: Int) {
        let missing = places - self.stamps.count
        guard missing > 0 else { return }
        self.stamps.append(contentsOf: repeatElement(Self.never, count: missing))
        self.rests.append(contentsOf: repeatElement(0, count: missing))
        self.deadlines.append(contentsOf: repeatElement(Self.never, count: missing))
    }

    private mutating func move(_ move: SortedKeys.Move) {
        move.apply(to: &self.stamps)
        move.apply(to: &self.rests)
        move.apply(to: &self.deadlines)
        // Where no rest runs no bit is set.
        guard self.number >= 0 else { return }
        if move.from < move.to {
            for index in (0..<move.count).reversed() { self.moveBit(move.from + index, move.to + index) }
        } else {
            for index in 0..<move.count { self.moveBit(move.from + index, move.to + index) }
        }
    }

    private mutating func moveBit(_ from: Int, _ to: Int) {
        self.setResting(self.resting[from / 64] & (UInt64(1) << UInt64(from % 64)) != 0, at: to)
    }

    private mutating func setResting(_ isResting: Bool, at place: Int) {
        let (word, bit) = (place / 64, UInt64(1) << UInt64(place % 64))
        if isResting { self.resting[word] |= bit } else { self.resting[word] &= ~bit }
    }

    /// Arms the words of entries that were moved: the rest of the chunk. A word that is armed too early only finds nothing.
    private func rearm(from place: Int, _ wheel: inout RestWheel) {
        guard self.number >= 0 else { return }
        let end = (place / SortedKeys.capacity + 1) * Self.words
        for word in place / 64..<end where self.resting[word] != 0 {
            wheel.arm(self.wheelWord(word), at: self.ended(inWord: word, at: .min).next)
        }
    }
}
