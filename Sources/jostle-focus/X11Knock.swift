import Glibc
import Loop

/// Finds out whether an X server answers at all, before the library is let to it, which waits for the greeting as long as it takes.
///
/// A server that hangs keeps its socket, and takes connections. So one is asked for with no authority: whether it is granted does
/// not matter, and what else is answered is not read.
/// Not `Sendable`: it belongs to the thread of its loop.
final class X11Knock {
    private let loop: EventLoop
    private let socket: OwnedDescriptor
    private var watch: EventLoop.Registration?

    /// - Parameter then: hears once whether there was an answer; false when the server went away.
    init(at path: String, on loop: EventLoop, _ then: @escaping (Bool) -> Void) throws(SystemError) {
        self.loop = loop
        self.socket = try connectedSocket(path)
        let raw = self.socket.raw
        let request = Self.request
        try systemCall("send") {
            // SAFETY: as many bytes as there are in the array.
            unsafe request.withUnsafeBytes { unsafe send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        }
        self.watch = try loop.watch(raw, for: .read) { [weak self] _ in
            self?.stop()
            var byte: UInt8 = 0
            // SAFETY: one byte of our own.
            then(unsafe recv(raw, &byte, 1, 0) > 0)
        }
    }

    deinit { self.stop() }

    private func stop() {
        self.loop.cancel(&self.watch)
    }

    /// Asks for a connection: the order of bytes, version 11.0 of the protocol, and no authority.
    private static let request: [UInt8] = [UInt8(ascii: "l"), 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

@available(*, unavailable)
extension X11Knock: Sendable {}
