/// One line of the result: what was measured, what it is compared with, and whether that is within the budget.
struct Figure: Equatable, Sendable {
    let name: String
    let unit: String
    let value: Double
    /// The same measured of what we compare ourselves with, in the same run.
    var baseline: Double?
    /// How we compare; which way round says the budget.
    var ratio: Double?
    var budget: Budget?

    /// `nil` where there is no budget.
    var passes: Bool? {
        guard let budget else { return nil }
        switch budget.subject {
        case .value: return budget.admits(self.value)
        case .ratio: return self.ratio.map(budget.admits) ?? false
        }
    }
}

/// The bound that a figure has to keep.
struct Budget: Equatable, Sendable, CustomStringConvertible {
    enum Subject: String, Sendable {
        case value
        case ratio
    }

    enum Bound: String, Sendable {
        case atMost = "<="
        case atLeast = ">="
    }

    let subject: Subject
    let bound: Bound
    let limit: Double

    static func value(_ bound: Bound, _ limit: Double) -> Budget {
        Budget(subject: .value, bound: bound, limit: limit)
    }

    static func ratio(_ bound: Bound, _ limit: Double) -> Budget {
        Budget(subject: .ratio, bound: bound, limit: limit)
    }

    /// What is no number keeps no bound.
    func admits(_ number: Double) -> Bool {
        switch self.bound {
        case .atMost: number <= self.limit
        case .atLeast: number >= self.limit
        }
    }

    var description: String { "\(self.subject.rawValue) \(self.bound.rawValue) \(short(self.limit))" }
}

extension Figure {
    /// One JSON object. Names and units are ours and need no escapes.
    var json: String {
        func number(_ value: Double?) -> String {
            guard let value, value.isFinite else { return "null" }
            return short(value)
        }
        let budget = self.budget.map { "\"\($0)\"" } ?? "null"
        let pass = self.passes.map { "\($0)" } ?? "null"
        return "{\"name\":\"\(self.name)\",\"value\":\(number(self.value)),\"unit\":\"\(self.unit)\","
            + "\"baseline\":\(number(self.baseline)),\"ratio\":\(number(self.ratio)),"
            + "\"budget\":\(budget),\"pass\":\(pass)}"
    }

    /// One line of a table for people.
    var row: String {
        func cell(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let name = self.name + String(repeating: " ", count: max(0, 28 - self.name.count))
        let verdict = self.passes.map { $0 ? "ok" : "NO" } ?? ""
        let line =
            name + cell(short(self.value), 10) + cell(self.baseline.map(short) ?? "-", 10)
            + cell(self.ratio.map { short($0) + "x" } ?? "-", 10) + "  \(self.unit)"
        guard let budget else { return line }
        return line + String(repeating: " ", count: max(1, 74 - line.count)) + "\(budget)  \(verdict)"
    }

    static let heading =
        "figure" + String(repeating: " ", count: 27) + "value  baseline     ratio  unit            budget"
}

/// A number with three decimals at most; no machine here repeats a fourth.
func short(_ value: Double) -> String {
    guard value.magnitude < 1e12 else { return "\(value)" }
    let rounded = (value * 1_000).rounded() / 1_000
    let whole = rounded.rounded(.towardZero)
    return rounded == whole ? "\(Int64(whole))" : "\(rounded)"
}
