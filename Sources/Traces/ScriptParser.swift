import Motion

/// Reads the language of synthetic motion.
struct ScriptParser {
    typealias Problem = SyntheticMotion.Problem

    /// A word of the script and where it stands.
    private struct Word {
        var text: String
        var column: Int
    }

    private static let motions = ["rest", "walk", "run", "shake", "circle", "gap"]
    private static let settingNames = ["seed", "rate", "noise", "gravity"]
    /// The lengths a motion may have.
    private static let lengths = 0.001...86_400.0

    private(set) var settings = MotionSettings()
    private let allowsSettings: Bool
    private let statements: [[Word]]
    private var score = MotionScore()
    private var seen: Set<String> = []

    init(_ script: String, allowsSettings: Bool) throws(Problem) {
        guard script.utf8.count <= SyntheticMotion.Limits.script else {
            throw Problem(
                column: SyntheticMotion.Limits.script + 1,
                message: "the script is longer than \(SyntheticMotion.Limits.script) bytes", limit: "motion-bytes")
        }
        self.allowsSettings = allowsSettings
        self.statements = Self.split(script)
    }

    private static func split(_ script: String) -> [[Word]] {
        var statements: [[Word]] = []
        var words: [Word] = []
        var word: [UInt8] = []
        var column = 1
        // One more semicolon ends what the last one leaves open.
        for byte in Array(script.utf8) + [UInt8(ascii: ";")] {
            if byte == UInt8(ascii: ";") || byte == 0x20 || (0x09...0x0D).contains(byte) {
                if !word.isEmpty {
                    words.append(Word(text: String(decoding: word, as: UTF8.self), column: column - word.count))
                }
                word = []
                if byte == UInt8(ascii: ";"), !words.isEmpty {
                    statements.append(words)
                    words = []
                }
            } else {
                word.append(byte)
            }
            column += 1
        }
        return statements
    }

    mutating func parse() throws(Problem) -> MotionScore {
        for statement in self.statements {
            let first = statement[0]
            if self.score.loops { throw Problem(column: first.column, message: "'loop' must stand last") }
            if first.text == "loop", self.allowsSettings {
                try self.endStatement(statement)
                guard self.score.length > 0 else {
                    throw Problem(column: first.column, message: "there is no motion to loop")
                }
                self.score.loops = true
            } else if first.text.utf8.contains(UInt8(ascii: "=")), self.allowsSettings {
                try self.endStatement(statement)
                try self.set(first)
            } else {
                try self.move(statement)
            }
        }
        if !self.allowsSettings, self.score.length == 0 {
            throw Problem(column: 1, message: "expected a motion: \(Self.list(Self.motions))")
        }
        return self.score
    }

    private func endStatement(_ statement: [Word]) throws(Problem) {
        guard statement.count > 1 else { return }
        throw Problem(
            column: statement[1].column, message: "expected ';', found '\(printable(statement[1].text))'")
    }

    // MARK: Settings

    private mutating func set(_ word: Word) throws(Problem) {
        let (key, value) = Self.pair(word)
        guard Self.settingNames.contains(key.text) else {
            throw Self.unknown("setting", key, among: Self.settingNames)
        }
        guard self.score.length == 0 else {
            throw Problem(column: key.column, message: "'\(key.text)' must stand before the first motion")
        }
        guard self.seen.insert(key.text).inserted else {
            throw Problem(column: key.column, message: "'\(key.text)' stands here twice")
        }
        switch key.text {
        case "seed":
            let isNumber = !value.text.isEmpty && value.text.utf8.allSatisfy { $0 &- 0x30 <= 9 }
            guard isNumber, let seed = UInt64(value.text) else {
                throw Problem(
                    column: value.column,
                    message: "expected a whole number up to \(UInt64.max), found '\(printable(value.text))'")
            }
            self.settings.seed = seed
        case "rate":
            let rate = try Self.quantity(
                value, .frequency, SensorLimits.rates, example: "100Hz", allowsBareNumber: true)
            self.settings.rates = MotionSettings.rates(upTo: rate)
        case "noise":
            self.settings.noise = try Self.quantity(value, .acceleration, 0...4, example: "0.02g")
        default:
            self.settings.frame = MotionFrame(up: try Self.direction(value))
        }
    }

    // MARK: Motions

    private mutating func move(_ statement: [Word]) throws(Problem) {
        let name = statement[0]
        guard Self.motions.contains(name.text) else {
            if !self.allowsSettings {
                let key = Self.pair(name).key
                if Self.settingNames.contains(key.text) || key.text == "loop" {
                    throw Problem(
                        column: name.column,
                        message: "'\(key.text)' can stand only in the script the device starts with")
                }
                throw Self.unknown("motion", name, among: Self.motions)
            }
            throw Self.unknown("statement", name, among: Self.motions + ["loop"] + Self.settingNames)
        }
        let keys =
            switch name.text {
            case "walk", "run": ["for", "pace", "strength"]
            case "shake": ["for", "peak", "axis", "freq"]
            case "circle": ["for", "strength", "turns", "axis"]
            default: ["for"]
            }
        let arguments = try Self.arguments(statement, of: name.text, keys)
        func number(
            _ key: String, _ dimension: Dimension, _ range: ClosedRange<Double>, _ standard: Double?, _ example: String
        ) throws(Problem) -> Double {
            if let word = arguments[key] {
                return try Self.quantity(word, dimension, range, example: example, excludesZero: true)
            }
            guard let standard else {
                throw Problem(
                    column: name.column + name.text.utf8.count,
                    message: "expected how long '\(name.text)' lasts, such as '\(name.text) 2s'")
            }
            return standard
        }
        let range = SyntheticMotion.Limits.range
        let motion: MotionScore.Kind
        switch name.text {
        case "walk":
            motion = .walk(
                pace: try number("pace", .frequency, 0.1...5, 1.8, "1.8Hz"),
                strength: try number("strength", .acceleration, 0...range, 0.8, "0.8g"))
        case "run":
            motion = .run(
                pace: try number("pace", .frequency, 0.1...5, 2.7, "2.7Hz"),
                strength: try number("strength", .acceleration, 0...range, 3.5, "3.5g"))
        case "shake":
            var axis = SIMD3<Double>(1, 0, 0)
            if let word = arguments["axis"] { axis = try Self.direction(word) }
            motion = .shake(
                peak: try number("peak", .acceleration, 0...range, 2.8, "2.8g"), axis: axis,
                frequency: try number("freq", .frequency, 0.1...50, 3, "3Hz"))
        case "circle":
            var axis = SIMD3<Double>(0, 0, 1)
            if let word = arguments["axis"] { axis = try Self.direction(word) }
            var turns = 1.0
            if let word = arguments["turns"] {
                turns = try Self.quantity(word, .none, -20...20, example: "1")
                guard turns.magnitude >= 0.25 else {
                    throw Problem(
                        column: word.column,
                        message: "expected a quarter turn at least, found '\(printable(word.text))'")
                }
            }
            motion = .circle(
                strength: try number("strength", .acceleration, 0...range, 0.5, "0.5g"), turns: turns, axis: axis)
        case "gap": motion = .gap
        default: motion = .rest
        }
        let seconds = try number("for", .time, Self.lengths, ["shake", "circle"].contains(name.text) ? 1 : nil, "1s")
        self.score.append(motion, TimeSpan(seconds: seconds) ?? .seconds(1))
    }

    /// The `key=value` words of a motion; a word without a key is its length.
    private static func arguments(
        _ statement: [Word], of motion: String, _ keys: [String]
    ) throws(Problem) -> [String: Word] {
        var arguments: [String: Word] = [:]
        for word in statement.dropFirst() {
            let isPair = word.text.utf8.contains(UInt8(ascii: "="))
            let (key, value) = isPair ? self.pair(word) : (Word(text: "for", column: word.column), word)
            guard keys.contains(key.text) else { throw self.unknown("argument of '\(motion)'", key, among: keys) }
            guard arguments.updateValue(value, forKey: key.text) == nil else {
                throw Problem(
                    column: word.column,
                    message: isPair
                        ? "'\(key.text)' stands here twice" : "expected KEY=VALUE, found '\(printable(word.text))'")
            }
        }
        return arguments
    }

    // MARK: Words

    private static func pair(_ word: Word) -> (key: Word, value: Word) {
        guard let equals = word.text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            return (word, Word(text: "", column: word.column + word.text.utf8.count))
        }
        let key = String(word.text[..<equals])
        let value = String(word.text[word.text.utf8.index(after: equals)...])
        return (
            Word(text: key, column: word.column), Word(text: value, column: word.column + key.utf8.count + 1)
        )
    }

    private static func unknown(_ what: String, _ word: Word, among words: [String]) -> Problem {
        let near = Suggestion.nearest(to: word.text, among: words).map { "did you mean '\($0)'?" }
        return Problem(
            column: word.column,
            message: "unknown \(what) '\(printable(word.text))', \(near ?? "expected \(self.list(words))")")
    }

    private static func list(_ words: [String]) -> String {
        guard words.count > 1, let last = words.last else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    private static func quantity(
        _ word: Word, _ dimension: Dimension, _ range: ClosedRange<Double>, example: String,
        allowsBareNumber: Bool = false, excludesZero: Bool = false
    ) throws(Problem) -> Double {
        let quantity: Quantity
        do {
            quantity = try Quantity.parse(word.text)
        } catch {
            throw Problem(column: word.column + error.offset, message: error.message)
        }
        guard quantity.dimension == dimension || (allowsBareNumber && quantity.dimension == .none) else {
            let article = dimension == .acceleration ? "an" : "a"
            throw Problem(
                column: word.column,
                message: "expected \(article) \(dimension.rawValue) such as \(example), "
                    + "found '\(printable(word.text))'")
        }
        guard range.contains(quantity.value), !(excludesZero && quantity.value == 0) else {
            let unit = dimension.canonicalUnit
            let low = excludesZero && range.lowerBound == 0 ? "more than 0" : "\(range.lowerBound)"
            throw Problem(
                column: word.column,
                message: "expected \(low) to \(range.upperBound) \(unit), found '\(printable(word.text))'")
        }
        return quantity.value
    }

    /// A direction: an axis (`x`, `-z`) or three numbers (`0.1,0.99,0`), whose length does not matter.
    private static func direction(_ word: Word) throws(Problem) -> SIMD3<Double> {
        switch word.text {
        case "x": return SIMD3(1, 0, 0)
        case "y": return SIMD3(0, 1, 0)
        case "z": return SIMD3(0, 0, 1)
        case "-x": return SIMD3(-1, 0, 0)
        case "-y": return SIMD3(0, -1, 0)
        case "-z": return SIMD3(0, 0, -1)
        default: break
        }
        let parts = word.text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw Problem(
                column: word.column,
                message: "expected x, y, z, -x, -y, -z or three numbers such as 0.1,0.9,0, "
                    + "found '\(printable(word.text))'")
        }
        var vector = SIMD3<Double>(repeating: 0)
        var column = word.column
        for (index, part) in parts.enumerated() {
            let number = Word(text: String(part), column: column)
            vector[index] = try self.quantity(number, .none, -1_000...1_000, example: "0.5")
            column += part.utf8.count + 1
        }
        let length = (vector * vector).sum().squareRoot()
        guard length > 1e-6 else {
            throw Problem(column: word.column, message: "'\(printable(word.text))' points nowhere")
        }
        return vector / length
    }
}
