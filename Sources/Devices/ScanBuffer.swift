import DeviceCore
import Glibc
import Loop

/// The scans that one read of a device's buffer brought, and the bytes of an unfinished one for the next.
///
/// Its elements are counted in the order in which they were given; the stamp is the last of them, if there is one.
struct ScanBuffer {
    private let layout: ScanLayout
    private let formats: [ScanFormat]
    private var bytes: [UInt8]
    /// Bytes at the front that were read, the unfinished scan included.
    private var filled = 0

    /// - Parameter scans: how many are fetched in one read at most.
    init(_ layout: ScanLayout, _ formats: [ScanFormat], scans: Int) {
        self.layout = layout
        self.formats = formats
        self.bytes = [UInt8](repeating: 0, count: layout.size * scans)
    }

    /// Whether the last read took as much as there is room for: then there may be more.
    var isFull: Bool { self.filled == self.bytes.count }

    /// Reads what there is in place of the scans of the last read. Returns how many are whole; `nil`: nothing came.
    mutating func fill(from descriptor: Int32) throws(DeviceProblem) -> Int? {
        self.keepRest()
        while true {
            let filled = self.filled
            let count = unsafe self.bytes.withUnsafeMutableBytes { buffer in
                // SAFETY: `filled` is less than a scan, and the buffer holds many; the kernel writes behind it.
                unsafe Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
            }
            if count < 0 {
                let error = SystemError.last("read")
                if error.code == EAGAIN { return nil }
                if error.code == EINTR { continue }
                throw DeviceProblem(error, on: "the buffer")
            }
            if count == 0 { throw DeviceProblem("the buffer has ended") }
            self.filled += count
            return self.filled / self.layout.size
        }
    }

    /// Moves an unfinished scan to the front; the others are forgotten.
    private mutating func keepRest() {
        let rest = self.filled % self.layout.size
        let start = self.filled - rest
        for index in 0..<rest { self.bytes[index] = self.bytes[start + index] }
        self.filled = rest
    }

    /// What an element of a scan holds.
    func raw(_ element: Int, of scan: Int) -> Int64 {
        let start = scan * self.layout.size
        return self.formats[element].raw(self.bytes.span, at: start + self.layout.offsets[element])
    }

    /// The stamp of a scan, where it has one.
    func stamp(of scan: Int) -> Int64 { self.raw(self.formats.count - 1, of: scan) }
}
