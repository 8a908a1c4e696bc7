import Glibc
import Motion

/// What changes when a file does, be it written, replaced or given other rights.
struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    /// When it was written last. Whoever owns it sets it to any time that there is, also to one beyond what ns can count.
    private let modifiedSeconds: Int64
    private let modifiedNanoseconds: Int64
    /// When it was changed last in any way, in µs of the wall clock. Nobody can set it, but for who makes a file system.
    let changed: Int64

    init(_ status: stat) {
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.modifiedSeconds = Int64(status.st_mtim.tv_sec)
        self.modifiedNanoseconds = Int64(status.st_mtim.tv_nsec)
        let changed = TimeSpan.seconds(Int64(status.st_ctim.tv_sec))
        self.changed = (changed + TimeSpan(microseconds: Int64(status.st_ctim.tv_nsec) / 1_000)).microseconds
    }

    /// That of what a path leads to now; `nil` when that is nothing.
    init?(path: String) {
        var status = stat()
        // SAFETY: the path is NUL-terminated for the call, and `status` is ours.
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether it was changed so short a time before it was read that whoever writes it may not be done: the clock has ticks, and
    /// a change within the tick of the last one does not show. A change in the future says nothing.
    func isYoung(at time: Int64) -> Bool { self.changed > time - Self.settling && self.changed <= Self.now() }

    /// How old a change has to be before it is believed to be the last, in µs.
    static let settling: Int64 = 50_000

    /// The wall clock that changes are stamped with, in µs.
    static func now() -> Int64 {
        var time = timespec()
        // SAFETY: the kernel fills in the structure.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}
