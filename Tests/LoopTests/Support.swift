import Glibc
import Loop
import Synchronization

/// Runs `body` on a thread of its own.
func onThread(_ body: @escaping @Sendable () -> Void) {
    final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body))
    let code = pthread_create(
        &thread, nil,
        { pointer in
            if let pointer { Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue().body() }
            return nil
        }, box.toOpaque())
    invariant(code == 0, "no thread")
    pthread_detach(thread)
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
