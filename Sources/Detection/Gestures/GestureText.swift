import Motion

/// The text of a taught gesture, as it stands in a file: words and numbers between spaces and line breaks.
///
///     jostle-gesture 1
///     name circle
///     limit 1.243
///     example 0.86
///     3 -12 98
///     …
///
/// An example is its length in seconds and 48 moments, each x, y and z in hundredths of g. It comes from apps, so it is read
/// within bounds, and whatever is not exactly this is refused.
package enum GestureText {
    package static let version = 1

    /// What is wrong with a text, and where.
    package struct Problem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
        package var line: Int
        package var column: Int
        package var message: String

        package var description: String { "\(self.line):\(self.column): \(self.message)" }
    }

    /// The gesture as text; what is read of it is the same gesture.
    package static func write(_ gesture: TaughtGesture) -> String {
        var text = "jostle-gesture \(self.version)\nname \(gesture.name)\nlimit \(self.thousandths(gesture.limit))\n"
        for example in gesture.examples {
            text += "example \(self.thousandths(example.seconds))\n"
            for index in 0..<GestureShape.points {
                let values = example.values[index * 3..<index * 3 + 3].map { "\($0)" }
                text += values.joined(separator: " ") + "\n"
            }
        }
        return text
    }

    package static func read(_ text: String) throws(Problem) -> TaughtGesture {
        var words = try Words(text)
        try words.expect("jostle-gesture")
        let version = try words.whole(in: 0...9_999, as: "a version")
        guard version == self.version else {
            throw words.problem("version \(version) is not known; this reads version \(self.version)")
        }
        try words.expect("name")
        guard let name = words.next(), TaughtGesture.isName(name) else {
            throw words.problem("expected a name of letters, digits, '.', '-' and '_'")
        }
        try words.expect("limit")
        let limit = try words.decimal(in: TaughtGesture.Limits.limit, as: "a limit")
        var examples: [TaughtGesture.Example] = []
        while let word = words.next() {
            guard word == "example" else { throw words.problem("expected 'example', found '\(printable(word))'") }
            guard examples.count < TaughtGesture.Limits.examples.upperBound else {
                throw words.problem("more than \(TaughtGesture.Limits.examples.upperBound) examples")
            }
            let seconds = try words.decimal(in: TaughtGesture.Limits.seconds, as: "a length in seconds")
            var values: [Int16] = []
            values.reserveCapacity(GestureShape.points * 3)
            let most = Int(TaughtGesture.Limits.hundredths)
            for _ in 0..<GestureShape.points * 3 {
                values.append(Int16(try words.whole(in: -most...most, as: "hundredths of g")))
            }
            examples.append(TaughtGesture.Example(seconds: seconds, values: values))
        }
        guard examples.count >= TaughtGesture.Limits.examples.lowerBound else {
            throw words.problem("expected at least \(TaughtGesture.Limits.examples.lowerBound) examples")
        }
        return TaughtGesture(name: name, limit: limit, examples: examples)
    }

    /// A number with three digits behind the point.
    private static func thousandths(_ value: Double) -> String {
        let count = Int((value * 1_000).rounded())
        let digits = String(count % 1_000)
        return "\(count / 1_000).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
    }

    /// The words of a text, one after another, with where they stand.
    private struct Words {
        private let bytes: [UInt8]
        private var place = 0
        private var line = 1
        private var lineStart = 0
        private var wordStart = 0
        private var wordLine = 1
        private var wordLineStart = 0

        init(_ text: String) throws(Problem) {
            guard text.utf8.count <= TaughtGesture.Limits.bytes else {
                throw Problem(
                    line: 1, column: 1,
                    message: "longer than \(TaughtGesture.Limits.bytes) bytes, which no taught gesture is")
            }
            self.bytes = Array(text.utf8)
        }

        func problem(_ message: String) -> Problem {
            Problem(line: self.wordLine, column: self.wordStart - self.wordLineStart + 1, message: message)
        }

        mutating func next() -> String? {
            while self.place < self.bytes.count, Self.isSpace(self.bytes[self.place]) {
                if self.bytes[self.place] == UInt8(ascii: "\n") {
                    self.line += 1
                    self.lineStart = self.place + 1
                }
                self.place += 1
            }
            (self.wordStart, self.wordLine, self.wordLineStart) = (self.place, self.line, self.lineStart)
            while self.place < self.bytes.count, !Self.isSpace(self.bytes[self.place]) { self.place += 1 }
            guard self.place > self.wordStart else { return nil }
            return String(decoding: self.bytes[self.wordStart..<self.place], as: UTF8.self)
        }

        private static func isSpace(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
                || byte == UInt8(ascii: "\t")
        }

        mutating func expect(_ word: String) throws(Problem) {
            let found = self.next()
            guard found == word else {
                throw self.problem("expected '\(word)'" + (found.map { ", found '\(printable($0))'" } ?? ""))
            }
        }

        mutating func whole(in range: ClosedRange<Int>, as what: String) throws(Problem) -> Int {
            let word = self.next()
            // A sign and digits: `Int` also reads a plus, which is never written.
            guard let word, word.utf8.count <= 6, word.utf8.first != UInt8(ascii: "+"), let value = Int(word),
                range.contains(value)
            else {
                throw self.problem(
                    "expected \(what), a whole number from \(range.lowerBound) to \(range.upperBound)"
                        + (word.map { ", found '\(printable($0))'" } ?? ""))
            }
            return value
        }

        mutating func decimal(in range: ClosedRange<Double>, as what: String) throws(Problem) -> Double {
            let word = self.next()
            let isPlain =
                word?.utf8.allSatisfy {
                    $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                } ?? false
            guard let word, isPlain, word.utf8.count <= 8, let value = Double(word), range.contains(value) else {
                throw self.problem(
                    "expected \(what), a number from \(range.lowerBound) to \(range.upperBound)"
                        + (word.map { ", found '\(printable($0))'" } ?? ""))
            }
            return value
        }
    }
}
