import Motion

/// Writes and reads JSON as RFC 8259 has it, without what only some take.
package enum JSONCoding {
    // MARK: Writing

    package static func bytes(_ value: DataValue) -> [UInt8] {
        var bytes: [UInt8] = []
        self.write(value, to: &bytes)
        return bytes
    }

    package static func text(_ value: DataValue) -> String { String(decoding: self.bytes(value), as: UTF8.self) }

    private static func write(_ value: DataValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let flag): bytes += (flag ? "true" : "false").utf8
        case .integer(let number): bytes += "\(number)".utf8
        // JSON has no NaN and no infinity.
        case .double(let number): bytes += (number.isFinite ? "\(number)" : "null").utf8
        case .text(let text): self.write(text, to: &bytes)
        case .list(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                self.write(value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let fields):
            bytes.append(UInt8(ascii: "{"))
            for (index, field) in fields.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                self.write(field.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                self.write(field.value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static let hex = Array("0123456789abcdef".utf8)

    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(ascii: scalar))
            case " "..."~": bytes.append(UInt8(ascii: scalar))
            // A line of it does nothing to a terminal as it is: nobody has to change it any more, who might break it.
            case _ where isControl(scalar):
                bytes += "\\u".utf8
                for shift in stride(from: 12, through: 0, by: -4) {
                    bytes.append(self.hex[Int(scalar.value >> shift & 15)])
                }
            default: bytes += scalar.utf8
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    // MARK: Reading

    /// Reads one value that is all there is. A name that stands twice in an object is refused: readers differ in which counts.
    package static func read(_ bytes: [UInt8], atMost most: Int = DataLimits.values) throws(DataProblem) -> DataValue {
        guard bytes.count <= DataLimits.bytes else { throw DataProblem("more than \(DataLimits.bytes) bytes", at: 0) }
        var reader = JSONReader(bytes, most)
        return try reader.readAll()
    }
}

/// Where a reading of JSON is.
private struct JSONReader {
    private let bytes: [UInt8]
    /// So many values are read.
    private let most: Int
    private var index = 0
    private var count = 0

    init(_ bytes: [UInt8], _ most: Int) { (self.bytes, self.most) = (bytes, most) }

    mutating func readAll() throws(DataProblem) -> DataValue {
        let value = try self.value(0)
        self.skipSpace()
        guard self.index == self.bytes.count else { throw self.problem("there is more behind the value") }
        return value
    }

    private func problem(_ message: String) -> DataProblem { DataProblem(message, at: self.index) }

    private var byte: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { self.index += 1 }
    }

    /// Goes on behind a byte if it stands here.
    private mutating func take(_ wanted: Unicode.Scalar) -> Bool {
        guard self.byte == UInt8(ascii: wanted) else { return false }
        self.index += 1
        return true
    }

    private mutating func value(_ depth: Int) throws(DataProblem) -> DataValue {
        guard depth < DataLimits.depth else { throw self.problem("nested deeper than \(DataLimits.depth)") }
        self.count += 1
        guard self.count <= self.most else { throw self.problem("more than \(self.most) values") }
        self.skipSpace()
        switch self.byte {
        case UInt8(ascii: "{"): return try self.object(depth)
        case UInt8(ascii: "["): return try self.list(depth)
        case UInt8(ascii: "\""): return .text(try self.text())
        case UInt8(ascii: "t"): return try self.word("true", .bool(true))
        case UInt8(ascii: "f"): return try self.word("false", .bool(false))
        case UInt8(ascii: "n"): return try self.word("null", .null)
        case nil: throw self.problem("a value is missing")
        default: return try self.number()
        }
    }

    private mutating func word(_ word: String, _ value: DataValue) throws(DataProblem) -> DataValue {
        guard self.bytes[self.index...].starts(with: word.utf8) else { throw self.problem("expected '\(word)'") }
        self.index += word.utf8.count
        return value
    }

    private mutating func object(_ depth: Int) throws(DataProblem) -> DataValue {
        self.index += 1
        var fields: [DataValue.Field] = []
        var names: Set<String> = []
        self.skipSpace()
        if self.take("}") { return .object([]) }
        while true {
            self.skipSpace()
            guard self.byte == UInt8(ascii: "\"") else { throw self.problem("expected a name in quotes") }
            let start = self.index
            let name = try self.text()
            guard names.insert(name).inserted else { throw DataProblem("a name stands twice", at: start) }
            self.skipSpace()
            guard self.take(":") else { throw self.problem("expected ':'") }
            fields.append(DataValue.Field(name, try self.value(depth + 1)))
            self.skipSpace()
            if self.take("}") { return .object(fields) }
            guard self.take(",") else { throw self.problem("expected ',' or '}'") }
        }
    }

    private mutating func list(_ depth: Int) throws(DataProblem) -> DataValue {
        self.index += 1
        var values: [DataValue] = []
        self.skipSpace()
        if self.take("]") { return .list([]) }
        while true {
            values.append(try self.value(depth + 1))
            self.skipSpace()
            if self.take("]") { return .list(values) }
            guard self.take(",") else { throw self.problem("expected ',' or ']'") }
        }
    }

    private mutating func text() throws(DataProblem) -> String {
        let start = self.index
        self.index += 1
        var text: [UInt8] = []
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                self.index += 1
                return try DataValue.text(of: text, at: start)
            case UInt8(ascii: "\\"): try self.escape(into: &text)
            case 0..<0x20: throw self.problem("a control character in a text")
            default:
                text.append(byte)
                self.index += 1
            }
        }
        throw DataProblem("a text has no end", at: start)
    }

    /// What one letter behind a backslash stands for; `nil`: it stands for nothing by itself.
    private static func meaning(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    private mutating func escape(into text: inout [UInt8]) throws(DataProblem) {
        self.index += 1
        if let byte, let meaning = Self.meaning(byte) {
            text.append(meaning)
            self.index += 1
            return
        }
        guard self.take("u") else { throw self.problem("unknown escape") }
        var code = try self.unit()
        if (0xD800..<0xDC00).contains(code) {
            guard self.take("\\"), self.take("u") else { throw self.problem("half of a surrogate pair") }
            let low = try self.unit()
            guard (0xDC00..<0xE000).contains(low) else { throw self.problem("half of a surrogate pair") }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw self.problem("half of a surrogate pair") }
        text += String(Character(scalar)).utf8
    }

    private mutating func unit() throws(DataProblem) -> UInt32 {
        guard self.index + 4 <= self.bytes.count else { throw self.problem("four digits are missing") }
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(self.bytes[self.index])).hexDigitValue else {
                throw self.problem("expected a hexadecimal digit")
            }
            code = code << 4 | UInt32(digit)
            self.index += 1
        }
        return code
    }

    private var isDigit: Bool { self.byte.map { (0x30...0x39).contains($0) } ?? false }

    private mutating func digits() throws(DataProblem) {
        guard self.isDigit else { throw self.problem("expected a value") }
        while self.isDigit { self.index += 1 }
    }

    private mutating func number() throws(DataProblem) -> DataValue {
        let start = self.index
        var isWhole = true
        _ = self.take("-")
        let isZero = self.byte == UInt8(ascii: "0")
        let first = self.index
        try self.digits()
        if isZero, self.index > first + 1 { throw DataProblem("a number begins with 0", at: start) }
        if self.take(".") {
            isWhole = false
            try self.digits()
        }
        if self.take("e") || self.take("E") {
            isWhole = false
            if !self.take("+") { _ = self.take("-") }
            try self.digits()
        }
        let text = String(decoding: self.bytes[start..<self.index], as: UTF8.self)
        if isWhole, let number = Int64(text) { return .integer(number) }
        guard let number = Double(text), number.isFinite else { throw DataProblem("a number is too large", at: start) }
        return .double(number)
    }
}
