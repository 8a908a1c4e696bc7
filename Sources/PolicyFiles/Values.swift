import Arbitration
import Motion

/// Reads values of keys. All of them take what a person wrote and where.
enum Values {
    /// The value of a key that takes one.
    private static func single(_ words: [PlacedText]) -> PlacedText {
        words.first ?? PlacedText(text: "", place: Place(file: "", line: 0))
    }

    private static func bad(_ word: PlacedText, _ expected: String, offset: Int = 0) -> ValueProblem {
        ValueProblem(
            place: word.from(offset).place, message: "expected \(expected), found '\(printable(word.text))'",
            advice: "write \(expected)")
    }

    static func unknown(_ word: PlacedText, _ what: String, among words: [String]) -> ValueProblem {
        let near = Suggestion.nearest(to: word.text, among: words)
        return ValueProblem(
            check: .unknownWord, place: word.place, message: "unknown \(what) '\(printable(word.text))'",
            advice: near.map { "did you mean '\($0)'?" } ?? "write one of: \(words.joined(separator: ", "))")
    }

    // MARK: Single values

    static func flag(_ words: [PlacedText]) throws(ValueProblem) -> Bool {
        let word = self.single(words)
        switch word.text {
        case "yes": return true
        case "no": return false
        default: throw self.bad(word, "yes or no")
        }
    }

    static func text(_ words: [PlacedText], atMost limit: Int = 96) throws(ValueProblem) -> String {
        let word = self.single(words)
        guard word.text.utf8.count <= limit else { throw self.bad(word, "a text of at most \(limit) bytes") }
        return word.text
    }

    /// Whether a byte is a letter, a digit, `-`, `_` or `.`: names have no others.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == 0x2D || byte == 0x5F
            || byte == 0x2E
    }

    /// The name of a group or rule.
    static func name(_ word: PlacedText) throws(ValueProblem) -> String {
        guard word.text.utf8.allSatisfy(self.isPlain), !word.text.isEmpty, word.text.utf8.count <= 64 else {
            throw self.bad(word, "a name of at most 64 letters, digits, '-', '_' and '.'")
        }
        return word.text
    }

    static func name(_ words: [PlacedText]) throws(ValueProblem) -> String { try self.name(self.single(words)) }

    static func number(_ words: [PlacedText], _ range: ClosedRange<Int>) throws(ValueProblem) -> Int {
        try self.number(self.single(words), range)
    }

    private static func number(_ word: PlacedText, _ range: ClosedRange<Int>) throws(ValueProblem) -> Int {
        guard let value = Int(word.text), range.contains(value) else {
            throw self.bad(word, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    static func span(_ words: [PlacedText], _ range: ClosedRange<TimeSpan>) throws(ValueProblem) -> TimeSpan {
        try self.span(self.single(words), range)
    }

    private static func span(_ word: PlacedText, _ range: ClosedRange<TimeSpan>) throws(ValueProblem) -> TimeSpan {
        let expected = "a time from \(range.lowerBound.text) to \(range.upperBound.text), such as 350ms"
        let quantity: Quantity
        do {
            quantity = try Quantity.parse(word.text)
        } catch {
            throw self.bad(word, expected, offset: error.offset)
        }
        let isTime = quantity.dimension == .time || (quantity.dimension == .none && quantity.value == 0)
        guard isTime, let span = TimeSpan(seconds: quantity.value), range.contains(span) else {
            throw self.bad(word, expected)
        }
        return span
    }

    /// `256KiB`, `1MiB` or a plain number.
    static func bytes(_ words: [PlacedText], _ range: ClosedRange<Int>) throws(ValueProblem) -> Int {
        let word = self.single(words)
        let units = [("KiB", 1_024), ("MiB", 1_024 * 1_024), ("B", 1)]
        let unit = units.first { word.text.hasSuffix($0.0) } ?? ("", 1)
        let digits = word.text.utf8.dropLast(unit.0.utf8.count)
        let count = Int(String(decoding: Array(digits), as: UTF8.self)).map {
            $0.multipliedReportingOverflow(by: unit.1)
        }
        guard let count, !count.overflow, range.contains(count.partialValue) else {
            throw self.bad(
                word, "a size from \(Shown.bytes(range.lowerBound)) to \(Shown.bytes(range.upperBound)), such as 256KiB"
            )
        }
        return count.partialValue
    }

    /// `400Hz`.
    static func rate(_ words: [PlacedText], _ range: ClosedRange<Double>) throws(ValueProblem) -> Double {
        let word = self.single(words)
        guard let quantity = try? Quantity.parse(word.text), quantity.dimension == .frequency,
            range.contains(quantity.value)
        else {
            throw self.bad(
                word, "a rate from \(Int(range.lowerBound))Hz to \(Int(range.upperBound))Hz, such as 400Hz")
        }
        return quantity.value
    }

    /// `30/1min`, or `30/1min burst 5`.
    static func quota(_ words: [PlacedText]) throws(ValueProblem) -> Quota {
        let whole = self.single(words)
        let words = whole.words
        let expected = "a quota such as '30/1min burst 5'"
        guard let rate = words.first, words.count == 1 || words.count == 3 else { throw self.bad(whole, expected) }
        guard let slash = rate.text.utf8.firstIndex(of: UInt8(ascii: "/")) else { throw self.bad(rate, expected) }
        let offset = rate.text.utf8.distance(from: rate.text.utf8.startIndex, to: slash)
        let head = PlacedText(text: String(rate.text[..<slash]), place: rate.place)
        let count = try self.number(head, 1...1_000_000)
        let period = try self.span(rate.from(offset + 1), .milliseconds(1) ... .seconds(86_400 * 7))
        guard words.count == 3 else { return Quota(count: count, period: period, burst: count) }
        guard words[1].text == "burst" else { throw self.bad(words[1], "'burst'") }
        return Quota(count: count, period: period, burst: try self.number(words[2], 1...1_000_000))
    }

    /// `shake.planar:2g`, each detector once.
    static func thresholds(_ words: [PlacedText]) throws(ValueProblem) -> [String: String] {
        let expected = "a detector and its threshold, such as 'shake.planar:2g'"
        var thresholds: [String: String] = [:]
        for word in words {
            guard let colon = word.text.utf8.lastIndex(of: UInt8(ascii: ":")), colon != word.text.startIndex else {
                throw self.bad(word, expected)
            }
            let offset = word.text.utf8.distance(from: word.text.utf8.startIndex, to: colon)
            let (name, value) = (String(word.text[..<colon]), String(word.text.utf8.dropFirst(offset + 1)) ?? "")
            guard let quantity = try? Quantity.parse(value), quantity.value > 0, quantity.value.isFinite else {
                throw self.bad(word, expected, offset: offset + 1)
            }
            guard thresholds.updateValue(value, forKey: name) == nil else {
                throw ValueProblem(
                    place: word.place, message: "'\(printable(name))' has a threshold already",
                    advice: "say each detector once")
            }
        }
        return thresholds
    }

    /// `20%`, or `20% rate 1/2s`.
    static func ducking(_ words: [PlacedText]) throws(ValueProblem) -> Ducking {
        let whole = self.single(words)
        let words = whole.words
        let expected = "a share, and events in a time, such as '20% rate 1/2s'"
        guard let share = words.first, words.count == 1 || words.count == 3 else { throw self.bad(whole, expected) }
        guard let quantity = try? Quantity.parse(share.text), quantity.dimension == .share,
            (0..<1).contains(quantity.value)
        else { throw self.bad(share, "a share from 0% to less than 100%, such as 20%") }
        guard words.count == 3 else { return Ducking(share: quantity.value) }
        guard words[1].text == "rate" else { throw self.bad(words[1], "'rate'") }
        return Ducking(share: quantity.value, events: try self.quota([words[2]]))
    }

    /// Names of classes or tasks, each once.
    static func plainNames(_ words: [PlacedText]) throws(ValueProblem) -> [String] {
        try self.distinct(words) { (word) throws(ValueProblem) in try self.name(word) }
    }

    /// Names of windows, with stars or not, each once. One of stars alone would be every window there is.
    static func windows(_ words: [PlacedText]) throws(ValueProblem) -> [NamePattern] {
        try self.distinct(words) { (word) throws(ValueProblem) in
            guard word.text.utf8.count <= AppFile.longestWindow,
                word.text.utf8.contains(where: { $0 != UInt8(ascii: "*") })
            else {
                throw self.bad(word, "a window's name of at most \(AppFile.longestWindow) bytes, with more than stars")
            }
            return NamePattern(word.text)
        }
    }

    /// `5/10 max 60`, or `none`.
    static func aging(_ words: [PlacedText]) throws(ValueProblem) -> Aging? {
        let whole = self.single(words)
        if whole.text == "none" { return nil }
        let words = whole.words
        let expected = "'STRENGTH/DENIALS max STRENGTH', such as '5/10 max 60', or 'none'"
        guard let rate = words.first, words.count == 3, words[1].text == "max",
            let slash = rate.text.utf8.firstIndex(of: UInt8(ascii: "/"))
        else { throw self.bad(whole, expected) }
        let offset = rate.text.utf8.distance(from: rate.text.utf8.startIndex, to: slash)
        let head = PlacedText(text: String(rate.text[..<slash]), place: rate.place)
        return Aging(
            step: try self.number(head, 1...Limits.strength),
            denials: try self.number(rate.from(offset + 1), 1...1_000_000),
            limit: try self.number(words[2], 1...Limits.strength))
    }

    // MARK: Words

    static func word<W: Word>(_ words: [PlacedText], _ what: String, _: W.Type = W.self) throws(ValueProblem) -> W {
        let word = self.single(words)
        guard let found = W.allCases.first(where: { $0.name == word.text }) else {
            throw self.unknown(word, what, among: W.allCases.map(\.name))
        }
        return found
    }

    static func list<W: Word>(_ words: [PlacedText], _ what: String) throws(ValueProblem) -> [W] {
        try self.distinct(words) { (word) throws(ValueProblem) in try self.word([word], what) }
    }

    /// What each word means, none of it twice.
    private static func distinct<Meaning: Equatable>(
        _ words: [PlacedText], _ read: (PlacedText) throws(ValueProblem) -> Meaning
    ) throws(ValueProblem) -> [Meaning] {
        var list: [Meaning] = []
        for word in words {
            let found = try read(word)
            if list.contains(found) {
                throw ValueProblem(
                    check: .duplicate, place: word.place, message: "'\(word.text)' stands here twice",
                    advice: "remove one")
            }
            list.append(found)
        }
        return list
    }

    /// The words that are asked for and those that are not, `*` being all of them.
    private static func signed<W: Word>(
        _ words: [PlacedText], _ what: String
    ) throws(ValueProblem) -> (any: WordSet<W>?, except: WordSet<W>) {
        var any: WordSet<W>?
        var except = WordSet<W>.none
        for word in words {
            let isNegated = word.text.hasPrefix("!")
            let bare = isNegated ? word.from(1) : word
            let found = bare.text == "*" ? WordSet<W>.all : WordSet([try self.word([bare], what, W.self)])
            if isNegated { except = except.union(found) } else { any = (any ?? .none).union(found) }
        }
        return (any, except)
    }

    /// For what has one value at a time: the values that will do.
    static func set<W: Word>(_ words: [PlacedText], _ what: String) throws(ValueProblem) -> WordSet<W> {
        let (any, except) = try self.signed(words, what) as (WordSet<W>?, WordSet<W>)
        return (any ?? .all).subtracting(except)
    }

    static func modes(_ words: [PlacedText]) throws(ValueProblem) -> ModeCondition {
        let (any, except) = try self.signed(words, "mode") as (WordSet<BackgroundMode>?, WordSet<BackgroundMode>)
        return ModeCondition(any: any, except: except)
    }

    /// A name, with stars or not, and whether a `!` stands before it.
    ///
    /// What no name can match is refused: a rule would pass over those who are meant, and nobody would be told.
    static func pattern(
        _ word: PlacedText, of kind: NameKind
    ) throws(ValueProblem) -> (pattern: NamePattern, isNegated: Bool) {
        let isNegated = word.text.hasPrefix("!")
        let bare = isNegated ? word.from(1) : word
        guard !bare.text.isEmpty, bare.text.utf8.count <= 255 else {
            throw self.bad(word, "a name of at most 255 bytes")
        }
        if let odd = bare.text.utf8.firstIndex(where: { !self.isPlain($0) && $0 != UInt8(ascii: "*") }) {
            let offset = bare.text.utf8.distance(from: bare.text.startIndex, to: odd)
            throw ValueProblem(
                place: bare.from(offset).place,
                message: "no \(kind.noun) has '\(printable(String(bare.text.unicodeScalars[odd])))' in it, found "
                    + "'\(printable(word.text))'",
                advice: "write letters, digits, '-', '_' and '.', with '*' for any text, and spaces between names")
        }
        let pattern = NamePattern(bare.text)
        if kind == .app, !self.canBeApp(pattern) { throw self.bad(bare, "an app id such as 'org.example.App'") }
        return (pattern, isNegated)
    }

    /// Whether an app can have such a name.
    private static func canBeApp(_ pattern: NamePattern) -> Bool {
        if pattern.isLiteral { return AppID.isValid(pattern.text) }
        // Whatever stands beside a star, this makes of it what an id can have there.
        return AppID.isValid(
            pattern.text.split(separator: "*", omittingEmptySubsequences: false).joined(separator: "a.a"))
    }
}

/// What the names of a list are names of.
enum NameKind: Sendable {
    case app
    case preset

    fileprivate var noun: String {
        switch self {
        case .app: "app id"
        case .preset: "preset"
        }
    }
}

/// How large numbers in policy files may be.
enum Limits {
    static let strength = 1_000_000
    static let priority = 1_000_000
    static let longestSpan = TimeSpan.seconds(86_400 * 7)
}
