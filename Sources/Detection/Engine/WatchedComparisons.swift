import Motion

/// Keeps the comparisons that compound conditions are made of, each once: whether it is true, and who asks.
struct WatchedComparisons {
    struct Key: Hashable {
        var slot: Int32
        var sign: Double
        var key: Double
    }

    private struct Comparison {
        var key: Key
        var uses = 0
        var isTrue: Bool
        var firstEdge: Int32 = -1
    }

    /// From a comparison to a compound condition that it is part of.
    private struct Edge {
        var compound: Int32
        var next: Int32
    }

    private var comparisons: [Comparison] = []
    private var free = FreePlaces()
    private var known: [Key: Int32] = [:]
    private var edges: [Edge] = []
    private var freeEdges = FreePlaces()

    func number(of key: Key) -> Int32? { self.known[key] }

    /// Takes in a comparison that is new and that nobody asks for yet. It is false until `set` says else.
    mutating func insert(_ key: Key) -> Int32 {
        let number = self.free.put(Comparison(key: key, isTrue: false), into: &self.comparisons)
        self.known[key] = number
        return number
    }

    @inline(__always)
    func isTrue(_ number: Int32) -> Bool { self.comparisons[Int(number)].isTrue }

    /// Notes that a comparison is true, or false.
    mutating func set(_ number: Int32, _ isTrue: Bool) { self.comparisons[Int(number)].isTrue = isTrue }

    /// The first of the edges to those who ask; -1 when there is none.
    func firstEdge(of number: Int32) -> Int32 { self.comparisons[Int(number)].firstEdge }

    /// Who asks, and the edge behind.
    func edge(_ edge: Int32) -> (compound: Int, next: Int32) {
        (Int(self.edges[Int(edge)].compound), self.edges[Int(edge)].next)
    }

    /// A compound condition asks for it from now on.
    mutating func connect(_ number: Int32, to compound: Int32) {
        let number = Int(number)
        let edge = Edge(compound: compound, next: self.comparisons[number].firstEdge)
        self.comparisons[number].firstEdge = self.freeEdges.put(edge, into: &self.edges)
        self.comparisons[number].uses += 1
    }

    /// A compound condition asks no more. True when nobody does: the comparison is gone.
    mutating func disconnect(_ number: Int32, from compound: Int32) -> Bool {
        let index = Int(number)
        var before: Int32 = -1
        var edge = self.comparisons[index].firstEdge
        while edge >= 0, self.edges[Int(edge)].compound != compound {
            before = edge
            edge = self.edges[Int(edge)].next
        }
        guard edge >= 0 else { return false }
        if before >= 0 {
            self.edges[Int(before)].next = self.edges[Int(edge)].next
        } else {
            self.comparisons[index].firstEdge = self.edges[Int(edge)].next
        }
        self.freeEdges.add(edge)
        self.comparisons[index].uses -= 1
        guard self.comparisons[index].uses == 0 else { return false }
        self.known[self.comparisons[index].key] = nil
        self.free.add(number)
        return true
    }

    /// Numbers of comparisons are below this.
    var count: Int { self.comparisons.count }

    /// Gives back memory that was needed for comparisons that are gone.
    mutating func shrink() {
        self.comparisons.removeLast(self.free.cut(from: self.comparisons.count))
        self.comparisons.shrink()
        self.known.shrink()
        self.edges.removeLast(self.freeEdges.cut(from: self.edges.count))
        self.edges.shrink()
    }
}
