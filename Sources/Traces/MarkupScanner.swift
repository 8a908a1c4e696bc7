import Motion

/// Takes XML apart, byte by byte: what opens, what closes, and the text that somebody asks for.
///
/// What it does not need it does not know: no document types, no entities, no encodings beside UTF-8. Elements must close in
/// the order in which they open. Memory is bounded, whatever comes.
struct MarkupScanner: Sendable {
    enum Event: Sendable {
        case opens(name: String, attributes: [(name: String, value: [UInt8])])
        case closes(name: String)
    }

    /// What is wrong, where the last event or the byte at hand stands.
    struct Problem: Swift.Error {
        var message: String
    }

    private enum State: Sendable {
        case text
        case tag(quote: UInt8?)
        case comment, literal, instruction
    }

    /// Elements inside each other.
    private static let deepest = 64
    /// Attributes of an element.
    private static let mostAttributes = 64
    /// Bytes of text that are kept.
    private static let longestText = 256

    private var state = State.text
    /// The bytes of the tag so far, or the last ones of a comment.
    private var tag: [UInt8] = []
    private(set) var open: [String] = []
    private var hasBegun = false
    /// An element that closes itself closes with the next byte.
    private var closing: String?
    /// What stood between tags since it was last emptied, if somebody wants it.
    private(set) var text: [UInt8]?

    /// Begins to keep text, or ends it.
    mutating func keepText(_ keeps: Bool) { self.text = keeps ? [] : nil }

    /// Takes a byte. What it ends is told; an element that closes itself also has a `pending` event.
    mutating func take(_ byte: UInt8) throws(Problem) -> Event? {
        switch self.state {
        case .text:
            guard byte != UInt8(ascii: "<") else {
                self.state = .tag(quote: nil)
                self.tag.removeAll(keepingCapacity: true)
                return nil
            }
            return try self.takeText(byte)
        case .tag(let quote):
            return try self.takeTag(byte, quote)
        case .comment, .literal, .instruction:
            try self.takeSkipped(byte)
            return nil
        }
    }

    /// The closing of an element that has just opened and has nothing in it.
    mutating func pending() -> Event? {
        guard let name = self.closing else { return nil }
        self.closing = nil
        self.open.removeLast()
        return .closes(name: name)
    }

    /// The bytes have ended.
    func finish() throws(Problem) {
        guard case .text = self.state else { throw Problem(message: "expected '>', found the end of the trace") }
        if let last = self.open.last {
            throw Problem(message: "expected '</\(printable(last))>', found the end of the trace")
        }
        guard self.hasBegun else { throw Problem(message: "expected '<gpx>', found the end of the trace") }
    }

    private mutating func takeText(_ byte: UInt8) throws(Problem) -> Event? {
        let isBlank = byte == 0x20 || (0x09...0x0D).contains(byte)
        guard isBlank || byte >= 0x20 else { throw Problem(message: "a control character") }
        guard !self.open.isEmpty || isBlank else { throw Problem(message: "text outside of all elements") }
        if let count = self.text?.count {
            guard count < Self.longestText else {
                throw Problem(message: "the value is longer than \(Self.longestText) bytes")
            }
            self.text?.append(byte)
        }
        return nil
    }

    private mutating func takeSkipped(_ byte: UInt8) throws(Problem) {
        self.tag.append(byte)
        let end: [UInt8]
        switch self.state {
        case .comment: end = Array("-->".utf8)
        case .literal: end = Array("]]>".utf8)
        case .instruction: end = Array("?>".utf8)
        case .text, .tag: return
        }
        if self.tag.suffix(end.count).elementsEqual(end) {
            // What a literal holds is text to others; no value that we read is written so.
            if case .literal = self.state, self.text != nil { throw Problem(message: "a value in a literal") }
            self.state = .text
        } else if self.tag.count > 64 {
            self.tag.removeFirst(self.tag.count - 4)
        }
    }

    private mutating func takeTag(_ byte: UInt8, _ quote: UInt8?) throws(Problem) -> Event? {
        guard byte == UInt8(ascii: ">"), quote == nil else {
            guard self.tag.count < TraceLimits.line else {
                throw Problem(message: "the tag is longer than \(TraceLimits.line) bytes")
            }
            guard byte != UInt8(ascii: "<") else { throw Problem(message: "'<' in a tag") }
            self.tag.append(byte)
            if let quote {
                if byte == quote { self.state = .tag(quote: nil) }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'"), self.tag.first != UInt8(ascii: "?") {
                self.state = .tag(quote: byte)
            }
            switch self.tag.count {
            case 1 where byte == UInt8(ascii: "?"): self.state = .instruction
            case 3 where self.tag.elementsEqual("!--".utf8):
                self.state = .comment
                // The marks of the beginning are not those of the end.
                self.tag.removeAll(keepingCapacity: true)
            case 8 where self.tag.elementsEqual("![CDATA[".utf8): self.state = .literal
            case 9... where self.tag.first == UInt8(ascii: "!"):
                throw Problem(message: "a document type, which is not read")
            default: break
            }
            return nil
        }
        self.state = .text
        return try self.readTag()
    }

    private mutating func readTag() throws(Problem) -> Event {
        var reader = TagReader(self.tag)
        if reader.take(UInt8(ascii: "/")) {
            guard let name = reader.name(), reader.skipBlanks(), reader.isAtEnd else { throw reader.problem }
            guard let last = self.open.last, last == name else {
                let expected = self.open.last.map { "expected '</\(printable($0))>', found " } ?? ""
                throw Problem(message: "\(expected)'</\(printable(name))>'")
            }
            self.open.removeLast()
            return .closes(name: name)
        }
        guard let name = reader.name() else { throw reader.problem }
        var attributes: [(name: String, value: [UInt8])] = []
        var isEmpty = false
        while !reader.isAtEnd {
            let hasBlank = reader.skipsBlanks()
            if reader.isAtEnd { break }
            if reader.take(UInt8(ascii: "/")) {
                guard reader.isAtEnd else { throw reader.problem }
                isEmpty = true
            } else {
                guard hasBlank, let attribute = reader.attribute() else { throw reader.problem }
                guard !attributes.contains(where: { $0.name == attribute.name }) else {
                    throw Problem(message: "the attribute '\(printable(attribute.name))' stands here twice")
                }
                guard attributes.count < Self.mostAttributes else {
                    throw Problem(message: "more than \(Self.mostAttributes) attributes")
                }
                attributes.append(attribute)
            }
        }
        guard !self.open.isEmpty || !self.hasBegun else { throw Problem(message: "a second root element") }
        guard self.open.count < Self.deepest else { throw Problem(message: "more than \(Self.deepest) elements deep") }
        self.hasBegun = true
        self.open.append(name)
        if isEmpty { self.closing = name }
        return .opens(name: name, attributes: attributes)
    }
}

/// Reads what stands between `<` and `>`.
private struct TagReader {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { self.index == self.bytes.count }

    var problem: MarkupScanner.Problem {
        MarkupScanner.Problem(
            message: "'<\(printable(String(decoding: self.bytes.prefix(64), as: UTF8.self)))>' is no tag")
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard self.index < self.bytes.count, self.bytes[self.index] == byte else { return false }
        self.index += 1
        return true
    }

    mutating func skipsBlanks() -> Bool {
        let start = self.index
        while self.index < self.bytes.count,
            self.bytes[self.index] == 0x20 || (0x09...0x0D).contains(self.bytes[self.index])
        {
            self.index += 1
        }
        return self.index > start
    }

    /// For where blanks may stand or not.
    mutating func skipBlanks() -> Bool {
        _ = self.skipsBlanks()
        return true
    }

    mutating func name() -> String? {
        func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 || byte == UInt8(ascii: "_") || byte >= 0x80 }
        let start = self.index
        while self.index < self.bytes.count {
            let byte = self.bytes[self.index]
            let isRest = byte &- 0x30 <= 9 || [UInt8(ascii: ":"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
            guard isLetter(byte) || isRest && self.index > start else { break }
            self.index += 1
        }
        return self.index > start ? String(decoding: self.bytes[start..<self.index], as: UTF8.self) : nil
    }

    mutating func attribute() -> (name: String, value: [UInt8])? {
        guard let name = self.name(), self.skipBlanks(), self.take(UInt8(ascii: "=")), self.skipBlanks(), !self.isAtEnd
        else { return nil }
        let quote = self.bytes[self.index]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
        let start = self.index + 1
        guard let end = self.bytes[start...].firstIndex(of: quote) else { return nil }
        self.index = end + 1
        return (name, Array(self.bytes[start..<end]))
    }
}
