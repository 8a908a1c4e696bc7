import Arbitration
import Motion

extension Scenario {
    /// Reads a scenario.
    package init(parsing text: String) throws(ScenarioProblem) {
        var steps: [Step] = []
        var isRecording = false
        for (index, line) in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = Substring(line)
            if index == 0 {
                guard line == Self.header || line == Self.recordingHeader else {
                    throw ScenarioProblem(line: 1, column: 1, message: "expected '\(Self.header)'")
                }
                isRecording = line == Self.recordingHeader
                continue
            }
            if line.utf8.first == UInt8(ascii: "|") {
                try Self.addLine(line, number: index + 1, to: &steps)
                continue
            }
            var reader = LineReader(line, number: index + 1, isRecording: isRecording)
            guard let time = try reader.time(after: steps.last?.time) else { continue }
            let event = try reader.event()
            try reader.end()
            if time.isJoined, event.subject == nil || event.subject != steps.last?.event.subject {
                throw reader.problem(time.column, "it cannot be one input with the line before")
            }
            steps.append(Step(time.value, event, isJoined: time.isJoined))
        }
        self.init(steps, isRecording: isRecording)
    }

    /// Takes in a line of a policy file.
    private static func addLine(_ line: Substring, number: Int, to steps: inout [Step]) throws(ScenarioProblem) {
        guard let last = steps.last, case .policy(.some(var file)) = last.event else {
            throw ScenarioProblem(line: number, column: 1, message: "only what follows 'policy FILE' begins with '|'")
        }
        // Bytes: a mark behind the bar would be one character with it.
        let text = line.utf8.dropFirst()
        guard text.isEmpty || text.first == 0x20 else {
            throw ScenarioProblem(line: number, column: 2, message: "expected a space")
        }
        file.lines.append(String(Substring(text.dropFirst())))
        steps[steps.count - 1].event = .policy(file)
    }
}

/// Reads one line of a scenario.
private struct LineReader {
    private struct Token {
        var text: String
        var column: Int
    }

    private let number: Int
    private let isRecording: Bool
    private let length: Int
    private var tokens: ArraySlice<Token> = []

    init(_ line: Substring, number: Int, isRecording: Bool) {
        self.number = number
        self.isRecording = isRecording
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

    /// The time at the start of the line, or that of the line it belongs to; `nil` for a line that says nothing.
    mutating func time(
        after last: TimeSpan?
    ) throws(ScenarioProblem) -> (value: TimeSpan, column: Int, isJoined: Bool)? {
        guard let token = self.tokens.popFirst() else { return nil }
        if token.text == "&" {
            guard let last else { throw self.problem(token.column, "there is no line before") }
            return (last, token.column, true)
        }
        let time = try self.span(token)
        if let last, time < last {
            throw self.problem(token.column, "time goes back, from \(last.microseconds) us")
        }
        return (time, token.column, false)
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

    private func span(
        _ token: Token, from first: TimeSpan = .zero
    ) throws(ScenarioProblem) -> TimeSpan {
        let quantity = try self.quantity(token, "a time such as 1.5s")
        let isTime = quantity.dimension == .time || (quantity.dimension == .none && quantity.value == 0)
        guard isTime, let span = TimeSpan(seconds: quantity.value), span >= first, span <= Scenario.longest else {
            throw self.problem(token.column, "expected a time such as 1.5s, found '\(printable(token.text))'")
        }
        return span
    }

    /// A sample time, which may lie before the recording began.
    private func sampleTime(_ token: Token) throws(ScenarioProblem) -> TimeSpan {
        try self.span(token, from: TimeSpan(microseconds: -Scenario.longest.microseconds))
    }

    /// A point in time, or `never`.
    private mutating func timeOrNever() throws(ScenarioProblem) -> TimeSpan? {
        let token = try self.next("a time, or never")
        return token.text == "never" ? nil : try self.sampleTime(token)
    }

    /// What a detector measured. Only a broker can have seen what is no number.
    private func measured(_ token: Token, _ what: String) throws(ScenarioProblem) -> Quantity {
        if self.isRecording, ["inf", "-inf", "nan"].contains(token.text), let value = Double(token.text) {
            return Quantity(value, .none)
        }
        return try self.quantity(token, what)
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

    /// An app id; `-3` is the third client without a name.
    private mutating func app() throws(ScenarioProblem) -> AppID {
        self.app(try self.next("an app id").text)
    }

    private func app(_ text: String) -> AppID {
        guard text.utf8.first == UInt8(ascii: "-"), let number = UInt32(text.dropFirst()), number > 0 else {
            return AppID(text)
        }
        return .anonymous(number)
    }

    /// A name, in which `%20` is a space.
    private mutating func name(_ what: String) throws(ScenarioProblem) -> String {
        try self.name(try self.next(what))
    }

    private func name(_ token: Token) throws(ScenarioProblem) -> String {
        guard token.text.utf8.contains(UInt8(ascii: "%")) else { return token.text }
        var bytes: [UInt8] = []
        var rest = Array(token.text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard rest.count >= 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else {
                throw self.problem(token.column, "expected two digits behind '%', as in '%25'")
            }
            bytes.append(value)
            rest.removeFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

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

    mutating func event() throws(ScenarioProblem) -> Scenario.Event {
        let verb = try self.next("what happens")
        switch verb.text {
        case "app": return .app(try self.app(), try self.entrance())
        case "back": return .back(try self.app(), try self.entrance())
        case "away": return .away(try self.app())
        case "detector": return try self.detector()
        case "remove": return .removeDetector(try self.app(), try self.name("a detector"))
        case "available":
            let id = try self.app()
            return .available(id, try self.name("a detector"), try self.choice("word", "yes", "no"))
        case "state":
            let id = try self.app()
            let token = try self.next("a state")
            return .state(id, token.text == "auto" ? nil : try self.word(token, "state"))
        case "foreground": return .foreground(try self.report())
        case "frozen": return .frozen(try self.appsOrNobody())
        case "playing": return .playing(try self.appsOrNobody())
        case "activity":
            let id = try self.app()
            let mode: BackgroundMode = try self.word(try self.next("a mode"), "mode")
            let isRunning = try self.choice("word", "begin", "end")
            let options = try self.options(isRunning ? ["number", "class", "mix-with-others"] : ["number"])
            return .activity(
                id, mode, isRunning: isRunning, number: try self.number(options), session: try self.session(options))
        case "assertion":
            let id = try self.app()
            return .assertion(id, try self.assertion())
        case "task":
            let id = try self.app()
            let token = try self.next("a step")
            guard let step = TaskStep(rawValue: token.text) else {
                throw self.unknown(token, "step", TaskStep.allCases.map(\.rawValue))
            }
            return .task(id, step)
        case "locked": return .locked(try self.choice("word", "yes", "no"))
        case "sleep": return .sleep(try self.choice("word", "begin", "end"))
        case "power": return .power(try self.power())
        case "clock": return .clock(try self.clock())
        case "hit": return try self.hit()
        case "consume", "pass":
            let id = try self.app()
            let epoch = try self.options(["epoch"])["epoch"]
            let number = epoch.flatMap { UInt64($0.text) }
            if let epoch, number == nil { throw self.problem(epoch.column, "expected a whole number") }
            return .answer(id, verb.text == "consume" ? .consume : .pass, epoch: number)
        case "launch": return try self.launch()
        case "launched":
            let id = try self.app()
            let token = try self.next("what became of it")
            guard let result = LaunchResult.named(token.text) else {
                throw self.unknown(token, "result", LaunchResult.all.map(\.name))
            }
            return .launched(id, result, number: try self.number(try self.options(["number"])))
        case "leave": return .leave(try self.app())
        case "policy": return .policy(try self.policyFile())
        case "motion" where self.isRecording: return .motion(try self.sampleTime(try self.next("a sample time")))
        case "rewind" where self.isRecording: return .rewind(try self.sampleTime(try self.next("a sample time")))
        case "patience" where self.isRecording: return .patience(try self.choice("word", "begin", "end"))
        case "true" where self.isRecording:
            let id = try self.app()
            return .lastTrue(id, try self.name("a detector"), try self.timeOrNever())
        case "end": return .end
        default:
            throw self.unknown(verb, "event", Scenario.verbs + (self.isRecording ? Scenario.verbsOfRecordings : []))
        }
    }

    private mutating func launch() throws(ScenarioProblem) -> Scenario.Event {
        let id = try self.app()
        let reason = LaunchReason(try self.name("a launch reason"))
        let options = try self.options(["for", "strength", "user"])
        var strength = 0
        if let token = options["strength"] {
            guard let number = Int(token.text) else { throw self.problem(token.column, "expected a whole number") }
            strength = number
        }
        let lasting = try options["for"].map { token throws(ScenarioProblem) in try self.span(token) }
        let user = try self.user(options)
        return .launch(id, reason, strength: strength, lasting: lasting ?? .seconds(3), user: user)
    }

    private mutating func detector() throws(ScenarioProblem) -> Scenario.Event {
        let id = try self.app()
        var facts = DetectorFacts(name: try self.name("a detector"))
        let options = try self.options([
            "preset", "sensor", "threshold", "measures", "rest", "starts-resting", "available",
        ])
        if let value = options["preset"] { facts.preset = try self.name(value) }
        if let value = options["sensor"] { facts.sensor = try self.name(value) }
        if let value = options["threshold"] {
            let quantity = try self.measured(value, "a threshold such as 2.7g")
            facts.threshold = quantity.value
            facts.dimension = quantity.dimension
        }
        if let value = options["measures"] {
            let dimensions = Dimension.allCases
            guard let index = dimensions.map(Scenario.Event.name(of:)).firstIndex(of: value.text) else {
                throw self.unknown(value, "measure", dimensions.map(Scenario.Event.name(of:)))
            }
            facts.dimension = dimensions[index]
        }
        if let value = options["rest"] { facts.rest = try self.span(value) }
        if let value = options["starts-resting"] { facts.startsResting = try self.flag(value) }
        if let value = options["available"] { facts.isAvailable = try self.flag(value) }
        return .detector(id, facts)
    }

    private func flag(_ token: Token) throws(ScenarioProblem) -> Bool {
        guard token.text == "yes" || token.text == "no" else { throw self.unknown(token, "word", ["yes", "no"]) }
        return token.text == "yes"
    }

    private func user(_ options: [String: Token]) throws(ScenarioProblem) -> UInt32? {
        guard let token = options["user"] else { return nil }
        guard let user = UInt32(token.text) else { throw self.problem(token.column, "expected the number of a user") }
        return user
    }

    private mutating func entrance() throws(ScenarioProblem) -> AppEntrance {
        var entrance = AppEntrance()
        let options = try self.options(["state", "proof", "proven", "connected", "modes", "player", "user"])
        entrance.user = try self.user(options)
        if let value = options["state"] { entrance.told = try self.word(value, "state") }
        if let value = options["proof"] { entrance.proof = try self.word(value, "proof") }
        if let value = options["proven"] { entrance.isProvenEnough = try self.flag(value) }
        if let value = options["connected"] { entrance.isConnected = try self.flag(value) }
        if let value = options["player"] { entrance.hasPlayer = try self.flag(value) }
        if let value = options["modes"] { entrance.declared = try self.modes(value) }
        return entrance
    }

    /// Modes with commas between them, or none.
    private func modes(_ token: Token) throws(ScenarioProblem) -> WordSet<BackgroundMode> {
        var modes = WordSet<BackgroundMode>.none
        if token.text == "none" { return modes }
        var column = token.column
        for part in token.text.split(separator: ",", omittingEmptySubsequences: false) {
            modes.insert(try self.word(Token(text: String(part), column: column), "mode"))
            column += part.utf8.count + 1
        }
        return modes
    }

    private mutating func report() throws(ScenarioProblem) -> ForegroundReport {
        let token = try self.next("app ids, nobody or unreported")
        if token.text == "unreported" { return .none }
        let visible = try self.options(["visible"])["visible"]
        return .shown(
            ShownApps(
                front: token.text == "nobody" ? [] : try self.apps(token),
                visible: try visible.map { token throws(ScenarioProblem) in try self.apps(token) } ?? []))
    }

    private mutating func appsOrNobody() throws(ScenarioProblem) -> Set<AppID> {
        let token = try self.next("app ids or nobody")
        return token.text == "nobody" ? [] : try self.apps(token)
    }

    /// App ids with commas between them.
    private func apps(_ token: Token) throws(ScenarioProblem) -> Set<AppID> {
        let names = token.text.split(separator: ",", omittingEmptySubsequences: false)
        guard names.allSatisfy({ !$0.isEmpty }) else {
            throw self.problem(token.column, "expected app ids with commas between them")
        }
        return Set(names.map { self.app(String($0)) })
    }

    private mutating func assertion() throws(ScenarioProblem) -> Scenario.AssertionStep {
        let verb = try self.next("begin, end or renew")
        switch verb.text {
        case "begin":
            let options = try self.options(["name", "warning", "number"])
            let warning = try self.span(options["warning"]) ?? AssertionRequest.standardWarning
            return .begin(name: try self.name(options["name"]), warning: warning, number: try self.number(options))
        case "end":
            let options = try self.options(["name", "number"])
            return .end(name: try self.name(options["name"]), number: try self.number(options))
        case "renew":
            let options = try self.options(["name", "below"])
            return .renew(name: try self.name(options["name"]), below: try self.span(options["below"]))
        default: throw self.unknown(verb, "word", ["begin", "end", "renew"])
        }
    }

    private func name(_ token: Token?) throws(ScenarioProblem) -> String? {
        guard let token else { return nil }
        let name: String = try self.name(token)
        return name
    }

    private func span(_ token: Token?) throws(ScenarioProblem) -> TimeSpan? {
        guard let token else { return nil }
        let span: TimeSpan = try self.span(token)
        return span
    }

    private func number(_ options: [String: Token]) throws(ScenarioProblem) -> UInt64? {
        guard let token = options["number"] else { return nil }
        guard let number = UInt64(token.text) else { throw self.problem(token.column, "expected a whole number") }
        return number
    }

    private func session(_ options: [String: Token]) throws(ScenarioProblem) -> SessionRequest? {
        let mixes = options["mix-with-others"]
        guard let name = options["class"] else {
            if let mixes { throw self.problem(mixes.column, "only a class mixes with others") }
            return nil
        }
        return SessionRequest(try self.name(name), mixes: try mixes.map(self.flag) ?? false)
    }

    private mutating func policyFile() throws(ScenarioProblem) -> Scenario.File? {
        guard let token = self.tokens.popFirst() else { return nil }
        let name = try self.name(token)
        guard let layer = self.tokens.popFirst() else { return Scenario.File(name: name, isUser: false, lines: []) }
        guard ["user", "outside"].contains(layer.text) else { throw self.unknown(layer, "word", ["user", "outside"]) }
        let isUser = layer.text == "user"
        return Scenario.File(name: name, isUser: isUser, isOutside: !isUser, lines: [])
    }

    private mutating func hit() throws(ScenarioProblem) -> Scenario.Event {
        let id = try self.app()
        let name = try self.name("a detector")
        let peak = try self.measured(try self.next("a peak such as 2.7g"), "a peak such as 2.7g")
        let options = try self.options(self.isRecording ? ["for", "clipped", "sample", "note"] : ["for", "clipped"])
        var lasting = TimeSpan.zero
        var sample: TimeSpan?
        if let token = options["for"] { lasting = try self.span(token) }
        if let token = options["sample"] { sample = try self.sampleTime(token) }
        let isClipped = if let token = options["clipped"] { try self.flag(token) } else { false }
        var note = HitNote.none
        if let token = options["note"] {
            guard let number = UInt16(token.text) else { throw self.problem(token.column, "expected a small number") }
            note = HitNote(rawValue: number)
        }
        return .hit(id, name, peak: peak.value, lasting: lasting, sample: sample, isClipped: isClipped, note: note)
    }

    private mutating func power() throws(ScenarioProblem) -> Power {
        let source = try self.next("ac or battery")
        guard source.text == "battery" else {
            guard source.text == "ac" else { throw self.unknown(source, "power", ["ac", "battery"]) }
            return .ac
        }
        guard let charge = self.tokens.popFirst() else { return .battery(nil) }
        let quantity = try self.quantity(charge, "a charge such as 15%")
        guard quantity.dimension == .share || quantity.dimension == .none, (0...1).contains(quantity.value) else {
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
