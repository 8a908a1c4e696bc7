import Arbitration
import Motion

extension Scenario {
    /// Reads a scenario.
    package init(parsing text: String) throws(ScenarioProblem) {
        var steps: [Step] = []
        var last = TimeSpan.zero
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if index == 0 {
                guard line == Self.header else {
                    throw ScenarioProblem(line: 1, column: 1, message: "expected '\(Self.header)'")
                }
                continue
            }
            var reader = LineReader(line, number: index + 1)
            guard let time = try reader.time() else { continue }
            guard time.value >= last else {
                throw reader.problem(time.column, "time goes back, from \(last.microseconds) us")
            }
            last = time.value
            steps.append(Step(time.value, try reader.event()))
            try reader.end()
        }
        self.init(steps)
    }
}

/// Reads one line of a scenario.
private struct LineReader {
    private struct Token {
        var text: String
        var column: Int
    }

    private let number: Int
    private let length: Int
    private var tokens: ArraySlice<Token> = []

    init(_ line: Substring, number: Int) {
        self.number = number
        self.length = line.utf8.count
        var tokens: [Token] = []
        var word: [UInt8] = []
        var column = 1
        for byte in Array(line.utf8) + [0x20] {
            if byte == 0x20 || byte == 0x09 || byte == 0x0D {
                if !word.isEmpty {
                    tokens.append(Token(text: String(decoding: word, as: UTF8.self), column: column - word.count))
                }
                word = []
            } else {
                word.append(byte)
            }
            column += 1
        }
        if tokens.first?.text.hasPrefix("#") == true { tokens = [] }
        self.tokens = tokens[...]
    }

    func problem(_ column: Int, _ message: String) -> ScenarioProblem {
        ScenarioProblem(line: self.number, column: column, message: message)
    }

    /// The time at the start of the line; `nil` for a line that says nothing.
    mutating func time() throws(ScenarioProblem) -> (value: TimeSpan, column: Int)? {
        guard let token = self.tokens.first else { return nil }
        self.tokens.removeFirst()
        return (try self.span(token), token.column)
    }

    func end() throws(ScenarioProblem) {
        if let token = self.tokens.first {
            throw self.problem(token.column, "expected the end of the line, found '\(printable(token.text))'")
        }
    }

    private mutating func next(_ what: String) throws(ScenarioProblem) -> Token {
        guard let token = self.tokens.popFirst() else { throw self.problem(self.length + 1, "expected \(what)") }
        return token
    }

    // MARK: Values

    private func quantity(_ token: Token, _ what: String) throws(ScenarioProblem) -> Quantity {
        do {
            return try Quantity.parse(token.text)
        } catch {
            throw self.problem(token.column + error.offset, "expected \(what): \(error.message)")
        }
    }

    private func span(_ token: Token) throws(ScenarioProblem) -> TimeSpan {
        let quantity = try self.quantity(token, "a time such as 1.5s")
        let isTime = quantity.dimension == .time || (quantity.dimension == .none && quantity.value == 0)
        guard isTime, let span = TimeSpan(seconds: quantity.value), span >= .zero, span <= Scenario.longest else {
            throw self.problem(token.column, "expected a time such as 1.5s, found '\(printable(token.text))'")
        }
        return span
    }

    private func word<W: Word>(_ token: Token, _ what: String, _: W.Type = W.self) throws(ScenarioProblem) -> W {
        if let word = W.allCases.first(where: { $0.name == token.text }) { return word }
        throw self.unknown(token, what, W.allCases.map(\.name))
    }

    private func unknown(_ token: Token, _ what: String, _ words: [String]) -> ScenarioProblem {
        let near = Suggestion.nearest(to: token.text, among: words).map { "did you mean '\($0)'?" }
        return self.problem(
            token.column,
            "unknown \(what) '\(printable(token.text))', \(near ?? "expected \(words.joined(separator: ", "))")")
    }

    private mutating func choice(_ what: String, _ yes: String, _ no: String) throws(ScenarioProblem) -> Bool {
        let token = try self.next("\(yes) or \(no)")
        guard token.text == yes || token.text == no else { throw self.unknown(token, what, [yes, no]) }
        return token.text == yes
    }

    private mutating func app() throws(ScenarioProblem) -> AppID { AppID(try self.next("an app id").text) }

    /// The `key=value` words that are left.
    private mutating func options(_ keys: [String]) throws(ScenarioProblem) -> [String: Token] {
        var options: [String: Token] = [:]
        while let token = self.tokens.popFirst() {
            let parts = token.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let key = parts.first.map({ String($0) }) else {
                throw self.problem(token.column, "expected KEY=VALUE, found '\(printable(token.text))'")
            }
            guard keys.contains(key) else {
                throw self.unknown(Token(text: key, column: token.column), "option", keys)
            }
            let value = Token(text: String(parts[1]), column: token.column + key.utf8.count + 1)
            guard options.updateValue(value, forKey: key) == nil else {
                throw self.problem(token.column, "'\(key)' stands here twice")
            }
        }
        return options
    }

    // MARK: Events

    static let verbs = [
        "app", "detector", "remove", "state", "activity", "assertion", "locked", "power", "clock", "hit", "consume",
        "pass", "leave", "end",
    ]

    mutating func event() throws(ScenarioProblem) -> Scenario.Event {
        let verb = try self.next("what happens")
        switch verb.text {
        case "app":
            let id = try self.app()
            let options = try self.options(["state", "proof"])
            var state = AppState.foreground
            var proof = IdentityProof.name
            if let token = options["state"] { state = try self.word(token, "state") }
            if let token = options["proof"] { proof = try self.word(token, "proof") }
            return .app(id, state: state, proof: proof)
        case "detector": return try self.detector()
        case "remove": return .removeDetector(try self.app(), try self.next("a detector").text)
        case "state":
            let id = try self.app()
            return .state(id, try self.word(try self.next("a state"), "state"))
        case "activity":
            let id = try self.app()
            let mode: BackgroundMode = try self.word(try self.next("a mode"), "mode")
            return .activity(id, mode, isRunning: try self.choice("word", "begin", "end"))
        case "assertion":
            let id = try self.app()
            return .assertion(id, isHeld: try self.choice("word", "begin", "end"))
        case "locked": return .locked(try self.choice("word", "yes", "no"))
        case "power": return .power(try self.power())
        case "clock": return .clock(try self.clock())
        case "hit": return try self.hit()
        case "consume", "pass":
            let id = try self.app()
            let epoch = try self.options(["epoch"])["epoch"]
            let number = epoch.flatMap { UInt64($0.text) }
            if let epoch, number == nil { throw self.problem(epoch.column, "expected a whole number") }
            return .answer(id, verb.text == "consume" ? .consume : .pass, epoch: number)
        case "leave": return .leave(try self.app())
        case "end": return .end
        default: throw self.unknown(verb, "event", Self.verbs)
        }
    }

    private mutating func detector() throws(ScenarioProblem) -> Scenario.Event {
        let id = try self.app()
        var facts = DetectorFacts(name: try self.next("a detector").text)
        for (key, value) in try self.options(["preset", "threshold", "rest", "starts-resting"]) {
            switch key {
            case "preset": facts.preset = value.text
            case "rest": facts.rest = try self.span(value)
            case "starts-resting":
                guard value.text == "yes" || value.text == "no" else {
                    throw self.unknown(value, "word", ["yes", "no"])
                }
                facts.startsResting = value.text == "yes"
            default:
                let quantity = try self.quantity(value, "a threshold such as 2.7g")
                facts.threshold = quantity.value
                facts.dimension = quantity.dimension
            }
        }
        return .detector(id, facts)
    }

    private mutating func hit() throws(ScenarioProblem) -> Scenario.Event {
        let id = try self.app()
        let name = try self.next("a detector").text
        let peak = try self.quantity(try self.next("a peak such as 2.7g"), "a peak such as 2.7g")
        var lasting = TimeSpan.zero
        if let token = try self.options(["for"])["for"] { lasting = try self.span(token) }
        return .hit(id, name, peak: peak.value, lasting: lasting)
    }

    private mutating func power() throws(ScenarioProblem) -> Power {
        let source = try self.next("ac or battery")
        guard source.text == "battery" else {
            guard source.text == "ac" else { throw self.unknown(source, "power", ["ac", "battery"]) }
            return .ac
        }
        guard let charge = self.tokens.popFirst() else { return .battery(nil) }
        let quantity = try self.quantity(charge, "a charge such as 15%")
        guard quantity.dimension == .share, (0...1).contains(quantity.value) else {
            throw self.problem(charge.column, "expected a charge such as 15%, found '\(printable(charge.text))'")
        }
        return .battery(quantity.value)
    }

    static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    private mutating func clock() throws(ScenarioProblem) -> Int {
        let day = try self.next("a day")
        guard let index = Self.days.firstIndex(of: day.text) else { throw self.unknown(day, "day", Self.days) }
        let token = try self.next("a time such as 22:15")
        let parts = token.text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }), let hour = Int(parts[0]),
            let minute = Int(parts[1]), (0..<24).contains(hour), (0..<60).contains(minute)
        else {
            throw self.problem(token.column, "expected a time such as 22:15, found '\(printable(token.text))'")
        }
        return index * 1_440 + hour * 60 + minute
    }
}
