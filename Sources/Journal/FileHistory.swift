/// What is known of a file of ours also while it is not open: whoever opens it anew sees only what is there then.
final class FileHistory {
    let path: String
    /// Its `-wal`.
    private let besidePath: String
    /// It was open in this life of the broker.
    private(set) var wasOpen = false
    /// What has its name is not what we wrote to, or lacks some of that.
    private(set) var isLost = false
    /// How large `-wal` is at least, as long as nobody cuts it short: 0 when all that was committed is in the file itself,
    /// `nil` when we committed nothing to it yet.
    private(set) var beside: Int64?

    init(of path: String) {
        self.path = path
        self.besidePath = path + "-wal"
    }

    /// How often it could not be opened because it could not be read, and when that was counted last.
    private var unread = 0
    private var countedAt = Int64.min / 2
    /// What could not be read so often is damaged.
    private static let mostUnread = 60

    /// It is open.
    func opened() { (self.wasOpen, self.unread) = (true, 0) }

    /// It could not be opened because it cannot be read. Returns whether that is to be waited for no more.
    ///
    /// Whoever asks for what is in it has it tried as often as they ask: that counts once a pause, in µs.
    func couldNotBeRead(at now: Int64, pause: Int64) -> Bool {
        if now >= self.countedAt + pause {
            self.unread += 1
            self.countedAt = now
        }
        return self.unread > Self.mostUnread
    }

    /// It is not open any more, or could not be opened. What is lost stays so, whatever else is found while it is opened anew.
    func left(_ code: StoreError.Code) {
        self.isLost = self.isLost || code == .lost
        // Another broker works on it, and what it leaves beside says nothing of what we did.
        if code == .taken { self.beside = nil }
    }

    /// What has its name next is another file.
    func beginAnew() { (self.isLost, self.beside, self.unread) = (false, nil, 0) }

    /// What there was to commit was committed just now: SQLite writes nothing where nothing is otherwise.
    func committed() { self.beside = max(self.beside ?? 0, StoreFile.size(self.besidePath) ?? 1) }

    /// All that was committed is in the file itself.
    func isInPlace() { self.beside = 0 }

    /// Throws when `-wal` lacks some of what was committed, as far as its size tells.
    func checkBeside() throws(StoreError) {
        guard let size = StoreFile.size(self.besidePath) else { return }
        try self.check(size)
    }

    /// The same for a size that is known.
    func check(_ size: Int64) throws(StoreError) {
        guard size < self.beside ?? 0 else { return }
        // Others empty it when they put what stands there in its place, and never cut it short.
        throw StoreError(size == 0 ? .emptied : .lost, "\(self.besidePath) was cut short")
    }
}
