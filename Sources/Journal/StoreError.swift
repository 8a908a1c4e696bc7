import CSQLite
import Glibc

/// Why the disk did not do what it was asked for.
struct StoreError: Swift.Error, Equatable, Sendable, CustomStringConvertible {
    enum Code: Equatable, Sendable {
        /// What is in the file is not what was written to it: to be set aside.
        case broken
        /// It may go well later: the disk is full or fails, or somebody else holds the file.
        case unavailable
        /// The same: what is there could not be read, and may be whole. To be opened anew, which tells whether it can be.
        case unread
        /// The same, and it is room that is missing: what stands beside the file may be in its way.
        case full
        /// Another broker has the directory.
        case taken
        /// The name belongs to another file now, or to none: what we have open is no use to anybody.
        case lost
        /// What SQLite shares with others beside the file is not what it was: to be opened anew.
        case unshared
        /// Somebody wrote to the file, or must have: to be opened anew, and looked over.
        case touched
        /// The same, and `-wal` is empty: what stood there is in the file now, or lost.
        case emptied
    }

    let code: Code
    /// What was being done, and what was said to it.
    let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// What SQLite's result code means to us.
    init(_ result: Int32, _ message: String, while action: String) {
        let primary = result & 0xFF
        let code: Code =
            switch primary {
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_INTERRUPT: .broken
            case SQLITE_FULL: .full
            case SQLITE_IOERR where result == CSQLite_unread: .unread
            // Our tables refuse nothing that we do: these are others than ours.
            case SQLITE_ERROR, SQLITE_CONSTRAINT: .touched
            default: .unavailable
            }
        let words = primary == SQLITE_INTERRUPT ? "it takes more work than a file of its size can hold" : message
        self.init(code, "\(action): \(words) (\(result))")
    }

    /// What `errno` tells of a system call on a file. To be made before anything else can change `errno`.
    static func system(_ action: String) -> StoreError {
        let code = errno
        // SAFETY: strerror never returns NULL, and the text is copied before another call can replace it.
        let text = unsafe strerror(code).map { unsafe String(cString: $0) } ?? ""
        return StoreError(.unavailable, "\(action): \(text)")
    }
}
