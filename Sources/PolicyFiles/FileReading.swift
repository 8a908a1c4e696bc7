import Arbitration
import Glibc

/// Reads one file, a piece at a time. Nothing but a file is waited for: not a pipe, and not a device.
///
/// Not `Sendable`: the descriptor is its own.
final class FileReading {
    enum Outcome {
        case bytes([UInt8], FileStamp)
        /// A link to /dev/null: as if there were none.
        case masked
        /// It was changed meanwhile.
        case moved
        case failed(Finding, missing: Bool)
    }

    private let path: String
    /// Its name in messages.
    private let shown: String
    private let most: (bytes: Int, limit: String)
    private let root: String?
    private var descriptor: Int32 = -1
    private var stamp: FileStamp?
    private var bytes: [UInt8] = []

    private static let piece = 65_536

    /// - Parameters:
    ///   - most: The most bytes that it may have, and the name of that limit.
    ///   - root: The directory that it has to be below, whatever links are on the way; `nil`: it may be anywhere.
    init(_ path: String, shown: String, atMost most: (bytes: Int, limit: String), within root: String? = nil) {
        self.root = root
        self.path = path
        self.shown = shown
        self.most = most
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }

    /// Reads on; `nil` while it is not done.
    func step() -> Outcome? {
        guard let stamp = self.stamp else { return self.open() }
        let length = self.bytes.count
        guard length <= self.most.bytes else { return self.tooLong }
        var count = 0
        self.bytes += [UInt8](repeating: 0, count: Self.piece)
        // SAFETY: the kernel writes at most a piece behind what there is.
        count = unsafe self.bytes.withUnsafeMutableBytes {
            unsafe Glibc.read(self.descriptor, $0.baseAddress?.advanced(by: length), Self.piece)
        }
        let code = errno
        self.bytes.removeLast(Self.piece - max(0, count))
        if count < 0 { return code == EINTR ? nil : self.failure("the file cannot be read", code) }
        if count > 0 { return nil }
        var status = stat()
        // SAFETY: `status` is ours.
        guard unsafe fstat(self.descriptor, &status) == 0 else { return self.failure("the file cannot be read", errno) }
        guard FileStamp(status) == stamp, Int(status.st_size) == self.bytes.count else { return .moved }
        return .bytes(self.bytes, stamp)
    }

    private func open() -> Outcome? {
        let code: Int32
        (self.descriptor, code) = ConfinedFile.open(self.path, within: self.root, O_RDONLY)
        guard code == 0 else { return self.failure("the file cannot be opened", code) }
        var status = stat()
        // SAFETY: `status` is ours.
        guard unsafe fstat(self.descriptor, &status) == 0 else { return self.failure("the file cannot be read", errno) }
        if status.st_mode & S_IFMT == S_IFCHR, status.st_rdev == Self.makedev(1, 3) { return .masked }
        guard status.st_mode & S_IFMT == S_IFREG else { return self.failure("it is not a file", 0) }
        guard status.st_size <= off_t(self.most.bytes) else { return self.tooLong }
        self.stamp = FileStamp(status)
        self.bytes.reserveCapacity(Int(status.st_size) + Self.piece)
        return nil
    }

    /// The device number that the kernel makes of these two.
    private static func makedev(_ major: dev_t, _ minor: dev_t) -> dev_t { major << 8 | minor }

    private var tooLong: Outcome {
        let message = PolicyLimits.excess("the file is too long", self.most.limit, self.most.bytes)
        return .failed(
            Finding(.tooMuch, at: Place(file: self.shown, line: 1), message, advice: "split it"), missing: false)
    }

    private func failure(_ what: String, _ code: Int32) -> Outcome {
        .failed(Finding(unreadable: self.shown, what, code), missing: code == ENOENT || code == ENOTDIR)
    }
}

@available(*, unavailable)
extension FileReading: Sendable {}

extension Finding {
    /// - Parameter code: What the kernel says; 0: nothing.
    init(unreadable name: String, _ what: String, _ code: Int32) {
        guard code != EXDEV else {
            self.init(
                .unreadable, at: Place(file: name, line: 1), "\(what): it is not of the app that it is to speak for",
                advice: "let links lead to what the app itself has, and nowhere else")
            return
        }
        // SAFETY: strerror returns a NUL-terminated string that nobody changes before it is copied.
        let text = code == 0 ? "" : unsafe strerror(code).map { unsafe ": \(String(cString: $0))" } ?? ""
        self.init(
            .unreadable, at: Place(file: name, line: 1), "\(what)\(text)", advice: "see who may read it, and what it is"
        )
    }

    /// - Parameter times: How often it was read.
    init(restless name: String, times: Int) {
        self.init(
            .unreadable, at: Place(file: name, line: 1),
            "it does not hold still: it was changed each of \(times) times "
                + "that it was read", advice: "read it again when it is written")
    }
}
