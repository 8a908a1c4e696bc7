import Glibc

/// Keeps other brokers with the same directory from looking at a file that is between two states.
///
/// Held while a file is opened, and while its mark says that something is missing. The kernel drops it with us.
struct FileLock: ~Copyable {
    private let descriptor: Int32

    /// How often to try, 10 ms apart. Whoever holds it is about to be done, or stands still.
    private static let attempts = 50

    /// Takes the lock that goes with a file. The corresponding C function is `flock`.
    init(for path: String) throws(StoreError) {
        let path = path + ".lock"
        // SAFETY: the path is NUL-terminated for the call.
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system("open \(path)") }
        var left = Self.attempts
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            left -= 1
            guard errno == EINTR || (errno == EWOULDBLOCK && left > 0) else {
                let error = StoreError.system("lock \(path)")
                close(descriptor)
                throw error
            }
            usleep(10_000)
        }
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }
}
