import Arbitration

/// Whose file it is.
package enum PolicyLayer: Hashable, Sendable {
    /// The distribution's or the administrator's.
    case system
    /// A user's own: may only deny and make limits smaller, and is read first.
    case user
    /// What a bridge brought from outside: may say more than a user, and nothing where the system has said something.
    case outside
}

/// A policy file as bytes, before anything is understood.
package struct PolicyFile: Equatable, Sendable {
    /// The name in messages and explanations.
    package var name: String
    package var layer: PolicyLayer
    package var bytes: [UInt8]

    package init(name: String, layer: PolicyLayer = .system, bytes: [UInt8]) {
        self.name = name
        self.layer = layer
        self.bytes = bytes
    }

    package init(name: String, layer: PolicyLayer = .system, _ text: String) {
        self.init(name: name, layer: layer, bytes: Array(text.utf8))
    }
}

/// A piece of text and where it stands.
struct PlacedText: Hashable, Sendable {
    var text: String
    var place: Place

    /// The words of the text, each with its place.
    var words: [PlacedText] {
        var words: [PlacedText] = []
        var word: [UInt8] = []
        var column = self.place.column
        func end(_ column: Int) -> PlacedText {
            var place = self.place
            place.column = column - word.count
            return PlacedText(text: String(decoding: word, as: UTF8.self), place: place)
        }
        for byte in self.text.utf8 {
            if byte == 0x20 || byte == 0x09 {
                if !word.isEmpty { words.append(end(column)) }
                word = []
            } else {
                word.append(byte)
            }
            column += 1
        }
        if !word.isEmpty { words.append(end(column)) }
        return words
    }

    /// The text from a byte on.
    func from(_ offset: Int) -> PlacedText {
        var place = self.place
        place.column += offset
        return PlacedText(text: String(decoding: self.text.utf8.dropFirst(offset), as: UTF8.self), place: place)
    }
}

/// A `key = value` line.
struct Assignment: Sendable {
    var key: PlacedText
    /// Without the space around it; may be empty.
    var value: PlacedText
}

/// What a file is made of, line by line.
enum PolicyLine: Sendable {
    /// A `[…]` line: the words between the brackets, and where it stands.
    case section([PlacedText], Place)
    case assignment(Assignment)
}
