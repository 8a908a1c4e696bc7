/// What an X server says first to whom it takes in.
///
/// It is looked through, because libxcb believes what it says of its own lengths.
package struct X11Greeting: Hashable, Sendable {
    package let bytes: [UInt8]
    /// The window behind all others, of each screen; there is one at least.
    package let roots: [UInt32]

    /// What comes first of it, and says how long the rest is.
    package static let head = 8
    /// A server takes requests of so many words at least. From one that does not, libxcb asks for more and waits.
    private static let leastRequest: UInt16 = 4_096

    /// - Parameter bytes: the whole of it; `nil` when it is not what it says that it is.
    init?(_ bytes: [UInt8]) {
        let (setup, format, screen, depth, visual) = (40, 8, 40, 8, 24)
        guard bytes.count >= setup, bytes.half(at: 26) >= Self.leastRequest else { return nil }
        let vendor = (Int(bytes.half(at: 24)) + 3) / 4 * 4
        var place = setup + vendor + format * Int(bytes[29])
        var roots: [UInt32] = []
        for _ in 0..<bytes[28] {
            guard bytes.count >= place + screen else { return nil }
            roots.append(bytes.word(at: place))
            let depths = bytes[place + 39]
            place += screen
            for _ in 0..<depths {
                guard bytes.count >= place + depth else { return nil }
                place += depth + visual * Int(bytes.half(at: place + 2))
            }
        }
        guard !roots.isEmpty, place <= bytes.count else { return nil }
        self.bytes = bytes
        self.roots = roots
    }
}

/// Numbers as an X server writes them: the lowest byte first, as it was asked to.
extension [UInt8] {
    /// The number of two bytes at a place that is there.
    func half(at place: Int) -> UInt16 { UInt16(self[place]) | UInt16(self[place + 1]) << 8 }

    /// The number of four bytes at a place that is there.
    func word(at place: Int) -> UInt32 { UInt32(self.half(at: place)) | UInt32(self.half(at: place + 2)) << 16 }
}
