import Glibc
import Loop

/// The directory that a broker keeps things in: locked for it alone, and watched.
struct HeldDirectory: ~Copyable {
    private var lock: FileLock
    /// While there is none, what others do shows when something is written next.
    private var watch: DirectoryWatch
    /// What happened since the last look.
    private var changes = DirectoryWatch.Changes()
    /// When the lock was found to be gone, in the time of `Clock.monotonic`.
    private var goneSince: Int64?
    /// When to look again, even if nothing happens.
    private(set) var deadline: Int64?

    /// Whoever removes all, one after the other, is not to find the lock again and again; in µs.
    private static let grace: Int64 = 100_000

    /// Makes the directory unless it is there, and takes it.
    init(_ path: String, until deadline: Int64, busy: () -> Void) throws(StoreError) {
        try Self.make(path)
        self.lock = try FileLock(in: path, until: deadline, busy: busy)
        self.watch = DirectoryWatch(path)
    }

    /// Readable when somebody did something there.
    var descriptor: Int32? { self.watch.descriptor }

    /// Fetches what was done to the files since the last time; throws `lost` when the directory is another one than it was,
    /// `taken` when its lock is and another broker holds that, and `unavailable` when it cannot be found out now.
    mutating func look() throws(StoreError) -> DirectoryWatch.Changes {
        // Whatever comes of it, it was looked at.
        self.deadline = nil
        self.changes.merge(self.watch.drain())
        try self.lock.checkDirectory()
        try self.keepLock()
        defer { self.changes = DirectoryWatch.Changes() }
        return self.changes
    }

    /// Sees to it that the lock keeps others out. Whoever takes it away takes nothing that is kept.
    private mutating func keepLock() throws(StoreError) {
        let place = try self.lock.place()
        guard place != .ours else { return self.goneSince = nil }
        if place == .empty {
            let now = Clock.monotonic.now()
            let since = self.goneSince ?? now
            self.goneSince = since
            guard now >= since + Self.grace else { return self.deadline = since + Self.grace }
        }
        self.lock = try self.lock.takenAnew()
    }

    /// Forgets what was done to files until now: what comes next begins with them as they are.
    mutating func forget(_ names: [String]) {
        self.changes.merge(self.watch.drain())
        self.changes.forget(names)
    }

    /// Makes a directory, for us alone.
    private static func make(_ path: String) throws(StoreError) {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/\(part)"
            // SAFETY: the path is NUL-terminated for the call.
            guard unsafe mkdir(made, 0o700) == 0 || errno == EEXIST else {
                // A directory that was there need not let us make what is there.
                let code = errno
                guard (try? FileStatus.find(made)) != nil else {
                    errno = code
                    throw .system("make the directory \(made)")
                }
                continue
            }
        }
    }
}
