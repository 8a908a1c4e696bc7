/// The least that whoever reads a text does: cuts it into words, and keeps each.
enum PlainReading {
    /// How many words there are.
    @inline(never)
    static func words(of text: [UInt8]) -> Int { self.split(text).count }

    /// The sum of the words that are numbers.
    @inline(never)
    static func numbers(of text: [UInt8]) -> Double {
        self.split(text).reduce(0) { $0 + (Double($1) ?? 0) }
    }

    private static func split(_ text: [UInt8]) -> [String] {
        var words: [String] = []
        var first = 0
        for index in 0...text.count where index == text.count || self.isBetween(text[index]) {
            if first < index { words.append(String(decoding: text[first..<index], as: UTF8.self)) }
            first = index + 1
        }
        return words
    }

    private static func isBetween(_ byte: UInt8) -> Bool {
        byte <= UInt8(ascii: " ") || byte == UInt8(ascii: "=") || byte == UInt8(ascii: ",")
    }
}

/// Keeps a result from being optimised away.
@inline(never)
func blackHole<T>(_ value: borrowing T) {}
