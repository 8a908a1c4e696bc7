/// A key that somebody pressed.
enum KeyStroke: Hashable, Sendable {
    case character(Character)
    case up, down, pageUp, pageDown, home, end
    case enter, escape, backspace
}

/// Makes keys of the bytes that a terminal sends.
///
/// A value: bytes in, keys out. A sequence may come in pieces; whether a lone escape is a key or the beginning of one, only time
/// tells, so that whoever reads asks for what is left when nothing follows.
struct KeyReader {
    private var pending: [UInt8] = []

    /// Longer than any key's: what is longer is nothing that we know.
    private static let longest = 16

    /// Whether an escape stands there of which it is not known what it is.
    var isWaiting: Bool { !self.pending.isEmpty }

    mutating func take(_ bytes: some Sequence<UInt8>) -> [KeyStroke] {
        self.pending += bytes
        var keys: [KeyStroke] = []
        while let (key, count) = Self.first(self.pending) {
            if let key { keys.append(key) }
            self.pending.removeFirst(count)
        }
        if self.pending.count > Self.longest { self.pending = [] }
        return keys
    }

    /// What is left means what it can mean alone.
    mutating func flush() -> [KeyStroke] {
        defer { self.pending = [] }
        return self.pending.first == 0x1B ? [.escape] : []
    }

    /// The first key and how many bytes it has; no key for what we do not know, `nil` when more has to come.
    private static func first(_ bytes: [UInt8]) -> (key: KeyStroke?, count: Int)? {
        guard let byte = bytes.first else { return nil }
        switch byte {
        case 0x1B: return self.sequence(bytes)
        case 0x0A, 0x0D: return (.enter, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case 0x00..<0x20: return (nil, 1)
        case 0x20..<0x7F: return (.character(Character(Unicode.Scalar(byte))), 1)
        default: return self.letter(bytes)
        }
    }

    /// What is not ASCII: a character of UTF-8.
    private static func letter(_ bytes: [UInt8]) -> (key: KeyStroke?, count: Int)? {
        let count = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2
        guard bytes[0] >= 0xC2, bytes[0] < 0xF5 else { return (nil, 1) }
        guard bytes.count >= count else {
            return bytes.dropFirst().allSatisfy { $0 & 0xC0 == 0x80 } ? nil : (nil, 1)
        }
        guard let text = String(validating: bytes[..<count], as: UTF8.self), text.count == 1,
            let character = text.first
        else { return (nil, 1) }
        return (.character(character), count)
    }

    /// What begins with an escape: `[` or `O`, numbers, and a letter or `~` that ends it.
    private static func sequence(_ bytes: [UInt8]) -> (key: KeyStroke?, count: Int)? {
        guard bytes.count > 1 else { return nil }
        guard bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else { return (.escape, 1) }
        guard let end = bytes.indices.dropFirst(2).first(where: { (0x40...0x7E).contains(bytes[$0]) }) else {
            return nil
        }
        let key: KeyStroke? =
            switch bytes[end] {
            case UInt8(ascii: "A"): .up
            case UInt8(ascii: "B"): .down
            case UInt8(ascii: "H"): .home
            case UInt8(ascii: "F"): .end
            case UInt8(ascii: "~"):
                switch bytes[2..<end].first {
                case UInt8(ascii: "1"), UInt8(ascii: "7"): .home
                case UInt8(ascii: "4"), UInt8(ascii: "8"): .end
                case UInt8(ascii: "5"): .pageUp
                case UInt8(ascii: "6"): .pageDown
                default: nil
                }
            default: nil
            }
        return (key, end + 1)
    }
}
