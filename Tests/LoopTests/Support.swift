import Glibc
import Loop
import Synchronization

/// Runs `body` on a thread of its own.
func onThread(_ body: @escaping @Sendable () -> Void) {
    invariant(startThread(stackBytes: 1 << 20, body), "no thread")
}

extension Pipe {
    /// Puts bytes in, so that the reader is ready.
    borrowing func fill(_ count: Int = 1) {
        let bytes = [UInt8](repeating: 120, count: count)
        invariant(write(self.writer.raw, bytes, count) == count, "a full pipe")
    }
}

/// Takes everything out of a descriptor that does not wait.
func drain(_ descriptor: Int32) -> [UInt8] {
    var result: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return result }
        result += bytes[..<count]
    }
}
