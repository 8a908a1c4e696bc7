/// What an X server wants to see of who comes: a secret that it shares with its user.
package struct X11Authority: Hashable, Sendable {
    private let name: [UInt8]
    private let secret: [UInt8]

    /// - Parameter name: what kind of secret it is. Without one a server may still take in whom the kernel says that
    ///   it is.
    package init(name: [UInt8] = [], secret: [UInt8] = []) {
        self.name = name
        self.secret = secret
    }

    /// Asks a server to take us in: the order of bytes, version 11.0 of the protocol, and what there is to show.
    package var request: [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "l"), 0, 11, 0, 0, 0]
        for part in [self.name, self.secret] {
            bytes += [UInt8(truncatingIfNeeded: part.count), UInt8(truncatingIfNeeded: part.count >> 8)]
        }
        bytes += [0, 0]
        for part in [self.name, self.secret] {
            bytes += part
            // Zeros up to the next whole word.
            bytes += [UInt8](repeating: 0, count: (4 - part.count % 4) % 4)
        }
        return bytes
    }
}
