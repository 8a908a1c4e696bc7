/// One line of the result: what was measured, what it is compared with, and whether that is within the budget.
struct Figure: Equatable, Sendable {
    let name: String
    let unit: String
    let value: Double
    /// The same measured of what we compare ourselves with, in the same run.
    var baseline: Double?
    /// How we compare; which way round says the budget.
    var ratio: Double?
    /// How far the ratios lie apart that this is the median of: half the way from the least to the greatest, of the median.
    var spread: Double?
    var budget: Budget?

    /// `nil` where there is no budget.
    var passes: Bool? {
        guard let budget else { return nil }
        return self.ratio.map(budget.admits) ?? false
    }
}

extension Figure {
    /// What was measured once on both sides.
    init(
        _ name: String, _ unit: String, _ value: Double, beside baseline: Double, within budget: Budget? = nil
    ) {
        self.init(
            name: name, unit: unit, value: value, baseline: baseline, ratio: Self.ratio(value, baseline), budget: budget
        )
    }

    /// Nothing beside nothing is as much: a budget of 1 asks for no wake-up where the baseline has none.
    static func ratio(_ value: Double, _ baseline: Double) -> Double { value == baseline ? 1 : value / baseline }
}

/// The bound that the ratio of a figure has to keep. A number of its own would only hold on one machine.
struct Budget: Equatable, Sendable, CustomStringConvertible {
    private enum Bound: String, Sendable {
        case atMost = "<="
        case atLeast = ">="
    }

    private let bound: Bound
    private let limit: Double

    static func atMost(_ limit: Double) -> Budget { Budget(bound: .atMost, limit: limit) }
    static func atLeast(_ limit: Double) -> Budget { Budget(bound: .atLeast, limit: limit) }

    /// What is no number keeps no bound.
    func admits(_ ratio: Double) -> Bool {
        switch self.bound {
        case .atMost: ratio <= self.limit
        case .atLeast: ratio >= self.limit
        }
    }

    var description: String { "ratio \(self.bound.rawValue) \(short(self.limit))" }
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
            + "\"spread\":\(number(self.spread)),\"budget\":\(budget),\"pass\":\(pass)}"
    }

    /// One line of a table for people.
    var row: String {
        func cell(_ text: String?, _ width: Int) -> String {
            let text = text ?? "-"
            return String(repeating: " ", count: max(1, width - text.count)) + text
        }
        let name = self.name + String(repeating: " ", count: max(0, 28 - self.name.count))
        let spread = self.spread.map { "\(short(($0 * 100).rounded()))%" }
        let line =
            name + cell(short(self.value), 12) + cell(self.baseline.map(short), 12)
            + cell(self.ratio.map { short($0) + "x" }, 12) + cell(spread, 8) + "  \(self.unit)"
        guard let budget else { return line }
        return line + String(repeating: " ", count: max(1, 90 - line.count)) + "\(budget)  "
            + (self.passes == true ? "ok" : "NO")
    }

    static let heading =
        "figure" + String(repeating: " ", count: 29) + "value    baseline       ratio  spread  unit"
        + String(repeating: " ", count: 12) + "budget"
}

/// A number with three decimals at most; no machine here repeats a fourth.
func short(_ value: Double) -> String {
    guard value.magnitude < 1e12 else { return "\(value)" }
    let rounded = (value * 1_000).rounded() / 1_000
    let whole = rounded.rounded(.towardZero)
    return rounded == whole ? "\(Int64(whole))" : "\(rounded)"
}
