import Motion

/// Takes values out of bytes that `ByteWriter` made, or that the disk made of them.
///
/// Whatever the bytes are, it answers or throws: nothing is read beyond them, and no length is believed before what it
/// counts is there.
package struct ByteReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { self.rest = bytes }

    /// To be asked last: a record with something behind it is no record.
    package var isAtEnd: Bool { self.rest.isEmpty }

    private mutating func byte() throws(RecordProblem) -> UInt8 {
        guard let byte = self.rest.popFirst() else { throw .corrupt }
        return byte
    }

    package mutating func number() throws(RecordProblem) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try self.byte()
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || bits <= 1 else { throw .corrupt }
            value |= bits << shift
            if byte < 0x80 {
                // A leading zero would be a second spelling.
                guard byte != 0 || shift == 0 else { throw .corrupt }
                return value
            }
            shift += 7
            guard shift <= 63 else { throw .corrupt }
        }
    }

    package mutating func signed() throws(RecordProblem) -> Int64 {
        let number = try self.number()
        return Int64(bitPattern: number >> 1) ^ -Int64(number & 1)
    }

    mutating func int() throws(RecordProblem) -> Int { Int(try self.signed()) }
    mutating func time() throws(RecordProblem) -> Timestamp { Timestamp(microseconds: try self.signed()) }
    mutating func span() throws(RecordProblem) -> TimeSpan { TimeSpan(microseconds: try self.signed()) }

    mutating func flag() throws(RecordProblem) -> Bool {
        switch try self.byte() {
        case 0: return false
        case 1: return true
        default: throw .corrupt
        }
    }

    package mutating func double() throws(RecordProblem) -> Double {
        var bits: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bits |= UInt64(try self.byte()) << shift }
        return Double(bitPattern: bits)
    }

    mutating func text() throws(RecordProblem) -> String {
        let count = try self.number()
        guard count <= UInt64(self.rest.count) else { throw .corrupt }
        let bytes = self.rest.prefix(Int(count))
        self.rest = self.rest.dropFirst(Int(count))
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .corrupt }
        return text
    }

    mutating func app() throws(RecordProblem) -> AppID {
        let name = try self.text()
        guard name.isEmpty else { return AppID(name) }
        guard let number = UInt32(exactly: try self.number()) else { throw .corrupt }
        return number == 0 ? AppID("") : .anonymous(number)
    }

    mutating func word<Element: Word>() throws(RecordProblem) -> Element {
        let name = try self.text()
        guard let word = Element.allCases.first(where: { $0.name == name }) else { throw .corrupt }
        return word
    }

    mutating func words<Element: Word>() throws(RecordProblem) -> WordSet<Element> {
        if try self.flag() { return .all }
        return WordSet(try self.list { reader throws(RecordProblem) in try reader.word() as Element })
    }

    mutating func optional<Value>(
        _ body: (inout ByteReader) throws(RecordProblem) -> Value
    ) throws(RecordProblem) -> Value? {
        try self.flag() ? try body(&self) : nil
    }

    mutating func list<Value>(
        _ body: (inout ByteReader) throws(RecordProblem) -> Value
    ) throws(RecordProblem) -> [Value] {
        let count = try self.number()
        // Every value takes a byte at least.
        guard count <= UInt64(self.rest.count) else { throw .corrupt }
        var values: [Value] = []
        for _ in 0..<count { values.append(try body(&self)) }
        return values
    }
}

/// Why bytes are no record of ours.
package enum RecordProblem: Swift.Error, Equatable, Sendable {
    /// Written by a version that knew more, or less.
    case version(UInt8)
    /// Not as anybody wrote it.
    case corrupt
}
