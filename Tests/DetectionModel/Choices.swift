import Randomness

/// Where a generator's decisions come from.
package protocol Choices {
    /// One of 0, 1, …, `count` - 1.
    mutating func pick(_ count: Int) -> Int
}

/// Decisions from a seed.
package struct SeededChoices: Choices {
    private var random: SeededRandom

    package init(seed: UInt64) { self.random = SeededRandom(seed: seed) }

    package mutating func pick(_ count: Int) -> Int { Int(self.random.next() % UInt64(max(1, count))) }
}

/// Decisions from bytes that a fuzzer chose. When they are used up, each decision is the first one.
package struct ByteChoices: Choices {
    private var bytes: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    package mutating func pick(_ count: Int) -> Int { Int(self.bytes.popFirst() ?? 0) % max(1, count) }
}

extension Choices {
    package mutating func one<Element>(of list: [Element]) -> Element { list[self.pick(list.count)] }

    /// True once in `count` times, and not when there is nothing left to decide.
    package mutating func happens(onceIn count: Int) -> Bool { self.pick(count) == count - 1 }
}
