/// Collections grow with a flood, and keep what it took when it is over. Theirs is a fraction of their memory, then, if they
/// are not told to give it back.
extension Array {
    /// Gives memory back if there is room for four times as many elements as there are.
    package mutating func shrink() {
        guard self.capacity > Shrinking.least, self.capacity / 4 > self.count else { return }
        var fresh: [Element] = []
        fresh.reserveCapacity(self.count)
        for element in self { fresh.append(element) }
        self = fresh
    }
}

extension Dictionary {
    /// The same as for an array. Places may be others afterwards.
    package mutating func shrink() {
        guard self.capacity > Shrinking.least, self.capacity / 4 > self.count else { return }
        var fresh: [Key: Value] = [:]
        fresh.reserveCapacity(self.count)
        for (key, value) in self { fresh[key] = value }
        self = fresh
    }
}

extension Set {
    /// The same as for an array. Places may be others afterwards.
    package mutating func shrink() {
        guard self.capacity > Shrinking.least, self.capacity / 4 > self.count else { return }
        var fresh: Set<Element> = []
        fresh.reserveCapacity(self.count)
        for element in self { fresh.insert(element) }
        self = fresh
    }
}

private enum Shrinking {
    /// What holds no more than so many elements keeps its memory.
    static let least = 256
}
