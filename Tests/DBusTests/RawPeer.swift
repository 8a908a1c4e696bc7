import Glibc
import TestSupport
import Randomness

/// A peer that speaks to the bus byte by byte, so that it can say what no library would.
///
/// Belongs to the thread that made it.
final class RawPeer {
    private let descriptor: Int32

    /// Connects, and proves with EXTERNAL who we are.
    init(to path: String) throws(Failure) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure("socket: \(errno)") }
        self.descriptor = descriptor
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { throw Failure("connect: \(errno)") }
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let identity = "\(getuid())".utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        self.send(Array("\0AUTH EXTERNAL \(identity)\r\n".utf8))
        guard self.receive().starts(with: Array("OK ".utf8)) else { throw Failure("the bus does not know us") }
        self.send(Array("BEGIN\r\n".utf8))
    }

    deinit { close(self.descriptor) }

    /// Sends bytes; a bus that has hung up takes none.
    func send(_ bytes: [UInt8]) {
        _ = Glibc.send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// What comes next; nothing when the bus has hung up.
    func receive() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(self.descriptor, &buffer, buffer.count, 0)
        return Array(buffer.prefix(max(0, count)))
    }

    /// Says that nothing more will come, and waits until the bus has taken all of it and hung up.
    func finish() {
        shutdown(self.descriptor, Int32(SHUT_WR))
        while !self.receive().isEmpty {}
    }
}

/// Changes a few bytes, cuts the end off, or both.
func mutated(_ bytes: [UInt8], using generator: inout SeededRandom) -> [UInt8] {
    var bytes = bytes
    if Int.random(in: 0..<4, using: &generator) == 0 {
        bytes.removeLast(Int.random(in: 1...bytes.count, using: &generator))
    }
    guard !bytes.isEmpty else { return bytes }
    // Half of them in the body alone: a header with a mistake is mostly refused at once.
    let first = Bool.random(using: &generator) ? 0 : bytes.count * 2 / 3
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: first..<bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        default: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0
        }
    }
    return bytes
}
