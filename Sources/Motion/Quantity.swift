/// What kind of thing a number measures.
package enum Dimension: String, Hashable, Sendable, CaseIterable {
    case none = "number"
    case acceleration
    case time
    case angle
    case length
    case speed
    case frequency
    case illuminance
    case share
    /// How fast a body turns: gyroscopes.
    case angularVelocity = "angular velocity"

    /// The unit values of this dimension are held in: g, s, rad, m, m/s, Hz, lx, a share of 1, rad/s.
    package var canonicalUnit: String {
        switch self {
        case .none: ""
        case .acceleration: "g"
        case .time: "s"
        case .angle: "rad"
        case .length: "m"
        case .speed: "m/s"
        case .frequency: "Hz"
        case .illuminance: "lx"
        case .share: ""
        case .angularVelocity: "rad/s"
        }
    }
}

/// A unit a person may write, and how it becomes the canonical one.
package struct Unit: Hashable, Sendable {
    package let name: String
    package let dimension: Dimension
    /// Multiply by this to get the canonical unit.
    package let factor: Double

    /// Standard gravity in m/s², the exact conventional value.
    package static let standardGravity = 9.80665

    /// Every unit we know. No two have the same name.
    package static let all: [Unit] = [
        Unit(name: "g", dimension: .acceleration, factor: 1),
        Unit(name: "mg", dimension: .acceleration, factor: 0.001),
        Unit(name: "m/s2", dimension: .acceleration, factor: 1 / standardGravity),
        Unit(name: "us", dimension: .time, factor: 0.000_001),
        Unit(name: "ms", dimension: .time, factor: 0.001),
        Unit(name: "s", dimension: .time, factor: 1),
        Unit(name: "min", dimension: .time, factor: 60),
        Unit(name: "h", dimension: .time, factor: 3_600),
        Unit(name: "deg", dimension: .angle, factor: .pi / 180),
        Unit(name: "rad", dimension: .angle, factor: 1),
        Unit(name: "m", dimension: .length, factor: 1),
        Unit(name: "km", dimension: .length, factor: 1_000),
        Unit(name: "m/s", dimension: .speed, factor: 1),
        Unit(name: "km/h", dimension: .speed, factor: 1 / 3.6),
        Unit(name: "Hz", dimension: .frequency, factor: 1),
        Unit(name: "lx", dimension: .illuminance, factor: 1),
        Unit(name: "%", dimension: .share, factor: 0.01),
        Unit(name: "deg/s", dimension: .angularVelocity, factor: .pi / 180),
        Unit(name: "rad/s", dimension: .angularVelocity, factor: 1),
    ]

    package static func named(_ name: some StringProtocol) -> Unit? {
        self.all.first { $0.name == name }
    }
}

/// A number with what it measures, in the canonical unit: `100ms` is 0.1 of time.
package struct Quantity: Hashable, Sendable {
    package var value: Double
    package var dimension: Dimension

    package init(_ value: Double, _ dimension: Dimension) {
        self.value = value
        self.dimension = dimension
    }

    /// What was wrong with a quantity's text.
    package struct Problem: Swift.Error, Equatable, Sendable {
        /// Offset of the offending byte in the text.
        package var offset: Int
        package var message: String
    }

    /// Reads a quantity such as `2.3g`, `100ms`, `-0.5`, `75%`. A space may stand before the unit.
    ///
    /// Only plain decimal notation is a number: no `nan`, `inf` or hexadecimal, whatever `Double` would take.
    package static func parse(_ text: String) throws(Problem) -> Quantity {
        let bytes = Array(text.utf8)
        let length = decimalPrefix(of: bytes.span)
        guard length > 0 else {
            throw Problem(offset: 0, message: "expected a number, found '\(printable(text))'")
        }
        let digits = String(decoding: bytes[..<length], as: UTF8.self)
        guard let value = Double(digits), value.isFinite else {
            throw Problem(offset: 0, message: "the number '\(printable(digits))' is too large")
        }
        var start = length
        while start < bytes.count, bytes[start] == UInt8(ascii: " ") { start += 1 }
        let name = String(decoding: bytes[start...], as: UTF8.self)
        guard !name.isEmpty else { return Quantity(value, .none) }
        guard let unit = Unit.named(name) else {
            let near = Suggestion.nearest(to: name, among: Unit.all.map(\.name))
            throw Problem(
                offset: start,
                message: "unknown unit '\(printable(name))'" + (near.map { ", did you mean '\($0)'?" } ?? ""))
        }
        let scaled = value * unit.factor
        guard scaled.isFinite else {
            throw Problem(offset: 0, message: "the number '\(printable(digits))' is too large")
        }
        return Quantity(scaled, unit.dimension)
    }
}

/// The length of the decimal number at the start of `bytes`: `[+-]digits[.digits][e[+-]digits]`; 0 when there is none.
///
/// An `e` that no digit follows belongs to what comes next, not to the number.
package func decimalPrefix(of bytes: Span<UInt8>) -> Int {
    func isDigit(_ index: Int) -> Bool { index < bytes.count && bytes[index] >= 0x30 && bytes[index] <= 0x39 }
    var index = 0
    if index < bytes.count, bytes[index] == 0x2B || bytes[index] == 0x2D { index += 1 }
    let integer = index
    while isDigit(index) { index += 1 }
    var digits = index - integer
    if index < bytes.count, bytes[index] == 0x2E {
        let fraction = index + 1
        var end = fraction
        while isDigit(end) { end += 1 }
        digits += end - fraction
        if digits > 0 { index = end }
    }
    guard digits > 0 else { return 0 }
    if index < bytes.count, bytes[index] | 0x20 == 0x65 {
        var exponent = index + 1
        if exponent < bytes.count, bytes[exponent] == 0x2B || bytes[exponent] == 0x2D { exponent += 1 }
        if isDigit(exponent) {
            while isDigit(exponent) { exponent += 1 }
            index = exponent
        }
    }
    return index
}
