import Motion

/// Puts values into bytes, one behind the other, for `ByteReader` to take out in the same order.
///
/// Whole numbers take as many bytes as they need, seven bits each; words of closed lists are written out, so that a list
/// may grow without what was written before meaning something else.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Begins anew, in the memory that it has.
    mutating func clear() { self.bytes.removeAll(keepingCapacity: true) }

    /// Puts down what was written before.
    package mutating func write(raw bytes: some Collection<UInt8>) { self.bytes += bytes }

    /// Puts another byte in the place of one that stands there.
    mutating func replace(at index: Int, with byte: UInt8) { self.bytes[index] = byte }

    package mutating func write(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// The sign goes to the lowest bit, so that small numbers of both signs stay short.
    package mutating func write(_ number: Int64) {
        self.write(UInt64(bitPattern: number << 1 ^ number >> 63))
    }

    mutating func write(_ number: Int) { self.write(Int64(number)) }
    mutating func write(_ time: Timestamp) { self.write(time.microseconds) }
    mutating func write(_ span: TimeSpan) { self.write(span.microseconds) }
    mutating func write(_ flag: Bool) { self.bytes.append(flag ? 1 : 0) }

    package mutating func write(_ number: Double) {
        withUnsafeBytes(of: number.bitPattern.littleEndian) { self.bytes.append(contentsOf: $0) }
    }

    mutating func write(_ text: String) {
        var text = text
        // In one block: byte by byte costs several times as much.
        text.withUTF8 { bytes in
            self.write(UInt64(bytes.count))
            self.bytes.append(contentsOf: bytes)
        }
    }

    /// A client without a name is told by its number.
    mutating func write(_ id: AppID) {
        self.write(id.name)
        if id.isAnonymous { self.write(UInt64(id.number)) }
    }

    mutating func write(_ word: some Word) { self.write(word.name) }

    /// All the words of a list are told by a flag: it is what most conditions say, and what they go on to say when the
    /// list grows.
    mutating func write<Element>(_ words: WordSet<Element>) {
        let isAll = words.isAll
        self.write(isAll)
        if isAll { return }
        // Most are empty, and a list of none is a list.
        if words.isEmpty { return self.write(UInt64(0)) }
        self.write(words.elements) { $0.write($1) }
    }

    mutating func write<Value>(_ value: Value?, _ body: (inout ByteWriter, Value) -> Void) {
        self.write(value != nil)
        if let value { body(&self, value) }
    }

    mutating func write<Value>(_ values: some Collection<Value>, _ body: (inout ByteWriter, Value) -> Void) {
        self.write(UInt64(values.count))
        for value in values { body(&self, value) }
    }
}
