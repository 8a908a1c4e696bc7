/// What an input device can do, as its attributes in sysfs tell it: words in hexadecimal digits, the lowest last.
package struct InputBits: Hashable, Sendable {
    private let lowest: UInt32

    /// `nil` for text that is none.
    package init?(_ text: some StringProtocol) {
        // A word has 32 bits or 64, as the kernel has: the lowest 32 stand at the same place, and are all that we need.
        guard let word = text.split(whereSeparator: \.isWhitespace).last.flatMap({ UInt64($0, radix: 16) }) else {
            return nil
        }
        self.lowest = UInt32(truncatingIfNeeded: word)
    }

    /// Whether a bit is set, of the first 32.
    package func has(_ bit: UInt32) -> Bool { bit < 32 && self.lowest >> bit & 1 == 1 }
}
