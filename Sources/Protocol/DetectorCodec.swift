package import DBus
package import Motion

/// The detectors that one call brings. Too many are refused, and to build them would cost as much as to refuse them.
package struct DetectorList: WireValue {
    package typealias Row = Structure<String, [String: Value]>

    /// `nil`: more than one call may bring.
    package let rows: [Row]?

    package static var signature: String { [Row].signature }
    package func write(to writer: inout WireWriter) { (self.rows ?? []).write(to: &writer) }
    package static func read(from reader: inout WireReader) throws(WireError) -> DetectorList {
        DetectorList(rows: try reader.elements(of: Row.self, atMost: DetectorBatch.detectors))
    }
}

/// The names of the detectors that one call removes. As with what one brings, none is built of too many.
package struct DetectorNames: WireValue {
    /// `nil`: more than an app can have.
    package let names: [String]?

    package static var signature: String { [String].signature }
    package func write(to writer: inout WireWriter) { (self.names ?? []).write(to: &writer) }
    package static func read(from reader: inout WireReader) throws(WireError) -> DetectorNames {
        DetectorNames(names: try reader.elements(of: String.self, atMost: DetectorBatch.mostOfApp))
    }
}

extension DetectorRequest {
    /// A detector's options as the bus carries them.
    package init(name: String, wire options: [String: Value]) throws(BusError) {
        var decoded = DetectorOptions([:])
        for (key, value) in options where !OptionReader.isForeign(key) {
            guard let option = OptionValue(wire: value) else {
                throw .invalidConfiguration(
                    "detector '\(printable(name))': \(printable(key)) is a \(value.typeName);"
                        + " options are strings, numbers, whole numbers or booleans")
            }
            decoded[key] = option
        }
        self.init(name: name, options: decoded)
    }

    package var wire: Structure<String, [String: Value]> {
        Structure(self.name, Dictionary(uniqueKeysWithValues: self.options.map { ($0.key, $0.value.wire) }))
    }
}

extension OptionValue {
    /// Any numeric type of the bus will do: a shell does not know which one we would like.
    package init?(wire value: Value) {
        switch value {
        case .string(let text): self = .text(text)
        case .double(let number): self = .number(number)
        case .boolean(let flag): self = .flag(flag)
        case .byte(let count): self = .count(UInt64(count))
        case .uint16(let count): self = .count(UInt64(count))
        case .uint32(let count): self = .count(UInt64(count))
        case .uint64(let count): self = .count(count)
        case .int16(let count): self = Self.signed(Int64(count))
        case .int32(let count): self = Self.signed(Int64(count))
        case .int64(let count): self = Self.signed(count)
        default: return nil
        }
    }

    /// A negative count is a number, which whoever wants a count refuses by name.
    private static func signed(_ value: Int64) -> OptionValue {
        value < 0 ? .number(Double(value)) : .count(UInt64(value))
    }

    package var wire: Value {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): .double(number)
        case .count(let count): .uint64(count)
        case .whole(let count): .uint32(count)
        case .flag(let flag): .boolean(flag)
        }
    }
}
