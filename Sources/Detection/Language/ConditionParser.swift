import Motion

/// What names in a condition stand for.
struct ConditionScope {
    /// The sensor's channels, in order, and what they measure.
    var channels: [String]
    var kind: Kind
    /// The units of channels that measure something else, or the same in another unit.
    var otherUnits: [String: Unit] = [:]
    /// True when gravity is part of the values: `gravity` and `user` exist.
    var hasGravity: Bool
    /// A preset's parameters.
    var constants: [String: Quantity] = [:]
    /// Looks a second when the detector has a pace of its own, else `nil`: functions by look need one.
    var isPaced: Bool
}

extension ConditionScope {
    func kind(of channel: String) -> Kind { self.otherUnits[channel].map { Kind($0.dimension) } ?? self.kind }

    /// The names that are vectors.
    var vectors: [String] {
        let named = self.channels.filter { $0.hasSuffix("_x") }.map { String($0.dropLast(2)) }
        let own = named.filter { self.place(ofVector: $0) != nil }
        return own + (self.hasGravity ? ["gravity", "user"].filter { !own.contains($0) } : [])
    }

    /// Where the three channels begin that are named after a vector, one behind the other: `gravity_x`, `gravity_y`, `gravity_z`.
    func place(ofVector name: String) -> Int? {
        let names = ["\(name)_x", "\(name)_y", "\(name)_z"]
        guard let first = self.channels.firstIndex(of: names[0]) else { return nil }
        return self.channels[first...].starts(with: names) ? first : nil
    }

    /// What the channels show while the device rests and sees up in a direction.
    func atRest(_ up: [Double]) -> [Double] {
        self.channels.map { channel in
            switch channel {
            case "x", "gravity_x": up[0]
            case "y", "gravity_y": up[1]
            case "z", "gravity_z": up[2]
            case "rotation_x", "rotation_y", "rotation_z": 0
            default: .nan
            }
        }
    }
}

/// Reads a condition and checks what its values measure, in one pass over the text.
///
/// Grammar, loosest first: `A then B within T`, `or`, `and`, `not`, a comparison, `+ -`, `* /`, `-`, and names,
/// numbers, calls, parentheses. Nesting is bounded by `DetectionLimits.nesting`, so recursion is too.
struct ConditionParser {
    enum Term {
        case scalar(Scalar)
        case vector(Vector)
        case truth(Truth)

        var described: String {
            switch self {
            case .scalar(let scalar): scalar.kind.described
            case .vector: "a vector"
            case .truth: "a condition"
            }
        }
    }

    let scope: ConditionScope
    var builder: FormulaBuilder
    private var lexer: Lexer
    private(set) var token = Token(content: .end, offset: 0, end: 0)
    /// Where the last token that was taken ends.
    private(set) var lastEnd = 0
    private var depth = 0

    private init(_ text: String, _ scope: ConditionScope) {
        self.scope = scope
        self.builder = FormulaBuilder(channels: scope.channels)
        self.lexer = Lexer(text)
    }

    /// A parsed condition and the constant that the quantity of its hits is compared with.
    struct Result {
        var condition: Condition
        var threshold: Double?
        /// What that quantity measures.
        var dimension: Dimension

        init(_ builder: inout FormulaBuilder, _ truth: Truth) throws(ConditionProblem) {
            let (condition, measured) = try builder.condition(truth)
            self.condition = condition
            self.threshold = measured.threshold
            self.dimension = measured.kind.dimension
        }
    }

    /// Reads `text`; a problem's offset is already a column.
    static func parse(_ text: String, in scope: ConditionScope) throws(ConditionProblem) -> Result {
        guard text.utf8.count <= DetectionLimits.conditionLength else {
            throw ConditionProblem(
                0, "the condition is longer than \(DetectionLimits.conditionLength) bytes", limit: "condition-length")
        }
        var parser = ConditionParser(text, scope)
        do {
            try parser.advance()
            let truth = try parser.wholeCondition()
            return try Result(&parser.builder, truth)
        } catch {
            var problem = error
            problem.offset = parser.lexer.column(error.offset)
            throw problem
        }
    }

    private mutating func wholeCondition() throws(ConditionProblem) -> Truth {
        let offset = self.token.offset
        let term = try self.sequence()
        guard self.token.content == .end else { throw self.unexpected("expected the end or 'and', 'or', 'then'") }
        return try self.truth(term, from: offset)
    }

    // MARK: Tokens

    mutating func advance() throws(ConditionProblem) {
        self.lastEnd = self.token.end
        self.token = try self.lexer.next()
        self.builder.place = self.token.offset
    }

    mutating func take(_ symbol: String) throws(ConditionProblem) -> Bool {
        guard self.token.content == .symbol(symbol) else { return false }
        try self.advance()
        return true
    }

    mutating func takeWord(_ word: String) throws(ConditionProblem) -> Bool {
        guard self.token.content == .name(word) else { return false }
        try self.advance()
        return true
    }

    func unexpected(_ message: String) -> ConditionProblem {
        let found = self.token.content == .end ? "the end" : "'\(self.text(self.token.offset, self.token.end))'"
        return ConditionProblem(self.token.offset, "\(message), found \(found)")
    }

    /// The text between two offsets.
    func text(_ start: Int, _ end: Int) -> String { self.lexer.text(start, end) }

    // MARK: Terms

    func truth(_ term: Term, from offset: Int) throws(ConditionProblem) -> Truth {
        if case .truth(let truth) = term { return truth }
        throw ConditionProblem(
            offset,
            "expected a condition such as 'norm(x, y, z) > 2g'; `\(self.text(offset, self.lastEnd))` is \(term.described)"
        )
    }

    func scalar(_ term: Term, from offset: Int) throws(ConditionProblem) -> Scalar {
        if case .scalar(let scalar) = term { return scalar }
        throw ConditionProblem(
            offset, "expected a number; `\(self.text(offset, self.lastEnd))` is \(term.described)")
    }

    mutating func nested<Value>(
        _ body: (inout ConditionParser) throws(ConditionProblem) -> Value
    ) throws(ConditionProblem) -> Value {
        guard self.depth < DetectionLimits.nesting else {
            throw ConditionProblem(
                self.token.offset, "the condition is nested deeper than \(DetectionLimits.nesting)",
                limit: "condition-nesting")
        }
        self.depth += 1
        defer { self.depth -= 1 }
        return try body(&self)
    }

    /// A whole term: what stands between parentheses or commas.
    mutating func sequence() throws(ConditionProblem) -> Term {
        let start = self.token.offset
        var left = try self.disjunction()
        while self.token.content == .name("then") {
            let before = try self.truth(left, from: start)
            try self.advance()
            let offset = self.token.offset
            let afterTerm = try self.disjunction()
            let after = try self.truth(afterTerm, from: offset)
            guard try self.takeWord("within") else { throw self.unexpected("expected 'within' and a time") }
            let span = try self.duration()
            left = .truth(try self.builder.sequence(before, after, within: span))
        }
        return left
    }

    private mutating func disjunction() throws(ConditionProblem) -> Term {
        let start = self.token.offset
        var left = try self.conjunction()
        while self.token.content == .name("or") {
            let first = try self.truth(left, from: start)
            try self.advance()
            let offset = self.token.offset
            let secondTerm = try self.conjunction()
            let second = try self.truth(secondTerm, from: offset)
            left = .truth(self.builder.joined(first, second, and: false))
        }
        return left
    }

    private mutating func conjunction() throws(ConditionProblem) -> Term {
        let start = self.token.offset
        var left = try self.negation()
        while self.token.content == .name("and") {
            let first = try self.truth(left, from: start)
            try self.advance()
            let offset = self.token.offset
            let secondTerm = try self.negation()
            let second = try self.truth(secondTerm, from: offset)
            left = .truth(self.builder.joined(first, second, and: true))
        }
        return left
    }

    private mutating func negation() throws(ConditionProblem) -> Term {
        guard try self.takeWord("not") else { return try self.comparison() }
        let offset = self.token.offset
        let term = try self.nested { (parser) throws(ConditionProblem) in try parser.negation() }
        let truth = try self.truth(term, from: offset)
        return .truth(self.builder.opposite(truth))
    }

    private mutating func comparison() throws(ConditionProblem) -> Term {
        let start = self.token.offset
        let left = try self.sum()
        guard case .symbol(let symbol) = self.token.content, [">", ">=", "<", "<="].contains(symbol) else {
            return left
        }
        let leftEnd = self.lastEnd
        let first = try self.scalar(left, from: start)
        let place = self.token.offset
        try self.advance()
        let offset = self.token.offset
        let secondTerm = try self.sum()
        let second = try self.scalar(secondTerm, from: offset)
        guard first.kind == second.kind else {
            throw ConditionProblem(
                offset,
                "'\(symbol)' compares values of one kind; `\(self.text(start, leftEnd))` is \(first.kind.described), "
                    + "`\(self.text(offset, self.lastEnd))` is \(second.kind.described)")
        }
        if case .symbol(let next) = self.token.content, [">", ">=", "<", "<="].contains(next) {
            throw self.unexpected("comparisons do not chain: write 'a < b and b < c'; expected 'and', 'or' or the end")
        }
        return .truth(try self.builder.comparison(first, symbol, second, at: place))
    }

    private mutating func sum() throws(ConditionProblem) -> Term {
        let start = self.token.offset
        var left = try self.product()
        while self.token.content == .symbol("+") || self.token.content == .symbol("-") {
            let subtracts = self.token.content == .symbol("-")
            let leftEnd = self.lastEnd
            let first = try self.scalar(left, from: start)
            let place = self.token.offset
            try self.advance()
            let offset = self.token.offset
            let secondTerm = try self.product()
            let second = try self.scalar(secondTerm, from: offset)
            guard first.kind == second.kind else {
                throw ConditionProblem(
                    offset,
                    "'\(subtracts ? "-" : "+")' takes values of one kind; `\(self.text(start, leftEnd))` is \(first.kind.described), "
                        + "`\(self.text(offset, self.lastEnd))` is \(second.kind.described)")
            }
            left = .scalar(try self.builder.sum(first, second, subtracts: subtracts, at: place))
        }
        return left
    }

    private mutating func product() throws(ConditionProblem) -> Term {
        let start = self.token.offset
        var left = try self.factor()
        while self.token.content == .symbol("*") || self.token.content == .symbol("/") {
            let divides = self.token.content == .symbol("/")
            let first = try self.scalar(left, from: start)
            let place = self.token.offset
            try self.advance()
            let offset = self.token.offset
            let secondTerm = try self.factor()
            let second = try self.scalar(secondTerm, from: offset)
            left = .scalar(try self.builder.product(first, second, divides: divides, at: place))
        }
        return left
    }

    private mutating func factor() throws(ConditionProblem) -> Term {
        let offset = self.token.offset
        if try self.take("-") {
            let term = try self.nested { (parser) throws(ConditionProblem) in try parser.factor() }
            let value = try self.scalar(term, from: offset + 1)
            return .scalar(try self.builder.negated(value))
        }
        switch self.token.content {
        case .number(let quantity):
            try self.advance()
            return .scalar(try self.builder.constant(quantity.value, Kind(quantity.dimension)))
        case .symbol("("):
            try self.advance()
            let term = try self.nested { (parser) throws(ConditionProblem) in try parser.sequence() }
            guard try self.take(")") else { throw self.unexpected("expected ')'") }
            return term
        case .name(let name):
            try self.advance()
            if self.token.content == .symbol("(") {
                return try self.nested { (parser) throws(ConditionProblem) in try parser.call(name, at: offset) }
            }
            return try self.named(name, at: offset)
        case .symbol, .end:
            throw self.unexpected("expected a value")
        }
    }

    private mutating func named(_ name: String, at offset: Int) throws(ConditionProblem) -> Term {
        if let constant = self.scope.constants[name] {
            return .scalar(try self.builder.constant(constant.value, Kind(constant.dimension)))
        }
        if let index = self.scope.channels.firstIndex(of: name) {
            guard let unit = self.scope.otherUnits[name] else {
                return .scalar(try self.builder.channel(index, self.scope.kind))
            }
            return .scalar(try self.builder.channel(index, in: unit))
        }
        if let vector = try self.channels(of: name) { return .vector(vector) }
        if self.scope.hasGravity, name == "gravity" || name == "user" {
            return .vector(try self.gravity(user: name == "user"))
        }
        if self.scope.hasGravity, name == Self.activity { return .truth(try self.activityTruth()) }
        if ConditionFunction(rawValue: name) != nil {
            throw ConditionProblem(offset, "'\(name)' is a function: write '\(name)(…)'")
        }
        let names =
            self.scope.channels + self.scope.constants.keys.sorted()
            + self.scope.vectors + (self.scope.hasGravity ? [Self.activity] : [])
        let near = Suggestion.nearest(to: name, among: names)
        throw ConditionProblem(
            offset,
            "unknown name '\(printable(name))'"
                + (near.map { ", did you mean '\($0)'?" } ?? "; known are \(names.joined(separator: ", "))"))
    }

    /// The name of what the device is doing.
    static let activity = "activity"

    /// `== walking` or `!= still`, behind the name.
    private mutating func activityTruth() throws(ConditionProblem) -> Truth {
        let words = MotionActivity.allCases.map(\.word)
        guard case .symbol(let symbol) = self.token.content, symbol == "==" || symbol == "!=" else {
            throw self.unexpected("'activity' is compared with a word: 'activity == walking'; expected '==' or '!='")
        }
        try self.advance()
        guard case .name(let word) = self.token.content, let activity = MotionActivity(word: word) else {
            throw self.unexpected("expected one of \(words.joined(separator: ", "))")
        }
        try self.advance()
        let x = try self.builder.channel(0, self.scope.kind).node
        let y = try self.builder.channel(1, self.scope.kind).node
        let z = try self.builder.channel(2, self.scope.kind).node
        let node = try self.builder.node(.activity, self.builder.node(.history, x, y, z))
        let truth = try self.builder.truth(of: node, is: Double(activity.rawValue))
        return symbol == "==" ? truth : self.builder.opposite(truth)
    }

    /// The vector of three channels that are named after it, if there are such.
    private mutating func channels(of name: String) throws(ConditionProblem) -> Vector? {
        guard let first = self.scope.place(ofVector: name) else { return nil }
        let kind = self.scope.kind(of: "\(name)_x")
        let x = try self.builder.channel(first, kind).node
        let y = try self.builder.channel(first + 1, kind).node
        let z = try self.builder.channel(first + 2, kind).node
        return Vector(x: x, y: y, z: z, kind: kind)
    }

    /// The slow part of the three channels, or what is left without it. A sensor that knows it better is believed.
    private mutating func gravity(user: Bool) throws(ConditionProblem) -> Vector {
        let x = try self.builder.channel(0, self.scope.kind).node
        let y = try self.builder.channel(1, self.scope.kind).node
        let z = try self.builder.channel(2, self.scope.kind).node
        let raw = Vector(x: x, y: y, z: z, kind: self.scope.kind)
        if user, let gravity = try self.channels(of: "gravity") {
            let x = try self.builder.node(.subtract, raw.x, gravity.x)
            let y = try self.builder.node(.subtract, raw.y, gravity.y)
            let z = try self.builder.node(.subtract, raw.z, gravity.z)
            return Vector(x: x, y: y, z: z, kind: raw.kind)
        }
        return try self.builder.map(raw) { (builder, node) throws(ConditionProblem) in
            let slow = try builder.node(.smooth, node, p: Self.gravityTimeConstant, q: .nan)
            return user ? try builder.node(.subtract, node, slow) : slow
        }
    }

    /// One pole at 0.25 Hz, in µs: slow against a hand's shaking, quick against turning the device over.
    static let gravityTimeConstant = (1_000_000 / (2 * Double.pi * 0.25)).rounded()
}
