import DaemonSupport

/// Writes one JSON object on one line.
struct JSONLine {
    private var fields: [String] = []

    mutating func add(_ key: String, _ value: String) { self.fields.append("\(Self.quote(key)):\(Self.quote(value))") }
    mutating func add(_ key: String, _ value: Bool) { self.fields.append("\(Self.quote(key)):\(value)") }
    mutating func add(_ key: String, _ value: some BinaryInteger) {
        self.fields.append("\(Self.quote(key)):\(value)")
    }
    /// JSON has no NaN and no infinity: they become null.
    mutating func add(_ key: String, _ value: Double) {
        self.fields.append("\(Self.quote(key)):\(value.isFinite ? "\(value)" : "null")")
    }
    mutating func addNull(_ key: String) { self.fields.append("\(Self.quote(key)):null") }
    mutating func add(_ key: String, _ values: [String]) {
        self.fields.append("\(Self.quote(key)):[\(values.map(Self.quote).joined(separator: ","))]")
    }
    mutating func add(_ key: String, _ object: JSONLine) { self.fields.append("\(Self.quote(key)):\(object.text)") }
    mutating func add(_ key: String, _ objects: [JSONLine]) {
        self.fields.append("\(Self.quote(key)):[\(objects.map(\.text).joined(separator: ","))]")
    }
    mutating func add(_ key: String, _ values: [Double]) {
        self.fields.append(
            "\(Self.quote(key)):[\(values.map { $0.isFinite ? "\($0)" : "null" }.joined(separator: ","))]")
    }

    var text: String { "{" + self.fields.joined(separator: ",") + "}" }

    static func quote(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where isControl(scalar):
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
