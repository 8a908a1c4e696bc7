import Motion

/// What waits, in its order. Whoever comes behind all others moves nobody, nor does the first when it goes.
struct OrderedLine<Element: Comparable & Sendable>: Sendable {
    private var elements: [Element] = []
    /// So many at the beginning have gone.
    private var gone = 0

    init() {}

    var first: Element? { self.gone < self.elements.count ? self.elements[self.gone] : nil }

    mutating func insert(_ element: Element) { self.elements.insert(element, at: self.place(of: element)) }

    /// Takes out what is there; of what is not, nothing is known.
    mutating func remove(_ element: Element) {
        let place = self.place(of: element)
        guard place < self.elements.count, self.elements[place] == element else { return }
        guard place == self.gone else {
            self.elements.remove(at: place)
            return
        }
        self.gone += 1
        if self.gone > self.elements.count / 2 {
            self.elements.removeFirst(self.gone)
            self.gone = 0
        }
    }

    mutating func shrink() { self.elements.shrink() }

    /// Where it is, or is to be: behind all that go before it.
    private func place(of element: Element) -> Int {
        var (low, high) = (self.gone, self.elements.count)
        while low < high {
            let middle = low + (high - low) / 2
            if self.elements[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
