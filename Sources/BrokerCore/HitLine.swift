import Motion

/// Hits that wait in the order of their times, because a slower sensor may have something to say before them.
struct HitLine {
    private var hits: [Hit] = []
    private var head = 0
    /// So many that were taken may stay in front of the others.
    private static let spare = 64

    var isEmpty: Bool { self.head == self.hits.count }
    var count: Int { self.hits.count - self.head }
    /// The time of the first.
    var next: Timestamp? { self.isEmpty ? nil : self.hits[self.head].time }

    /// Puts a hit behind those of its time.
    mutating func insert(_ hit: Hit) {
        let place = self.hits[self.head...].lastIndex { $0.time <= hit.time }.map { $0 + 1 } ?? self.head
        self.hits.insert(hit, at: place)
    }

    /// Takes out all of the first time.
    mutating func popFirst() -> [Hit] {
        guard let time = self.next else { return [] }
        let end = self.hits[self.head...].firstIndex { $0.time > time } ?? self.hits.count
        let first = Array(self.hits[self.head..<end])
        self.head = end
        if self.isEmpty {
            self.hits.removeAll(keepingCapacity: true)
            self.head = 0
        } else if self.head > Self.spare, self.head > self.hits.count / 2 {
            self.hits.removeFirst(self.head)
            self.head = 0
        }
        return first
    }

    mutating func remove(of detector: DetectorID) {
        self.hits.removeFirst(self.head)
        self.head = 0
        self.hits.removeAll { $0.detector == detector }
    }

    mutating func shrink() { self.hits.shrink() }
}
