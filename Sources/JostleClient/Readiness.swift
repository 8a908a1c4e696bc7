import Glibc

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
        var ends: [Int32] = [-1, -1]
        // SAFETY: two descriptors, as `pipe` fills in.
        guard unsafe pipe(&ends) == 0 else { throw Self.failed("no descriptor is left") }
        let (reading, writing) = (ends[0], ends[1])
        defer {
            close(reading)
            close(writing)
        }
        var isStarted = true
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                isStarted = self.start(Wait(descriptor, reading, continuation))
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

    /// The corresponding C function is `pthread_create`.
    private static func start(_ wait: Wait) -> Bool {
        // SAFETY: the thread takes over the value that it is handed, and nobody waits for its end.
        let box = unsafe Unmanaged.passRetained(wait)
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { argument in
                // SAFETY: the one reference that was made for us.
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Wait>.fromOpaque(argument).takeRetainedValue().work()
                return nil
            }, box.toOpaque())
        guard result == 0 else {
            unsafe box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
