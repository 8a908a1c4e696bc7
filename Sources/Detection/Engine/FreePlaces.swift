import Motion

/// Remembers which places of an array are free, so that what stands in the others never moves.
struct FreePlaces {
    private var places: [Int32] = []

    var isEmpty: Bool { self.places.isEmpty }

    /// Offers a place to whoever comes next.
    mutating func add(_ place: Int32) { self.places.append(place) }

    /// A place that is free no more.
    mutating func take() -> Int32? { self.places.popLast() }

    /// Puts an element into a free place of the array, or behind all others; returns where.
    mutating func put<Element>(_ element: Element, into array: inout [Element]) -> Int32 {
        if let place = self.places.popLast() {
            array[Int(place)] = element
            return place
        }
        array.append(element)
        return Int32(array.count - 1)
    }

    /// How many of the last ones of `count` places are free; they are not offered any more.
    mutating func cut(from count: Int) -> Int {
        guard !self.places.isEmpty else { return 0 }
        let known = Set(self.places)
        var left = count
        while left > 0, known.contains(Int32(left - 1)) { left -= 1 }
        guard left < count else { return 0 }
        self.places.removeAll { $0 >= Int32(left) }
        self.places.shrink()
        return count - left
    }
}
