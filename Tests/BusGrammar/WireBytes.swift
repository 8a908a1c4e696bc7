/// Bytes of a message, in the machine's order, which is little-endian wherever this runs.
package struct WireBytes: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func align(_ step: Int) {
        while !self.bytes.count.isMultiple(of: step) { self.bytes.append(0) }
    }

    package mutating func byte(_ value: UInt8) { self.bytes.append(value) }

    package mutating func number<T: FixedWidthInteger>(_ value: T) {
        self.align(T.bitWidth / 8)
        for place in stride(from: 0, to: T.bitWidth, by: 8) {
            self.bytes.append(UInt8(truncatingIfNeeded: value >> place))
        }
    }

    package mutating func string(_ text: [UInt8]) {
        self.number(UInt32(text.count))
        self.bytes += text
        self.bytes.append(0)
    }

    package mutating func string(_ text: String) { self.string(Array(text.utf8)) }

    package mutating func signature(_ text: String) {
        self.bytes.append(UInt8(text.utf8.count))
        self.bytes += text.utf8
        self.bytes.append(0)
    }

    /// An array whose elements begin at multiples of `step`.
    package mutating func array(alignedTo step: Int, _ body: (inout WireBytes) -> Void) {
        self.number(UInt32(0))
        let length = self.bytes.count - 4
        self.align(step)
        let start = self.bytes.count
        body(&self)
        let count = UInt32(self.bytes.count - start)
        for place in 0..<4 { self.bytes[length + place] = UInt8(truncatingIfNeeded: count >> (place * 8)) }
    }

    package mutating func append(_ other: WireBytes) { self.bytes += other.bytes }
}

/// Numbers in bytes that came.
package func wireNumber<T: FixedWidthInteger>(_ type: T.Type, at place: Int, of bytes: ArraySlice<UInt8>) -> T? {
    let start = bytes.startIndex + place
    guard place >= 0, start + T.bitWidth / 8 <= bytes.endIndex else { return nil }
    var value: T = 0
    for index in 0..<T.bitWidth / 8 { value |= T(truncatingIfNeeded: bytes[start + index]) << T(index * 8) }
    return value
}
