import CLinux
import Glibc

/// A file descriptor with one owner, closed when the owner goes.
package struct OwnedDescriptor: ~Copyable, Sendable {
    /// The descriptor, lent: whoever reads this must not close it.
    package let raw: Int32

    /// Takes over an open descriptor.
    package init(adopting raw: Int32) {
        invariant(raw >= 0, "a descriptor cannot be \(raw)")
        self.raw = raw
    }

    /// Opens a file, close-on-exec and never as the controlling terminal; `flags` and `mode` are those of `open`.
    ///
    /// The corresponding C function is `open`.
    package init(opening path: String, _ flags: Int32, mode: UInt32 = 0) throws(SystemError) {
        self.raw = try systemCall("open") {
            // SAFETY: the path is a NUL-terminated string for the time of the call.
            unsafe open(path, flags | O_CLOEXEC | O_NOCTTY, mode)
        }
    }

    /// It names a file and opens nothing (`O_PATH`).
    package var isNameOnly: Bool { CLinux_names_only(self.raw) != 0 }

    /// Gives the descriptor away unclosed.
    package consuming func release() -> Int32 {
        let raw = self.raw
        discard self
        return raw
    }

    deinit {
        // Linux has freed the number even when close reports EINTR or EIO, so there is nothing to make again.
        invariant(close(self.raw) == 0 || errno != EBADF, "descriptor \(self.raw) was closed by someone else")
    }

    /// A second descriptor of the same open file, close-on-exec.
    ///
    /// The corresponding C function is `fcntl` with `F_DUPFD_CLOEXEC`.
    package borrowing func duplicate() throws(SystemError) -> OwnedDescriptor {
        let raw = self.raw
        return OwnedDescriptor(adopting: try systemCall("fcntl") { fcntl(raw, F_DUPFD_CLOEXEC, 0) })
    }

    /// Makes sure that so many descriptors can still be had.
    ///
    /// For what is about to need some in a place that cannot say that there are none.
    package borrowing func checkSpare(_ count: Int) throws(SystemError) {
        guard count > 0 else { return }
        try self.duplicate().checkSpare(count - 1)
    }

    /// Says whether reading and writing wait. The setting belongs to the open file, so all its descriptors share it.
    ///
    /// The corresponding C function is `fcntl` with `F_SETFL`.
    package borrowing func setBlocking(_ isBlocking: Bool) throws(SystemError) {
        let raw = self.raw
        let flags = try systemCall("fcntl") { fcntl(raw, F_GETFL) }
        try systemCall("fcntl") { fcntl(raw, F_SETFL, isBlocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) }
    }
}

/// The two ends of a pipe, close-on-exec.
package struct Pipe: ~Copyable, Sendable {
    package let reader: OwnedDescriptor
    package let writer: OwnedDescriptor

    /// Makes a pipe; `isBlocking` says how both ends behave when there is nothing to read or no room.
    ///
    /// The corresponding C function is `pipe2`.
    package init(isBlocking: Bool = false) throws(SystemError) {
        var ends: (Int32, Int32) = (-1, -1)
        try systemCall("pipe2") {
            // SAFETY: a tuple of two Int32 is laid out as an array of two ints.
            unsafe withUnsafeMutablePointer(to: &ends) { pointer in
                unsafe pointer.withMemoryRebound(to: Int32.self, capacity: 2) {
                    unsafe CLinux_pipe2($0, isBlocking ? 0 : O_NONBLOCK)
                }
            }
        }
        self.reader = OwnedDescriptor(adopting: ends.0)
        self.writer = OwnedDescriptor(adopting: ends.1)
    }

    /// Gives the ends to different owners.
    package consuming func split<Result>(
        _ body: (_ reader: consuming OwnedDescriptor, _ writer: consuming OwnedDescriptor) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        try body(self.reader, self.writer)
    }
}
