import Glibc

/// Which file has a name, and how large it is.
struct FileStatus: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    let size: Int64
    let isRegular: Bool

    private init(_ status: stat) {
        self.device = UInt64(status.st_dev)
        self.number = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.isRegular = status.st_mode & S_IFMT == S_IFREG
    }

    /// Looks at what has a name; `nil` when nothing has. The file is not opened: closing a file of SQLite's would drop
    /// all locks that this process has on it. The corresponding C function is `stat`.
    ///
    /// - Parameter isFollowed: False looks at a symbolic link itself.
    init?(_ path: String, isFollowed: Bool = true) {
        var status = stat()
        // SAFETY: the path is NUL-terminated for the call, and `status` is ours.
        let result = unsafe isFollowed ? stat(path, &status) : lstat(path, &status)
        guard result == 0 else { return nil }
        self.init(status)
    }

    init?(of descriptor: Int32) {
        var status = stat()
        // SAFETY: `status` is ours.
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether it is the same file, of whatever size.
    func isSame(as other: FileStatus) -> Bool { self.device == other.device && self.number == other.number }

    /// Looks whether a name still belongs to a file; throws `lost` when it does not.
    @discardableResult
    static func check(_ path: String, _ known: FileStatus) throws(StoreError) -> FileStatus {
        guard let now = FileStatus(path) else { throw StoreError(.lost, "\(path) is gone") }
        guard now.isSame(as: known) else { throw StoreError(.lost, "\(path) is another one than it was") }
        return now
    }
}
