/// HTML that is being written. Text goes in escaped, and there is no other way in for it.
///
/// Names of elements and attributes are literals of ours, so that nothing that others named can become a part of the page.
package struct Markup: Sendable {
    /// What goes with an element: a literal name, and a value that is escaped; `nil`: none.
    package typealias Attribute = (name: StaticString, value: String?)

    package private(set) var html = ""

    package init() {}

    /// Markup of a text.
    package init(_ text: String) { self.add(text) }

    package var isEmpty: Bool { self.html.isEmpty }

    // MARK: In

    /// Adds a text.
    package mutating func add(_ text: String) { Self.escape(text, into: &self.html) }

    package mutating func add(_ other: Markup) { self.html += other.html }

    /// Adds an element with what stands in it.
    package mutating func element(
        _ name: StaticString, _ attributes: [Attribute] = [], _ body: (inout Markup) -> Void
    ) {
        self.open(name, attributes)
        body(&self)
        self.close(name)
    }

    /// Adds an element with a text in it.
    package mutating func element(_ name: StaticString, _ attributes: [Attribute], _ text: String) {
        self.element(name, attributes) { $0.add(text) }
    }

    package mutating func element(_ name: StaticString, _ text: String) { self.element(name, [], text) }

    /// Adds an element that has nothing in it and no end: `<br>`, or a shape.
    package mutating func empty(_ name: StaticString, _ attributes: [Attribute] = []) {
        self.open(name, attributes)
    }

    /// Adds a shape of a picture, which has nothing in it.
    package mutating func shape(_ name: StaticString, _ attributes: [Attribute] = []) {
        self.open(name, attributes, end: "/>")
    }

    /// Ends a line, so that the page can be read as text.
    package mutating func line() { self.html += "\n" }

    /// Adds what is ours and no text of anybody: the style of the page.
    mutating func literal(_ text: StaticString) { self.html += "\(text)" }

    private mutating func open(_ name: StaticString, _ attributes: [Attribute], end: StaticString = ">") {
        self.html += "<\(name)"
        for (key, value) in attributes {
            guard let value else { continue }
            self.html += " \(key)=\""
            Self.escape(value, into: &self.html)
            self.html += "\""
        }
        self.html += "\(end)"
    }

    private mutating func close(_ name: StaticString) { self.html += "</\(name)>" }

    // MARK: Escaping

    /// The text as it stands in HTML, between tags or in an attribute.
    package static func escaped(_ text: String) -> String {
        var result = ""
        self.escape(text, into: &result)
        return result
    }

    /// What is nothing to see is shown as a mark: nobody's name turns the text around it, or breaks a line.
    private static func escape(_ text: String, into result: inout String) {
        if text.utf8.allSatisfy(self.isPlain) { return result += text }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            case _ where self.isUnseen(scalar): result.unicodeScalars.append("\u{FFFD}")
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"): false
        default: (0x20..<0x7F).contains(byte) || byte == 0x0A
        }
    }

    /// Controls, what turns the direction of text, and what has no width.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
            0xFFF0...0xFFFB, 0xE0000...0xE0FFF:
            true
        default: false
        }
    }
}
