import Glibc

/// Tells when somebody does something to the files of a directory, or to the directory itself.
///
/// The corresponding C functions are `inotify_init1` and `inotify_add_watch`.
struct DirectoryWatch: ~Copyable {
    private let directory: String
    /// -1 while the kernel gives none.
    private var raw: Int32 = -1
    private var files: Int32 = -1

    private static let inDirectory =
        IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF
        | IN_MOVE_SELF
    private static let above = IN_DELETE_SELF | IN_MOVE_SELF

    init(_ directory: String) {
        self.directory = directory
        self.begin()
    }

    /// Readable when somebody did something there; `nil` while the kernel gives none.
    var descriptor: Int32? { self.raw >= 0 ? self.raw : nil }

    private mutating func begin() {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else { return }
        // SAFETY: the paths are NUL-terminated for the calls.
        self.files = unsafe inotify_add_watch(descriptor, self.directory, UInt32(Self.inDirectory))
        guard self.files >= 0 else {
            close(descriptor)
            return
        }
        // It is gone from its place also when something that it is in is moved. What may not be read cannot be watched.
        var above = ""
        for part in self.directory.split(separator: "/").dropLast() {
            above += "/\(part)"
            _ = unsafe inotify_add_watch(descriptor, above, UInt32(Self.above))
        }
        self.raw = descriptor
    }

    deinit { if self.raw >= 0 { close(self.raw) } }

    /// What was done to the files of a directory.
    struct Changes {
        /// The names of files of which the content was changed.
        var written: Set<String> = []
        /// The names of files that somebody had opened to write, whether or not anything was, and that are closed now.
        var closed: Set<String> = []
        /// More happened than the kernel has kept.
        var isIncomplete = false

        mutating func merge(_ later: Changes) {
            self.written.formUnion(later.written)
            self.closed.formUnion(later.closed)
            self.isIncomplete = self.isIncomplete || later.isIncomplete
        }

        mutating func forget(_ names: [String]) {
            self.written.subtract(names)
            self.closed.subtract(names)
        }
    }

    /// Fetches all that happened.
    mutating func drain() -> Changes {
        guard self.raw >= 0 else {
            self.begin()
            return Changes()
        }
        let (descriptor, files) = (self.raw, self.files)
        var changes = Changes()
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.bytes, alignment: 8) { buffer in
            while true {
                // SAFETY: as many bytes as there are in the buffer.
                let count = unsafe read(descriptor, buffer.baseAddress, Self.bytes)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                var start = 0
                while start + Self.header <= count {
                    // SAFETY: the kernel writes whole events: wd, mask, cookie, the length of the name, the name.
                    let watch = unsafe buffer.loadUnaligned(fromByteOffset: start, as: Int32.self)
                    let mask = unsafe buffer.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)
                    let length = Int(unsafe buffer.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self))
                    let end = min(start + Self.header + length, count)
                    if mask & UInt32(IN_Q_OVERFLOW) != 0 { changes.isIncomplete = true }
                    if watch == files, mask & UInt32(IN_MODIFY | IN_CLOSE_WRITE) != 0 {
                        let bytes = unsafe buffer[(start + Self.header)..<end].prefix { $0 != 0 }
                        let name = unsafe String(decoding: bytes, as: UTF8.self)
                        if mask & UInt32(IN_MODIFY) != 0 { changes.written.insert(name) }
                        if mask & UInt32(IN_CLOSE_WRITE) != 0 { changes.closed.insert(name) }
                    }
                    start = end
                }
            }
        }
        return changes
    }

    private static let header = 16
    private static let bytes = 4_096
}
