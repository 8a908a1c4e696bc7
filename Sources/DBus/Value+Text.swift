extension Value {
    /// The value as a person would write it: no types, nothing around a variant.
    package var plainText: String {
        switch self {
        case .byte(let value): "\(value)"
        case .boolean(let value): value ? "yes" : "no"
        case .int16(let value): "\(value)"
        case .uint16(let value): "\(value)"
        case .int32(let value): "\(value)"
        case .uint32(let value): "\(value)"
        case .int64(let value): "\(value)"
        case .uint64(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): value
        case .objectPath(let value): value.text
        case .signature(let value): value
        case .descriptor: "fd"
        case .array(_, let values): values.map(\.plainText).joined(separator: " ")
        case .structure(let fields): fields.map(\.plainText).joined(separator: " ")
        case .dictionary(_, _, let entries):
            entries.map { "\($0.key.plainText)=\($0.value.plainText)" }.joined(separator: " ")
        case .variant(let value): value.plainText
        }
    }
}
