/// Conditions that were made to be slow to read, or to cost much later.
package enum HostileConditions {
    /// Each with the limit that refuses it.
    package static let refused: [(limit: String, text: String)] = [
        ("condition-length", String(repeating: "x > 1g and ", count: 1_500)),
        ("condition-nesting", String(repeating: "(", count: 4_000)),
        ("condition-nesting", String(repeating: "not ", count: 1_000)),
        ("condition-nesting", "x > " + String(repeating: "-", count: 4_000)),
        ("condition-nesting", String(repeating: "abs(", count: 1_000)),
        ("condition-comparisons", (0..<400).map { "x>\($0)g" }.joined(separator: " or ")),
        ("condition-operations", "x" + (0..<400).map { "+x*\($0)" }.joined() + " > 1g"),
        ("condition-stateful", (1...60).map { "mean(x, \($0)s) > 1g" }.joined(separator: " and ")),
    ]

    /// What is long to read but within every limit, and what crosses one late.
    package static let costly: [String] = [
        "x > 0g" + String(repeating: "+0g", count: 1_360),
        "x > 1g" + String(repeating: " and x > 1g", count: 120),
        String(repeating: "not ", count: 30) + "(" + (0..<60).map { "x>\($0)g" }.joined(separator: " or ") + ")",
        (1...32).map { "mean(x,\($0)s)>1g" }.joined(separator: " and "),
        "x" + (0..<230).map { "+x*\($0)" }.joined() + ">1g",
        String(repeating: "abs(", count: 31) + "x" + String(repeating: ")", count: 31) + ">1g",
        "x > 1g" + String(repeating: " ", count: 16_000), String(repeating: "é", count: 2_000),
        "hypot(" + String(repeating: "x+", count: 2_000),
        "norm(user) > 1g " + String(repeating: "or norm(user) > 1g ", count: 200),
        String(repeating: "(", count: 31) + "x>1g" + String(repeating: " or y>1g)", count: 31),
    ]

    package static var all: [String] { self.refused.map(\.text) + self.costly }
}
