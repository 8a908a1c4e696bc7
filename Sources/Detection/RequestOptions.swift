import Motion

/// Reads a request's options in the types and ranges that they must have.
struct RequestOptions {
    static let common = ["preset", "when", "sensor", "every", "rest", "rest-mode", "decimation"]

    private let request: DetectorRequest

    init(_ request: DetectorRequest) {
        self.request = request
    }

    func problem(_ key: String?, column: Int? = nil, _ message: String) -> DetectorProblem {
        DetectorProblem(.invalidValue, detector: self.request.name, key: key, column: column, message)
    }

    var name: String { self.request.name }

    func problem(_ problem: ConditionProblem, key: String) -> DetectorProblem {
        DetectorProblem(
            problem.limit.map { .limitExceeded($0) } ?? .invalidValue, detector: self.request.name, key: key,
            column: problem.offset, problem.message)
    }

    /// Throws for the first option, in the order of the keys, that is neither common nor in `others`.
    func refuseUnknown(besides others: [String]) throws(DetectorProblem) {
        for key in self.request.options.keys where !Self.common.contains(key) && !others.contains(key) {
            let advice = Suggestion.advice(on: key, among: Self.common + others)
            throw DetectorProblem(
                .unknownKey, detector: self.request.name, key: key, "unknown option '\(printable(key))'\(advice)")
        }
    }

    func text(_ key: String) throws(DetectorProblem) -> String? {
        switch self.request.options[key] {
        case nil: return nil
        case .text(let text): return text
        case .number, .count, .whole, .flag: throw self.problem(key, "expected a text")
        }
    }

    /// One of an enumeration's words.
    func word<Word: RawRepresentable<String> & CaseIterable>(
        _ key: String, _: Word.Type
    ) throws(DetectorProblem) -> Word? {
        guard let text = try self.text(key) else { return nil }
        if let word = Word(rawValue: text) { return word }
        let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        throw self.problem(key, "expected one of \(words), found '\(printable(text))'")
    }

    /// A time: a count of microseconds, or a text with a unit.
    func time(_ key: String, in range: ClosedRange<TimeSpan>) throws(DetectorProblem) -> TimeSpan? {
        let span: TimeSpan
        switch self.request.options[key] {
        case nil:
            return nil
        case .count(let count):
            span = TimeSpan(microseconds: Int64(clamping: count))
        case .whole(let count):
            span = TimeSpan(microseconds: Int64(count))
        case .text(let text):
            let quantity = try self.quantity(key, text)
            guard quantity.dimension == .time || quantity == Quantity(0, .none) else {
                throw self.problem(key, "expected a time such as '100ms', found '\(printable(text))'")
            }
            span = TimeSpan(seconds: quantity.value) ?? TimeSpan(microseconds: quantity.value < 0 ? .min : .max)
        case .number, .flag:
            throw self.problem(key, "expected a time: a whole number of microseconds, or a text such as '100ms'")
        }
        guard range.contains(span) else {
            throw self.problem(
                key, "\(span.readable) is outside \(range.lowerBound.readable) to \(range.upperBound.readable)")
        }
        return span
    }

    /// A preset's parameter in its canonical unit.
    func number(_ parameter: PresetParameter) throws(DetectorProblem) -> Double? {
        if parameter.dimension == .time {
            let low = TimeSpan(seconds: parameter.range.lowerBound) ?? .zero
            let high = TimeSpan(seconds: parameter.range.upperBound) ?? DetectionLimits.span.upperBound
            return try self.time(parameter.name, in: low...high)?.seconds
        }
        var value: Double
        switch self.request.options[parameter.name] {
        case nil:
            return nil
        case .number(let number):
            value = number
        case .count(let count):
            value = Double(count)
        case .whole(let count):
            value = Double(count)
        case .text(let text):
            let quantity = try self.quantity(parameter.name, text)
            guard quantity.dimension == parameter.dimension || quantity.dimension == .none else {
                throw self.problem(
                    parameter.name,
                    "expected \(article(parameter.dimension.rawValue)) in \(parameter.unit), "
                        + "found \(article(quantity.dimension.rawValue))")
            }
            value = quantity.value
            if parameter.isInDegrees, quantity.dimension == .angle {
                // To a tenth of a millimetre: what a person wrote in degrees stays what it was.
                value = (value * 180 / .pi * 1e9).rounded() / 1e9
            }
        case .flag:
            throw self.problem(parameter.name, "expected a number or a text such as '2\(parameter.unit)'")
        }
        guard value.isFinite else { throw self.problem(parameter.name, "expected a finite number") }
        guard !parameter.isWhole || value == value.rounded() else {
            throw self.problem(parameter.name, "expected a whole number, found \(value)")
        }
        guard parameter.range.contains(value) else {
            throw self.problem(
                parameter.name,
                "\(value)\(parameter.unit) is outside "
                    + "\(parameter.range.lowerBound)\(parameter.unit) to \(parameter.range.upperBound)\(parameter.unit)"
            )
        }
        return value
    }

    private func quantity(_ key: String, _ text: String) throws(DetectorProblem) -> Quantity {
        do {
            return try Quantity.parse(text)
        } catch {
            throw self.problem(key, column: error.offset + 1, error.message)
        }
    }
}

/// `noun` with `a` or `an` before it.
func article(_ noun: String) -> String {
    guard let first = noun.first else { return noun }
    return ("aeiou".contains(first) ? "an " : "a ") + noun
}

extension TimeSpan {
    /// The span as a person would write it in an option: `100ms`, `1s`, `16667us`.
    package var readable: String {
        let count = self.microseconds
        if count % 1_000_000 == 0 { return "\(count / 1_000_000)s" }
        if count % 1_000 == 0 { return "\(count / 1_000)ms" }
        return "\(count)us"
    }
}
