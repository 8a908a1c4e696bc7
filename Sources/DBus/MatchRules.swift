/// The broadcasts that a connection asks its bus for, and how often each was asked for.
struct MatchRules {
    private var rules: [(text: String, uses: Int)] = []

    var texts: [String] { self.rules.map(\.text) }

    /// Tells whether it is the first use of this rule, of which the bus is to know.
    mutating func add(_ text: String) -> Bool {
        if let index = self.rules.firstIndex(where: { $0.text == text }) {
            self.rules[index].uses += 1
            return false
        }
        self.rules.append((text, 1))
        return true
    }

    /// Tells whether it was the last use of this rule, of which the bus is to know.
    mutating func remove(_ text: String) -> Bool {
        guard let index = self.rules.firstIndex(where: { $0.text == text }) else { return false }
        self.rules[index].uses -= 1
        guard self.rules[index].uses == 0 else { return false }
        self.rules.remove(at: index)
        return true
    }
}
