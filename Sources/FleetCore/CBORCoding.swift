/// Writes and reads CBOR as RFC 8949 has it, of which no more is used than what JSON can say.
///
/// Lengths are definite, numbers are as short as they can be, and the names of an object stand in the order of the JSON.
package enum CBORCoding {
    // MARK: Writing

    package static func bytes(_ value: DataValue) -> [UInt8] {
        var bytes: [UInt8] = []
        self.write(value, to: &bytes)
        return bytes
    }

    private enum Major {
        static let unsigned: UInt8 = 0
        static let negative: UInt8 = 1
        static let bytes: UInt8 = 2
        static let text: UInt8 = 3
        static let list: UInt8 = 4
        static let map: UInt8 = 5
        static let simple: UInt8 = 7
    }

    private static func write(_ value: DataValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(0xF6)
        case .bool(let flag): bytes.append(flag ? 0xF5 : 0xF4)
        case .integer(let number):
            if number >= 0 {
                self.head(Major.unsigned, UInt64(number), to: &bytes)
            } else {
                self.head(Major.negative, UInt64(~number), to: &bytes)
            }
        case .double(let number):
            // As in JSON, what is no number is nothing.
            guard number.isFinite else { return bytes.append(0xF6) }
            bytes.append(0xFB)
            self.put(number.bitPattern, 8, to: &bytes)
        case .text(let text):
            self.head(Major.text, UInt64(text.utf8.count), to: &bytes)
            bytes += text.utf8
        case .list(let values):
            self.head(Major.list, UInt64(values.count), to: &bytes)
            for value in values { self.write(value, to: &bytes) }
        case .object(let fields):
            self.head(Major.map, UInt64(fields.count), to: &bytes)
            for field in fields {
                self.write(.text(field.name), to: &bytes)
                self.write(field.value, to: &bytes)
            }
        }
    }

    private static func put(_ number: UInt64, _ count: Int, to bytes: inout [UInt8]) {
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    private static func head(_ major: UInt8, _ number: UInt64, to bytes: inout [UInt8]) {
        switch number {
        case 0..<24: bytes.append(major << 5 | UInt8(number))
        case 24...0xFF:
            bytes.append(major << 5 | 24)
            self.put(number, 1, to: &bytes)
        case 0x100...0xFFFF:
            bytes.append(major << 5 | 25)
            self.put(number, 2, to: &bytes)
        case 0x1_0000...0xFFFF_FFFF:
            bytes.append(major << 5 | 26)
            self.put(number, 4, to: &bytes)
        default:
            bytes.append(major << 5 | 27)
            self.put(number, 8, to: &bytes)
        }
    }

    // MARK: Reading

    /// Reads one value that is all there is.
    package static func read(_ bytes: [UInt8], atMost most: Int = DataLimits.values) throws(DataProblem) -> DataValue {
        guard bytes.count <= DataLimits.bytes else { throw DataProblem("more than \(DataLimits.bytes) bytes", at: 0) }
        var reader = Reader(bytes: bytes, most: most)
        let value = try reader.value(0)
        guard reader.index == bytes.count else { throw DataProblem("there is more behind the value", at: reader.index) }
        return value
    }

    private struct Reader {
        let bytes: [UInt8]
        /// So many values are read.
        let most: Int
        var index = 0
        private var count = 0

        init(bytes: [UInt8], most: Int) { (self.bytes, self.most) = (bytes, most) }

        mutating func take(_ count: Int) throws(DataProblem) -> ArraySlice<UInt8> {
            guard count <= self.bytes.count - self.index else { throw DataProblem("bytes are missing", at: self.index) }
            defer { self.index += count }
            return self.bytes[self.index..<self.index + count]
        }

        mutating func number(_ count: Int) throws(DataProblem) -> UInt64 {
            try self.take(count).reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func value(_ depth: Int) throws(DataProblem) -> DataValue {
            guard depth < DataLimits.depth else {
                throw DataProblem("nested deeper than \(DataLimits.depth)", at: self.index)
            }
            self.count += 1
            guard self.count <= self.most else {
                throw DataProblem("more than \(self.most) values", at: self.index)
            }
            let start = self.index
            let first = try self.take(1).first ?? 0
            let (major, short) = (first >> 5, first & 31)
            if major == Major.simple { return try self.simple(short, start) }
            let argument: UInt64
            switch short {
            case 0..<24: argument = UInt64(short)
            case 24: argument = try self.number(1)
            case 25: argument = try self.number(2)
            case 26: argument = try self.number(4)
            case 27: argument = try self.number(8)
            default: throw DataProblem("a length that is not said before", at: start)
            }
            switch major {
            case Major.unsigned, Major.negative:
                guard let number = Int64(exactly: argument) else {
                    throw DataProblem("a number is too large", at: start)
                }
                return .integer(major == Major.unsigned ? number : ~number)
            case Major.text: return .text(try self.text(argument, start))
            case Major.list:
                var values: [DataValue] = []
                for _ in 0..<(try self.length(argument, start)) { values.append(try self.value(depth + 1)) }
                return .list(values)
            case Major.map: return try self.object(argument, depth, start)
            default: throw DataProblem("a kind of value that is not used here", at: start)
            }
        }

        /// Each value takes a byte at least.
        private func length(_ argument: UInt64, _ start: Int) throws(DataProblem) -> Int {
            guard let length = Int(exactly: argument), length <= self.bytes.count - self.index else {
                throw DataProblem("bytes are missing", at: start)
            }
            return length
        }

        private mutating func text(_ argument: UInt64, _ start: Int) throws(DataProblem) -> String {
            try DataValue.text(of: try self.take(try self.length(argument, start)), at: start)
        }

        private mutating func object(
            _ argument: UInt64, _ depth: Int, _ start: Int
        ) throws(DataProblem) -> DataValue {
            var fields: [DataValue.Field] = []
            var names: Set<String> = []
            for _ in 0..<(try self.length(argument, start)) {
                let place = self.index
                guard case .text(let name) = try self.value(depth + 1) else {
                    throw DataProblem("a name that is no text", at: place)
                }
                guard names.insert(name).inserted else { throw DataProblem("a name stands twice", at: place) }
                fields.append(DataValue.Field(name, try self.value(depth + 1)))
            }
            return .object(fields)
        }

        /// As in JSON, what is no number is nothing.
        private func finite(_ number: Double) -> DataValue { number.isFinite ? .double(number) : .null }

        private mutating func simple(_ short: UInt8, _ start: Int) throws(DataProblem) -> DataValue {
            switch short {
            case 20: return .bool(false)
            case 21: return .bool(true)
            case 22: return .null
            case 26: return self.finite(Double(Float(bitPattern: UInt32(try self.number(4)))))
            case 27: return self.finite(Double(bitPattern: try self.number(8)))
            default: throw DataProblem("a kind of value that is not used here", at: start)
            }
        }
    }
}
