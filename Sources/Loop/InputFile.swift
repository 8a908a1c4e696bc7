import Glibc

/// A file that is read from start to end in chunks.
package struct InputFile: ~Copyable {
    private let descriptor: OwnedDescriptor

    /// Opens a file; `-` is standard input.
    ///
    /// No pipe: what somebody would have to write first could keep us waiting for ever. The corresponding C function is `open`.
    package init(_ path: String) throws(SystemError) {
        if path == "-" {
            try checkMode(O_RDONLY, of: STDIN_FILENO, for: "read")
            self.descriptor = OwnedDescriptor(
                adopting: try systemCall("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) })
            return
        }
        let descriptor = try OwnedDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
        let raw = descriptor.raw
        var status = stat()
        // SAFETY: the structure is ours for the time of the call.
        try systemCall("fstat") { unsafe fstat(raw, &status) }
        switch status.st_mode & S_IFMT {
        // A device has something or says that it has not: /dev/null is an empty file to everybody.
        case S_IFREG, S_IFCHR: break
        case S_IFDIR: throw SystemError(code: EISDIR, function: "open")
        default: throw SystemError(code: EINVAL, function: "open of what is no regular file")
        }
        self.descriptor = descriptor
    }

    /// Reads a file whole; one that is longer than `most` bytes is refused with `EFBIG`.
    package static func contents(of path: String, atMost most: Int) throws(SystemError) -> [UInt8] {
        let file = try InputFile(path)
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while case let count = try file.read(into: &piece), count > 0 {
            bytes += piece[..<count]
            guard bytes.count <= most else { throw SystemError(code: EFBIG, function: "read") }
        }
        return bytes
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
