import DaemonSupport
import FleetCore
import Glibc
import Loop

/// The file in which a bridge keeps how far it came. It is replaced as a whole.
///
/// It is on the disk before it has its name, so that without power there is an older one at worst, which means that something is sent
/// again.
struct StateFile {
    /// What there is of a bridge's life before.
    enum Kept {
        /// Nothing: it is the first.
        case nothing
        /// There was one, and what it kept cannot be used.
        case unusable
        case state(BridgeState)
        /// More may have been sent than stands there: the disk took nothing behind it.
        case stale(BridgeState)
    }

    /// It cannot be read now, and may be as it was.
    struct Unread: Swift.Error, CustomStringConvertible {
        let description: String
    }

    private let directory: String
    /// Nobody else writes there.
    private let lock: StateLock
    private let log: Log
    private var isTroubled = false
    /// What was written last: it is not written a second time.
    private var written: BridgeState?

    private var path: String { "\(self.directory)/bridge.cursor" }
    /// The name of one that could not be replaced.
    private var stalePath: String { "\(self.path).old" }

    /// Makes the directory unless it is there, and takes it.
    init(in directory: String, log: Log) throws(StateLock.Taken) {
        // What is above it may be missing, too: a user who has never kept state has no directory for it.
        for end in directory.indices where end > directory.startIndex && directory[end] == "/" {
            // SAFETY: the path lives for the call. Whether it worked shows when something is written; so below.
            _ = unsafe mkdir(String(directory[..<end]), 0o700)
        }
        _ = unsafe mkdir(directory, 0o700)
        self.lock = try StateLock(in: directory)
        self.directory = directory
        self.log = log
    }

    /// Reads what was kept.
    func read() throws(Unread) -> Kept {
        let kept = try self.read(self.path)
        guard case .nothing = kept else { return kept }
        let older = try self.read(self.stalePath)
        guard case .state(let state) = older else { return older }
        self.log.warning("\(self.path) could not be written; all that is sent again says that it may have come")
        return .stale(state)
    }

    private func read(_ path: String) throws(Unread) -> Kept {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try InputFile.contents(of: path, atMost: 1 << 20)
        } catch {
            guard error.code != ENOENT else { return .nothing }
            // Who went on without it would write another one in its place.
            guard !error.isShortage else { throw Unread(description: "\(path): \(error)") }
            self.log.warning("\(path): \(error); how far it came is not known")
            return .unusable
        }
        guard let state = BridgeState(bytes: bytes) else {
            self.log.warning("\(path) makes no sense; how far it came is not known")
            return .unusable
        }
        return .state(state)
    }

    /// Keeps a state; false when that is not possible, which is said once.
    @discardableResult
    mutating func write(_ state: BridgeState) -> Bool {
        guard state != self.written else { return true }
        let isFirst = self.written == nil
        self.written = nil
        do throws(SystemError) {
            try Self.replace(self.path, with: state.bytes)
            // SAFETY: the path lives for the call; so below.
            if isFirst { unsafe unlink(self.stalePath) }
            if self.isTroubled { self.log.notice("\(self.path) can be written again") }
            (self.isTroubled, self.written) = (false, state)
            return true
        } catch {
            if !self.isTroubled {
                self.log.error("\(self.path): \(error); what is sent meanwhile will be sent again")
            }
            self.isTroubled = true
            // The next life is to know that more was sent than stands there. Another name takes no room.
            _ = unsafe rename(self.path, self.stalePath)
            return false
        }
    }

    /// Puts bytes in the place of a file, of which whoever reads it has all or none.
    static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        try self.write(bytes, to: "\(path).new")
        // SAFETY: the paths live for the call.
        try systemCall("rename") { unsafe rename("\(path).new", path) }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        let file = try OwnedDescriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        let raw = file.raw
        var rest = bytes[...]
        while !rest.isEmpty {
            // SAFETY: as many bytes as there are, which live for the call.
            let count = try systemCall("write") {
                unsafe rest.withUnsafeBytes { unsafe Glibc.write(raw, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(count)
        }
        // Else what takes the place of the older one may be empty after a power failure.
        try systemCall("fsync") { fsync(raw) }
    }
}
