/// The timers of one clock: a binary heap by (deadline, order of scheduling), in which each timer knows its place.
///
/// A value that is told the time. A timer keeps its handler after it has fired, so that it can be moved to a new deadline
/// without another closure; it ends when it is removed, or after firing if it was made to fire only once.
struct TimerQueue {
    typealias Handler = () -> Void

    /// A timer's handle: a slot, and which of the slot's successive timers is meant.
    struct ID: Hashable, Sendable {
        var slot: UInt32
        var generation: UInt32
    }

    /// A timer taken from the heap to be run, unless it is removed or moved before its turn.
    struct Due {
        var slot: UInt32
        var sequence: UInt64
    }

    private struct Entry {
        var deadline: Int64
        /// Ever rising, new with every insertion and move: equal deadlines run in this order.
        var sequence: UInt64
        var slot: UInt32

        func isBefore(_ other: Entry) -> Bool {
            self.deadline != other.deadline ? self.deadline < other.deadline : self.sequence < other.sequence
        }
    }

    private enum Place: Equatable {
        case free
        /// Not in the heap: it has fired and waits to be moved or removed.
        case idle
        /// Taken by `takeDue` under this sequence, not yet run.
        case due(UInt64)
        case heap(Int)
    }

    private struct Slot {
        var generation: UInt32 = 0
        var place = Place.free
        var firesOnce = false
        var handler: Handler?
    }

    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var nextSequence: UInt64 = 0

    /// The next deadline.
    var earliest: Int64? { self.heap.first?.deadline }

    /// The number of timers waiting for their deadline.
    var count: Int { self.heap.count }

    mutating func insert(at deadline: Int64, firesOnce: Bool, _ handler: @escaping Handler) -> ID {
        let slot: UInt32
        if let reused = self.freeSlots.popLast() {
            slot = reused
        } else {
            slot = UInt32(self.slots.count)
            self.slots.append(Slot())
        }
        self.slots[Int(slot)].firesOnce = firesOnce
        self.slots[Int(slot)].handler = handler
        self.push(slot, at: deadline)
        return ID(slot: slot, generation: self.slots[Int(slot)].generation)
    }

    /// Gives a timer a new deadline, whether it waits or has fired. A removed one stays removed.
    mutating func move(_ id: ID, to deadline: Int64) {
        guard self.isLive(id) else { return }
        if case .heap(let position) = self.slots[Int(id.slot)].place { self.removeEntry(at: position) }
        self.push(id.slot, at: deadline)
    }

    /// Ends a timer. The handler is handed out so that its captures are released outside any access to the queue.
    mutating func remove(_ id: ID) -> Handler? {
        guard self.isLive(id) else { return nil }
        if case .heap(let position) = self.slots[Int(id.slot)].place { self.removeEntry(at: position) }
        return self.freeSlot(id.slot)
    }

    /// Moves all timers with deadlines up to `now` from the heap to the end of `list`, in the order they are to run.
    mutating func takeDue(at now: Int64, into list: inout [Due]) {
        while let first = self.heap.first, first.deadline <= now {
            self.removeEntry(at: 0)
            self.slots[Int(first.slot)].place = .due(first.sequence)
            list.append(Due(slot: first.slot, sequence: first.sequence))
        }
    }

    /// The handler to run for a due timer, or `nil` when the timer has been removed or moved since.
    mutating func fire(_ due: Due) -> Handler? {
        guard self.slots[Int(due.slot)].place == .due(due.sequence) else { return nil }
        if self.slots[Int(due.slot)].firesOnce { return self.freeSlot(due.slot) }
        self.slots[Int(due.slot)].place = .idle
        return self.slots[Int(due.slot)].handler
    }

    private func isLive(_ id: ID) -> Bool {
        let slot = Int(id.slot)
        return slot < self.slots.count && self.slots[slot].generation == id.generation
            && self.slots[slot].place != .free
    }

    private mutating func freeSlot(_ slot: UInt32) -> Handler? {
        let index = Int(slot)
        self.slots[index].generation &+= 1
        self.slots[index].place = .free
        self.freeSlots.append(slot)
        return self.slots[index].handler.take()
    }

    private mutating func push(_ slot: UInt32, at deadline: Int64) {
        self.heap.append(Entry(deadline: deadline, sequence: self.nextSequence, slot: slot))
        self.nextSequence += 1
        self.siftUp(from: self.heap.count - 1)
    }

    private mutating func removeEntry(at position: Int) {
        let last = self.heap.removeLast()
        guard position < self.heap.count else { return }
        self.heap[position] = last
        // The entry that filled the hole may belong on either side of it.
        if position > 0, last.isBefore(self.heap[(position - 1) / 2]) {
            self.siftUp(from: position)
        } else {
            self.siftDown(from: position)
        }
    }

    private mutating func siftUp(from start: Int) {
        let entry = self.heap[start]
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard entry.isBefore(self.heap[parent]) else { break }
            self.put(self.heap[parent], at: position)
            position = parent
        }
        self.put(entry, at: position)
    }

    private mutating func siftDown(from start: Int) {
        let entry = self.heap[start]
        var position = start
        while true {
            var child = 2 * position + 1
            guard child < self.heap.count else { break }
            if child + 1 < self.heap.count, self.heap[child + 1].isBefore(self.heap[child]) { child += 1 }
            guard self.heap[child].isBefore(entry) else { break }
            self.put(self.heap[child], at: position)
            position = child
        }
        self.put(entry, at: position)
    }

    private mutating func put(_ entry: Entry, at position: Int) {
        self.heap[position] = entry
        self.slots[Int(entry.slot)].place = .heap(position)
    }
}

extension TimerQueue {
    /// Whether the heap is in order and every place is right; for tests.
    var isConsistent: Bool {
        for position in self.heap.indices {
            if position > 0, self.heap[position].isBefore(self.heap[(position - 1) / 2]) { return false }
            if self.slots[Int(self.heap[position].slot)].place != .heap(position) { return false }
        }
        return self.freeSlots.allSatisfy { self.slots[Int($0)].place == .free && self.slots[Int($0)].handler == nil }
    }
}
