import Motion

/// How one channel lies in a buffer's scan, as the kernel's `…_type` attribute says it: `le:s12/16>>4`.
package struct ScanFormat: Hashable, Sendable {
    package let isBigEndian: Bool
    package let isSigned: Bool
    /// Bits that count.
    package let bits: Int
    /// Bytes in the scan: 1, 2, 4 or 8.
    package let bytes: Int
    /// Bits to shift away on the right.
    package let shift: Int

    /// Reads `[be|le]:[s|u]bits/storagebits[>>shift]`; `nil` for anything else. Repeated channels (`X4`) are none of ours.
    package init?(_ text: String) {
        let trimmed = text.filter { !$0.isWhitespace && $0 != "\0" }
        let parts = trimmed.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "le" || parts[0] == "be", let sign = parts[1].first,
            sign == "s" || sign == "u" || sign == "S" || sign == "U"
        else { return nil }
        let halves = parts[1].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, let bits = Int(halves[0]) else { return nil }
        let storage: Substring
        var shift = 0
        if let arrow = halves[1].firstIndex(of: ">") {
            let rest = halves[1][arrow...]
            guard rest.hasPrefix(">>"), let value = Int(rest.dropFirst(2)) else { return nil }
            shift = value
            storage = halves[1][..<arrow]
        } else {
            storage = halves[1]
        }
        guard let width = Int(storage), [8, 16, 32, 64].contains(width), (1...width).contains(bits),
            (0...width - bits).contains(shift)
        else { return nil }
        self.isBigEndian = parts[0] == "be"
        self.isSigned = sign == "s" || sign == "S"
        self.bits = bits
        self.bytes = width / 8
        self.shift = shift
    }

    /// The channel's value in a scan that begins at `start`. The scan must have room for it.
    package func raw(_ bytes: Span<UInt8>, at start: Int) -> Int64 {
        var word: UInt64 = 0
        for index in 0..<self.bytes {
            let byte = UInt64(bytes[start + (self.isBigEndian ? index : self.bytes - 1 - index)])
            word = word << 8 | byte
        }
        word >>= UInt64(self.shift)
        let unused = UInt64(64 - self.bits)
        let left = word << unused
        return self.isSigned ? Int64(bitPattern: left) >> Int64(unused) : Int64(bitPattern: left >> unused)
    }

    /// The largest raw value, where that says something: HID sensors declare 32 bits whatever they can measure.
    package var largest: Double? {
        guard self.bits <= 24 else { return nil }
        return Double(Int64(1) << Int64(self.isSigned ? self.bits - 1 : self.bits) - 1)
    }
}

/// Where the enabled channels lie in a scan: in order of their index, each at a multiple of its own size.
package struct ScanLayout: Hashable, Sendable {
    package struct Element: Hashable, Sendable {
        package let index: Int
        package let format: ScanFormat

        package init(index: Int, format: ScanFormat) {
            self.index = index
            self.format = format
        }
    }

    /// Bytes from one scan to the next.
    package let size: Int
    /// The offset of each element, in the order in which they were given.
    package let offsets: [Int]

    /// `nil` when two elements claim the same place.
    package init?(_ elements: [Element]) {
        guard !elements.isEmpty, Set(elements.map(\.index)).count == elements.count else { return nil }
        var offsets = [Int](repeating: 0, count: elements.count)
        var end = 0
        var widest = 1
        for position in elements.indices.sorted(by: { elements[$0].index < elements[$1].index }) {
            let bytes = elements[position].format.bytes
            end = (end + bytes - 1) / bytes * bytes
            offsets[position] = end
            end += bytes
            widest = max(widest, bytes)
        }
        self.offsets = offsets
        self.size = (end + widest - 1) / widest * widest
    }
}
