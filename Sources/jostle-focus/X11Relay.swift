import FocusCore
import Glibc
import Loop

/// A connection to an X server on which nobody waits.
///
/// What the server says is handed on when it is whole, and what it does not read is kept. libxcb waits for the greeting, for
/// the rest of a message and for room, each for as long as it takes; so it speaks through this, and has no server's socket.
/// Not `Sendable`: it belongs to the thread of its loop.
final class X11Relay {
    private let socket: OwnedDescriptor
    private var messages = X11Messages()
    private var unsent: [UInt8]
    private var isLost = false

    /// The most bytes that wait for a server that does not read.
    private static let mostUnsent = 256 << 10
    /// The most bytes that are read before others get their turn.
    private static let batch = 8 << 10

    /// Connects, and asks to be taken in, which is to be flushed.
    ///
    /// - Throws: `EACCES` also where a stranger listens: while there is no server anybody may, in a place that is for all, and would be
    ///   shown our secret.
    init(to path: String, _ authority: X11Authority) throws(SystemError) {
        let socket = try connectedSocket(path)
        guard let user = SocketPeer.user(of: socket.raw), user == 0 || user == getuid() else {
            throw SystemError(code: EACCES, function: "connect")
        }
        self.socket = socket
        self.unsent = authority.request
    }

    var descriptor: Int32 { self.socket.raw }
    /// The server left, does not take us in, says what none says, or reads nothing of what we say.
    var isBroken: Bool { self.isLost || self.messages.isOver }
    /// Something waits for the server to read.
    var isBehind: Bool { !self.unsent.isEmpty }

    /// Takes in what has come: a piece at a time, so that others get their turn in between.
    func receive() {
        var buffer = [UInt8](repeating: 0, count: Self.batch)
        let raw = self.socket.raw
        do throws(SystemError) {
            let count = try systemCall("recv") {
                // SAFETY: the kernel writes at most as many bytes as there are in the array.
                unsafe buffer.withUnsafeMutableBytes { unsafe recv(raw, $0.baseAddress, $0.count, 0) }
            }
            if count == 0 { self.isLost = true }
            self.messages.add(buffer[..<count])
        } catch {
            if error.code != EAGAIN { self.isLost = true }
        }
    }

    /// What has come whole; `nil` when there is nothing more.
    func next() -> X11Messages.Parcel? { self.messages.next() }

    /// Adds to what is to be flushed.
    func send(_ bytes: [UInt8]) { self.unsent += bytes }

    /// Sends what waits, as far as the server takes it.
    func flush() {
        let raw = self.socket.raw
        do throws(SystemError) {
            while !self.isLost, !self.unsent.isEmpty {
                let count = try systemCall("send") {
                    // SAFETY: as many bytes as there are in the array.
                    unsafe self.unsent.withUnsafeBytes {
                        unsafe Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                }
                self.unsent.removeFirst(count)
            }
        } catch {
            if error.code != EAGAIN || self.unsent.count > Self.mostUnsent { self.isLost = true }
        }
    }
}

@available(*, unavailable)
extension X11Relay: Sendable {}
