import Glibc

/// Keeps a bridge's directory for one bridge alone, for as long as this lives: a second one would take back what the first tries, and
/// write down how far it came itself. The kernel drops it with the program.
///
/// Not `Sendable`: it belongs to whoever keeps the directory.
final class StateLock {
    /// Another bridge has it.
    struct Taken: Swift.Error, CustomStringConvertible {
        let description: String
    }

    /// Negative where none can be made: there nothing else can be written, either.
    private let descriptor: Int32

    /// The corresponding C function is `flock`.
    init(in directory: String) throws(Taken) {
        let path = "\(directory)/bridge.lock"
        // SAFETY: the path is NUL-terminated for the call.
        self.descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard self.descriptor >= 0 else { return }
        while flock(self.descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno != EWOULDBLOCK else {
                throw Taken(description: "another bridge keeps its state in \(directory) and holds \(path)")
            }
            // A file system that knows no locks keeps nobody out.
            guard errno == EINTR else { return }
        }
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }
}

@available(*, unavailable)
extension StateLock: Sendable {}
