import Glibc
import Loop

/// Waits until a descriptor is readable, without holding up the thread that asks: a thread of its own does, which ends with the
/// wait.
enum Readiness {
    private final class Wait: Sendable {
        let descriptor: Int32
        let stop: Int32
        let continuation: CheckedContinuation<Void, Never>

        init(_ descriptor: Int32, _ stop: Int32, _ continuation: CheckedContinuation<Void, Never>) {
            self.descriptor = descriptor
            self.stop = stop
            self.continuation = continuation
        }

        /// The corresponding C function is `poll`.
        func work() {
            var ends = [
                pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: self.stop, events: Int16(POLLIN), revents: 0),
            ]
            // SAFETY: as many entries as the array has.
            while unsafe poll(&ends, 2, -1) < 0, errno == EINTR {}
            self.continuation.resume()
        }
    }

    /// Returns when it is readable, or when the task is cancelled.
    static func wait(for descriptor: Int32) async throws(JostleError) {
        let stop: Pipe
        do throws(SystemError) {
            stop = try Pipe(isBlocking: true)
        } catch {
            throw Self.failed("no descriptor is left")
        }
        let (reading, writing) = (stop.reader.raw, stop.writer.raw)
        var isStarted = true
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let wait = Wait(descriptor, reading, continuation)
                isStarted = startThread(stackBytes: 256 << 10) { wait.work() }
                if !isStarted { continuation.resume() }
            }
        } onCancel: {
            var byte: UInt8 = 0
            // SAFETY: one byte of our own.
            _ = unsafe write(writing, &byte, 1)
        }
        if !isStarted { throw Self.failed("no thread is left") }
    }

    private static func failed(_ message: String) -> JostleError {
        JostleError(kind: .failed, name: "", message: message)
    }
}
