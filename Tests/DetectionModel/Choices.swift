/// Where a generator's decisions come from.
package protocol Choices {
    /// One of 0, 1, …, `count` - 1.
    mutating func pick(_ count: Int) -> Int
}

/// Decisions from a seed: SplitMix64, the same on every machine.
package struct SeededChoices: Choices {
    private var state: UInt64

    package init(seed: UInt64) { self.state = seed }

    package mutating func pick(_ count: Int) -> Int {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ (word >> 31)) % UInt64(max(1, count)))
    }
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
