import Glibc
import Loop

/// Keeps a bridge's directory for one bridge alone, for as long as this lives: a second one would take back what the first tries, and
/// write down how far it came itself. The kernel drops it with the program.
///
/// Not `Sendable`: it belongs to whoever keeps the directory.
final class StateLock {
    /// Another bridge has it.
    struct Taken: Swift.Error, CustomStringConvertible {
        let description: String
    }

    /// `nil` where none can be made: there nothing else can be written, either.
    private let descriptor: OwnedDescriptor?

    /// The corresponding C function is `flock`.
    init(in directory: String) throws(Taken) {
        let path = "\(directory)/bridge.lock"
        var held: OwnedDescriptor?
        do throws(SystemError) {
            let file = try OwnedDescriptor(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
            let raw = file.raw
            held = consume file
            _ = try systemCall("flock") { flock(raw, LOCK_EX | LOCK_NB) }
        } catch {
            guard error.code != EWOULDBLOCK else {
                throw Taken(description: "another bridge keeps its state in \(directory) and holds \(path)")
            }
            // A file system that knows no locks keeps nobody out.
        }
        self.descriptor = held
    }
}

@available(*, unavailable)
extension StateLock: Sendable {}
