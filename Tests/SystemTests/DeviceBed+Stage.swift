import TestSupport

extension DeviceBed {
    /// A bed for a test, beside its bus.
    convenience init(_ stage: Stage) throws {
        try self.init(in: stage.bus.directory)
    }
}

/// Bytes as the bed's commands take them, lowest first.
func hex<T: FixedWidthInteger>(_ values: T...) -> String {
    var text = ""
    for value in values {
        for shift in stride(from: 0, to: T.bitWidth, by: 8) {
            let byte = UInt8(truncatingIfNeeded: value >> T(shift))
            text += byte < 16 ? "0" + String(byte, radix: 16) : String(byte, radix: 16)
        }
    }
    return text
}
