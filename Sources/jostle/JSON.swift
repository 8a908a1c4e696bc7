import Motion

/// Writes one JSON object on one line.
struct JSONLine {
    /// What a time counts from, in µs: `clocks` of an object says it of each of its times.
    enum Clock: String {
        /// CLOCK_BOOTTIME of the boot in which it was read.
        case boottime
        /// The wall clock, since 1970.
        case realtime
        /// The beginning of a trace or track.
        case trace
        /// The beginning of what runs in virtual time, or of a demo.
        case story
    }

    private var fields: [String] = []
    private var clocks: [(key: String, clock: Clock)] = []

    mutating func add(_ key: String, _ value: String) { self.fields.append("\(Self.quote(key)):\(Self.quote(value))") }
    mutating func add(_ key: String, _ value: Bool) { self.fields.append("\(Self.quote(key)):\(value)") }
    mutating func add(_ key: String, _ value: some BinaryInteger) {
        self.fields.append("\(Self.quote(key)):\(value)")
    }
    /// A point in time, in µs of a clock.
    mutating func add(_ key: String, _ time: some BinaryInteger, on clock: Clock) {
        self.add(key, time)
        self.clocks.append((key, clock))
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

    var text: String {
        guard !self.clocks.isEmpty else { return "{" + self.fields.joined(separator: ",") + "}" }
        let clocks = self.clocks.map { "\(Self.quote($0.key)):\(Self.quote($0.clock.rawValue))" }
        return "{" + (self.fields + ["\"clocks\":{\(clocks.joined(separator: ","))}"]).joined(separator: ",") + "}"
    }

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
