import Glibc

/// A file that is read from start to end in chunks.
package struct InputFile: ~Copyable {
    private let descriptor: OwnedDescriptor

    /// Opens a file; `-` is standard input.
    ///
    /// The corresponding C function is `open`.
    package init(_ path: String) throws(SystemError) {
        if path == "-" {
            self.descriptor = OwnedDescriptor(
                adopting: try systemCall("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) })
        } else {
            self.descriptor = try OwnedDescriptor(opening: path, O_RDONLY)
        }
    }

    /// Fills the front of `buffer`; returns how many bytes, 0 at the end.
    ///
    /// The corresponding C function is `read`.
    package borrowing func read(into buffer: inout [UInt8]) throws(SystemError) -> Int {
        let raw = self.descriptor.raw
        var count = 0
        var failure: SystemError?
        unsafe buffer.withUnsafeMutableBytes { bytes in
            // SAFETY: the kernel writes at most `bytes.count` bytes at its base.
            do throws(SystemError) {
                count = try systemCall("read") { unsafe Glibc.read(raw, bytes.baseAddress, bytes.count) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return count
    }
}
