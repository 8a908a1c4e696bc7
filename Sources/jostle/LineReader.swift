import Glibc
import Loop

/// Reads lines from a pipe as they come.
///
/// The loop keeps it until the other side closes the pipe.
final class LineReader {
    private let descriptor: OwnedDescriptor
    private let onLine: (String) -> Void
    private let onEnd: () -> Void
    private var pending: [UInt8] = []
    private var registration: EventLoop.Registration?

    /// Takes over a non-blocking descriptor.
    init(
        _ descriptor: consuming OwnedDescriptor, onEnd: @escaping () -> Void = {}, _ onLine: @escaping (String) -> Void
    ) {
        self.descriptor = descriptor
        self.onLine = onLine
        self.onEnd = onEnd
    }

    func watch(on loop: EventLoop) throws(SystemError) {
        self.registration = try loop.watch(self.descriptor.raw, for: .read) { [unowned loop] _ in
            if self.read() { return }
            if let registration = self.registration { loop.cancel(registration) }
            self.onEnd()
        }
    }

    /// Takes what is there. False at the end.
    private func read() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        // SAFETY: the kernel writes at most the buffer's size.
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe Glibc.read(self.descriptor.raw, $0.baseAddress, $0.count)
        }
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        self.pending += buffer[..<count]
        while let end = self.pending.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: self.pending[..<end], as: UTF8.self)
            self.pending.removeSubrange(...end)
            self.onLine(line)
        }
        return true
    }
}
