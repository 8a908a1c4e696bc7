package import Motion

/// At most one deadline for each app, the earliest first, and among equal ones the app that came first.
package struct DeadlineHeap: Sendable {
    package struct Entry: Comparable, Sendable {
        package var time: Timestamp
        /// Rises with each app that comes.
        package var order: UInt64
        package var app: AppHandle

        package static func < (a: Entry, b: Entry) -> Bool { (a.time, a.order) < (b.time, b.order) }
    }

    package init() {}

    private var heap: [Entry] = []
    /// Where in the heap an app's deadline is, or -1.
    private var positions: [Int32] = []

    package var first: Entry? { self.heap.first }
    package var count: Int { self.heap.count }

    /// Sets, moves or takes away the deadline of an app.
    package mutating func set(_ app: AppHandle, _ order: UInt64, to time: Timestamp?) {
        let index = Int(app.index)
        let position = index < self.positions.count ? Int(self.positions[index]) : -1
        guard let time else {
            if position >= 0 { self.remove(at: position) }
            return
        }
        if position >= 0 {
            self.heap[position].time = time
            self.heap[position].order = order
            self.restore(position)
            return
        }
        while self.positions.count <= index { self.positions.append(-1) }
        self.heap.append(Entry(time: time, order: order, app: app))
        self.positions[index] = Int32(truncatingIfNeeded: self.heap.count - 1)
        self.restore(self.heap.count - 1)
    }

    package mutating func shrink() {
        while self.positions.last == -1 { self.positions.removeLast() }
        self.positions.shrink()
        self.heap.shrink()
    }

    private mutating func remove(at position: Int) {
        let last = self.heap.count - 1
        self.swap(position, last)
        self.positions[Int(self.heap[last].app.index)] = -1
        self.heap.removeLast()
        if position < last { self.restore(position) }
    }

    private mutating func restore(_ start: Int) {
        var position = start
        while position > 0, self.heap[position] < self.heap[(position - 1) / 2] {
            self.swap(position, (position - 1) / 2)
            position = (position - 1) / 2
        }
        while true {
            var least = position
            for child in [2 * position + 1, 2 * position + 2]
            where child < self.heap.count && self.heap[child] < self.heap[least] {
                least = child
            }
            if least == position { return }
            self.swap(position, least)
            position = least
        }
    }

    private mutating func swap(_ a: Int, _ b: Int) {
        guard a != b else { return }
        self.heap.swapAt(a, b)
        self.positions[Int(self.heap[a].app.index)] = Int32(truncatingIfNeeded: a)
        self.positions[Int(self.heap[b].app.index)] = Int32(truncatingIfNeeded: b)
    }
}
