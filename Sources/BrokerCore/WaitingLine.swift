import Motion

/// What waits in an order of its own.
protocol Waiting {
    associatedtype Place: Comparable
    /// What comes before another has a lesser one.
    var place: Place { get }
}

/// Keeps what waits in order. Taking from the front costs no more than adding at the end.
struct WaitingLine<Element: Waiting> {
    private var elements: [Element] = []
    private var head = 0
    /// So many that were taken may stay in front of the others, and room for so many is kept for the next ones.
    private static var spare: Int { 64 }

    var isEmpty: Bool { self.head == self.elements.count }
    var count: Int { self.elements.count - self.head }
    var first: Element? { self.isEmpty ? nil : self.elements[self.head] }
    var all: ArraySlice<Element> { self.elements[self.head...] }

    /// Puts an element behind those of its place, which mostly is at the end.
    mutating func insert(_ element: Element) {
        var index = self.elements.count
        while index > self.head, self.elements[index - 1].place > element.place { index -= 1 }
        self.elements.insert(element, at: index)
    }

    /// Puts elements that are in order each behind those of its place. There may be very many, and they are put in together.
    mutating func insert(inOrder others: [Element]) {
        guard let first = others.first, let last = self.elements.last, first.place < last.place else {
            self.elements += others
            return
        }
        var merged: [Element] = []
        merged.reserveCapacity(self.count + others.count)
        var next = self.head
        for other in others {
            while next < self.elements.count, self.elements[next].place <= other.place {
                merged.append(self.elements[next])
                next += 1
            }
            merged.append(other)
        }
        merged += self.elements[next...]
        self.elements = merged
        self.head = 0
    }

    mutating func popFirst() -> Element? {
        guard let first = self.first else { return nil }
        self.drop(1)
        return first
    }

    /// Takes out all of the first place.
    mutating func popAllFirst() -> [Element] {
        guard let place = self.first?.place else { return [] }
        let first = Array(self.all.prefix { $0.place == place })
        self.drop(first.count)
        return first
    }

    private mutating func drop(_ count: Int) {
        self.head += count
        if self.isEmpty {
            self.elements.removeAll(keepingCapacity: self.elements.capacity <= Self.spare)
            self.head = 0
        } else if self.head > Self.spare, self.head > self.elements.count / 4 {
            self.elements.removeFirst(self.head)
            self.head = 0
        }
    }

    /// Takes out what fits, in order.
    @discardableResult
    mutating func remove(where fits: (Element) -> Bool) -> [Element] {
        let gone = self.all.filter(fits)
        if gone.isEmpty { return [] }
        self.elements = self.all.filter { !fits($0) }
        self.head = 0
        return gone
    }

    /// Takes out the first of a place, which mostly is the first of all.
    mutating func takeFirst(at place: Element.Place) -> Element? {
        guard let index = self.all.firstIndex(at: place) else { return nil }
        return index == self.head ? self.popFirst() : self.elements.remove(at: index)
    }

    func has(_ place: Element.Place) -> Bool { self.all.firstIndex(at: place) != nil }

    /// Changes the first of a place, which must stay its place.
    mutating func updateFirst(at place: Element.Place, _ body: (inout Element) -> Void) {
        if let index = self.all.firstIndex(at: place) { body(&self.elements[index]) }
    }

    /// Changes each in its place, which must stay its place.
    mutating func updateEach(_ body: (inout Element) -> Void) {
        for index in self.all.indices { body(&self.elements[index]) }
    }
}

extension WaitingLine: Sendable where Element: Sendable {}

extension RandomAccessCollection where Element: Waiting {
    /// The first of a place, where all are in order. There may be very many.
    func firstIndex(at place: Element.Place) -> Index? {
        var (low, high) = (self.startIndex, self.endIndex)
        while low < high {
            let middle = self.index(low, offsetBy: self.distance(from: low, to: high) / 2)
            if self[middle].place < place { low = self.index(after: middle) } else { high = middle }
        }
        return low < self.endIndex && self[low].place == place ? low : nil
    }
}

extension Hit: Waiting {
    var place: Timestamp { self.time }
}

extension KeptEvent: Waiting {
    var place: UInt64 { self.event.sequence }
}
