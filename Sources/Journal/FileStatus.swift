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
    /// Only who may look, and can, knows that nothing is there: throws `unavailable` when that cannot be found out.
    ///
    /// - Parameter isFollowed: False looks at a symbolic link itself.
    static func find(_ path: String, isFollowed: Bool = true) throws(StoreError) -> FileStatus? {
        var status = stat()
        // SAFETY: the path is NUL-terminated for the call, and `status` is ours.
        let result = unsafe isFollowed ? stat(path, &status) : lstat(path, &status)
        if result == 0 { return FileStatus(status) }
        guard errno == ENOENT || errno == ENOTDIR else { throw .system("look at \(path)") }
        return nil
    }

    init?(of descriptor: Int32) {
        var status = stat()
        // SAFETY: `status` is ours.
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether it is the same file, of whatever size.
    func isSame(as other: FileStatus) -> Bool { self.device == other.device && self.number == other.number }

    /// Looks whether a name still belongs to a file; throws `lost` when it does not, and `unavailable` when nobody can tell.
    @discardableResult
    static func check(_ path: String, _ known: FileStatus) throws(StoreError) -> FileStatus {
        guard let now = try self.find(path) else { throw StoreError(.lost, "\(path) is gone") }
        guard now.isSame(as: known) else { throw StoreError(.lost, "\(path) is another one than it was") }
        return now
    }
}
