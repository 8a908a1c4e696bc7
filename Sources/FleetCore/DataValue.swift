import Motion

/// A value as JSON and CBOR have it: what messages of a fleet are made of.
package enum DataValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case text(String)
    case list([DataValue])
    /// In the order in which it is written.
    case object([Field])

    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: DataValue

        package init(_ name: String, _ value: DataValue) {
            self.name = name
            self.value = value
        }
    }

    /// An object without the fields that say nothing.
    package static func fields(_ fields: KeyValuePairs<String, DataValue?>) -> DataValue {
        .object(fields.compactMap { name, value in value.map { Field(name, $0) } })
    }

    /// A number that counts: what is too large for it is the largest there is.
    package static func count(_ number: some BinaryInteger) -> DataValue { .integer(Int64(clamping: number)) }

    /// The value of a field; of several of one name the first.
    package subscript(_ name: String) -> DataValue? {
        guard case .object(let fields) = self else { return nil }
        return fields.first { $0.name == name }?.value
    }

    /// The text that some bytes are, of whoever wrote them.
    static func text(of bytes: some Sequence<UInt8>, at offset: Int) throws(DataProblem) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw DataProblem("a text is not UTF-8", at: offset)
        }
        guard text.isStreamSafe else {
            throw DataProblem("a text has more than 30 combining marks in a row", at: offset)
        }
        return text
    }

    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
    package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    package var list: [DataValue]? { if case .list(let values) = self { values } else { nil } }

    /// Any number.
    package var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        case .null, .bool, .text, .list, .object: nil
        }
    }

    /// A number that counts.
    package var count: UInt64? { self.integer.flatMap { UInt64(exactly: $0) } }
}

/// Why bytes are no value.
package struct DataProblem: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    /// Where, counted in bytes from 0.
    package let offset: Int
    package let message: String

    package init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }

    package var description: String { "byte \(self.offset): \(self.message)" }
}

/// How much a value from outside may be.
package enum DataLimits {
    package static let depth = 16
    package static let values = 16_384
    /// Of what is said to a device unasked nothing has as many: 64 files of two kinds and 64 detectors in CBOR are the most.
    package static let valuesDown = 640
    package static let bytes = 1_048_576
}
