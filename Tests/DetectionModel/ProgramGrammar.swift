import Motion

/// Makes conditions that mostly read, of all that the language has.
package struct ProgramGrammar<Source: Choices> {
    package var choices: Source
    /// Also makes numbers beyond all sense, and texts that do not read.
    private let isWild: Bool
    private var isSpoilt = false

    package init(_ choices: Source, isWild: Bool) {
        self.choices = choices
        self.isWild = isWild
    }

    private typealias Number = (text: String, term: Term)

    /// A condition, and what its comparisons compare.
    private struct Truth {
        var text: String
        var term: Term
        var compared: [Compared]
    }

    /// A number in a comparison, and whether much is asked of it.
    private struct Compared {
        var term: Term
        var kind: Kind
        var isMuch: Bool
        var threshold: Double?
        /// How many `then` stand behind it.
        var age = 0

        var opposite: Compared {
            var opposite = self
            opposite.isMuch.toggle()
            return opposite
        }
    }

    /// What a number measures.
    private enum Kind: CaseIterable {
        case acceleration, number, angle, square, rate
    }

    package mutating func program(isPaced: Bool) -> Program {
        self.isPaced = isPaced
        self.isSpoilt = false
        let truth = self.truth(depth: 1 + self.choices.pick(4))
        return Program(
            text: truth.text, term: self.isSpoilt ? nil : truth.term, measured: Self.measured(truth.compared))
    }

    /// What hits carry, as the page of detectors says it: of those that ask for more than 0, and of the first one's kind, the most.
    /// Else one, sooner one that asks for much, of the last stage.
    private static func measured(_ compared: [Compared]) -> [Measured] {
        let strong = compared.filter { $0.isMuch && ($0.threshold ?? -1) > 0 }
        if !strong.isEmpty {
            return strong.filter { $0.kind == strong[0].kind }.map {
                Measured(term: Self.settled($0), sign: 1, scale: $0.threshold ?? 1)
            }
        }
        let much = compared.filter(\.isMuch)
        let left = much.isEmpty ? compared : much
        let youngest = left.map(\.age).min()
        guard let chosen = left.first(where: { $0.age == youngest }) else { return [] }
        return [Measured(term: Self.settled(chosen), sign: chosen.isMuch ? 1 : -1, scale: 1)]
    }

    /// What is remembered is remembered the way that the comparison asks.
    private static func settled(_ compared: Compared) -> Term {
        func settle(_ term: Term) -> Term {
            guard case .call(.recall, let parts, _) = term else { return term }
            return .call(.recall, [parts[0], settle(parts[1])], [compared.isMuch ? 1 : -1])
        }
        return settle(compared.term)
    }

    private var isPaced = false

    // MARK: Conditions

    private mutating func truth(depth: Int) -> Truth {
        guard depth > 0 else { return self.comparison(depth: 0) }
        switch self.choices.pick(10) {
        case 0...4: return self.comparison(depth: depth - 1)
        case 5, 6:
            let (a, b) = (self.truth(depth: depth - 1), self.truth(depth: depth - 1))
            let isAnd = self.choices.pick(2) == 0
            return Truth(
                text: "(\(a.text)) \(isAnd ? "and" : "or") (\(b.text))",
                term: .call(isAnd ? .and : .or, [a.term, b.term]), compared: a.compared + b.compared)
        case 7:
            let a = self.truth(depth: depth - 1)
            return Truth(
                text: "not (\(a.text))", term: .call(.not, [a.term]), compared: a.compared.map(\.opposite))
        case 8:
            let a = self.truth(depth: depth - 1)
            let time = self.time()
            return Truth(
                text: "held(\(a.text), \(time.text))", term: .call(.held, [a.term], [time.value]),
                compared: a.compared)
        default:
            let (a, b) = (self.truth(depth: depth - 1), self.truth(depth: depth - 1))
            let time = self.time()
            let before = a.compared.map {
                var compared = $0
                compared.term = .call(.recall, [a.term, $0.term], [1])
                compared.age += 1
                return compared
            }
            return Truth(
                text: "(\(a.text)) then (\(b.text)) within \(time.text)",
                term: .call(.sequence, [a.term, b.term], [time.value]), compared: before + b.compared)
        }
    }

    private mutating func comparison(depth: Int) -> Truth {
        if self.choices.happens(onceIn: 5) { return self.counting(depth: depth) }
        let kind = self.choices.one(of: Kind.allCases)
        let left = self.number(kind, depth: depth + 1)
        let (symbol, operation, isMuch) = self.relation()
        // Mostly a constant to the right; sometimes to the left, or none.
        switch self.choices.pick(6) {
        case 4:
            let right = self.constant(kind)
            return Truth(
                text: "\(right.text) \(symbol) \(left.text)", term: .call(operation, [right.term, left.term]),
                compared: [
                    Compared(
                        term: left.term, kind: kind, isMuch: !isMuch, threshold: constants(of: right.term).first)
                ])
        case 5:
            let right = self.number(kind, depth: depth)
            return Truth(
                text: "\(left.text) \(symbol) \(right.text)", term: .call(operation, [left.term, right.term]),
                compared: [Compared(term: left.term, kind: kind, isMuch: isMuch, threshold: nil)])
        default:
            let right = self.constant(kind)
            return Truth(
                text: "\(left.text) \(symbol) \(right.text)", term: .call(operation, [left.term, right.term]),
                compared: [
                    Compared(term: left.term, kind: kind, isMuch: isMuch, threshold: constants(of: right.term).first)
                ])
        }
    }

    /// A count of something, whose hits carry what is counted.
    private mutating func counting(depth: Int) -> Truth {
        let (symbol, operation, isMuch) = self.relation()
        if self.choices.pick(3) == 0 {
            let over = self.constant(.acceleration, positive: true)
            let within = self.time()
            let parts = self.vector(depth: depth)
            guard case .constant(let threshold) = over.term else { return self.comparison(depth: 0) }
            let values = [threshold, within.value]
            let limit = self.choices.pick(5)
            return Truth(
                text: "reversals(\(parts.text), over: \(over.text), within: \(within.text)) \(symbol) \(limit)",
                term: .call(operation, [.call(.reversals, parts.terms, values), .constant(Double(limit))]),
                compared: [
                    Compared(
                        term: .call(.strength, parts.terms, values), kind: .acceleration, isMuch: isMuch,
                        threshold: threshold)
                ])
        }
        let inner = self.truth(depth: depth)
        let time = self.time()
        let counted = isMuch ? inner.compared : inner.compared.map(\.opposite)
        if self.choices.pick(2) == 0 {
            let limit = self.choices.pick(4)
            return Truth(
                text: "count(\(inner.text), \(time.text)) \(symbol) \(limit)",
                term: .call(operation, [.call(.count, [inner.term], [time.value]), .constant(Double(limit))]),
                compared: counted)
        }
        let share = self.choices.pick(101)
        let value = Double(share) * (Unit.named("%")?.factor ?? 1)
        return Truth(
            text: "fraction(\(inner.text), \(time.text)) \(symbol) \(share)%",
            term: .call(operation, [.call(.fraction, [inner.term], [time.value]), .constant(value)]),
            compared: counted)
    }

    private mutating func relation() -> (symbol: String, operation: Term.Operation, isMuch: Bool) {
        self.choices.one(of: [
            (">", .greater, true), ("<", .less, false), (">=", .greaterOrEqual, true), ("<=", .lessOrEqual, false),
        ])
    }

    // MARK: Numbers

    private mutating func number(_ kind: Kind, depth: Int) -> Number {
        guard depth > 0 else { return self.leaf(kind) }
        switch kind {
        case .acceleration: return self.acceleration(depth: depth - 1)
        case .number:
            let (a, b) = (self.number(.acceleration, depth: depth - 1), self.number(.acceleration, depth: depth - 1))
            return ("((\(a.text)) / (\(b.text)))", .call(.divide, [a.term, b.term]))
        case .angle:
            if self.choices.pick(2) == 0 {
                let (y, x) = (
                    self.number(.acceleration, depth: depth - 1), self.number(.acceleration, depth: depth - 1)
                )
                return ("atan2(\(y.text), \(x.text))", .call(.arctangent, [y.term, x.term]))
            }
            let (a, b) = (self.vector(depth: depth - 1, single: true), self.vector(depth: depth - 1, single: true))
            return ("angle(\(a.text), \(b.text))", .call(.angle, a.terms + b.terms))
        case .square:
            let (a, b) = (self.number(.acceleration, depth: depth - 1), self.number(.acceleration, depth: depth - 1))
            return ("(\(a.text)) * (\(b.text))", .call(.multiply, [a.term, b.term]))
        case .rate:
            let a = self.number(.acceleration, depth: depth - 1)
            return ("rate(\(a.text))", .call(.rate, [a.term]))
        }
    }

    private mutating func acceleration(depth: Int) -> Number {
        switch self.choices.pick(14) {
        case 0, 1, 2: return self.leaf(.acceleration)
        case 3:
            let (a, b) = (self.number(.acceleration, depth: depth), self.number(.acceleration, depth: depth))
            return self.choices.pick(2) == 0
                ? ("(\(a.text) + \(b.text))", .call(.add, [a.term, b.term]))
                : ("(\(a.text) - (\(b.text)))", .call(.subtract, [a.term, b.term]))
        case 4:
            let a = self.number(.acceleration, depth: depth)
            return ("(-(\(a.text)))", .call(.negate, [a.term]))
        case 5:
            let a = self.number(.acceleration, depth: depth)
            return ("abs(\(a.text))", .call(.absolute, [a.term]))
        case 6:
            let parts = (0..<2 + self.choices.pick(3)).map { _ in self.number(.acceleration, depth: depth) }
            let isMax = self.choices.pick(2) == 0
            let text = parts.map(\.text).joined(separator: ", ")
            return ("\(isMax ? "max" : "min")(\(text))", .call(isMax ? .maximum : .minimum, parts.map(\.term)))
        case 7:
            // The articles' commonest feature, with any parts.
            let parts = (0..<2 + self.choices.pick(2)).map { _ in self.number(.acceleration, depth: depth) }
            let text = parts.map { "abs(\($0.text))" }.joined(separator: ", ")
            return ("max(\(text))", .call(.maximum, parts.map { .call(.absolute, [$0.term]) }))
        case 8:
            if self.choices.pick(2) == 0 {
                let (a, b) = (self.number(.acceleration, depth: depth), self.number(.acceleration, depth: depth))
                return ("hypot(\(a.text), \(b.text))", .call(.norm, [a.term, b.term]))
            }
            let parts = self.vector(depth: depth)
            return ("norm(\(parts.text))", .call(.norm, parts.terms))
        case 9:
            let a = self.number(.square, depth: depth)
            return ("sqrt(\(a.text))", .call(.squareRoot, [a.term]))
        case 10: return self.filtered(self.number(.acceleration, depth: depth))
        case 11:
            let a = self.number(.acceleration, depth: depth)
            guard self.choices.pick(2) == 0 else { return ("delta(\(a.text))", .call(.delta, [a.term])) }
            let from = self.constant(.acceleration)
            return ("delta(\(a.text), from: \(from.text))", .call(.delta, [a.term], constants(of: from.term)))
        case 12:
            let (text, term) = self.number(.number, depth: depth)
            return ("(\(text) * 1g)", .call(.multiply, [term, .constant(1)]))
        default:
            let a = self.number(.acceleration, depth: depth)
            let time = self.time()
            let (name, operation): (String, Term.Operation) = self.choices.one(of: [
                ("mean", .mean), ("rms", .rms), ("peak", .peak), ("range", .range),
            ])
            return ("\(name)(\(a.text), \(time.text))", .call(operation, [a.term], [time.value]))
        }
    }

    /// A filter of a number, as text and as tree; the high pass is what the low pass leaves.
    private mutating func filtered(_ value: Number) -> Number {
        let isHigh = self.choices.pick(2) == 1
        let name = isHigh ? "highpass" : "lowpass"
        let from = self.choices.pick(2) == 0 ? nil : self.constant(.acceleration)
        let start = from.map { ", from: \($0.text)" } ?? ""
        let low: Number
        if self.isPaced, self.choices.pick(2) == 0 {
            let weight = self.choices.one(of: ["0.1", "0.25", "0.9", "1"])
            let values = [Double(weight) ?? 1] + (from.map { constants(of: $0.term) } ?? [])
            low = ("\(name)(\(value.text), weight: \(weight)\(start))", .call(.smoothByLook, [value.term], values))
        } else {
            let time = self.time()
            let values = [time.value] + (from.map { constants(of: $0.term) } ?? [])
            low = ("\(name)(\(value.text), \(time.text)\(start))", .call(.smooth, [value.term], values))
        }
        return isHigh ? (low.text, .call(.subtract, [value.term, low.term])) : low
    }

    /// Three numbers of one kind, or a vector where only that may stand.
    private mutating func vector(depth: Int, single: Bool = false) -> (text: String, terms: [Term]) {
        let raw: [Term] = [.channel(0), .channel(1), .channel(2)]
        // One pole at 0.25 Hz, as the language defines it.
        let slow = raw.map { Term.call(.smooth, [$0], [636_620]) }
        switch self.choices.pick(single ? 3 : 5) {
        case 0: return single ? ("vector(x, y, z)", raw) : ("x, y, z", raw)
        case 1 where single: return ("gravity", slow)
        case 2 where single: return ("user", zip(raw, slow).map { .call(.subtract, [$0, $1]) })
        default:
            let parts = (0..<3).map { _ in self.number(.acceleration, depth: depth) }
            let text = parts.map(\.text).joined(separator: ", ")
            return (single ? "vector(\(text))" : text, parts.map(\.term))
        }
    }

    private mutating func leaf(_ kind: Kind) -> Number {
        let channel = self.choices.pick(3)
        let name = ["x", "y", "z"][channel]
        switch kind {
        case .acceleration: return (name, .channel(channel))
        case .number: return ("(\(name) / 1g)", .call(.divide, [.channel(channel), .constant(1)]))
        case .angle: return ("atan2(\(name), z)", .call(.arctangent, [.channel(channel), .channel(2)]))
        case .square: return ("\(name) * \(name)", .call(.multiply, [.channel(channel), .channel(channel)]))
        case .rate: return ("rate(\(name))", .call(.rate, [.channel(channel)]))
        }
    }

    // MARK: Constants

    private mutating func constant(_ kind: Kind, positive: Bool = false) -> Number {
        if self.isWild, self.choices.happens(onceIn: 12) { return self.nonsense() }
        let digits = self.choices.one(of: ["0.3", "0.5", "1", "1.25", "2", "0", "0.05", "3.5", "1e-3", "12"])
        let unit: String
        switch kind {
        case .acceleration: unit = self.choices.one(of: ["g", "g", "m/s2", "mg"])
        case .number: unit = ""
        case .angle: unit = self.choices.one(of: ["rad", "deg"])
        case .square:
            guard let value = Double(digits) else { return ("0", .constant(0)) }
            return ("\(digits)g * 1g", .constant(value * 1))
        case .rate:
            guard let value = Double(digits) else { return ("0", .constant(0)) }
            return ("\(digits)g / 1s", .constant(value / 1))
        }
        let value = (Double(digits) ?? 0) * (Unit.named(unit)?.factor ?? 1)
        return positive || self.choices.pick(4) > 0
            ? ("\(digits)\(unit)", .constant(value)) : ("-\(digits)\(unit)", .constant(-value))
    }

    /// A time, and its length in µs.
    private mutating func time() -> (text: String, value: Double) {
        if self.isWild, self.choices.happens(onceIn: 12) { return (self.nonsense().text, 0) }
        let (text, value): (String, Double) = self.choices.one(of: [
            ("100ms", 100_000), ("1s", 1_000_000), ("250ms", 250_000), ("0.4s", 400_000), ("33ms", 33_000),
            ("3s", 3_000_000), ("1500us", 1_500),
        ])
        return (text, value)
    }

    /// What a person would not write.
    private mutating func nonsense() -> Number {
        self.isSpoilt = true
        let text = self.choices.one(of: [
            "1e308g", "-1e308g", "1e-308g", "1e999g", "0g / 0g", "(1g", "5e307 * 1e3g", "600s", "1ms", "601s", "nan",
            "then", "", "x / (x - x)", "sqrt(-(x * x))", "\u{0}", "é", "x * 1e300 * 1e300", "((((((x))))))",
            "norm(user)", "held(x > 1g, 1s)", "1e308 * x - 1e308 * x",
        ])
        return (text, .constant(0))
    }
}

/// The value of a constant, as an operation's constants.
private func constants(of term: Term) -> [Double] {
    if case .constant(let value) = term { [value] } else { [] }
}
