import CLinux
import Glibc

/// Starts a thread that runs `body` and ends with it; false when there can be none. Nobody waits for its end.
///
/// What blocks signals here blocks them there. The corresponding C function is `pthread_create`.
package func startThread(stackBytes: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
    var attributes = pthread_attr_t()
    // SAFETY: the attributes are ours, and the thread takes over the box that it is handed.
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    unsafe pthread_attr_setstacksize(&attributes, stackBytes)
    let box = unsafe Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let result = unsafe pthread_create(
        &thread, &attributes,
        { argument in
            // SAFETY: the one reference that was made for us.
            guard let argument = unsafe argument else { return nil }
            unsafe Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
            return nil
        }, box.toOpaque())
    if result != 0 { unsafe box.release() }
    return result == 0
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
