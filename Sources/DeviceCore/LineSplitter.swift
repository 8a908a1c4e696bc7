/// Cuts what comes in pieces into lines. Memory is bounded by the longest line.
package struct LineSplitter: Sendable {
    private let longest: Int
    private var carry: [UInt8] = []

    package init(longest: Int) { self.longest = longest }

    /// Takes the next bytes; tells each line that they end, without its end. False when a line grows too long.
    package mutating func take(_ bytes: Span<UInt8>, _ onLine: (borrowing [UInt8]) -> Void) -> Bool {
        for index in bytes.indices {
            guard bytes[index] != 0x0A else {
                if self.carry.last == 0x0D { self.carry.removeLast() }
                onLine(self.carry)
                self.carry.removeAll(keepingCapacity: true)
                continue
            }
            guard self.carry.count < self.longest else { return false }
            self.carry.append(bytes[index])
        }
        return true
    }
}
