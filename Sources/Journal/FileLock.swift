import Glibc
import Loop

/// Keeps a directory for one broker alone, for as long as this lives. The kernel drops it with the program.
struct FileLock: ~Copyable {
    private let descriptor: Int32
    private let directory: String
    private let path: String
    private let identities: (directory: FileStatus, file: FileStatus)

    /// Between two tries.
    private static let pause: UInt32 = 10_000

    /// Takes the lock of a directory. The corresponding C function is `flock`.
    ///
    /// - Parameters:
    ///   - deadline: Whoever holds it may be about to end, and is waited for so long.
    ///   - busy: Called once, before the wait.
    init(in directory: String, until deadline: Int64, busy: () -> Void) throws(StoreError) {
        let path = "\(directory)/lock"
        // SAFETY: the path is NUL-terminated for the call.
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw .system("open \(path)") }
        var isTold = false
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EINTR || errno == EWOULDBLOCK else {
                let error = StoreError.system("lock \(path)")
                close(descriptor)
                throw error
            }
            guard Clock.monotonic.now() < deadline else {
                close(descriptor)
                throw StoreError(.taken, "another broker keeps its state in \(directory) and holds \(path)")
            }
            if !isTold { busy() }
            isTold = true
            usleep(Self.pause)
        }
        // What has the name now may be another file than the one that we hold; then the next look tells.
        guard let file = FileStatus(of: descriptor), let place = try? FileStatus.find(directory) else {
            close(descriptor)
            throw StoreError(.unavailable, "cannot look at \(path)")
        }
        self.descriptor = descriptor
        self.directory = directory
        self.path = path
        self.identities = (place, file)
    }

    deinit { close(self.descriptor) }

    /// Throws `lost`, or `unavailable`, unless the directory still is what has its name.
    borrowing func checkDirectory() throws(StoreError) {
        try FileStatus.check(self.directory, self.identities.directory)
    }

    /// What has the name of the lock. Nobody else is kept out by one that has it no more.
    enum Place { case ours, others, empty }

    borrowing func place() throws(StoreError) -> Place {
        guard let now = try FileStatus.find(self.path) else { return .empty }
        return now.isSame(as: self.identities.file) ? .ours : .others
    }

    /// Takes what has its name now, or makes it anew; throws `taken` when another broker was faster.
    borrowing func takenAnew() throws(StoreError) -> FileLock {
        let lock = try FileLock(in: self.directory, until: .min) {}
        guard lock.identities.directory.isSame(as: self.identities.directory) else {
            throw StoreError(.lost, "\(self.directory) is another one than it was")
        }
        return lock
    }
}
