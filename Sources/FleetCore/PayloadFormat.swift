/// In which form messages are written.
package enum PayloadFormat: String, CaseIterable, Sendable {
    case json
    case cbor

    /// What MQTT 5 says of the content.
    package var contentType: String {
        switch self {
        case .json: "application/json"
        case .cbor: "application/cbor"
        }
    }

    package func bytes(_ value: DataValue) -> [UInt8] {
        switch self {
        case .json: JSONCoding.bytes(value)
        case .cbor: CBORCoding.bytes(value)
        }
    }

    /// Reads what came, by what it says of its content; without that it is JSON.
    ///
    /// - Parameter most: So many values are read. Names can be made so that each takes as long as a hundred letters do.
    package static func read(
        _ bytes: [UInt8], contentType: String?, atMost most: Int = DataLimits.values
    ) throws(DataProblem) -> DataValue {
        contentType == PayloadFormat.cbor.contentType
            ? try CBORCoding.read(bytes, atMost: most) : try JSONCoding.read(bytes, atMost: most)
    }
}
