/// Bytes as text, as RFC 4648 has it, with padding.
package enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")
    /// What each byte stands for; 64: it is no digit.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 64, count: 256)
        for (value, digit) in Base64.digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    package static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let part = bytes[start..<min(start + 3, bytes.count)]
            let word = (0..<3).reduce(UInt32(0)) { $0 << 8 | ($1 < part.count ? UInt32(part[start + $1]) : 0) }
            for index in 0..<4 {
                text.append(
                    index <= part.count ? self.digits[Int(word >> (18 - 6 * UInt32(index)) & 63)] : self.padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `nil`: it is nothing of the kind, or could have been written otherwise.
    package static func bytes(_ text: String) -> [UInt8]? {
        let all = Array(text.utf8)
        guard all.count % 4 == 0 else { return nil }
        let values = self.values
        var bytes: [UInt8] = []
        bytes.reserveCapacity(all.count / 4 * 3)
        for start in stride(from: 0, to: all.count, by: 4) {
            let isLast = start + 4 == all.count
            let count = all[start + 3] != self.padding ? 4 : all[start + 2] == self.padding ? 2 : 3
            guard count == 4 || isLast else { return nil }
            var word: UInt32 = 0
            for index in 0..<count {
                let value = values[Int(all[start + index])]
                guard value < 64 else { return nil }
                word |= UInt32(value) << (18 - 6 * UInt32(index))
            }
            // Bits that no byte has have to be 0.
            guard word << (8 + 8 * UInt32(count - 1)) == 0 else { return nil }
            for index in 0..<count - 1 { bytes.append(UInt8(truncatingIfNeeded: word >> (16 - 8 * UInt32(index)))) }
        }
        return bytes
    }
}
