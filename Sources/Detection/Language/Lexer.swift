import Motion

/// A word of a condition's text.
struct Token: Equatable {
    enum Content: Equatable {
        case number(Quantity)
        case name(String)
        /// One of `( ) , : + - * / > >= < <=`, and `== !=` behind `activity`.
        case symbol(String)
        case end
    }

    var content: Content
    /// Offset of its first byte.
    var offset: Int
    /// Offset behind its last byte.
    var end: Int
}

/// What is wrong with a condition's text, and where.
struct ConditionProblem: Error, Equatable {
    /// The limit that is crossed, if it is that.
    var limit: String?
    /// Offset of the offending byte.
    var offset: Int
    var message: String

    init(_ offset: Int, _ message: String, limit: String? = nil) {
        self.limit = limit
        self.offset = offset
        self.message = message
    }
}

/// Cuts a condition's text into words, one at a time.
struct Lexer {
    private let bytes: [UInt8]
    private var position = 0
    /// True behind the name `activity`, the only one that is equal to something.
    private var isBehindActivity = false

    init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// The text between two offsets, for messages.
    func text(_ start: Int, _ end: Int) -> String {
        printable(String(decoding: self.bytes[max(0, start)..<min(self.bytes.count, max(start, end))], as: UTF8.self))
    }

    /// The column of an offset: characters from 1.
    func column(_ offset: Int) -> Int {
        String(decoding: self.bytes[..<min(offset, self.bytes.count)], as: UTF8.self).count + 1
    }

    mutating func next() throws(ConditionProblem) -> Token {
        while self.position < self.bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(self.bytes[self.position]) {
            self.position += 1
        }
        let start = self.position
        guard start < self.bytes.count else { return Token(content: .end, offset: start, end: start) }
        let byte = self.bytes[start]
        defer { self.isBehindActivity = self.text(start, self.position) == ConditionParser.activity }
        if Self.isDigit(byte) || byte == UInt8(ascii: ".") { return try self.number() }
        if Self.isLetter(byte) {
            while self.position < self.bytes.count,
                Self.isLetter(self.bytes[self.position]) || Self.isDigit(self.bytes[self.position])
            {
                self.position += 1
            }
            let name = String(decoding: self.bytes[start..<self.position], as: UTF8.self)
            return Token(content: .name(name), offset: start, end: self.position)
        }
        return try self.symbol()
    }

    private mutating func symbol() throws(ConditionProblem) -> Token {
        let start = self.position
        let byte = self.bytes[start]
        let isTwo = start + 1 < self.bytes.count && self.bytes[start + 1] == UInt8(ascii: "=")
        switch byte {
        case UInt8(ascii: ">"), UInt8(ascii: "<"):
            self.position += isTwo ? 2 : 1
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "*"), UInt8(ascii: "/"):
            self.position += 1
        case UInt8(ascii: "=") where isTwo && self.isBehindActivity,
            UInt8(ascii: "!") where isTwo && self.isBehindActivity:
            self.position += 2
        case UInt8(ascii: "="), UInt8(ascii: "!"):
            throw ConditionProblem(
                start,
                "there is no '\(self.text(start, start + (isTwo ? 2 : 1)))': compare with > >= < <=, negate with 'not'")
        case UInt8(ascii: "&"):
            throw ConditionProblem(start, "there is no '&': write 'and'")
        case UInt8(ascii: "|"):
            throw ConditionProblem(start, "there is no '|': write 'or'")
        default:
            var end = start + 1
            while end < self.bytes.count, self.bytes[end] & 0xC0 == 0x80 { end += 1 }
            throw ConditionProblem(start, "unexpected character '\(self.text(start, end))'")
        }
        let text = String(decoding: self.bytes[start..<self.position], as: UTF8.self)
        return Token(content: .symbol(text), offset: start, end: self.position)
    }

    /// A number and the unit that stands directly behind it.
    private mutating func number() throws(ConditionProblem) -> Token {
        let start = self.position
        let length = decimalPrefix(of: self.bytes.span.extracting(start..<self.bytes.count))
        let digits = String(decoding: self.bytes[start..<start + length], as: UTF8.self)
        guard length > 0, let value = Double(digits), value.isFinite else {
            throw ConditionProblem(
                start, length > 0 ? "the number '\(printable(digits))' is too large" : "expected a number")
        }
        var position = start + length
        let unit = try self.unit(at: &position)
        let scaled = value * (unit?.factor ?? 1)
        guard scaled.isFinite else {
            throw ConditionProblem(start, "the number '\(printable(digits))' is too large")
        }
        self.position = position
        return Token(
            content: .number(Quantity(scaled, unit?.dimension ?? .none)), offset: start, end: position)
    }

    private func unit(at position: inout Int) throws(ConditionProblem) -> Unit? {
        let start = position
        guard start < self.bytes.count else { return nil }
        if self.bytes[start] == UInt8(ascii: "%") {
            position += 1
            return Unit.named("%")
        }
        guard Self.isLetter(self.bytes[start]) else { return nil }
        func word(from index: Int) -> Int {
            var end = index
            while end < self.bytes.count, Self.isLetter(self.bytes[end]) || Self.isDigit(self.bytes[end]) { end += 1 }
            return end
        }
        let end = word(from: start)
        // `km/h` is one unit, `g/x` a division: the longer reading holds only when it is a unit.
        if end < self.bytes.count, self.bytes[end] == UInt8(ascii: "/") {
            let longer = word(from: end + 1)
            if let unit = Unit.named(String(decoding: self.bytes[start..<longer], as: UTF8.self)) {
                position = longer
                return unit
            }
        }
        let name = String(decoding: self.bytes[start..<end], as: UTF8.self)
        guard let unit = Unit.named(name) else {
            let near = Suggestion.nearest(to: name, among: Unit.all.map(\.name))
            throw ConditionProblem(
                start, "unknown unit '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
        }
        position = end
        return unit
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A) || byte == UInt8(ascii: "_")
    }
}
