/// A type of D-Bus, as a tree.
package indirect enum WireType: Equatable, Sendable {
    case basic(UInt8)
    case array(WireType)
    case structure([WireType])
    case entry(WireType, WireType)
    case variant

    /// The letters of basic types, descriptors last.
    package static let basics = Array("ybnqiuxtdsogh".utf8)

    /// Reads a signature; `nil` when it is none.
    package static func read(_ signature: some StringProtocol) -> [WireType]? {
        var rest = Array(signature.utf8)[...]
        var types: [WireType] = []
        while !rest.isEmpty {
            guard let type = self.first(of: &rest) else { return nil }
            types.append(type)
        }
        return types
    }

    private static func first(of rest: inout ArraySlice<UInt8>) -> WireType? {
        guard let letter = rest.popFirst() else { return nil }
        switch letter {
        case UInt8(ascii: "v"): return .variant
        case UInt8(ascii: "a"):
            guard rest.first == UInt8(ascii: "{") else { return self.first(of: &rest).map { .array($0) } }
            rest.removeFirst()
            guard let parts = self.list(of: &rest, until: UInt8(ascii: "}")), parts.count == 2 else { return nil }
            guard case .basic = parts[0] else { return nil }
            return .array(.entry(parts[0], parts[1]))
        case UInt8(ascii: "("):
            return self.list(of: &rest, until: UInt8(ascii: ")")).flatMap { $0.isEmpty ? nil : .structure($0) }
        default: return self.basics.contains(letter) ? .basic(letter) : nil
        }
    }

    private static func list(of rest: inout ArraySlice<UInt8>, until end: UInt8) -> [WireType]? {
        var parts: [WireType] = []
        while let letter = rest.first {
            if letter == end {
                rest.removeFirst()
                return parts
            }
            guard let part = self.first(of: &rest) else { return nil }
            parts.append(part)
        }
        return nil
    }

    package var signature: String {
        switch self {
        case .basic(let letter): String(UnicodeScalar(letter))
        case .array(let element): "a" + element.signature
        case .structure(let parts): "(" + parts.map(\.signature).joined() + ")"
        case .entry(let key, let value): "{" + key.signature + value.signature + "}"
        case .variant: "v"
        }
    }

    /// What its first byte is a multiple of.
    var alignment: Int {
        switch self {
        case .basic(let letter):
            switch letter {
            case UInt8(ascii: "y"), UInt8(ascii: "g"): 1
            case UInt8(ascii: "n"), UInt8(ascii: "q"): 2
            case UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"): 8
            default: 4
            }
        case .array: 4
        case .structure, .entry: 8
        case .variant: 1
        }
    }
}

extension [WireType] {
    package var signature: String { self.map(\.signature).joined() }
}
