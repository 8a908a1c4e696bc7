import Glibc
package import Loop

/// Writes a whole text to a descriptor at once, unbuffered, however often that takes.
///
/// Nothing is lost when the process dies right after. A descriptor that does not wait is waited for here.
/// The corresponding C function is `write`.
package func writeAll(_ text: String, to descriptor: Int32) throws(SystemError) {
    try checkMode(O_WRONLY, of: descriptor, for: "write")
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
        if let count = try writeSome(of: bytes, from: written, atMost: bytes.count, to: descriptor) {
            written += count
        } else {
            try waitUntilWritable(descriptor, milliseconds: -1)
        }
    }
}

/// Writes a whole text to a descriptor as long as there is a reason to wait for whoever reads it.
///
/// - Parameter isVain: asked now and then while nobody reads. When it says so the rest is not written, which is a failure with EPIPE, as
///   where nobody reads any more.
package func writeAll(_ text: String, to descriptor: Int32, unless isVain: () -> Bool) throws(SystemError) {
    try checkMode(O_WRONLY, of: descriptor, for: "write")
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
        while try !waitUntilWritable(descriptor, milliseconds: 200) {
            if isVain() { throw SystemError(code: EPIPE, function: "write") }
        }
        // So much a pipe takes at once that takes something: the call does not wait in it.
        written += try writeSome(of: bytes, from: written, atMost: 4_096, to: descriptor) ?? 0
    }
}

/// Writes as many bytes as a descriptor takes now; `nil` when it takes none and does not wait.
private func writeSome(
    of bytes: [UInt8], from start: Int, atMost most: Int, to descriptor: Int32
) throws(SystemError) -> Int? {
    do {
        return try systemCall("write") {
            // SAFETY: the range lies inside the buffer.
            unsafe bytes.withUnsafeBytes {
                unsafe write(descriptor, $0.baseAddress?.advanced(by: start), min($0.count - start, most))
            }
        }
    } catch {
        guard error.code == EAGAIN else { throw error }
        return nil
    }
}

/// Waits until a descriptor takes data again; false when the time is up first.
///
/// The corresponding C function is `poll`.
@discardableResult
func waitUntilWritable(_ descriptor: Int32, milliseconds: Int32) throws(SystemError) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    // SAFETY: there is one entry, and it outlives the call.
    return try systemCall("poll") { unsafe poll(&entry, 1, milliseconds) } > 0
}
