/// The last word of a measuring program: one line of JSON, an object of whole numbers.
package struct Figures: Equatable, Sendable {
    private let values: [String: Int]

    /// Reads `{"name":number,…}`; `nil` for anything else.
    package init?(_ line: some StringProtocol) {
        guard line.hasPrefix("{"), line.hasSuffix("}") else { return nil }
        var values: [String: Int] = [:]
        for field in line.dropFirst().dropLast().split(separator: ",") {
            let parts = field.split(separator: ":")
            guard parts.count == 2, parts[0].hasPrefix("\""), parts[0].hasSuffix("\""), let number = Int(parts[1])
            else {
                return nil
            }
            values[String(parts[0].dropFirst().dropLast())] = number
        }
        self.values = values
    }

    package subscript(name: String) -> Int? { self.values[name] }
}
